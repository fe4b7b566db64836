"""Bounds the values of metrics' labels: callers choose models and tenants, and each value is a series for good."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ullage_agent.runtime.policy import MOST_LABEL_VALUES

OTHER: Final = "(other)"


class LabelValues:
    """The values that each label has had, up to ``MOST_LABEL_VALUES``; all further ones are ``OTHER``."""

    def __init__(self) -> None:
        self._known: defaultdict[str, set[str]] = defaultdict(set)

    def bounded(self, label: str, value: str, *, is_admitted: bool = True) -> str:
        """The value, or ``OTHER``.

        Args:
            label: The label's name.
            value: What it would be.
            is_admitted: Whether it becomes one of the values where it was not: names that nothing has confirmed would
                fill the label.
        """
        known = self._known[label]
        if value not in known:
            if not is_admitted or len(known) >= MOST_LABEL_VALUES:
                return OTHER
            known.add(value)
        return value

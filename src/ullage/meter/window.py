"""Named denominators: whose limit counts, and where compaction starts.

Precedence: user > provider at run time > an error that named it > catalogue > unknown, which is shown as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ullage.errors import SettingError
from ullage.events import LimitLearnt
from ullage.meter.reading import Window, WindowSource

DEFAULT_TRIGGER = 0.8
"""Share of the window at which compaction starts: Dexto's figure (docs/from-the-seeds.md)."""

DEFAULT_RESERVE = 16_000
"""Tokens kept free for the answer (Dexto's output buffer, docs/from-the-seeds.md)."""

RESERVE_SHARE = 5
"""The default reserve takes at most this part (a fifth) of the window."""

_SETTINGS = ("window", "default_window", "reserve", "trigger", "auto")

_RANK: dict[WindowSource, int] = {
    "user": 4,
    "provider": 3,
    "error": 2,
    "catalogue": 1,
    "unknown": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One number and its source."""

    tokens: int
    source: WindowSource

    def beats(self, other: Limit | None) -> bool:
        """Whether this one is to be believed: a better source, or a newer value of the same source."""
        return other is None or _RANK[self.source] >= _RANK[other.source]


class Denominators(NamedTuple):
    """What a number of tokens can be a part of; ``None`` is unknown, or for the compaction point: never."""

    window: Window
    reserve: int
    input_limit: int | None
    compaction_point: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is known of a model's limits, and the user's settings on top of them. All in tokens."""

    window: Limit | None = None
    input_cap: Limit | None = None
    max_output: Limit | None = None
    reserve: int | None = None
    """The user's own reserve; ``None`` takes the default."""
    trigger: float | int = DEFAULT_TRIGGER
    """A share of the window up to 1, or an absolute number of tokens above 1."""
    auto: bool = True
    default_window: int | None = None
    """Used, as if the user had set it, when the window is unknown."""

    def __post_init__(self) -> None:
        if not 0 < self.trigger < float("inf"):
            raise SettingError(
                f"trigger={self.trigger} can't be reached: give a share up to 1, or tokens above 1."
            )
        if self.reserve is not None and self.reserve < 0:
            raise SettingError(
                f"reserve={self.reserve} is below zero: give the tokens to keep free for the answer."
            )

    def learn(self, event: LimitLearnt) -> Limits:
        """These limits and what one event says, where its source ranks at least as high."""
        return replace(
            self,
            window=_believed(self.window, event.window, event.source),
            input_cap=_believed(self.input_cap, event.input_cap, event.source),
            max_output=_believed(self.max_output, event.max_output, event.source),
        )

    def with_settings(self, settings: Mapping[str, object]) -> Limits:
        """These limits with settings by name; ``None`` takes one back to its default, other names are ignored.

        Raises ``SettingError`` for an impossible value.
        """
        limits = self
        for name in _SETTINGS:
            if name not in settings:
                continue
            value = settings[name]
            if name == "trigger":
                value = value if isinstance(value, int | float) else DEFAULT_TRIGGER
            elif name == "auto":
                value = value is not False
            elif not isinstance(value, int):
                value = None
            elif name == "window":
                value = Limit(tokens=value, source="user")
            limits = replace(limits, **{name: value})  # type: ignore[arg-type]
        return limits

    def of_model(
        self, window: int | None, input_cap: int | None, max_output: int | None
    ) -> Limits:
        """The limits of another model, as the catalogue has them: what was learnt of the last one is dropped."""
        return replace(
            self,
            window=_looked_up(self.window, window),
            input_cap=_looked_up(self.input_cap, input_cap),
            max_output=_looked_up(self.max_output, max_output),
        )

    @property
    def denominators(self) -> Denominators:
        """What follows from these limits.

        The default reserve is capped by the model's largest answer and by a share of the window. A request may hold
        min(input cap, window - reserve), and compaction starts at min(trigger, that).
        """
        window = Window(tokens=None, source="unknown")
        if self.window is not None:
            window = Window(tokens=self.window.tokens, source=self.window.source)
        elif self.default_window is not None:
            window = Window(tokens=self.default_window, source="user")
        reserve = self.reserve
        if reserve is None:
            reserve = DEFAULT_RESERVE
            if self.max_output is not None:
                reserve = min(reserve, self.max_output.tokens)
            if window.tokens is not None:
                reserve = min(reserve, window.tokens // RESERVE_SHARE)
        bounds: list[int] = []
        if window.tokens is not None:
            bounds.append(window.tokens - reserve)
        if self.input_cap is not None:
            bounds.append(self.input_cap.tokens)
        if not bounds:
            return Denominators(window, reserve, None, None)
        limit = max(0, min(bounds))
        point: int | None = limit
        if not self.auto:
            point = None
        elif self.trigger > 1:
            point = min(int(self.trigger), limit)
        elif window.tokens is not None:
            point = min(int(self.trigger * window.tokens), limit)
        return Denominators(window, reserve, limit, point)


def _believed(
    held: Limit | None, tokens: int | None, source: WindowSource
) -> Limit | None:
    if tokens is None or tokens <= 0:
        return held
    limit = Limit(tokens=tokens, source=source)
    return limit if limit.beats(held) else held


def _looked_up(held: Limit | None, tokens: int | None) -> Limit | None:
    if held is not None and held.source == "user":
        return held
    return None if tokens is None else Limit(tokens=tokens, source="catalogue")

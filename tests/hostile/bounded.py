"""Work that may hang: done in a thread that is left behind if it does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LONGEST_S = 60.0
"""What hangs longer hangs for ever, on whatever machine."""


class Hangs(AssertionError):
    """The work did not come to an end."""


def bounded(work: Callable[[], T]) -> T:
    """What the work gives, or raises. Raises ``Hangs`` for work that does neither."""
    given: list[T] = []
    raised: list[BaseException] = []

    def live() -> None:
        try:
            given.append(work())
        except BaseException as problem:  # noqa: BLE001 - handed on to the test
            raised.append(problem)

    thread = threading.Thread(target=live, name="bounded", daemon=True)
    thread.start()
    thread.join(LONGEST_S)
    if raised:
        raise raised[0]
    if not given:
        raise Hangs("the work hangs")
    return given[0]

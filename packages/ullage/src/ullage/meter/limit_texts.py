"""The window and the compaction threshold of a reading in words: whose they are, and where they come from."""

from __future__ import annotations

from ullage.display.text import number, printable
from ullage.meter.reading import (
    OURSELVES,
    CompactionThreshold,
    ThresholdSource,
    Window,
    WindowSource,
)

WINDOW_SOURCES: dict[WindowSource, str] = {
    "user": "set by you",
    "observed": "shown by the log",
    "log": "named by the log",
    "settings": "set in the program",
    "provider": "reported by the provider",
    "error": "learnt from an error",
    "documented": "the program's default",
    "catalogue": "from the catalogue",
    "unknown": "",
}
"""Where the size of a window comes from."""

THRESHOLD_SOURCES: dict[ThresholdSource, str] = {
    "user": "",
    "observed": "observed",
    "settings": "set in the program",
    "documented": "the program's default",
    "assumed": "",
    "unknown": "",
}
"""The same of a threshold. Ullage's own needs no words: the sentence names Ullage."""


def window_source(window: Window) -> str:
    """``window: the program's default (larger for models named [1m])``; empty while it is unknown."""
    words = WINDOW_SOURCES[window.source]
    if not words:
        return ""
    return f"window: {words}{_noted(window.note)}"


def threshold_source(threshold: CompactionThreshold) -> str:
    """``threshold: the program's default (33,000 below the window)``; empty for Ullage's own."""
    words = THRESHOLD_SOURCES[threshold.source]
    if not words or threshold.tokens is None:
        return ""
    return f"threshold: {words}{_noted(threshold.note)}"


def _noted(note: str) -> str:
    return f" ({printable(note)})" if note else ""


def threshold_sentence(threshold: CompactionThreshold) -> str:
    """``compacts at 160,000``, ``Claude Code compacts at 167,000`` or ``Ullage would compact at 160,000``.

    Empty while there is none, unless the program that wrote the session has none: then that is said.
    """
    name = printable(threshold.by)
    if threshold.tokens is None:
        is_told = name not in ("", OURSELVES)
        return f"{name} does not compact: {printable(threshold.note)}" if is_told else ""
    at = number(threshold.tokens)
    if not name:
        return f"{OURSELVES} would compact at {at}"
    return f"compacts at {at}" if name == OURSELVES else f"{name} compacts at {at}"


def passed_sentence(threshold: CompactionThreshold) -> str:
    """``past the compaction threshold, 160,000``, and whose it is where it is another program's."""
    at = number(threshold.tokens or 0)
    if not threshold.by:
        return f"past {at}, where {OURSELVES} would compact"
    if threshold.by == OURSELVES:
        return f"past the compaction threshold, {at}"
    return f"past {at}, where {printable(threshold.by)} compacts"

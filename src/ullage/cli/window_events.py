"""Events that change what a window holds or how large it is, each in one sentence for a person."""

from __future__ import annotations

from typing import Final

from ullage.display.text import Line, Span, counted, number, printable
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    LimitLearnt,
    ModelChanged,
    Pruned,
    Rewound,
    Uncompacted,
)

_TRIGGERS: Final = {
    "point": "the compaction point is reached",
    "limit": "the next request would not fit",
    "overflow": "the provider refused the request as too large",
    "asked": "asked for",
    "model_changed": "the new model's window is smaller",
}
_RUNGS: Final = {
    "summary": "a summary",
    "pieces": "a summary made in pieces",
    "digest": "a digest made without a model",
    "drop": "nothing: the oldest were left out",
    "trim": "shorter ones",
}


def window_line(event: Event) -> Line:
    """The sentence as a line, two columns in; empty for events of other kinds."""
    said = window_sentence(event)
    return () if said is None else (Span(f"  {said.text}", said.style),)


def window_sentence(event: Event) -> Span | None:
    """The sentence alone, to which more may be said; ``None`` for events of other kinds."""
    match event:
        case Pruned():
            what = f"pruned: {counted(len(event.parts), 'old tool result')} cleared"
            return Span(f"{what}{_sizes(event.before, event.after)}", "mark")
        case CompactionStarted():
            why = _TRIGGERS.get(event.trigger, printable(event.trigger))
            return Span("making room" + (f": {why}" if why else ""), "mark")
        case CompactionCommitted():
            gone = len(event.summarised) + len(event.dropped)
            into = _RUNGS.get(event.rung, "a summary" if event.summary else printable(event.rung) or "less")
            what = f"{counted(gone, 'message')} became {into}" if gone else f"what is kept became {into}"
            return Span(f"compacted: {what}{_sizes(event.before, event.after)}", "mark")
        case CompactionRolledBack() if not event.rung:
            return Span(f"not compacted ({printable(event.reason)}): {printable(event.note)}", "warn")
        case Uncompacted():
            return Span(f"undone: {printable(event.compaction)}, the view from before it is back", "mark")
        case Rewound():
            return Span("rewound: later messages left the view", "mark")
        case ModelChanged():
            return Span(f"model: {printable(event.model)}", "dim")
        case LimitLearnt() if event.window and event.source != "user":
            return Span(f"window: {number(event.window)} tokens (the {event.source} says)", "dim")
        case _:
            return None


def _sizes(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return ""
    return f", {number(before)} -> {number(after)} tokens"

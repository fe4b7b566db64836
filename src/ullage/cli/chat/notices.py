"""One line for each event that people should know of, with its numbers. Pure."""

from __future__ import annotations

from ullage.cli.text import Line, Span, counted, number, printable, shortened
from ullage.events import (
    CallEnded,
    CallRetried,
    Cancelled,
    ChildStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    Forked,
    LimitLearnt,
    ModelChanged,
    Pinned,
    Pruned,
    QueueLeft,
    RequestRepaired,
    Rewound,
    RuleFlipped,
    SettingsChanged,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    Uncompacted,
)

LONGEST_VALUE = 60

TRIGGERS = {
    "point": "the compaction point is reached",
    "limit": "the input limit is reached",
    "overflow": "the provider refused the size",
    "asked": "asked for",
    "model_changed": "the new model's window is smaller",
}

ENDS = {
    "max_steps": "the limit of steps is reached",
    "loop": "it went in circles",
    "length": "the answer was cut at its longest",
    "refused": "the model refused",
    "dropped": "the answer broke off",
    "failed": "a call failed",
    "too_large": "it can't be made to fit",
    "other": "the provider ended it",
}

KEPT = {
    "partial_assistant": "the partial answer is kept",
    "tools_in_progress": "tools were running",
    "compaction_rolled_back": "the compaction is undone",
}

WHAT_TO_DO = {
    "failed": "/retry tries again, /model takes another model",
    "budget": "/retry goes on with the budget counted anew",
    "approval": "answer with y or n",
}


def notice(event: Event) -> Line:
    """What a person is told of the event; empty for what is shown elsewhere or needs no word."""
    match event:
        case (
            CompactionStarted() | CompactionCommitted() | CompactionRolledBack() | Pruned() | Uncompacted() | Rewound()
        ):
            return _of_the_view(event)
        case TurnPaused() | TurnResumed() | TurnEnded() | Cancelled() | CallRetried() | CallEnded():
            return _of_the_turn(event)
        case QueueLeft(how="withdrawn"):
            return _line("dim", "withdrawn: a message that waited")
        case QueueLeft(how="returned"):
            return _line("warn", "given back, not sent: a message that waited")
        case ModelChanged():
            return _line("dim", f"model: {printable(event.model)}")
        case LimitLearnt() if event.window:
            return _line("dim", f"window: {number(event.window)} (the {event.source} says)")
        case SettingsChanged(source="session"):
            said = ", ".join(f"{printable(key)} = {_value(value)}" for key, value in event.settings.items())
            return _line("dim", f"set: {said}")
        case Pinned():
            what = counted(len(event.messages), "message")
            return _line("dim", f"{'pinned' if event.pinned else 'no longer pinned'}: {what}")
        case Forked():
            return _line("dim", f"begun as a copy of {printable(event.origin)}, up to its event {event.through:,}")
        case ChildStarted():
            return _line("dim", f"agent {printable(event.child)} on {printable(event.model)}")
        case RequestRepaired():
            return _line("dim", f"put right in the request: {printable('; '.join(event.repairs))}")
        case RuleFlipped():
            what = "counted" if event.kept else "not counted"
            return _line("dim", f"the provider's numbers show: earlier reasoning is {what} here")
        case _:
            return ()


def _of_the_view(event: Event) -> Line:
    match event:
        case CompactionStarted():
            why = TRIGGERS.get(event.trigger, printable(event.trigger))
            held = ""
            if event.high is not None and event.limit is not None:
                held = f", {number(event.high)} of {number(event.limit)}"
            return _line("mark", f"compacting: {why}{held}")
        case CompactionCommitted():
            gone = len(event.summarised) + len(event.dropped)
            how = {"trim": "trimmed", "drop": "dropped"}.get(event.rung, f"into a {event.rung or 'summary'}")
            what = f"compacted: {counted(gone, 'message')} {printable(how)}"
            return _line("mark", f"{what}, {sizes(event.before, event.after)} · /uncompact undoes it")
        case CompactionRolledBack() if not event.rung:
            return _line("warn", f"not compacted ({printable(event.reason)}): {printable(event.note)}")
        case Pruned():
            what = f"cleared {counted(len(event.parts), 'old tool result')}"
            cost = f", {number(event.rewritten)} written to the cache anew" if event.rewritten else ""
            return _line("mark", f"{what}: {sizes(event.before, event.after)}{cost} · /uncompact undoes it")
        case Uncompacted():
            return _line("mark", f"undone: {printable(event.compaction)}, the view from before it is back")
        case Rewound():
            return _line("mark", "rewound: what came after this point left the view and stays in the ledger")
        case _:
            return ()


def _of_the_turn(event: Event) -> Line:
    match event:
        case CallRetried():
            again = f"trying again in {event.wait_s:.1f} s (attempt {event.attempt + 1})"
            return _line("warn", f"{printable(event.error)} · {again}")
        case CallEnded(outcome="failed"):
            what = "" if event.purpose == "main" else f"{event.purpose} call: "
            return _line("bad", f"{what}{printable(event.error)}")
        case Cancelled():
            return _line("warn", f"cancelled: {KEPT.get(event.persisted or '', 'nothing was under way')}")
        case TurnPaused(reason="approval"):
            return ()
        case TurnPaused():
            what = f"paused ({event.reason}): {printable(event.note)}".rstrip(": ")
            return _line("warn", f"{what} · {WHAT_TO_DO[event.reason]}")
        case TurnResumed():
            return _line("dim", "going on")
        case TurnEnded() if event.reason not in ("finished", "cancelled"):
            note = f": {printable(event.note)}" if event.note else ""
            return _line("warn", f"ended, {ENDS.get(event.reason, event.reason)}{note}")
        case _:
            return ()


def sizes(before: int | None, after: int | None) -> str:
    """``52,100 to 14,020 tokens``, or that nobody said."""
    if before is None or after is None:
        return "size unknown"
    return f"{number(before)} to {number(after)} tokens"


def _line(style: str, text: str) -> Line:
    return (Span(text, style),)


def _value(value: object) -> str:
    if value is None:
        return "default"
    said = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return shortened(printable(said), LONGEST_VALUE) or "none"

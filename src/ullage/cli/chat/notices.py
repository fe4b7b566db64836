"""One line for each event that people should know of, with its numbers. Pure."""

from __future__ import annotations

from ullage.cli.grants import granted_words
from ullage.cli.server_sentence import server_sentence
from ullage.cli.window_events import window_sentence
from ullage.display.text import Line, Span, counted, number, printable, shortened
from ullage.events import (
    CallEnded,
    CallRetried,
    ChildStarted,
    CompactionCommitted,
    CompactionStarted,
    Event,
    Forked,
    GrantGiven,
    GrantRevoked,
    Imported,
    Pinned,
    Pruned,
    QueueLeft,
    RequestRepaired,
    Rewound,
    RowDamaged,
    RuleFlipped,
    SettingsChanged,
    ToolServerNoticed,
    TurnEnded,
    TurnPaused,
    TurnResumed,
)

LONGEST_VALUE = 60
UNDO = " · /uncompact undoes it"

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

WHAT_TO_DO = {
    "failed": "/retry tries again, /model takes another model",
    "budget": "/retry goes on with the budget counted anew",
    "approval": "answer with y or n",
}


def notice(event: Event) -> Line:
    """What a person is told of the event; empty for what is shown elsewhere or needs no word."""
    match event:
        case TurnPaused() | TurnResumed() | TurnEnded() | CallRetried() | CallEnded():
            return _of_the_turn(event)
        case QueueLeft(how="withdrawn"):
            return _line("dim", "withdrawn: a message that waited")
        case QueueLeft(how="returned"):
            return _line("warn", "given back, not sent: a message that waited")
        case SettingsChanged(source="session"):
            said = ", ".join(f"{printable(key)} = {_value(value)}" for key, value in event.settings.items())
            return _line("dim", f"set: {said}")
        case GrantGiven():
            return _line(
                "dim", f"allowed in this session: {granted_words(event.tool, event.prefix)} · /grants lists them"
            )
        case GrantRevoked():
            return _line("dim", "a grant of this session was revoked")
        case Pinned():
            what = counted(len(event.messages), "message")
            return _line("dim", f"{'pinned' if event.pinned else 'no longer pinned'}: {what}")
        case Forked():
            begun = f"begun as a copy of {printable(event.origin)}, up to its event {event.through:,}"
            return _line("dim", begun + _without(event.dropped))
        case RowDamaged():
            why = printable(event.why)
            return _line("warn", f"event {event.seq:,} of this session can't be read and is left out: {why}")
        case Imported():
            return _line("dim", f"imported from {printable(event.origin) or 'a file'}" + _without(event.dropped))
        case ChildStarted():
            return _line("dim", f"agent {printable(event.child)} on {printable(event.model)}")
        case RequestRepaired():
            return _line("dim", f"put right in the request: {printable('; '.join(event.repairs))}")
        case ToolServerNoticed():
            return _line("warn", printable(server_sentence(event)))
        case RuleFlipped():
            what = "counted" if event.kept else "not counted"
            return _line("dim", f"the provider's numbers show: earlier reasoning is {what} here")
        case _:
            return _of_the_window(event)


def _without(dropped: tuple[str, ...]) -> str:
    return f", without {printable(', '.join(dropped))}" if dropped else ""


def _of_the_window(event: Event) -> Line:
    said = window_sentence(event)
    return () if said is None else _line(said.style, said.text + _more(event))


def _more(event: Event) -> str:
    """What is worth a word where there is room for it, and a way back at hand."""
    match event:
        case CompactionStarted() if event.high is not None and event.limit is not None:
            return f", {number(event.high)} of {number(event.limit)}"
        case Pruned() if event.rewritten:
            return f", {number(event.rewritten)} written to the cache anew{UNDO}"
        case CompactionCommitted() | Pruned():
            return UNDO
        case Rewound():
            return " and stay in the ledger"
        case _:
            return ""


def _of_the_turn(event: Event) -> Line:
    match event:
        case CallRetried():
            again = f"trying again in {event.wait_s:.1f} s (attempt {event.attempt + 1})"
            return _line("warn", f"{printable(event.error)} · {again}")
        case CallEnded(outcome="failed"):
            what = "" if event.purpose == "main" else f"{event.purpose} call: "
            return _line("bad", f"{what}{printable(event.error)}")
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


def _line(style: str, text: str) -> Line:
    return (Span(text, style),)


def _value(value: object) -> str:
    if value is None:
        return "default"
    said = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return shortened(printable(said), LONGEST_VALUE) or "none"

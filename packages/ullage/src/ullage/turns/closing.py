"""The events that close unfinished work, so that the next request is valid and tells the model what is known.

Ids and texts depend on the call alone: closing twice, or after a restart, gives the same events, and the provider's
cache of the prefix stays valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from ullage.events import (
    CallEnded,
    Cancelled,
    CompactionRolledBack,
    Event,
    MessageAdded,
    QueueLeft,
    ToolEnded,
    ToolOutcome,
    TurnEnded,
)
from ullage.messages import Message, TextPart, ToolResultPart
from ullage.turns.loop import Loop, OpenCall, calls_of
from ullage.usage import Usage

Persisted = (
    Literal["partial_assistant", "tools_in_progress", "compaction_rolled_back"] | None
)

NOT_STARTED: Final = "Not run: the user interrupted before this call was started."
STOPPED: Final = "Stopped by the user while it ran. Whether it took effect is unknown."
UNKNOWN: Final = "The program stopped while this call ran. Whether it took effect is unknown: check before a new try."
NOT_RUN_YET: Final = "Not run: the program stopped before this call was started."
CUT_BY_USER: Final = "[The user interrupted the answer above before it was complete.]"
CUT_BY_CRASH: Final = (
    "[The answer above is incomplete: the program stopped while it was written.]"
)


def result_of(call: OpenCall, text: str) -> Message:
    """A tool message with this text as the call's result. Its ids come from the call's part."""
    name = f"{call.part}.result"
    part = ToolResultPart(
        id=name,
        call_id=call.call_id,
        name=call.name,
        content=(TextPart(id=f"{name}.text", text=text),),
        is_error=True,
    )
    return Message(id=f"{name}.message", role="tool", parts=(part,))


def closed(calls: Iterable[OpenCall], outcome: ToolOutcome, why: str) -> list[Event]:
    """Ends each call with this outcome and this text as its result."""
    events: list[Event] = []
    for call in calls:
        text = why
        if call.note and outcome == "denied":
            text = f"{why} The reason given: {call.note}"
        events += [
            ToolEnded(call_id=call.call_id, outcome=outcome),
            MessageAdded(message=result_of(call, text)),
        ]
    return events


class UnfinishedWork(NamedTuple):
    """The loop as a driver left it, the partial answer, and the id of a note to the model."""

    loop: Loop
    partial: Message | None
    note_id: str
    usage: Usage | None = None
    """The estimated usage of the interrupted call."""
    side_usage: Usage | None = None
    """The same for a side call."""


def after_crash(left: UnfinishedWork) -> list[Event]:
    """The events after the death of a driver, so that the turn can be resumed.

    A partial answer becomes an interrupted message. A started tool call is closed as ``unknown``, unless it is
    idempotent: then it runs again. A call that was not started stays open if its answer is complete.
    """
    events = _cut(left, "crash", "the program stopped", NOT_RUN_YET, CUT_BY_CRASH)
    started = [call for call in left.loop.open if call.state == "started"]
    events += closed(
        [call for call in started if not call.idempotent], "unknown", UNKNOWN
    )
    events += [
        ToolEnded(call_id=call.call_id, outcome="unknown")
        for call in started
        if call.idempotent
    ]
    return events


def after_cancel(
    left: UnfinishedWork, persisted: Persisted, *, returns_queue: bool
) -> list[Event]:
    """The events that close a cancelled turn: nothing stays open, and executed calls stay in the history.

    With ``returns_queue`` the messages that waited at the time of the cancel are handed back.
    """
    loop, events = left.loop, _cut(left, "cancelled", "", NOT_STARTED, CUT_BY_USER)
    started = [call for call in loop.open if call.state == "started"]
    events += closed(started, "cancelled", STOPPED)
    events += closed(
        (call for call in loop.open if call.state != "started"),
        "not_started",
        NOT_STARTED,
    )
    if returns_queue:
        events += handed_back(loop)
    if not loop.cancel_answered:
        events.append(Cancelled(persisted=persisted))
    if loop.turn:
        events.append(TurnEnded(turn=loop.turn, reason="cancelled", steps=loop.steps))
    return events


def handed_back(loop: Loop) -> list[Event]:
    """Removes the messages that waited at the time of the cancel from the queue."""
    return [
        QueueLeft(message_id=waiting.message.id, how="returned")
        for waiting in loop.queue
        if not waiting.is_new
    ]


def _cut(left: UnfinishedWork, how: str, error: str, why: str, note: str) -> list[Event]:
    """Ends the running compaction and calls, and records the partial answer.

    ``why`` becomes the result of its tool calls; without any, ``note`` tells the model.
    """
    loop, events = left.loop, list[Event]()
    if loop.compaction:
        events.append(CompactionRolledBack(compaction=loop.compaction, reason=how))
    if loop.side_call:
        side, purpose = loop.side_call, loop.side_purpose
        events.append(
            CallEnded(
                call=side,
                purpose=purpose,
                outcome="cancelled",
                error=error,
                usage=left.side_usage,
            )
        )
    if loop.call:
        events.append(
            CallEnded(call=loop.call, outcome="cancelled", error=error, usage=left.usage)
        )
        events += _interrupted(left, how, why, note)
    return events


def _interrupted(left: UnfinishedWork, how: str, why: str, note: str) -> list[Event]:
    """The partial answer with results for its calls, or else with a note for the model."""
    partial = left.partial
    if partial is None or not partial.parts:
        return []
    message = replace(partial, interrupted=how)
    calls = calls_of(message)
    events: list[Event] = [MessageAdded(message=message)]
    if calls:
        return events + closed(calls, "not_started", why)
    part = TextPart(id=f"{left.note_id}.text", text=note)
    return [
        *events,
        MessageAdded(
            message=Message(
                id=left.note_id, role="user", origin="injected", parts=(part,)
            )
        ),
    ]

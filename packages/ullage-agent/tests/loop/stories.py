"""Short words for what happens in a session, so that a test reads as a story."""

from collections.abc import Iterable
from typing import Any, cast

from ullage.events import (
    CallEnded,
    CallStarted,
    Envelope,
    Event,
    MessageAdded,
    Outcome,
    Queued,
    QueueLeft,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from ullage.messages import Message, Part, TextPart, ToolCallPart, ToolResultPart
from ullage.turns.loop import Loop, apply
from ullage.usage import Usage
from ullage_agent.loop.decide import LoopSituation, decide
from ullage_agent.loop.steps import NextStep


def flat(events: Iterable[object]) -> list[Event]:
    """The events of a story, of which some come in bunches."""
    found: list[Event] = []
    for each in events:
        if isinstance(each, Envelope):
            found.append(cast(Event, each))
        else:
            assert isinstance(each, Iterable)
            found += flat(each)
    return found


def fold(*events: object, onto: Loop | None = None) -> Loop:
    """The loop after these events."""
    loop = onto or Loop()
    for event in flat(events):
        loop = apply(loop, event)
    return loop


def step_after(*events: object, **situation: Any) -> NextStep:
    """What is decided after these events."""
    return decide(LoopSituation(loop=fold(*events), **situation))


def text(words: str, name: str = "part") -> TextPart:
    return TextPart(id=name, text=words)


def user(name: str = "ask", words: str = "Do it.") -> Message:
    return Message(id=name, role="user", parts=(text(words, f"{name}.1"),))


def queued(name: str, kind: Any = "steer") -> Queued:
    return Queued(message=user(name), kind=kind, position=1)


def begun(name: str = "ask", turn: str = "turn-1") -> list[Event]:
    """A turn that a message from the queue has begun."""
    return [
        queued(name),
        TurnStarted(turn=turn),
        QueueLeft(message_id=name, how="delivered"),
        MessageAdded(message=user(name)),
    ]


def call(name: str = "t1", tool: str = "read", arguments: str = "{}") -> ToolCallPart:
    return ToolCallPart(id=f"{name}.part", call_id=name, name=tool, arguments=arguments)


def said(*parts: Part, call: str = "c1", interrupted: str | None = None) -> Message:
    return Message(
        id=f"{call}.answer",
        role="assistant",
        parts=parts,
        call=call,
        interrupted=interrupted,
    )


def answered(
    *parts: Part, stop: str = "stop", call: str = "c1", outcome: Outcome = "finished"
) -> list[Event]:
    """A model call from its start to its end, with this answer; without parts there is no message."""
    used = Usage(input=100, output=10)
    events: list[Event] = [
        CallStarted(call=call),
        CallEnded(call=call, outcome=outcome, stop=stop, usage=used),
    ]
    if parts:
        interrupted = None if outcome == "finished" else outcome
        events.append(
            MessageAdded(message=said(*parts, call=call, interrupted=interrupted))
        )
    return events


def dropped(*parts: Part, call: str = "c1") -> list[Event]:
    return answered(*parts, stop="", call=call, outcome="dropped")


def failed(kind: str, call: str = "c1", error: str = "It failed.") -> list[Event]:
    return [
        CallStarted(call=call),
        CallEnded(call=call, outcome="failed", error=error, error_kind=kind),
    ]


def started(name: str = "t1", *, idempotent: bool = False) -> ToolStarted:
    return ToolStarted(call_id=name, name="read", idempotent=idempotent)


def result(name: str = "t1", words: str = "done") -> MessageAdded:
    part = ToolResultPart(
        id=f"{name}.part.result", call_id=name, content=(text(words, f"{name}.text"),)
    )
    return MessageAdded(
        message=Message(id=f"{name}.part.result.message", role="tool", parts=(part,))
    )


def ran(name: str = "t1") -> list[Event]:
    """A tool from its start to its result."""
    return [started(name), ToolEnded(call_id=name), result(name)]


def ended(reason: Any = "finished", turn: str = "turn-1") -> TurnEnded:
    return TurnEnded(turn=turn, reason=reason)

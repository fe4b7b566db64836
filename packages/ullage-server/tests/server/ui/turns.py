"""A turn as a ledger has it, for tests of what pages show of it: a tool, a call that needs approval, an answer."""

from __future__ import annotations

from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    DraftPiece,
    Event,
    MessageAdded,
    ReadingTaken,
    SessionEvent,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.messages import (
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.usage import Usage
from ullage_agent.runtime.approvals import Question
from ullage_agent.tools.call_text import CallPiece
from ullage_server.ui.steps import PageStep, TurnSteps

ASKED = Message(
    id="u1", role="user", parts=(TextPart(id="u1.0", text="How many corks?"),)
)
LOOKS = Message(
    id="c1.answer",
    role="assistant",
    call="c1",
    parts=(
        ReasoningPart(id="c1.1", text="I count."),
        TextPart(id="c1.2", text="I look."),
        ToolCallPart(
            id="c1.3", call_id="t1", name="stock", arguments='{"item": "corks"}'
        ),
    ),
)
FOUND = Message(
    id="r1.message",
    role="tool",
    parts=(
        ToolResultPart(
            id="r1",
            call_id="t1",
            name="stock",
            content=(TextPart(id="r1.text", text="400"),),
        ),
    ),
)
ORDERS = Message(
    id="c2.answer",
    role="assistant",
    call="c2",
    parts=(ToolCallPart(id="c2.1", call_id="t2", name="order", arguments="{}"),),
)
DENIED = Message(
    id="r2.message",
    role="tool",
    parts=(
        ToolResultPart(
            id="r2",
            call_id="t2",
            content=(TextPart(id="r2.text", text="A person did not allow it."),),
            is_error=True,
        ),
    ),
)
SAID = Message(
    id="c3.answer",
    role="assistant",
    call="c3",
    parts=(TextPart(id="c3.1", text="None ordered."),),
)
READING = ReadingTaken(snapshot="s", used=Amount(tokens=50, low=48, high=52), window=100)
QUESTION = Question("t2", "order", "ab12", ((CallPiece("order", "name"),),), ())

WAITS: tuple[SessionEvent, ...] = (
    TurnStarted(turn="turn-1"),
    MessageAdded(message=ASKED),
    READING,
    CallStarted(call="c1", purpose="main"),
    DraftPiece("c1", 0, "reasoning", "c1.1", "I cou"),
    DraftPiece("c1", 1, "reasoning", "c1.1", "nt."),
    DraftPiece("c1", 2, "done", "c1.1", "{}"),
    DraftPiece("c1", 3, "text", "c1.2", "I look."),
    DraftPiece("c1", 4, "call", "c1.3", "", "t1", "stock"),
    DraftPiece("c1", 5, "call", "c1.3", '{"item"', "t1", "stock"),
    CallEnded(call="c1", usage=Usage(input=50, output=7)),
    MessageAdded(message=LOOKS),
    ToolStarted(call_id="t1", name="stock"),
    ToolEnded(call_id="t1"),
    MessageAdded(message=FOUND),
    CallStarted(call="c2", purpose="main"),
    CallEnded(call="c2", usage=Usage(input=60, output=3)),
    MessageAdded(message=ORDERS),
    TurnPaused(turn="turn-1", reason="approval", note="Needs approval."),
)
ENDS: tuple[SessionEvent, ...] = (
    ToolEnded(call_id="t2", outcome="denied"),
    MessageAdded(message=DENIED),
    CallStarted(call="c3", purpose="main"),
    DraftPiece("c3", 0, "text", "c3.1", "None"),
    CallEnded(call="c3", usage=Usage(input=70, output=2)),
    MessageAdded(message=SAID),
    TurnEnded(turn="turn-1"),
)
MESSAGES = (ASKED, LOOKS, FOUND, ORDERS, DENIED, SAID)


def steps_of(items: tuple[SessionEvent, ...], message: str = "u1") -> list[PageStep]:
    """The steps of these events and pieces."""
    turn = TurnSteps(message)
    return [step for item in items for step in turn.read(item)]


def events_of(*messages: Message) -> list[Event]:
    """Events that add these messages."""
    return [MessageAdded(message=message) for message in messages]

"""What a page shows of a turn."""

from __future__ import annotations

from msgspec.structs import replace

from tests.server.ui.turns import (
    ASKED,
    DENIED,
    ENDS,
    FOUND,
    LOOKS,
    MESSAGES,
    ORDERS,
    SAID,
    WAITS,
    events_of,
    steps_of,
)
from ullage.events import (
    CallEnded,
    CallStarted,
    DraftPiece,
    MessageAdded,
    MessageReplaced,
    Rewound,
    TurnEnded,
)
from ullage.messages import Message, TextPart
from ullage_server.ui.steps import (
    CallStep,
    PageStep,
    PartStep,
    ResultStep,
    TurnSteps,
    transcript,
)


def grown(steps: list[PageStep], part: str) -> str:
    return "".join(step.text for step in parts(steps, "delta") if step.part.id == part)


def parts(steps: list[PageStep], at: str) -> list[PartStep]:
    return [step for step in steps if isinstance(step, PartStep) and step.at == at]


def test_every_part_begins_grows_and_ends_once() -> None:
    steps = steps_of(WAITS)
    assert grown(steps, "c1.1") == "I count."
    assert grown(steps, "c1.3") == '{"item": "corks"}', "the message brings the rest"
    begun = [step.part.id for step in parts(steps, "start")]
    ended = [step.part.id for step in parts(steps, "end")]
    assert begun == ["c1.1", "c1.2", "c1.3", "c2.1"]
    assert ended == begun


def test_an_answer_without_pieces_is_shown_whole() -> None:
    steps = steps_of(tuple(item for item in WAITS if not isinstance(item, DraftPiece)))
    assert grown(steps, "c1.2") == "I look."


def test_steps_of_a_message_begin_with_its_delivery() -> None:
    assert steps_of(ENDS, "u1") == []
    assert steps_of((MessageAdded(message=ASKED), CallStarted(call="c", purpose="main")))


def test_calls_of_other_purposes_are_not_shown() -> None:
    summary = (
        CallStarted(call="s", purpose="summary"),
        DraftPiece("s", 0, "text", "s.1", "In short"),
    )
    assert steps_of(summary, "") == []


def test_a_turn_that_ended_says_how_and_what_it_cost() -> None:
    turn = TurnSteps()
    for item in (*WAITS[3:-1], *ENDS):
        list(turn.read(item))
    assert turn.rested is not None
    assert (turn.rested.reason, turn.rested.usage.input) == ("finished", 180)


def test_a_message_of_a_person_ends_the_answer_to_the_one_before() -> None:
    turn = TurnSteps("u1")
    second = Message(id="u2", role="user", parts=(TextPart(id="u2.0", text="And?"),))
    for item in (*WAITS[:-1], MessageAdded(message=second)):
        list(turn.read(item))
    assert turn.rested is not None
    assert turn.rested.reason == "message"


def test_a_call_that_broke_off_is_void() -> None:
    items = (
        CallStarted(call="a", purpose="main"),
        DraftPiece("a", 0, "call", "a.1", "{", "t9", "stock"),
        CallEnded(call="a", outcome="dropped"),
        CallStarted(call="b", purpose="main"),
    )
    steps = steps_of(items, "")
    assert steps[-2:] == [CallStep("a", "end", is_lost=True), CallStep("b", "start")]
    assert [step.part.id for step in parts(steps, "end")] == ["a.1"]


def test_a_denied_call_is_told_from_a_failed_one() -> None:
    results = [step for step in steps_of(ENDS, "") if isinstance(step, ResultStep)]
    assert [result.is_denied for result in results] == [True]


def test_an_empty_turn_ends_without_a_step() -> None:
    turn = TurnSteps()
    assert list(turn.read(TurnEnded(turn="turn-1", reason="max_steps", note="10"))) == []
    assert turn.rested is not None
    assert (turn.rested.reason, turn.rested.note) == ("max_steps", "10")


def test_a_transcript_has_what_was_said_in_its_last_version() -> None:
    reminder = Message(id="i", role="user", origin="injected")
    cleared = replace(FOUND, revision=1)
    events = [*events_of(reminder, *MESSAGES), MessageReplaced(message=cleared)]
    assert transcript(events) == [ASKED, LOOKS, cleared, ORDERS, DENIED, SAID]


def test_a_transcript_ends_where_a_person_went_back_to() -> None:
    before = events_of(ASKED, LOOKS, FOUND)
    assert transcript([*before, Rewound(to="u1"), *events_of(SAID)]) == [ASKED, SAID]
    assert transcript([*before, Rewound(to=""), *events_of(SAID)]) == [SAID]
    assert transcript([*before, Rewound(to="earlier"), *events_of(SAID)]) == [SAID]

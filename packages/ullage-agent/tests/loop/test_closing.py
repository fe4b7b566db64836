from typing import Any

import pytest
from msgspec.structs import replace

from tests.loop.stories import (
    answered,
    begun,
    call,
    fold,
    queued,
    ran,
    said,
    started,
    text,
)
from ullage.events import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    CancelAsked,
    Cancelled,
    CompactAsked,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    MessageAdded,
    QueueLeft,
    ToolEnded,
    TurnEnded,
)
from ullage.messages import Message, ToolResultPart
from ullage.turns.closing import (
    CUT_BY_CRASH,
    CUT_BY_USER,
    NOT_RUN_YET,
    NOT_STARTED,
    STOPPED,
    UNKNOWN,
    Persisted,
    UnfinishedWork,
    after_cancel,
    after_crash,
    closed,
    handed_back,
    result_of,
)
from ullage.turns.loop import Loop
from ullage.usage import Usage

CALLING: list[Any] = [begun(), CallStarted(call="c1")]
SUMMARISING = [
    CompactionStarted(compaction="x", trigger="point"),
    CallStarted(call="s1", purpose="summary"),
]
USED = Usage(input=100, output=3, final=False, placeholder=True)


def crashed(*events: Any, partial: Message | None = None) -> list[Event]:
    return after_crash(UnfinishedWork(fold(events), partial, "note", USED))


def cancelled(
    *events: Any,
    partial: Message | None = None,
    persisted: Persisted = None,
    keep: bool = False,
) -> list[Event]:
    return after_cancel(
        UnfinishedWork(fold(events, CancelAsked()), partial, "note", USED),
        persisted,
        returns_queue=not keep,
    )


def results(events: list[Event]) -> dict[str, str]:
    """What the model is told of each call."""
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, MessageAdded):
            found |= {
                part.call_id: part.text for part in event.message.of_type(ToolResultPart)
            }
    return found


def messages(events: list[Event]) -> list[Message]:
    return [event.message for event in events if isinstance(event, MessageAdded)]


def outcomes(events: list[Event]) -> dict[str, str]:
    return {
        event.call_id: event.outcome for event in events if isinstance(event, ToolEnded)
    }


# -- results --


def test_a_result_is_named_after_its_call_so_that_closing_twice_gives_the_same() -> None:
    (one,) = fold(begun(), answered(call("t1"))).open
    message = result_of(one, "Not run.")
    part = next(message.of_type(ToolResultPart))
    assert message.id == "t1.part.result.message"
    assert message.role == "tool"
    assert part.id == "t1.part.result"
    assert part.call_id == "t1"
    assert part.name == "read"
    assert part.text == "Not run."
    assert part.is_error is True


def test_what_a_person_said_stands_behind_the_reason_of_a_denial_alone() -> None:
    (one,) = (
        replace(each, note="Ask Ann.")
        for each in fold(begun(), answered(call("t1"))).open
    )
    found = results(closed([one], "denied", "No."))["t1"]
    assert found == "No. The reason given: Ask Ann."
    assert results(closed([one], "unknown", "Who knows."))["t1"] == "Who knows."


# -- crashes --


def test_an_answer_that_a_crash_cut_is_kept_and_the_model_is_told() -> None:
    first, *rest = crashed(CALLING, partial=said(text("Hel")))
    assert first == CallEnded(
        call="c1", outcome="cancelled", error="the program stopped", usage=USED
    )
    answer, note = messages(rest)
    assert (answer.interrupted, answer.parts) == ("crash", (text("Hel"),))
    assert note.id == "note"
    assert note.role == "user"
    assert note.origin == "injected"
    assert note.parts == (text(CUT_BY_CRASH, "note.text"),)


@pytest.mark.parametrize("partial", [None, said()])
def test_an_answer_that_had_not_begun_leaves_no_message(partial: Message | None) -> None:
    assert messages(crashed(CALLING, partial=partial)) == []
    assert messages(cancelled(CALLING, partial=partial)) == []


def test_the_calls_of_a_cut_answer_are_closed_and_tell_the_model_enough() -> None:
    events = crashed(CALLING, partial=said(text("Hm."), call("t1"), call("t2")))
    assert results(events) == {"t1": NOT_RUN_YET, "t2": NOT_RUN_YET}
    assert [message.role for message in messages(events)] == ["assistant", "tool", "tool"]


def test_a_tool_that_a_crash_cut_is_never_run_again_unless_that_does_no_harm() -> None:
    turn = [begun(), answered(call("t1"), call("t2"), call("t3"), call("t4")), ran("t4")]
    running = [*turn, started("t1"), started("t2", idempotent=True)]
    events = crashed(running)
    assert outcomes(events) == {"t1": "unknown", "t2": "unknown"}
    assert results(events) == {"t1": UNKNOWN}
    assert [(one.call_id, one.state) for one in fold(running, events).open] == [
        ("t2", "approved"),
        ("t3", "waiting"),
    ]


def test_a_compaction_and_its_call_are_over_after_a_crash() -> None:
    assert crashed(begun(), SUMMARISING) == [
        CompactionRolledBack(compaction="x", reason="crash"),
        CallEnded(
            call="s1", purpose="summary", outcome="cancelled", error="the program stopped"
        ),
    ]


# -- cancels --


def test_a_cancel_ends_the_turn_and_says_what_was_kept() -> None:
    events = cancelled(CALLING, partial=said(text("Hel")), persisted="partial_assistant")
    assert events[-2:] == [
        Cancelled(persisted="partial_assistant"),
        TurnEnded(turn="turn-1", reason="cancelled", steps=1),
    ]
    answer, note = messages(events)
    assert answer.interrupted == "cancelled"
    assert note.parts == (text(CUT_BY_USER, "note.text"),)


def test_what_runs_is_stopped_what_waits_is_not_started_and_what_is_done_stays() -> None:
    turn = [
        begun(),
        answered(call("t1"), call("t2"), call("t3")),
        ran("t1"),
        started("t2"),
    ]
    events = cancelled(turn)
    assert results(events) == {"t2": STOPPED, "t3": NOT_STARTED}
    assert outcomes(events) == {"t2": "cancelled", "t3": "not_started"}


def test_messages_that_wait_are_handed_back_or_kept() -> None:
    turn = [begun(), queued("a"), queued("b", "follow_up")]
    left = [event for event in cancelled(turn) if isinstance(event, QueueLeft)]
    assert left == [
        QueueLeft(message_id="a", how="returned"),
        QueueLeft(message_id="b", how="returned"),
    ]
    assert not any(isinstance(event, QueueLeft) for event in cancelled(turn, keep=True))


def test_what_was_sent_after_the_cancel_is_not_handed_back_by_it() -> None:
    loop = fold(begun(), queued("before"), CancelAsked(), queued("after"))
    events = after_cancel(UnfinishedWork(loop, None, "note"), None, returns_queue=True)
    found = [event.message_id for event in events if isinstance(event, QueueLeft)]
    assert found == ["before"]
    assert handed_back(loop) == [QueueLeft(message_id="before", how="returned")]


def test_messages_are_handed_back_before_the_cancel_is_answered() -> None:
    kinds = [type(event) for event in cancelled(begun(), queued("a"))]
    assert kinds == [QueueLeft, Cancelled, TurnEnded]


def test_a_cancel_that_was_answered_while_tools_ran_is_not_answered_twice() -> None:
    turn = [
        begun(),
        answered(call("t1")),
        started(),
        CancelAsked(),
        Cancelled(persisted="tools_in_progress"),
    ]
    events = after_cancel(
        UnfinishedWork(fold(turn), None, "note"), None, returns_queue=True
    )
    assert not any(isinstance(event, Cancelled) for event in events)
    assert events[-1] == TurnEnded(turn="turn-1", reason="cancelled", steps=1)


def test_a_cancelled_compaction_is_rolled_back_and_its_call_is_closed() -> None:
    assert cancelled(SUMMARISING, persisted="compaction_rolled_back") == [
        CompactionRolledBack(compaction="x", reason="cancelled"),
        CallEnded(call="s1", purpose="summary", outcome="cancelled"),
        Cancelled(persisted="compaction_rolled_back"),
    ]


def test_a_cancel_at_rest_says_that_there_was_nothing_to_keep() -> None:
    assert cancelled() == [Cancelled()]


# -- both --

LEFT: dict[str, list[Any]] = {
    "a call": CALLING,
    "a summary": [begun(), SUMMARISING],
    "tools": [
        begun(),
        answered(call("t1"), call("t2"), call("t3")),
        started("t1"),
        started("t2", idempotent=True),
    ],
    "an approval": [begun(), answered(call("t1")), ApprovalAsked(call_id="t1")],
    "a queue": [begun(), queued("a"), CompactAsked()],
    "nothing": [],
}


def same(one: Loop, other: Loop) -> bool:
    return replace(one, seq=0) == replace(other, seq=0)


@pytest.mark.parametrize("events", LEFT.values(), ids=LEFT)
def test_what_is_closed_once_needs_no_closing_again(events: list[Any]) -> None:
    partial = said(text("Hel"), call("t9"))
    loop = fold(events, after_crash(UnfinishedWork(fold(events), partial, "note")))
    assert not loop.is_abandoned
    assert after_crash(UnfinishedWork(loop, partial, "note")) == []
    loop = fold(events, CancelAsked(), cancelled(events, partial=partial))
    assert loop.turn == ""
    assert loop.open == ()
    assert loop.queue == ()
    assert loop.cancel == ""
    assert loop.is_abandoned is False
    assert same(
        loop,
        fold(
            after_cancel(UnfinishedWork(loop, partial, "note"), None, returns_queue=True),
            onto=loop,
        ),
    )

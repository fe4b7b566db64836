from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.loop.stories import (
    answered,
    begun,
    call,
    dropped,
    ended,
    failed,
    fold,
    queued,
    ran,
    result,
    started,
    text,
    user,
)
from tests.types.strategies import EVENT_TYPES, words
from ullage import events as said
from ullage.turns.approving import digest_of
from ullage.turns.loop import Loop, apply, signature_of
from ullage.usage import Usage

events = st.one_of([words(kind) for kind in EVENT_TYPES])


@given(st.lists(events, max_size=12))
def test_no_event_in_any_order_is_refused_and_the_same_events_give_the_same_loop(
    found: list[said.Event],
) -> None:
    assert fold(found) == fold(found)


@given(st.lists(events, max_size=6), st.lists(events, max_size=6))
def test_a_fold_can_be_stored_anywhere(
    before: list[said.Event], after: list[said.Event]
) -> None:
    half = fold(before)
    stored = msgspec.json.decode(msgspec.json.encode(half), type=Loop)
    assert stored == half
    assert fold(after, onto=stored) == fold(before, after)


# -- what a loop is after a story --

ONE = [begun(), answered(call())]
HI = [begun(), answered(text("Hi."))]
NEW_TURN = said.TurnStarted(turn="turn-2", at=5.0, usd=1.5)
PAUSED = [ONE, ran(), said.TurnPaused(turn="turn-1", reason="budget", note="full")]
RESUMED = [PAUSED, said.TurnResumed(turn="turn-1", at=9.0, usd=2.0)]
BESIDE = [
    said.CallEnded(call="s", purpose="summary", usage=Usage(input=5)),
    said.CallEnded(call="k", purpose="child", usage=Usage(output=7)),
    said.CallEnded(call="n", purpose="count"),
]
CUT = [begun(), answered(call("t1"), stop="length"), result("t1")]
TWICE_BROKEN = [begun(), dropped(), dropped(call="c2")]
CANCEL = said.CancelAsked()
STOPPED = [begun(), CANCEL, said.Cancelled(persisted="tools_in_progress")]
ASKED = [ONE, said.ApprovalAsked(call_id="t1")]
DIGEST = digest_of("read", "{}")
YES = said.ApprovalGiven(call_id="t1", approved=True, digest=DIGEST)
COMPACTING = said.CompactionStarted(compaction="x", trigger="point")
OWN = [
    said.SettingsChanged(settings={"max_steps": 5, "model": "a:b"}),
    said.SettingsChanged(settings={"window": 9}, source="resolved"),
    said.SettingsChanged(settings={"max_steps": None}),
]


def rolled_back(name: str, rung: str = "") -> said.Event:
    return said.CompactionRolledBack(compaction=name, reason="none", rung=rung)


def paused_by(reason: Any) -> said.Event:
    return said.TurnPaused(turn="turn-1", reason=reason)


LOOPS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a turn counts from where it began": (
        [ONE, ran(), ended(), NEW_TURN],
        {"turn": "turn-2", "turns": 2, "steps": 0, "calls": 0, "tokens": 0, "usd": 1.5},
    ),
    "paused": (PAUSED, {"paused": "budget", "note": "full"}),
    "resumed, it counts its budget anew and keeps its steps": (
        RESUMED,
        {"paused": "", "note": "", "calls": 0, "tokens": 0, "since": 9.0, "steps": 1},
    ),
    "its end leaves nothing open": (
        [ONE, ended("loop")],
        {"turn": "", "ended": "loop", "open": (), "owes_answer": False, "paused": ""},
    ),
    "calls of all purposes count": ([ONE, BESIDE], {"calls": 4, "steps": 1}),
    "a call under way": ([begun(), said.CallStarted(call="c1")], {"call": "c1"}),
    "a failure": (
        [begun(), failed("BadKey")],
        {"failed": "BadKey", "error": "It failed.", "outcome": "failed"},
    ),
    "one without a kind": ([begun(), failed("")], {"failed": "ProviderError"}),
    "until the next call": (
        [begun(), failed("BadKey"), said.CallStarted(call="c2")],
        {"failed": ""},
    ),
    "broken answers in a row": (TWICE_BROKEN, {"drops": 2}),
    "until a whole one": ([TWICE_BROKEN, answered(text("Hi."), call="c3")], {"drops": 0}),
    "cut calls in a row": (CUT, {"cuts": 1}),
    "broken ones between": ([CUT, dropped(text("Hel"), call="c2")], {"cuts": 1}),
    "until whole ones": ([CUT, answered(call("t2"), call="c2")], {"cuts": 0}),
    "an empty answer": ([begun(), answered()], {"owes_answer": False, "is_empty": True}),
    "an answer": (HI, {"owes_answer": False, "outcome": "finished", "stop": "stop"}),
    "the next turn": ([HI, said.TurnStarted(turn="turn-2")], {"outcome": ""}),
    "what is said after it": (
        [HI, said.MessageAdded(message=user("more"))],
        {"owes_answer": True, "outcome": "", "stop": ""},
    ),
    "going back": (
        [begun(), dropped(call("t1")), said.Rewound(to="ask")],
        {"last": "ask", "open": (), "outcome": "", "owes_answer": True},
    ),
    "going back at rest": ([HI, ended(), said.Rewound(to="ask")], {"owes_answer": False}),
    "a yes lifts its pause": ([ASKED, paused_by("approval"), YES], {"paused": ""}),
    "and no other": ([ASKED, paused_by("budget"), YES], {"paused": "budget"}),
    "a cancel": ([begun(), CANCEL], {"cancel": "stop"}),
    "that waits": ([begun(), said.CancelAsked(tools="finish")], {"cancel": "finish"}),
    "twice": ([begun(), *[said.CancelAsked(tools="finish")] * 2], {"cancel": "stop"}),
    "answered": (STOPPED, {"cancel": "stop", "cancel_answered": True}),
    "and closed": (
        [STOPPED, ended("cancelled")],
        {"cancel": "", "cancel_answered": False, "turn": ""},
    ),
    "overtaken by the end": ([HI, CANCEL, ended()], {"cancel": "stop"}),
    "it takes a compaction back": (
        [said.CompactAsked(), CANCEL, said.Cancelled()],
        {"compact_asked": None},
    ),
    "own settings alone": (OWN, {"settings": {"model": "a:b"}}),
    "a strategy without help": (
        [COMPACTING, rolled_back("x", "summary")],
        {"compaction": "x"},
    ),
    "the last one": ([COMPACTING, rolled_back("x")], {"compaction": ""}),
    "another one's": ([COMPACTING, rolled_back("y")], {"compaction": "x"}),
    "an answer is the newest": (ONE, {"last": "c1.answer"}),
    "a result is": ([ONE, ran("t1")], {"last": "t1.part.result.message"}),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_story_leads_to_a_loop(name: str) -> None:
    story, expected = LOOPS[name]
    loop = fold(story)
    assert {key: getattr(loop, key) for key in expected} == expected


# -- calls --


@pytest.mark.parametrize("purpose", ["main", "summary"])
def test_a_call_says_why_it_waits_until_it_ends(purpose: said.Purpose) -> None:
    started = apply(Loop(), said.CallStarted(call="c", purpose=purpose, seq=1))
    other = said.CallRetried(
        call="other", attempt=0, wait_s=20.0, error="No.", seq=2, at=100.0
    )
    assert apply(started, other).retry_note == ""
    waits = apply(started, replace(other, call="c"))
    assert (waits.retry_note, waits.retry_at) == ("No.", 120.0)
    for end in (
        said.CallEnded(call="c", purpose=purpose, outcome="finished", seq=3),
        said.CallStarted(call="d", seq=3),
    ):
        assert apply(waits, end).retry_at == 0.0


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [("summary", "s"), ("title", "s"), ("other", "s"), ("child", "")],
)
def test_a_call_of_another_purpose_stands_beside_and_a_childs_is_its_own_sessions(
    purpose: Any, expected: str
) -> None:
    begin = said.CallStarted(call="s", purpose=purpose)
    assert fold(begin).side_call == expected
    assert fold(begin, said.CallEnded(call="s", purpose=purpose)).side_call == ""
    other = said.CallEnded(call="another", purpose=purpose)
    assert fold(begin, other).side_call == expected


def test_repetitions_are_counted_by_name_and_arguments_whatever_the_ids() -> None:
    once = [begun(), answered(call("t1"), call("t2")), ran("t1"), ran("t2")]
    again = fold(once, answered(call("t3"), call("t4"), call="c2"))
    assert again.cycle == (2, 1)
    assert fold(once, answered(call("t3"), call="c2")).cycle == (1, 1)
    assert fold(once, answered(text("Hm."), call="c2")).cycle == (0, 1)
    assert signature_of(()) == ""


# -- tools and approvals --


def states(*story: Any) -> list[str]:
    return [one.state for one in fold(*story).open]


def test_a_call_is_open_until_its_result_is_there() -> None:
    turn = [begun(), answered(call("t1"), call("t2"))]
    assert states(turn) == ["waiting", "waiting"]
    assert states(turn, started("t1")) == ["started", "waiting"]
    assert states(turn, ran("t1")) == ["waiting"]
    assert states(turn, ran("t2"), ran("t1")) == []
    cut = [ONE, started("t1"), said.ToolEnded(call_id="t1")]
    assert states(cut) == ["started"] and fold(cut).is_abandoned


def test_a_tool_of_unknown_end_that_may_run_twice_is_to_be_run_again() -> None:
    unknown = said.ToolEnded(call_id="t1", outcome="unknown")
    assert states(ONE, started("t1", idempotent=True), unknown) == ["approved"]
    assert states(ONE, started("t1"), unknown) == ["started"]


def test_an_approval_moves_only_the_call_that_was_asked_for() -> None:
    turn = [begun(), answered(call("t1"), call("t2"))]
    asked = [turn, said.ApprovalAsked(call_id="t2")]
    assert states(asked) == ["waiting", "asked"]
    yes, no = (
        said.ApprovalGiven(call_id="t2", approved=word, note="hm", digest=DIGEST)
        for word in (True, False)
    )
    assert states(asked, yes) == ["waiting", "approved"]
    assert states(asked, no) == states(asked, no, yes) == ["waiting", "denied"]
    assert fold(asked, no).open[1].note == "hm"
    assert states(asked, said.ApprovalGiven(call_id="t1", approved=True)) == states(asked)


def test_of_two_calls_with_the_same_id_only_the_one_that_was_shown_is_approved() -> None:
    commands = ('{"command": "ls"}', '{"command": "rm -rf ."}')
    harmless, hidden = (call("t1", "shell", each) for each in commands)
    both = [
        said.ApprovalAsked(call_id="t1", digest=digest_of(one.name, one.arguments))
        for one in (harmless, hidden)
    ]
    shown = digest_of(harmless.name, harmless.arguments)
    yes = said.ApprovalGiven(call_id="t1", approved=True, digest=shown)
    loop = fold(begun(), answered(harmless, hidden), both, yes)
    assert [one.state for one in loop.open] == ["approved", "asked"]
    assert [one.is_approved for one in loop.open] == [True, False]


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_an_approval_authorises_exactly_one_name_with_exactly_these_arguments(
    shown: tuple[str, str], run: tuple[str, str]
) -> None:
    turn: list[Any] = [begun(), answered(call("t1", *run))]
    asked = said.ApprovalAsked(call_id="t1", digest=digest_of(*run))
    yes = said.ApprovalGiven(call_id="t1", approved=True, digest=digest_of(*shown))
    (one,) = fold(turn, asked, yes).open
    assert one.is_approved is (shown == run)
    assert (one.state == "approved") is (shown == run)


def test_grants_are_kept_until_they_are_revoked() -> None:
    given = [
        said.GrantGiven(grant=name, tool="shell", prefix=("git", name))
        for name in ("log", "diff")
    ]
    assert [one.prefix for one in fold(given).grants] == [("git", "log"), ("git", "diff")]
    left = fold(given, said.GrantRevoked(grant="log")).grants
    assert [one.id for one in left] == ["diff"]
    assert fold(given, said.GrantRevoked(grant="other")).grants == fold(given).grants
    again = said.GrantGiven(grant="log", tool="read")
    assert fold(given, again).grants[-1].tool == "read"


# -- people --


def waiting(*story: Any) -> list[str]:
    return [one.message.id for one in fold(*story).queue]


def test_messages_wait_in_their_order_until_they_leave() -> None:
    three = [queued("a"), queued("b", "follow_up"), queued("c")]
    assert waiting(three) == ["a", "b", "c"]
    assert [one.message.id for one in fold(three).steers] == ["a", "c"]
    assert waiting(three, said.QueueLeft(message_id="b", how="withdrawn")) == ["a", "c"]
    edited = said.QueueEdited(message=user("a", "Something else."))
    assert waiting(three, edited) == ["a", "b", "c"]
    assert fold(three, edited).queue[0].message == user("a", "Something else.")
    assert fold(three, said.QueueEdited(message=user("z"))).queue == fold(three).queue


def test_what_is_sent_after_a_cancel_is_new_until_the_next_cancel() -> None:
    sent = fold(begun(), queued("a"), CANCEL, queued("b"))
    assert [one.is_new for one in sent.queue] == [False, True]
    again = fold(begun(), CANCEL, queued("b"), CANCEL)
    assert [one.is_new for one in again.queue] == [False]

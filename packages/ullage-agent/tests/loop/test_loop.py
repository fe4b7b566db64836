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
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallRetried,
    CallStarted,
    CancelAsked,
    Cancelled,
    CompactAsked,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    GrantGiven,
    GrantRevoked,
    MessageAdded,
    Purpose,
    QueueEdited,
    QueueLeft,
    Rewound,
    SettingsChanged,
    ToolEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)
from ullage.turns.approving import digest_of
from ullage.turns.loop import Loop, apply, signature_of
from ullage.usage import Usage

events = st.one_of([words(kind) for kind in EVENT_TYPES])


@given(st.lists(events, max_size=12))
def test_no_event_in_any_order_is_refused_and_the_same_events_give_the_same_loop(
    found: list[Event],
) -> None:
    assert fold(found) == fold(found)


@given(st.lists(events, max_size=6), st.lists(events, max_size=6))
def test_a_fold_can_be_stored_anywhere(before: list[Event], after: list[Event]) -> None:
    half = fold(before)
    stored = msgspec.json.decode(msgspec.json.encode(half), type=Loop)
    assert stored == half
    assert fold(after, onto=stored) == fold(before, after)


# -- turns --


def test_a_turn_counts_from_where_it_began() -> None:
    loop = fold(
        begun(),
        answered(call()),
        ran(),
        ended(),
        TurnStarted(turn="turn-2", at=5.0, usd=1.5),
    )
    assert loop.turn == "turn-2"
    assert loop.turns == 2
    assert loop.steps == 0
    assert loop.calls == 0
    assert loop.tokens == 0
    assert (loop.since, loop.usd) == (5.0, 1.5)


def test_a_resumed_turn_counts_its_budgets_anew_and_keeps_its_steps() -> None:
    paused = [
        begun(),
        answered(call()),
        ran(),
        TurnPaused(turn="turn-1", reason="budget", note="full"),
    ]
    assert (fold(paused).paused, fold(paused).note) == ("budget", "full")
    loop = fold(paused, TurnResumed(turn="turn-1", at=9.0, usd=2.0))
    assert (loop.paused, loop.note, loop.calls, loop.tokens) == ("", "", 0, 0)
    assert (loop.since, loop.usd, loop.steps) == (9.0, 2.0, 1)


def test_the_end_of_a_turn_leaves_nothing_of_it_open() -> None:
    loop = fold(begun(), answered(call()), ended("loop"))
    assert loop.turn == ""
    assert loop.ended == "loop"
    assert loop.open == ()
    assert loop.owes_answer is False
    assert loop.paused == ""


def test_calls_of_all_purposes_count() -> None:
    loop = fold(
        begun(),
        answered(call()),
        CallEnded(call="s", purpose="summary", usage=Usage(input=5)),
        CallEnded(call="k", purpose="child", usage=Usage(output=7)),
        CallEnded(call="n", purpose="count"),
    )
    assert (loop.calls, loop.steps) == (4, 1)


# -- calls --


@pytest.mark.parametrize("purpose", ["main", "summary"])
def test_a_call_says_why_it_waits_until_it_ends(purpose: Purpose) -> None:
    started = apply(Loop(), CallStarted(call="c", purpose=purpose, seq=1))
    other = CallRetried(
        call="other", attempt=0, wait_s=20.0, error="No.", seq=2, at=100.0
    )
    assert apply(started, other).retry_note == ""
    waits = apply(started, replace(other, call="c"))
    assert (waits.retry_note, waits.retry_at) == ("No.", 120.0)
    for end in (
        CallEnded(call="c", purpose=purpose, outcome="finished", seq=3),
        CallStarted(call="d", seq=3),
    ):
        assert apply(waits, end).retry_at == 0.0


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [("summary", "s"), ("title", "s"), ("other", "s"), ("child", "")],
)
def test_a_call_of_another_purpose_stands_beside_and_a_childs_is_its_own_sessions(
    purpose: Any, expected: str
) -> None:
    begun_ = CallStarted(call="s", purpose=purpose)
    assert fold(begun_).side_call == expected
    assert fold(begun_, CallEnded(call="s", purpose=purpose)).side_call == ""
    assert fold(begun_, CallEnded(call="another", purpose=purpose)).side_call == expected


def test_a_failure_is_known_until_the_next_call() -> None:
    loop = fold(begun(), failed("BadKey"))
    assert (loop.failed, loop.error, loop.outcome) == ("BadKey", "It failed.", "failed")
    assert fold(begun(), failed("")).failed == "ProviderError"
    assert fold(begun(), failed("BadKey"), CallStarted(call="c2")).failed == ""


def test_cut_calls_are_counted_in_a_row_and_broken_answers_ignored() -> None:
    cut = [begun(), answered(call("t1"), stop="length"), result("t1")]
    assert fold(cut).cuts == 1
    assert fold(cut, dropped(text("Hel"), call="c2")).cuts == 1
    assert fold(cut, answered(call("t2"), call="c2")).cuts == 0


def test_what_follows_an_answer_is_owed_one_and_resets_the_outcome() -> None:
    finished = fold(begun(), answered(text("Hello.")))
    assert finished.owes_answer is False
    assert finished.outcome == "finished"
    assert finished.stop == "stop"
    assert fold(TurnStarted(turn="turn-2"), onto=finished).outcome == ""
    asked = fold(MessageAdded(message=user("more")), onto=finished)
    assert (asked.owes_answer, asked.outcome, asked.stop) == (True, "", "")


def test_repetitions_are_counted_by_name_and_arguments_whatever_the_ids() -> None:
    once = [begun(), answered(call("t1"), call("t2")), ran("t1"), ran("t2")]
    again = fold(once, answered(call("t3"), call("t4"), call="c2"))
    assert again.cycle == (2, 1)
    assert fold(once, answered(call("t3"), call="c2")).cycle == (1, 1)
    assert fold(once, answered(text("Hm."), call="c2")).cycle == (0, 1)
    assert signature_of(()) == ""


def test_going_back_forgets_what_was_open_and_how_the_answer_ended() -> None:
    loop = fold(begun(), dropped(call("t1")), Rewound(to="ask"))
    assert (loop.last, loop.open, loop.outcome, loop.owes_answer) == ("ask", (), "", True)
    assert not fold(
        begun(), answered(text("Hello.")), ended(), Rewound(to="ask")
    ).owes_answer


# -- tools and approvals --


def states(loop: Loop) -> list[str]:
    return [one.state for one in loop.open]


def test_a_call_is_open_until_its_result_is_there() -> None:
    turn = [begun(), answered(call("t1"), call("t2"))]
    assert states(fold(turn)) == ["waiting", "waiting"]
    assert states(fold(turn, started("t1"))) == ["started", "waiting"]
    assert states(fold(turn, ran("t1"))) == ["waiting"]
    assert states(fold(turn, ran("t2"), ran("t1"))) == []


def test_a_tool_of_unknown_end_that_may_run_twice_is_to_be_run_again() -> None:
    turn = [begun(), answered(call("t1"))]
    assert states(
        fold(
            turn,
            started("t1", idempotent=True),
            ToolEnded(call_id="t1", outcome="unknown"),
        )
    ) == ["approved"]
    found = states(fold(turn, started("t1"), ToolEnded(call_id="t1", outcome="unknown")))
    assert found == ["started"]


def test_an_approval_moves_only_the_call_that_was_asked_for() -> None:
    asked = [begun(), answered(call("t1"), call("t2")), ApprovalAsked(call_id="t2")]
    assert states(fold(asked)) == ["waiting", "asked"]
    digest = digest_of("read", "{}")
    yes, no = (
        ApprovalGiven(call_id="t2", approved=word, note="hm", digest=digest)
        for word in (True, False)
    )
    assert states(fold(asked, yes)) == ["waiting", "approved"]
    assert states(fold(asked, no)) == ["waiting", "denied"]
    assert fold(asked, no).open[1].note == "hm"
    assert states(fold(asked, no, yes)) == ["waiting", "denied"]
    assert states(fold(asked, ApprovalGiven(call_id="t1", approved=True))) == [
        "waiting",
        "asked",
    ]


def test_an_approval_lifts_the_pause_for_approvals_alone() -> None:
    asked = [begun(), answered(call("t1")), ApprovalAsked(call_id="t1")]
    yes = ApprovalGiven(call_id="t1", approved=True, digest=digest_of("read", "{}"))
    assert fold(asked, TurnPaused(turn="turn-1", reason="approval"), yes).paused == ""
    assert fold(asked, TurnPaused(turn="turn-1", reason="budget"), yes).paused == "budget"


def test_of_two_calls_with_the_same_id_only_the_one_that_was_shown_is_approved() -> None:
    harmless, hidden = (
        call("t1", "shell", '{"command": "ls"}'),
        call("t1", "shell", '{"command": "rm -rf ."}'),
    )
    turn: list[Any] = [begun(), answered(harmless, hidden)]
    both = [
        ApprovalAsked(call_id="t1", digest=digest_of(one.name, one.arguments))
        for one in (harmless, hidden)
    ]
    yes = ApprovalGiven(
        call_id="t1", approved=True, digest=digest_of(harmless.name, harmless.arguments)
    )
    assert states(fold(turn, both, yes)) == ["approved", "asked"]
    assert [one.is_approved for one in fold(turn, both, yes).open] == [True, False]


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_an_approval_authorises_exactly_one_name_with_exactly_these_arguments(
    shown: tuple[str, str], run: tuple[str, str]
) -> None:
    asked: list[Any] = [
        begun(),
        answered(call("t1", *run)),
        ApprovalAsked(call_id="t1", digest=digest_of(*run)),
    ]
    yes = ApprovalGiven(call_id="t1", approved=True, digest=digest_of(*shown))
    (one,) = fold(asked, yes).open
    assert one.is_approved is (shown == run)
    assert (one.state == "approved") is (shown == run)


@given(st.text(), st.text(), st.integers(0, 5))
def test_no_byte_can_move_from_the_arguments_into_the_name_unseen(
    name: str, arguments: str, size: int
) -> None:
    moved = (name + arguments[:size], arguments[size:])
    assert (digest_of(*moved) == digest_of(name, arguments)) is (
        moved == (name, arguments)
    )


def test_grants_are_kept_until_they_are_revoked() -> None:
    given = [
        GrantGiven(grant=name, tool="shell", prefix=("git", name))
        for name in ("log", "diff")
    ]
    assert [one.prefix for one in fold(given).grants] == [("git", "log"), ("git", "diff")]
    assert [one.id for one in fold(given, GrantRevoked(grant="log")).grants] == ["diff"]
    assert fold(given, GrantRevoked(grant="other")).grants == fold(given).grants
    assert fold(given, GrantGiven(grant="log", tool="read")).grants[-1].tool == "read"


# -- people --


def waiting(loop: Loop) -> list[str]:
    return [one.message.id for one in loop.queue]


def test_messages_wait_in_their_order_until_they_leave() -> None:
    three = [queued("a"), queued("b", "follow_up"), queued("c")]
    assert waiting(fold(three)) == ["a", "b", "c"]
    assert [one.message.id for one in fold(three).steers] == ["a", "c"]
    assert waiting(fold(three, QueueLeft(message_id="b", how="withdrawn"))) == ["a", "c"]


def test_an_edit_changes_the_words_and_not_the_place() -> None:
    loop = fold(
        queued("a"), queued("b"), QueueEdited(message=user("a", "Something else."))
    )
    assert waiting(loop) == ["a", "b"]
    assert loop.queue[0].message == user("a", "Something else.")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["stop"], "stop"),
        (["finish"], "finish"),
        (["finish", "finish"], "stop"),
        (["finish", "stop"], "stop"),
    ],
)
def test_a_second_cancel_does_not_wait_for_tools(asked: list[Any], expected: str) -> None:
    assert fold(begun(), [CancelAsked(tools=how) for how in asked]).cancel == expected


def test_a_cancel_that_was_answered_stands_until_its_turn_is_closed() -> None:
    answered_ = fold(begun(), CancelAsked(), Cancelled(persisted="tools_in_progress"))
    assert (answered_.cancel, answered_.cancel_answered) == ("stop", True)
    over = fold(ended("cancelled"), onto=answered_)
    assert (over.cancel, over.cancel_answered, over.turn) == ("", False, "")


def test_a_cancel_that_the_end_of_the_turn_overtook_still_stands() -> None:
    assert fold(begun(), answered(text("Hi.")), CancelAsked(), ended()).cancel == "stop"


def test_a_cancel_takes_back_a_compaction_that_was_asked_for() -> None:
    assert fold(CompactAsked(), CancelAsked(), Cancelled()).compact_asked is None


def test_what_is_sent_after_a_cancel_is_new_until_the_next_cancel() -> None:
    new = [
        one.is_new for one in fold(begun(), queued("a"), CancelAsked(), queued("b")).queue
    ]
    assert new == [False, True]
    assert [
        one.is_new
        for one in fold(begun(), CancelAsked(), queued("b"), CancelAsked()).queue
    ] == [False]


def test_only_the_sessions_own_settings_are_held_and_none_takes_one_back() -> None:
    loop = fold(
        SettingsChanged(settings={"max_steps": 5, "model": "a:b"}),
        SettingsChanged(settings={"window": 9}, source="resolved"),
        SettingsChanged(settings={"max_steps": None}),
    )
    assert loop.settings == {"model": "a:b"}


def test_one_strategy_that_did_not_help_is_not_the_end_of_its_compaction() -> None:
    started = CompactionStarted(compaction="x", trigger="point")
    found = fold(
        started, CompactionRolledBack(compaction="x", reason="failed", rung="summary")
    ).compaction
    assert found == "x"
    given = fold(started, CompactionRolledBack(compaction="x", reason="none")).compaction
    assert given == ""
    told = fold(started, CompactionRolledBack(compaction="y", reason="none")).compaction
    assert told == "x"

"""How a session stands, from the few events that tell it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ullage import events as said
from ullage.events import Event
from ullage.turns.standing import (
    AT_REST,
    FULLNESS_STEP,
    UNTAKEN_S,
    Standing,
    stand,
    standing_now,
)

BEGUN = said.TurnStarted(turn="t", at=10, seq=1)


def stands(*events: Event) -> Standing:
    standing = AT_REST
    for event in events:
        standing = stand(standing, event)
    return standing


def test_a_turn_works_and_rests() -> None:
    assert stands(BEGUN) == Standing(state="works", since=10, seq=1, turn="t")
    ended = said.TurnEnded(turn="t", at=12, seq=4)
    assert stands(BEGUN, ended) == Standing(since=12, seq=4)


def test_a_failed_turn_says_which_error_and_how_often() -> None:
    failed = said.CallEnded(
        call="c", outcome="failed", error="No route\n to host", error_kind="Unreachable"
    )
    standing = stands(
        BEGUN,
        said.CallRetried(call="c", attempt=1, wait_s=2, error="No route", at=11),
        failed,
        said.TurnEnded(turn="t", reason="failed", at=12, seq=9),
    )
    assert (standing.state, standing.kind) == ("failed", "Unreachable")
    assert (standing.reason, standing.attempts) == ("No route to host", 2)
    assert standing.needs_person


@pytest.mark.parametrize("reason", ["max_steps", "loop", "refused", "too_large"])
def test_a_turn_that_ended_for_another_reason_names_it(reason: said.EndReason) -> None:
    standing = stands(BEGUN, said.TurnEnded(turn="t", reason=reason, note="Why."))
    assert (standing.state, standing.kind, standing.reason) == ("failed", reason, "Why.")


def test_approvals_wait_until_the_last_is_given() -> None:
    one = said.ApprovalAsked(call_id="a", tool="write", digest="d", seq=5, at=20)
    two = said.ApprovalAsked(call_id="b", tool="bash", seq=6, at=21)
    asked = stands(BEGUN, one, two, said.TurnPaused(turn="t", reason="approval", at=22))
    assert (asked.state, asked.since) == ("needs_approval", 20)
    assert [each.tool for each in asked.approvals] == ["write", "bash"]
    given = stand(asked, said.ApprovalGiven(call_id="a", approved=True))
    assert (given.state, len(given.approvals)) == ("needs_approval", 1)
    assert stand(given, said.ApprovalGiven(call_id="a", approved=True)) is given
    last = stand(given, said.ApprovalGiven(call_id="b", approved=False, at=30))
    assert (last.state, last.since) == ("works", 30)


def test_waits_say_what_they_wait_for_and_end_by_the_clock() -> None:
    def now(standing: Standing, at: float) -> str:
        return standing_now(
            standing, now=at, held_by="w", due_at=None, place="", changed=0
        ).state

    limited = stands(
        BEGUN, said.CallRetried(call="c", attempt=0, wait_s=30, error="Limit", at=11)
    )
    assert (limited.kind, limited.until) == ("rate_limit", 41)
    assert (now(limited, 40), now(limited, 41)) == ("waits", "works")
    assert stand(limited, said.CallEnded(call="c")).state == "works"
    quota = stands(BEGUN, said.TurnPaused(turn="t", reason="budget", until=99))
    assert (quota.state, quota.kind) == ("waits", "quota")
    budget = stands(BEGUN, said.TurnPaused(turn="t", reason="budget"))
    assert (budget.state, budget.kind) == ("paused", "budget")


def test_a_session_that_nobody_drives_waits_for_a_worker() -> None:
    untaken = standing_now(
        AT_REST,
        now=100 + UNTAKEN_S + 1,
        held_by="",
        due_at=100,
        place="cellar",
        changed=90,
    )
    assert (untaken.state, untaken.kind, untaken.since) == ("waits", "worker", 100)
    assert "of the place cellar" in untaken.reason
    died_just_now = standing_now(
        stands(BEGUN), now=400, held_by="", due_at=100, place="", changed=399
    )
    assert died_just_now.state == "works", "another driver may still take it"
    just_sent = standing_now(
        AT_REST, now=101, held_by="", due_at=100, place="", changed=0
    )
    assert just_sent.state == "works"
    later = standing_now(AT_REST, now=101, held_by="", due_at=500, place="", changed=0)
    assert later.state == "at_rest"


def test_other_events_leave_the_same_value() -> None:
    standing = stands(BEGUN)
    assert stand(standing, said.CallStarted(call="c")) is standing
    assert stand(standing, said.CallEnded(call="c")) is standing
    assert stand(standing, said.ToolStarted(call_id="a")) is standing


def test_the_fullness_is_kept_where_it_has_moved_by_a_step_of_the_window() -> None:
    def reading(used: int, window: int | None = 100_000) -> said.ReadingTaken:
        amount = said.Amount(tokens=used, low=used, high=used)
        return said.ReadingTaken(snapshot="s", used=amount, window=window)

    first = stands(BEGUN, reading(10))
    assert (first.used, first.window, first.state) == (10, 100_000, "works")
    assert stand(first, reading(10 + int(100_000 * FULLNESS_STEP))) is first
    moved = stand(first, reading(11 + int(100_000 * FULLNESS_STEP)))
    assert moved.used == 11 + int(100_000 * FULLNESS_STEP)
    assert stand(moved, reading(5)).used == 5, "less after a compaction"
    assert stand(moved, reading(1_011, window=None)).window is None
    ended = stand(moved, said.TurnEnded(turn="t", reason="failed"))
    assert (ended.state, ended.used) == ("failed", moved.used)


def test_a_wait_of_a_summary_ends_with_its_call() -> None:
    waits = said.CallRetried(call="s", attempt=1, wait_s=5, error="Busy", at=11)
    standing = stands(BEGUN, waits)
    child = said.CallEnded(call="other", purpose="child")
    assert stand(standing, child) is standing
    assert stand(standing, said.CallEnded(call="s", purpose="summary")).state == "works"


def test_a_call_that_is_answered_forgets_the_failures_before_it() -> None:
    failed = said.CallEnded(call="c", outcome="failed", error_kind="ServerError")
    standing = stands(BEGUN, failed, said.CallEnded(call="c"))
    ended = stand(standing, said.TurnEnded(turn="t", reason="failed", note="Odd."))
    assert (ended.kind, ended.attempts, ended.reason) == ("failed", 0, "Odd.")


def test_a_resume_of_a_turn_that_is_over_changes_nothing() -> None:
    ended = stands(BEGUN, said.TurnEnded(turn="t"))
    assert stand(ended, said.TurnResumed(turn="t")) is ended


def test_an_answer_about_another_call_than_the_one_shown_is_none() -> None:
    asked = stands(BEGUN, said.ApprovalAsked(call_id="a", digest="shown"))
    other = said.ApprovalGiven(call_id="a", approved=True, digest="another")
    assert stand(asked, other) is asked


def test_a_subagent_s_failure_is_its_parent_s_and_its_approval_a_person_s() -> None:
    def childs(event: Event) -> Event:
        return replace(event, session="s/call")

    failed = said.TurnPaused(turn="t", reason="failed", at=12, seq=3)
    assert stands(BEGUN, failed).state == "failed"
    assert stands(childs(BEGUN), childs(failed)) == Standing(since=12, seq=3)
    asked = said.ApprovalAsked(call_id="c", tool="press", at=12, seq=3)
    assert stands(childs(BEGUN), childs(asked)).state == "needs_approval"


def test_an_open_turn_that_nobody_will_drive_is_paused_and_no_state_begins_later() -> (
    None
):
    left = standing_now(
        stands(BEGUN), now=20, held_by="", due_at=None, place="", changed=0
    )
    assert (left.state, left.kind, left.since) == ("paused", "interrupted", 10)
    begun = standing_now(AT_REST, now=20, held_by="here", due_at=21, place="", changed=0)
    assert (begun.state, begun.since) == ("works", 20)

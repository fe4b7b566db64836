from ullage.turns.loop import Loop
from ullage_agent.loop.budgets import BudgetUse
from ullage_agent.loop.decide import LoopSituation, decide
from ullage_agent.loop.quotas import (
    DAY_S,
    Quota,
    QuotaPause,
    QuotaUse,
    SpentBy,
    TenantQuota,
    calls_refused,
    counted,
    on_day_of,
    sessions_refused,
    spent_by,
)
from ullage_agent.loop.steps import CallModel, Pause, Rest, Resume

TUESDAY = 20_781
"""24 November 2026."""

KEPT = TenantQuota(
    quota=Quota(sessions=2, tokens=1_000, usd=0.5),
    day=TUESDAY,
    used=QuotaUse(sessions=1, tokens=900, usd=0.4),
)


def used(**more: float) -> TenantQuota:
    values = {"sessions": 1, "tokens": 900, "usd": 0.4, **more}
    return TenantQuota(quota=KEPT.quota, day=TUESDAY, used=QuotaUse(**values))  # type: ignore[arg-type]


def test_a_new_day_of_utc_begins_with_nothing_used() -> None:
    assert KEPT.date == "2026-11-24"
    assert on_day_of(KEPT, KEPT.ends - 0.001) is KEPT
    assert on_day_of(KEPT, KEPT.ends) == TenantQuota(quota=KEPT.quota, day=TUESDAY + 1)
    assert on_day_of(KEPT, KEPT.ends - DAY_S - 1) is KEPT, "a clock that is behind"


def test_what_is_refused_says_which_limit_and_when_the_next_day_begins() -> None:
    assert calls_refused(KEPT) is None
    assert sessions_refused(KEPT) is None
    refused = calls_refused(used(tokens=1_000))
    assert refused == QuotaPause(
        "The quota of 2026-11-24 is reached: 1,000 of 1,000 tokens are used. "
        "The next day begins at 2026-11-25 00:00 UTC.",
        KEPT.ends,
    )
    spent = calls_refused(used(usd=0.5))
    assert spent is not None and "$0.50 of $0.50 are spent" in spent.note
    begun = sessions_refused(used(sessions=2))
    assert begun is not None and "2 of 2 sessions are begun" in begun.note
    assert calls_refused(TenantQuota(day=TUESDAY, used=QuotaUse(tokens=10**9))) is None


def test_a_session_is_counted_from_its_first_count_on_and_never_twice() -> None:
    spent = SpentBy(tokens=150, usd=0.25)
    assert counted(KEPT, None, spent) is KEPT
    once = counted(KEPT, SpentBy(tokens=50, usd=0.05), spent)
    assert (once.used.tokens, round(once.used.usd, 9)) == (1_000, 0.6)
    assert counted(once, spent, spent) is once
    assert counted(once, spent, SpentBy(tokens=150, usd=9.0)) is once, "a price changed"
    assert spent_by(BudgetUse(tokens=5, usd=0.1)) == SpentBy(tokens=5, usd=0.1)


PAUSE = QuotaPause("The quota is reached.", 1_000.0)
TURN = Loop(turn="turn-1", turns=1, owes_answer=True)


def test_no_call_is_made_behind_a_quota_and_the_turn_resumes_by_itself() -> None:
    assert isinstance(decide(LoopSituation(loop=TURN)), CallModel)
    paused = decide(LoopSituation(loop=TURN, quota=PAUSE))
    assert paused == Pause("budget", PAUSE.note, PAUSE.until)
    waiting = Loop(turn="turn-1", turns=1, paused="budget", paused_until=1_000.0)
    assert decide(LoopSituation(loop=waiting, quota=PAUSE)) == Rest()
    assert decide(LoopSituation(loop=waiting)) == Resume()


def test_a_turn_that_waits_for_a_budget_or_a_person_does_not_resume_by_itself() -> None:
    for reason in ("budget", "approval", "failed"):
        loop = Loop(turn="turn-1", turns=1, paused=reason)
        assert decide(LoopSituation(loop=loop)) == Rest()

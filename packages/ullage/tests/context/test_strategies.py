from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.context.sessions import FakeModel, attempted, fold_of, reported, turns, words
from tests.meter.session import said
from ullage.context.choice import STRATEGIES, ordered
from ullage.context.policy import STRATEGY_CALLS
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import Attempt, Commit, Strategies, Stuck
from ullage.context.strategy import Ask, Candidate, Declined, Proposal
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    CompactionTrigger,
    MessageAdded,
)
from ullage.messages import Message, TextPart


def end(situation: Situation, model: FakeModel | None = None) -> Commit | Stuck:
    return attempted(situation, model or FakeModel()).end


def committed_by(situation: Situation, model: FakeModel | None = None) -> str:
    ended = end(situation, model)
    assert isinstance(ended, Commit), ended
    limit = situation.fold.limits.denominators.input_limit
    assert limit is not None and situation.fold.forecast().high <= limit
    return ended.strategy


def test_at_the_point_it_summarises_on_top_of_the_current_request() -> None:
    model = FakeModel()
    situation = Situation(fold=fold_of(*turns(25, size=200)))
    assert committed_by(situation, model) == "summary"
    assert [ask.extends for ask in model.calls] == [True]
    shown = model.calls[0].messages[:-1]
    assert shown == situation.messages[: len(shown)]


@pytest.mark.slow
def test_ten_times_the_window_is_summarised_in_bounded_pieces() -> None:
    model = FakeModel()
    assert (
        committed_by(
            Situation(fold=fold_of(*turns(600, size=200)), trigger="limit"), model
        )
        == "pieces"
    )
    assert 1 <= len(model.calls) <= 6
    assert all(ask.tokens + ask.max_output <= 16_000 for ask in model.calls)


@pytest.mark.parametrize(
    "model",
    [
        FakeModel(lambda ask: ""),
        FakeModel(lambda ask: words(9_000, 3)),
        FakeModel(stop="length"),
        FakeModel(stop="refused"),
        FakeModel(error="ServerError"),
    ],
)
def test_bad_summaries_end_in_a_digest_within_three_calls(model: FakeModel) -> None:
    situation = Situation(fold=fold_of(*turns(25, size=200)))
    assert committed_by(situation, model) == "digest"
    assert len(model.calls) <= 3


@pytest.mark.slow
def test_hundreds_of_turns_stay_inside_a_small_window_with_their_rules() -> None:
    rules = (
        "Always answer in French.",
        "Never touch main.py!",
        "You must run the tests.",
        "Don't push.",
        "Use tabs only.",
    )
    fold = fold_of(said("pin", "Pinned."))
    after: list[int] = []
    ruled = {f"u{n}": said(f"u{n}", rule) for n, rule in enumerate(rules, 1)}
    for number, message in enumerate(
        ruled.get(each.id, each) for each in turns(400, size=150)
    ):
        fold.apply(MessageAdded(message=message))
        point, limit = (
            fold.limits.denominators.compaction_point,
            fold.limits.denominators.input_limit,
        )
        assert point is not None and limit is not None
        if message.role != "assistant":
            if fold.forecast().high >= point:
                ended = end(
                    Situation(fold=fold, compaction=f"c{number}", pins=frozenset({"pin"}))
                )
                assert isinstance(ended, Commit)
                after.append(ended.verdict.after)
            assert fold.forecast().high <= limit
            reported(fold, f"call{number}")
    shown = "\n".join(
        part.text for entry in fold.view for part in entry.message.of_type(TextPart)
    )
    assert fold.compactions >= 8
    assert all(rule in shown for rule in rules)
    assert sorted(after)[len(after) // 2] <= 0.45 * 16_000


def test_a_small_session_is_not_compacted_in_vain_and_loses_nothing() -> None:
    model = FakeModel()
    ended = end(Situation(fold=fold_of(*turns(2)), trigger="asked"), model)
    assert isinstance(ended, Stuck) and ended.error is None
    assert model.calls == []
    last = ended.events[-1]
    assert isinstance(last, CompactionRolledBack) and last.reason and not last.rung


def test_the_events_of_a_change_begin_with_its_start_and_hold_its_numbers() -> None:
    outcome = attempted(
        Situation(fold=fold_of(*turns(25, size=200)), snapshot="s1"), FakeModel()
    )
    started, committed = (
        outcome.events[0],
        next(e for e in outcome.events if isinstance(e, CompactionCommitted)),
    )
    assert (
        isinstance(started, CompactionStarted)
        and started.snapshot == "s1"
        and started.history
    )
    assert (
        committed.before is not None and committed.after == outcome.fold.forecast().tokens
    )


def test_a_strategy_that_asks_for_more_calls_than_it_announced_is_passed_over() -> None:
    class Greedy:
        name = "greedy"

        def calls_at_most(self, situation: Situation) -> int:
            return 2

        def propose(self, situation: Situation, answers: object) -> Ask:
            return Ask((), (), 1, 1)

    model = FakeModel()
    ended = attempted(
        Situation(fold=fold_of(*turns(2))), model, Strategies((Greedy(),))
    ).end
    assert isinstance(ended, Stuck)
    assert len(model.calls) == 2


class Broken:
    """A strategy that does something else than it should: ``does`` is called in the place of it."""

    name = "broken"

    def __init__(self, does: Callable[[], object], calls: object = 0) -> None:
        self.does = does
        self.calls = calls

    def calls_at_most(self, situation: Situation) -> int:
        return self.calls() if callable(self.calls) else cast(int, self.calls)

    def propose(self, situation: Situation, answers: object) -> Proposal:
        return cast(Proposal, self.does())


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it can't be said")


def raising(problem: Exception) -> Callable[[], object]:
    def does() -> object:
        raise problem

    return does


def torn() -> object:
    """A candidate that nobody can look at."""
    return Candidate(
        CompactionCommitted(compaction="c", replaced=cast(tuple[Message, ...], (None,)))
    )


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            Broken(raising(ZeroDivisionError("by nothing"))),
            "ZeroDivisionError: by nothing",
        ),
        (Broken(raising(SpeechlessError())), "SpeechlessError"),
        (Broken(raising(RecursionError("for ever"))), "for ever"),
        (Broken(lambda: None), "NoneType, which is no proposal"),
        (Broken(torn), "raised AttributeError"),
        (
            Broken(lambda: Ask((), (), 1, 1), raising(KeyError("calls"))),
            "more calls than it announced",
        ),
    ],
)
def test_a_strategy_that_raises_is_passed_over(broken: Broken, said: str) -> None:
    situation = Situation(fold=fold_of(*turns(25, size=200)))
    outcome = attempted(situation, FakeModel(), Strategies((broken, *STRATEGIES)))
    assert isinstance(outcome.end, Commit) and outcome.end.strategy == "summary"
    rolled = [each for each in outcome.events if isinstance(each, CompactionRolledBack)]
    assert [(each.rung, each.reason) for each in rolled][:1] == [("broken", "failed")]
    assert said in rolled[0].note


def test_a_strategy_that_asks_for_ever_gets_a_bounded_number_of_calls() -> None:
    model = FakeModel()
    endless = Broken(lambda: Ask((), (), 1, 1), 10**9)
    situation = Situation(fold=fold_of(*turns(25, size=200)))
    strategies = Strategies((endless, *STRATEGIES))
    assert isinstance(attempted(situation, model, strategies).end, Commit)
    assert len(model.calls) <= strategies.calls_at_most(situation) <= STRATEGY_CALLS + 7


def test_without_strategies_nothing_happens() -> None:
    assert isinstance(Strategies(()).next(Situation(fold=fold_of()), Attempt()), Stuck)
    assert Declined("nothing_to_do").note == ""


def test_a_short_conversation_is_summarised_when_asked() -> None:
    short = Situation(fold=fold_of(*turns(16, size=200), window=200_000), trigger="asked")
    assert short.sizes.messages < 10_000
    assert committed_by(short) == "summary"
    tiny = end(Situation(fold=fold_of(*turns(2), window=200_000), trigger="asked"))
    assert isinstance(tiny, Stuck) and tiny.error is None
    last = tiny.events[-1]
    assert isinstance(last, CompactionRolledBack) and last.reason == "no_progress"
    assert "a compaction has to save" in last.note


def choosing(*chosen: str, **more: Any) -> Commit | Stuck:
    """How an attempt with these strategies ends."""
    order = ordered(chosen)
    rules = CompactionRules(chosen=tuple(strategy.name for strategy in order))
    situation = Situation(rules=rules, **more)
    return attempted(situation, FakeModel(), Strategies(order)).end


@pytest.mark.parametrize("trigger", ["point", "limit", "asked"])
def test_prune_alone_shrinks_only_tool_results(trigger: CompactionTrigger) -> None:
    """By default an asked compaction clears nothing, for a summary that failed must cost nothing."""
    fold = fold_of(*turns(25, size=400))
    before = [entry.message.id for entry in fold.view]
    ended = choosing("prune", fold=fold, trigger=trigger)
    assert isinstance(ended, Commit) and ended.strategy == "clear", ended
    assert [entry.message.id for entry in fold.view] == before


def test_with_prune_clearing_is_enough_where_it_makes_the_request_fit() -> None:
    """With the default strategies it declines here, since a summary brings the request further down."""
    chat = [said(f"c{n}", words(120, n)) for n in range(38)]
    fold = fold_of(*turns(16, size=300), *chat)
    assert fold.forecast().high > 12_800
    ended = choosing("prune", fold=fold, trigger="limit")
    assert isinstance(ended, Commit) and ended.strategy == "clear", ended


def test_with_drop_alone_a_compaction_that_is_asked_for_drops() -> None:
    ended = choosing("drop", fold=fold_of(*turns(25, size=200)), trigger="asked")
    assert isinstance(ended, Commit) and ended.strategy == "drop", ended


def test_with_llm_nothing_is_lost_for_a_summary_that_failed() -> None:
    situation = Situation(fold=fold_of(*turns(25, size=200)), trigger="asked")
    outcome = attempted(
        situation, FakeModel(lambda ask: ""), Strategies(ordered(("llm",)))
    )
    assert isinstance(outcome.end, Stuck) and outcome.end.error is None
    assert len(outcome.fold.view) == 100

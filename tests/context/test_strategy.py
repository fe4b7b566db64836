from typing import get_args

from tests.context.sessions import fold_of, turns
from ullage.context import strategy
from ullage.context.ladder import RUNGS, Ladder
from ullage.context.situation import Situation
from ullage.context.strategy import Declined, Strategy


def test_every_rung_is_a_strategy_with_a_name_of_its_own_and_bounded_calls() -> None:
    rungs: tuple[Strategy, ...] = RUNGS
    names = [rung.name for rung in rungs]
    assert names == ["clear", "trim", "summary", "pieces", "digest", "drop"]
    assert Ladder().calls_at_most(Situation(fold=fold_of(*turns(1)))) == 7


def test_every_strategy_declines_an_empty_session_without_a_call() -> None:
    for rung in RUNGS:
        assert isinstance(rung.propose(Situation(fold=fold_of()), ()), Declined)


def test_reasons_are_words_for_programs() -> None:
    assert all(reason.replace("_", "").isalpha() for reason in get_args(strategy.Reason))

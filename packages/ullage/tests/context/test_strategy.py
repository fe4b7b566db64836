from tests.context.sessions import fold_of, turns
from ullage.context.choice import STRATEGIES
from ullage.context.situation import Situation
from ullage.context.strategies import Strategies
from ullage.context.strategy import Declined, Strategy


def test_every_strategy_has_its_own_name_and_bounded_calls() -> None:
    strategies: tuple[Strategy, ...] = STRATEGIES
    names = [strategy.name for strategy in strategies]
    assert names == ["clear", "trim", "summary", "pieces", "digest", "drop"]
    assert Strategies().calls_at_most(Situation(fold=fold_of(*turns(1)))) == 7


def test_every_strategy_declines_an_empty_session_without_a_call() -> None:
    for each in STRATEGIES:
        assert isinstance(each.propose(Situation(fold=fold_of()), ()), Declined)

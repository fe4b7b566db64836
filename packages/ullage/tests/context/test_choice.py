import pytest

from ullage.context.choice import BUILT_IN, FOR_THINKING, STRATEGIES, ordered
from ullage.context.situation import Situation
from ullage.context.strategy import Declined, Proposal


class Own:
    """A strategy of a user's own that never helps."""

    def __init__(self, name: str = "own") -> None:
        self.name = name

    def calls_at_most(self, situation: Situation) -> int:
        return 0

    def propose(self, situation: Situation, answers: object) -> Proposal:
        return Declined("nothing_to_do")


def names(*chosen: object) -> list[str]:
    return [strategy.name for strategy in ordered(chosen)]  # type: ignore[arg-type]


def test_a_name_of_a_list_stands_for_its_strategies_in_their_order() -> None:
    assert ordered(("hybrid",)) == (FOR_THINKING, *STRATEGIES)
    assert names("llm") == ["summary", "pieces"]
    assert names("prune") == ["clear", "trim"]
    assert names("noop") == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_strategy_can_be_chosen_alone(name: str) -> None:
    assert names(name) == [name]


def test_a_list_is_tried_in_the_order_given_and_each_strategy_once() -> None:
    assert names("drop", "clear") == ["drop", "clear"]
    assert names("drop", "prune", "hybrid", "drop")[:5] == [
        "drop",
        "clear",
        "trim",
        "server",
        "summary",
    ]
    assert sorted(names("drop", "prune", "hybrid")) == sorted(names("hybrid"))


def test_own_strategies_stand_among_the_names_or_replace_one() -> None:
    own, summary = Own(), Own("summary")
    assert ordered((own, "hybrid")) == (own, FOR_THINKING, *STRATEGIES)
    assert ordered((summary, "llm")) == (summary, BUILT_IN["pieces"])


@pytest.mark.parametrize(
    ("written", "meant"),
    [("hybird", "hybrid"), ("LLM", "llm"), ("prunes", "prune"), ("sumary", "summary")],
)
def test_a_mistyped_name_is_answered_with_the_right_one(written: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"did you mean '{meant}'\?.*noop.*drop"):
        ordered((written,))


def test_nothing_like_it_is_refused_without_a_guess() -> None:
    with pytest.raises(ValueError, match=r"no strategy 'q'; there are hybrid"):
        ordered(("q",))


@pytest.mark.parametrize("chosen", [(), ("noop", "summary"), ("clear", "noop")])
def test_an_empty_list_and_noop_with_others_are_refused(chosen: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="noop"):
        ordered(chosen)


def test_an_unknown_name_is_shown_in_part() -> None:
    with pytest.raises(ValueError, match="no strategy") as raised:
        ordered(["x" * 1_000_000])
    assert len(str(raised.value)) < 500

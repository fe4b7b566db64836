import pytest

from ullage.meter.cost import Counted
from ullage.meter.reasoning_in_view import ReasoningInView
from ullage.reasoning import ReasoningPolicy

EARLIER, NOW, LAST = 1000.0, 300.0, 20.0


@pytest.fixture
def reasoning() -> ReasoningInView:
    """Reasoning of an earlier turn, and two messages of the current one."""
    reasoning = ReasoningInView()
    reasoning.put("earlier", EARLIER)
    reasoning.begin_turn()
    reasoning.put("now", NOW)
    reasoning.put("last", LAST)
    return reasoning


CELLS = [
    # included, strip, across turns, user turn -> counted
    (True, "none", True, False, EARLIER + NOW + LAST),
    (True, "none", True, True, EARLIER + NOW + LAST),
    (True, "none", False, False, NOW + LAST),
    (True, "none", False, True, 0),
    (True, "all_but_last", True, False, LAST),
    (True, "all_but_last", False, False, LAST),
    (True, "all_but_last", False, True, 0),
    (True, "all", True, False, 0),
    (True, "all", False, False, 0),
    (False, "none", True, False, 0),
    (False, "all", True, False, 0),
    (False, "all_but_last", True, False, 0),
]


@pytest.mark.parametrize(("included", "strip", "across", "user", "counted"), CELLS)
def test_what_is_counted_is_what_the_policy_sends_and_the_provider_keeps(
    reasoning: ReasoningInView,
    included: bool,
    strip: str,
    across: bool,
    user: bool,
    counted: float,
) -> None:
    policy = ReasoningPolicy(include_in_context=included, strip=strip)  # type: ignore[arg-type]
    assert (
        reasoning.counted(policy, in_loop=True, across_turns=across, user_turn=user)
        == counted
    )


def test_a_message_that_leaves_takes_its_reasoning_along(
    reasoning: ReasoningInView,
) -> None:
    assert reasoning.remove("now") == NOW
    assert reasoning.remove("now") == 0
    for across, counted in ((True, EARLIER + LAST), (False, LAST)):
        found = reasoning.counted(
            ReasoningPolicy(), in_loop=True, across_turns=across, user_turn=False
        )
        assert found == counted


def test_a_reported_amount_takes_the_place_of_an_estimate_without_moving_turns(
    reasoning: ReasoningInView,
) -> None:
    reasoning.put("earlier", 1500.0)
    reasoning.put("now", 310.0)
    assert (reasoning.all, reasoning.turn) == (1500 + 310 + LAST, 310 + LAST)


def test_a_turn_that_is_not_counted_takes_its_last_answer_along_once(
    reasoning: ReasoningInView,
) -> None:
    counted = reasoning.counted(
        ReasoningPolicy(),
        in_loop=False,
        across_turns=True,
        user_turn=False,
        without="last",
    )
    assert counted == EARLIER
    counted = reasoning.counted(
        ReasoningPolicy(),
        in_loop=False,
        across_turns=True,
        user_turn=False,
        without="earlier",
    )
    assert counted == 0


def test_what_the_turns_amounts_rest_on_is_their_sum() -> None:
    reasoning = ReasoningInView()
    reasoning.put("a", 100.0, Counted(40.0, 1))
    reasoning.put("b", 50.0, Counted(10.0, 2))
    reasoning.put("reported", 70.0)
    assert reasoning.turn_rests == Counted(50.0, 3)
    reasoning.put("a", 90.0)
    assert reasoning.turn_rests == Counted(10.0, 2)
    reasoning.remove("b")
    assert reasoning.turn_rests == Counted()
    reasoning.put("c", 30.0, Counted(5.0, 1))
    reasoning.begin_turn()
    assert reasoning.turn_rests == Counted()
    reasoning.put("c", 30.0, Counted(6.0, 1))
    assert reasoning.turn_rests == Counted()

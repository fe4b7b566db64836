import pytest

from ullage.meter.carried import Carried
from ullage.meter.growth import Counted
from ullage.reasoning import ReasoningPolicy

EARLIER, NOW, LAST = 1000.0, 300.0, 20.0


@pytest.fixture
def carried() -> Carried:
    """Reasoning of an earlier turn, and two messages of the current one."""
    carried = Carried()
    carried.put("earlier", EARLIER)
    carried.begin_turn()
    carried.put("now", NOW)
    carried.put("last", LAST)
    return carried


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
    carried: Carried, included: bool, strip: str, across: bool, user: bool, counted: float
) -> None:
    policy = ReasoningPolicy(include_in_context=included, strip=strip)  # type: ignore[arg-type]
    assert carried.counted(policy, in_loop=True, across_turns=across, user_turn=user) == counted


def test_a_provider_that_keeps_none_counts_none(carried: Carried) -> None:
    assert carried.counted(ReasoningPolicy(), in_loop=False, across_turns=False, user_turn=False) == 0


def test_a_message_that_leaves_takes_its_reasoning_along(carried: Carried) -> None:
    assert carried.remove("now") == NOW
    assert carried.remove("now") == 0
    assert carried.counted(ReasoningPolicy(), in_loop=True, across_turns=True, user_turn=False) == EARLIER + LAST
    assert carried.counted(ReasoningPolicy(), in_loop=True, across_turns=False, user_turn=False) == LAST


def test_a_reported_amount_takes_the_place_of_an_estimate_without_moving_turns(carried: Carried) -> None:
    carried.put("earlier", 1500.0)
    carried.put("now", 310.0)
    assert carried.all == 1500 + 310 + LAST
    assert carried.turn == 310 + LAST


def test_a_turn_that_is_not_counted_takes_its_last_answer_along_once(carried: Carried) -> None:
    counted = carried.counted(ReasoningPolicy(), in_loop=False, across_turns=True, user_turn=False, without="last")
    assert counted == EARLIER
    counted = carried.counted(ReasoningPolicy(), in_loop=False, across_turns=True, user_turn=False, without="earlier")
    assert counted == 0


def test_what_the_turns_amounts_rest_on_is_their_sum() -> None:
    carried = Carried()
    carried.put("a", 100.0, Counted(40.0, 1))
    carried.put("b", 50.0, Counted(10.0, 2))
    carried.put("reported", 70.0)
    assert carried.turn_rests == Counted(50.0, 3)
    carried.put("a", 90.0)
    assert carried.turn_rests == Counted(10.0, 2)
    carried.remove("b")
    assert carried.turn_rests == Counted()
    carried.put("c", 30.0, Counted(5.0, 1))
    carried.begin_turn()
    assert carried.turn_rests == Counted()
    carried.put("c", 30.0, Counted(6.0, 1))
    assert carried.turn_rests == Counted()

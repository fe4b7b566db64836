import typing

import pytest

from tests.loop.stories import answered, begun, call, fold
from ullage.events import EndReason, ToolOutcome
from ullage_agent.loop.steps import CloseCalls, EndTurn, NextStep, RunTools, Settle


def test_steps_of_the_same_content_are_equal_and_can_be_kept_in_sets() -> None:
    (one,) = fold(begun(), answered(call("t1"))).open
    assert RunTools((one,)) == RunTools((one,))
    assert len({Settle("crash"), Settle("cancel"), Settle("crash")}) == 2


@pytest.mark.parametrize(
    "kind", typing.get_args(NextStep), ids=lambda kind: kind.__name__
)
def test_every_step_says_what_it_asks_for(kind: type) -> None:
    assert (kind.__doc__ or "").endswith(".")


def test_a_step_speaks_in_the_words_of_the_events_it_ends_in() -> None:
    assert typing.get_type_hints(EndTurn)["reason"] == EndReason
    assert typing.get_type_hints(CloseCalls)["outcome"] == ToolOutcome

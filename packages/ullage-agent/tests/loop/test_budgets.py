"""Which limit is reached, and what a person is told."""

import pytest

from tests.loop.stories import answered, begun, call, fold, ran, step_after, text
from ullage.events import ToolStarted, TurnPaused, TurnResumed, TurnStarted
from ullage_agent.loop.budgets import (
    Budget,
    BudgetUse,
    reached,
    tools_reached,
    used_by_turn,
)
from ullage_agent.loop.decide import LoopRules
from ullage_agent.loop.steps import CallModel, Pause, RunTools

USED = BudgetUse(
    calls=4, tool_calls=3, tokens=1_100, input=1_000, output=100, usd=0.5, seconds=9
)
LIMITS = {
    "calls": (4, "4 of 4 model calls are made."),
    "tokens": (1_100, "1,100 of 1,100 tokens are used."),
    "input": (1_000, "1,000 of 1,000 input tokens are used."),
    "output": (100, "100 of 100 output tokens are used."),
    "usd": (0.5, "$0.50 of $0.50 are spent."),
    "seconds": (9.0, "9 of 9 seconds are over."),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_reached_at_its_number_and_not_below(name: str) -> None:
    most, words = LIMITS[name]
    assert reached(Budget(**{name: most}), USED).startswith(words)  # type: ignore[arg-type]
    assert not reached(Budget(**{name: most + 1}), USED)  # type: ignore[arg-type]


def test_the_note_names_the_setting_and_what_to_do() -> None:
    assert reached(Budget(seconds=9), USED).endswith(
        "Resume the turn to count from zero, or raise `seconds` of budget."
    )
    assert reached(Budget(usd=0.5), USED, is_session=True) == (
        "In this session $0.50 of $0.50 are spent. Raise `usd` of session_budget for this session, or begin another "
        "one."
    )
    assert tools_reached(Budget(tool_calls=3), USED).startswith(
        "3 of 3 tool calls are made."
    )
    assert not tools_reached(Budget(tool_calls=4), USED)
    assert not reached(Budget(tool_calls=1), USED), "model calls are not tool calls"


def test_a_turn_counts_from_what_the_session_had_spent_when_it_began() -> None:
    loop = fold(TurnStarted(turn="t", tokens=1_000, input=940, output=60, usd=0.2))
    turn = used_by_turn(loop, USED, 5.0)
    assert (turn.tokens, turn.input, turn.output, turn.seconds) == (100, 60, 40, 5.0)
    assert round(turn.usd, 6) == 0.3


def test_calls_beyond_the_limit_of_tool_calls_wait_for_more() -> None:
    rules = LoopRules(budget=Budget(tool_calls=1))
    turn = [begun(), answered(call("t1"), call("t2"))]
    step = step_after(turn, rules=rules)
    assert isinstance(step, RunTools) and [c.call_id for c in step.calls] == ["t1"]
    paused = step_after(turn, ran("t1"), rules=rules)
    assert isinstance(paused, Pause) and "`tool_calls` of budget" in paused.note
    again = [TurnPaused(turn="turn-1", reason="budget"), TurnResumed(turn="turn-1")]
    step = step_after(turn, ran("t1"), again, rules=rules)
    assert isinstance(step, RunTools) and [c.call_id for c in step.calls] == ["t2"]


def test_a_call_that_gives_the_answer_is_no_tool_call_of_the_budget() -> None:
    rules = LoopRules(budget=Budget(tool_calls=1), session_budget=Budget(tool_calls=1))
    turn = [begun(), answered(call("t1"), call("t2"))]
    used = BudgetUse(tool_calls=1)
    step = step_after(turn, rules=rules, used=used, answers=frozenset({"t2"}))
    assert isinstance(step, RunTools) and [c.call_id for c in step.calls] == ["t2"]
    loop = fold(turn, ToolStarted(call_id="t2", name="answer", is_answer=True))
    assert (loop.tool_calls, loop.session_tool_calls) == (0, 0)


def test_a_limit_of_the_session_outlives_a_resumed_turn() -> None:
    rules = LoopRules(session_budget=Budget(calls=1))
    turn = [begun(), answered(call("t1")), ran()]
    again = [TurnPaused(turn="turn-1", reason="budget"), TurnResumed(turn="turn-1")]
    for events in ([], again):
        step = step_after(turn, events, rules=rules, used=BudgetUse(calls=1))
        assert isinstance(step, Pause) and "`calls` of session_budget" in step.note
    assert isinstance(step_after(turn, again, rules=rules), CallModel)
    assert fold(begun(), answered(text("Hello."))).session_tool_calls == 0

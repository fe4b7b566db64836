"""How a call's end is told to the ledger, and what the loop does upon it."""

from pathlib import Path

import pytest

from tests.loop.stories import begun, fold, text
from tests.promises.stage import CHAT, agent_for, generated, of_kind, script
from ullage.codec.stream import Answer, Stop
from ullage.compactor.call_events import ended
from ullage.events import CallEnded, CallStarted
from ullage.messages import Message
from ullage.usage import Usage
from ullage_agent.loop.decide import LoopSituation, decide
from ullage_agent.loop.steps import Compact, EndTurn, NextStep
from ullage_simulators import running


def answer(stop: Stop, usage: Usage, *words: str) -> Answer:
    message = Message(
        id="c1.answer",
        role="assistant",
        parts=tuple(text(one) for one in words),
        call="c1",
    )
    return Answer(message, usage, stop, "finished")


def step_upon(given: Answer) -> NextStep:
    loop = fold(begun(), CallStarted(call="c1"), ended("c1", given))
    return decide(LoopSituation(loop=loop, may_compact=True))


@pytest.mark.parametrize("stop", ["length", "context_full"])
@pytest.mark.parametrize("usage", [Usage(input=8_000, output=0), Usage(input=8_000)])
def test_a_limit_reached_before_any_output_is_an_overflow_that_a_compaction_may_cure(
    stop: Stop, usage: Usage
) -> None:
    (only,) = ended("c1", answer(stop, usage))
    assert isinstance(only, CallEnded)
    assert (only.outcome, only.error_kind, only.usage) == ("failed", "Overflow", usage)
    assert step_upon(answer(stop, usage)) == Compact("overflow")


@pytest.mark.parametrize("stop", ["length", "context_full"])
def test_a_limit_reached_in_hidden_reasoning_is_a_cut_answer(stop: Stop) -> None:
    usage = Usage(input=10, output=64)
    (only,) = ended("c1", answer(stop, usage))
    assert isinstance(only, CallEnded)
    assert only.outcome == "finished"
    assert only.stop == stop
    assert only.error_kind == ""
    assert only.usage == usage
    step = step_upon(answer(stop, usage))
    assert isinstance(step, EndTurn) and step.reason == "length"


async def test_reasoning_that_takes_all_output_ends_the_turn(tmp_path: Path) -> None:
    reasoning = "The hall, the yard and the cellar are to be looked at in turn. " * 40
    with running(script({"reasoning": reasoning, "text": "They are fine."})) as server:
        agent = agent_for(tmp_path / "s.db", max_output=64, server=server)
        async with agent.session("s", **CHAT.settings()) as session:
            result = await session.ask("Think about it.")
            events = await session.history()
        (call,) = of_kind(events, CallEnded)
        assert call.usage is not None and call.usage.output == 64
        assert result.reason == "length"
        assert result.error is None
        assert len(generated(server)) == 1

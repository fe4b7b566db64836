"""What a result says of its turn: usage, cost and messages, also of answers that were asked for again and children."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import CLAUDE, Speaker, agent_for, generated, script
from ullage import Agent, subagent
from ullage.errors import RequestRejected
from ullage.messages import TextPart, ToolCallPart, ToolResultPart
from ullage_simulators import Server, running
from ullage_simulators.wire import Bill

LOOK = {"name": "level", "arguments": {"cask": 3}}


def level(cask: int) -> str:
    """How full a cask is."""
    return f"Cask {cask} is half full."


def agent_of(
    server: Server, place: Path, speaker: Speaker = CLAUDE, **more: Any
) -> Agent[Any]:
    return agent_for(place / "s.db", server=server, **{**speaker.settings(), **more})


def billed(server: Server) -> list[Bill]:
    """What each call of a model was billed at."""
    return [each.bill for each in generated(server) if each.bill is not None]


async def test_a_result_has_what_its_own_turn_used_and_said(tmp_path: Path) -> None:
    scenario = script(
        {
            "when": {"contains": "cask 3", "after": "user"},
            "text": "I look. ",
            "calls": [LOOK],
        },
        {"text": "It is half full."},
    )
    with running(scenario) as server:
        agent = agent_of(server, tmp_path, tools=[level])
        async with agent.session("s") as session:
            first = await session.ask("Hello.")
            second = await session.ask("How full is cask 3?")
            assert (await session.wait()) == second
        bills = billed(server)
    async with agent.session("s", resume=False) as session:
        again = await session.wait()
    assert again.usage == second.usage
    assert first.session == second.session == "s"
    assert first.usage.input == bills[0].input
    assert second.usage.input == sum(bill.input for bill in bills[1:])
    assert second.usage.output == sum(bill.output for bill in bills[1:])
    assert [message.text for message in first.messages] == ["Hello.", "It is half full."]
    kinds = [type(part) for message in second.messages for part in message.parts]
    assert kinds == [TextPart, TextPart, ToolCallPart, ToolResultPart, TextPart]
    spent = second.reading.spend.money.usd
    assert first.cost is not None and second.cost is not None
    assert first.cost + second.cost == pytest.approx(spent)


async def test_answers_that_did_not_fit_are_part_of_the_turn(tmp_path: Path) -> None:
    with running(
        script({"text": "Nine.", "times": 1}, {"text": '{"value": 9}'})
    ) as server:
        agent = agent_of(server, tmp_path, output_type=int)
        result = await agent.ask("How many?")
        bills = billed(server)
    assert result.output == 9
    assert [message.role for message in result.messages] == ["user", "assistant"] * 2
    assert result.usage.input == sum(bill.input for bill in bills)


async def test_calls_of_a_subagent_are_part_of_the_turn(tmp_path: Path) -> None:
    call = {"name": "research", "arguments": {"task": "Look into the hall."}}
    scenario = script(
        {"when": {"contains": "Ask somebody", "after": "user"}, "calls": [call]},
        {"text": "It is empty."},
    )
    with running(scenario) as server:
        child = agent_of(server, tmp_path)
        tools = [subagent(child, name="research", description="Looks.")]
        result = await agent_of(server, tmp_path, tools=tools).ask("Ask somebody.")
        bills = billed(server)
    assert len(bills) == 3
    assert result.usage.input == sum(bill.input for bill in bills)


async def test_the_cost_of_a_model_without_a_price_is_unknown(tmp_path: Path) -> None:
    with running(script({"text": "Yes."})) as server:
        agent = agent_of(server, tmp_path, model="anthropic:claude-next-9")
        result = await agent.ask("Is it?")
    assert result.cost is None
    assert result.usage.output is not None


@pytest.mark.parametrize("is_sync", [True, False])
async def test_a_failed_turn_is_raised_or_with_check_false_a_result_s_error(
    is_sync: bool, tmp_path: Path
) -> None:
    faults = [{"kind": "status", "status": 400}]
    with running(script({"text": "Yes."}, faults=faults)) as server:
        agent = agent_of(server, tmp_path)
        if is_sync:
            result = agent.run_sync("Is it?", check=False)
            with pytest.raises(RequestRejected):
                agent.run_sync("Is it?")
        else:
            result = await agent.ask("Is it?", check=False)
            with pytest.raises(RequestRejected):
                await agent.ask("Is it?")
    assert isinstance(result.error, RequestRejected)
    assert result.reason == "failed"
    assert (result.usage.input, result.cost) == (0, 0.0)

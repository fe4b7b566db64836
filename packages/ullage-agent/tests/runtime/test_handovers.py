"""Several agents in one session: who answers, with which prompt, tools and model, and how often they change."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ullage.errors import CommandRefused, SettingError, WrongType
from ullage.events import (
    EpochChanged,
    Event,
    HandedOver,
    ModelChanged,
    SystemChanged,
    ToolEnded,
    ToolsChanged,
)
from ullage.messages import ToolResultPart
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.handovers import check_name, team_of
from ullage_agent.runtime.session import Session
from ullage_simulators import Scenario, Server, running
from ullage_simulators.scenario import read

CLAUDE = "anthropic:claude-haiku-4-5"
MODELS = [
    "anthropic:claude-sonnet-4-6",
    "openai:gpt-5-mini",
    "google:gemini-3-flash-preview",
    "deepseek:deepseek-reasoner",
]
TO_BILLING = {"name": "hand_over_to_billing", "arguments": {"note": "Order A1."}}


def refund(order: str) -> str:
    """Pay an order back."""
    return f"{order} is paid back."


def clock() -> str:
    """The time."""
    return "It is noon."


def script(*answers: Mapping[str, Any]) -> Scenario:
    return read({"answers": [dict(answer) for answer in answers]})


@contextmanager
def simulated(scenario: Scenario) -> Iterator[tuple[Server, dict[str, Any]]]:
    """A simulator, and what an agent needs to reach it instead of the providers."""
    with running(scenario) as server:
        environment = {
            "ANTHROPIC_API_KEY": "x",
            "OPENAI_API_KEY": "x",
            "GEMINI_API_KEY": "x",
            "DEEPSEEK_API_KEY": "x",
            "ANTHROPIC_BASE_URL": server.url("anthropic"),
            "OPENAI_BASE_URL": server.url("openai"),
            "GOOGLE_GEMINI_BASE_URL": server.url("gemini"),
            "DEEPSEEK_BASE_URL": server.url("deepseek"),
        }
        yield server, {"environment": environment, "config": False}


def handed_over(events: list[Event]) -> list[str]:
    return [event.agent for event in events if isinstance(event, HandedOver)]


def results(events: list[Event]) -> list[str]:
    texts: list[str] = []
    for event in events:
        for part in getattr(getattr(event, "message", None), "parts", ()):
            if isinstance(part, ToolResultPart):
                texts.append(part.text)
    return texts


@pytest.mark.parametrize("model", MODELS)
async def test_the_conversation_continues_with_model_prompt_and_tools_of_the_other_agent(
    model: str, tmp_path: Path
) -> None:
    scenario = script(
        {"when": {"contains": "money"}, "calls": [TO_BILLING], "text": "Let me see."},
        {
            "when": {"contains": "continues the conversation"},
            "calls": [{"name": "refund", "arguments": {"order": "A1"}}],
        },
        {"when": {"contains": "paid back"}, "text": "Your money is on its way."},
    )
    with simulated(scenario) as (server, more):
        billing = Agent(
            model, name="billing", system="You refund.", tools=[refund], **more
        )
        desk = Agent(
            CLAUDE,
            system="You greet.",
            handoffs=[billing],
            store=tmp_path / "s.db",
            **more,
        )
        async with desk.session("s") as session:
            result = await session.ask("I want my money back.")
            events = await session.history()
            assert session.active_agent == "billing"
        assert result.text == "Your money is on its way."
        assert result.reading.model == model.partition(":")[2]
        place = next(n for n, e in enumerate(events) if isinstance(e, HandedOver))
        after = events[place:]
        changed = next(e for e in after if isinstance(e, ModelChanged))
        assert changed.model == result.reading.model
        prompt = next(e for e in after if isinstance(e, SystemChanged))
        assert prompt.system[0].text == "You refund."
        tools = next(e for e in after if isinstance(e, ToolsChanged))
        assert [tool.name for tool in tools.tools] == ["refund", "read_result"]
        assert sum(isinstance(e, EpochChanged) for e in after) == 1
        assert all(exchange.status == 200 for exchange in server.exchanges)


@pytest.mark.parametrize("model", MODELS)
async def test_an_agent_without_tools_continues_a_conversation_with_tool_calls(
    model: str, tmp_path: Path
) -> None:
    scenario = script(
        {"when": {"contains": "money"}, "calls": [TO_BILLING]}, {"text": "I am billing."}
    )
    with simulated(scenario) as (server, more):
        billing = Agent(model, name="billing", **more)
        desk = Agent(CLAUDE, handoffs=[billing], store=tmp_path / "s.db", **more)
        assert (await desk.ask("money", session="s")).text == "I am billing."
        assert all(exchange.status == 200 for exchange in server.exchanges)


async def test_the_active_agent_and_its_reading_survive_a_restart(tmp_path: Path) -> None:
    scenario = script(
        {"when": {"contains": "money"}, "calls": [TO_BILLING]}, {"text": "Yes."}
    )
    with simulated(scenario) as (_, more):

        def desk() -> Agent:
            billing = Agent("openai:gpt-5-mini", name="billing", system="Refund.", **more)
            return Agent(
                CLAUDE, name="desk", handoffs=[billing], store=tmp_path / "s.db", **more
            )

        async with desk().session("s") as session:
            await session.ask("money")
            before = await session.context()
        async with desk().session("s") as session:
            assert session.active_agent == "billing"
            assert (await session.context()).used == before.used
            assert (await session.ask("And?")).reading.model == "gpt-5-mini"
            await session.hand_over("desk")
            assert (await session.context()).model == "claude-haiku-4-5"
            assert (await session.ask("And?")).reading.model == "claude-haiku-4-5"


class Crash(Exception):
    """Leaves a session in the middle of what it does."""


async def test_a_crash_before_a_handover_hands_over_once(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(60)
        return "late"

    scenario = script(
        {
            "when": {"contains": "money"},
            "calls": [{"name": "wait", "arguments": {}}, TO_BILLING],
        },
        {"text": "I am billing."},
    )
    with simulated(scenario) as (_, more):
        billing = Agent("openai:gpt-5-mini", name="billing", **more)
        desk = Agent(
            CLAUDE, tools=[wait], handoffs=[billing], store=tmp_path / "s.db", **more
        )
        with pytest.raises(Crash):
            async with desk.session("s") as session:
                await session.send("money")
                await begun.wait()
                raise Crash
        async with desk.session("s") as session:
            result = await session.wait()
            assert handed_over(await session.history()) == ["billing"]
        assert (result.text, session.id) == ("I am billing.", "s")


async def test_calls_beside_a_handover_are_run_by_their_own_agent(tmp_path: Path) -> None:
    late = {"name": "clock", "arguments": {}}
    again = {"name": "hand_over_to_stock", "arguments": {}}
    scenario = script(
        {"when": {"contains": "money"}, "calls": [late, TO_BILLING, again, late]},
        {"text": "I am billing."},
    )
    with simulated(scenario) as (_, more):
        others = [
            Agent("openai:gpt-5-mini", name=name, **more) for name in ("billing", "stock")
        ]
        desk = Agent(
            CLAUDE, tools=[clock], handoffs=others, store=tmp_path / "s.db", **more
        )
        async with desk.session("s") as session:
            assert (await session.ask("money")).text == "I am billing."
            events = await session.history()
        assert handed_over(events) == ["billing"]
        given = results(events)
        assert sum(text == "It is noon." for text in given) == 2
        assert any("handed over to billing already" in text for text in given)
        ended = [event.outcome for event in events if isinstance(event, ToolEnded)]
        assert len(ended) == 4


async def test_two_agents_that_hand_over_to_each_other_end(tmp_path: Path) -> None:
    back = {"name": "hand_over_to_desk", "arguments": {}}
    scenario = script(
        {"when": {"model": "claude-haiku-4-5"}, "calls": [TO_BILLING]},
        {"when": {"model": "gpt-5-mini"}, "calls": [back]},
    )
    with simulated(scenario) as (_, more):
        more |= {"max_steps": 40, "max_repeats": 40}
        billing = Agent("openai:gpt-5-mini", name="billing", **more)
        desk = Agent(
            CLAUDE, name="desk", handoffs=[billing], store=tmp_path / "s.db", **more
        )
        billing.handoffs.append(desk)
        async with desk.session("s") as session:
            result = await session.ask("money")
            events = await session.history()
        assert handed_over(events) == ["billing", "desk"] * 5
        assert result.reason in ("loop", "max_steps")
        assert any(
            "10 times in this turn, which is the limit" in t for t in results(events)
        )


async def test_a_gone_agent_is_an_error_that_names_the_others(tmp_path: Path) -> None:
    with simulated(script({"text": "Yes."})) as (_, more):
        billing = Agent("openai:gpt-5-mini", name="billing", **more)
        stock = Agent("openai:gpt-5-mini", name="stock", **more)
        path = tmp_path / "s.db"
        async with Agent(CLAUDE, handoffs=[billing], store=path, **more).session(
            "s"
        ) as session:
            await session.hand_over("billing")
            await session.wait()
        async with Agent(CLAUDE, handoffs=[stock], store=path, **more).session(
            "s", resume=False
        ) as session:
            with pytest.raises(SettingError, match=r"'billing'.*its agents: stock"):
                await session.send("Hello.")
            with pytest.raises(CommandRefused, match="this session has: stock"):
                await session.hand_over("billing")
            await session.hand_over("stock")
            assert (await session.ask("Hello.")).text == "Yes."


async def test_limits_and_a_missing_model_are_the_first_agent_s(tmp_path: Path) -> None:
    with simulated(script({"text": "Yes."})) as (_, more):
        billing = Agent(name="billing", budget={"calls": 9}, **more)
        desk = Agent(
            CLAUDE,
            handoffs=[billing],
            budget={"calls": 1},
            store=tmp_path / "s.db",
            **more,
        )
        async with desk.session("s") as session:
            await session.hand_over("billing")
            assert (await session.ask("Hello.")).reading.model == "claude-haiku-4-5"
            settings = await settings_of(session)
        assert settings.budget.calls == 1


async def settings_of(session: Session) -> Any:
    return (await session._look()).settings


def test_names_are_needed_and_used_once() -> None:
    def agent(name: str = "", *others: Agent) -> Agent:
        return Agent(CLAUDE, name=name, handoffs=others, config=False, environment={})

    with pytest.raises(SettingError, match="has no name"):
        agent("", agent())
    with pytest.raises(SettingError, match="Two agents have the name 'a'"):
        agent("", agent("a"), agent("a"))
    with pytest.raises(SettingError, match="Two agents have the name 'a'"):
        agent("a", agent("a"))
    late = agent("")
    late.handoffs.append(agent())
    with pytest.raises(SettingError, match="has no name"):
        team_of(late)
    with pytest.raises(SettingError, match="can't be 'the desk'"):
        check_name("the desk")
    broken = agent("desk")
    broken.handoffs.append("billing")  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="and not str"):
        team_of(broken)
    inner = agent("b")
    assert list(team_of(agent("", agent("a", inner), inner))) == ["a", "b"]

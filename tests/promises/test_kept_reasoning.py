"""What happens in a session changes nothing in front of reasoning that is kept, on a model that binds it."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

from tests.promises.stage import BOUND_CLAUDE, agent_for, generated, of_kind, script
from ullage.events import CompactionCommitted, Event, MessageAdded, ReasoningRefused
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.copying import fork
from ullage_agent.runtime.session import Session
from ullage_simulators import Scenario, Server, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.prompt import ScriptContext

THINKS = {"reasoning": "Let me look. " * 5, "text": "Half full."}
SUMMARISES = {
    "when": {"contains": "ummar"},
    "text": "Goal: the casks. Done: two of them. Next: the third.",
}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def bound_agent(server: Server, place: Path, **more: Any) -> Agent:
    speaker = BOUND_CLAUDE._replace(params={})
    given = {"window": 30_000, **speaker.settings(), **more}
    return agent_for(place / "s.db", server=server, **given)


def thoughts(server: Server) -> list[int]:
    """Thinking blocks in each request that was answered."""
    found: list[int] = []
    for exchange in generated(server):
        if exchange.body is not None:
            found.append(str(exchange.body["messages"]).count("'type': 'thinking'"))
    return found


def took_everything(server: Server, events: list[Event]) -> bool:
    """Whether the provider neither refused nor dropped any reasoning."""
    is_refused = any(exchange.rule for exchange in server.exchanges)
    return not is_refused and not of_kind(events, ReasoningRefused)


async def ask_often(session: Session, times: int) -> None:
    for number in range(times):
        await session.ask(f"How full is cask {number}? " + "It is made of wood. " * 200)


def calls_then_answers(*names: str) -> Scenario:
    """Calls of these tools at once, and then an answer; all with reasoning."""

    def assistant(ask: ScriptContext) -> ScriptedAnswer:
        if ask.results or ask.step > 1:
            return ScriptedAnswer(text="Half full.", reasoning="So it is half. " * 5)
        calls = tuple(Call(name) for name in names)
        return ScriptedAnswer(calls=calls, reasoning="Let me look. " * 5)

    return Scenario(assistant=assistant)


async def test_a_message_during_a_turn_and_results_out_of_order(tmp_path: Path) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    async def first() -> str:
        """Ends last."""
        began.set()
        await may_end.wait()
        return "Half."

    async def second() -> str:
        """Ends first."""
        return "Full."

    with running(calls_then_answers("first", "second")) as server:
        agent = bound_agent(server, tmp_path, tools=[first, second])
        async with agent.session("s") as session:
            asking = asyncio.create_task(session.ask("How full?"))
            await began.wait()
            await session.send("And the other one?")
            may_end.set()
            await asking
            await session.ask("And now?")
            events = await session.history()
        assert took_everything(server, events)
        assert thoughts(server) == [0, 1, 2]


async def test_a_cancelled_turn(tmp_path: Path) -> None:
    began = asyncio.Event()

    async def look() -> str:
        """Never ends."""
        began.set()
        await asyncio.Event().wait()
        return ""

    with running(calls_then_answers("look")) as server:
        async with bound_agent(server, tmp_path, tools=[look]).session("s") as session:
            asking = asyncio.create_task(session.ask("How full?"))
            await began.wait()
            await session.cancel()
            await asking
            await session.ask("And now?")
            await session.ask("And then?")
            events = await session.history()
        assert took_everything(server, events)
        assert thoughts(server) == [0, 1, 2]


async def test_a_rewind_keeps_what_is_in_front_of_it(tmp_path: Path) -> None:
    with running(script(THINKS)) as server:
        async with bound_agent(server, tmp_path).session("s") as session:
            await ask_often(session, 3)
            messages = of_kind(await session.history(), MessageAdded)
            await session.rewind(messages[3].message.id)
            await ask_often(session, 2)
            events = await session.history()
        assert took_everything(server, events)
        assert thoughts(server) == [0, 1, 2, 2, 3]


async def test_a_fork_keeps_all(tmp_path: Path) -> None:
    with running(script(THINKS)) as server:
        agent = bound_agent(server, tmp_path)
        async with agent.session("s") as session:
            await ask_often(session, 3)
            await fork(session._open.store, "s", "other")
        async with agent.session("other") as other:
            await ask_often(other, 1)
            events = await other.history()
        assert took_everything(server, events)
        assert thoughts(server) == [0, 1, 2, 3]


async def test_an_undone_compaction_gives_back_what_was_written_before_it(
    tmp_path: Path,
) -> None:
    with running(script(SUMMARISES, THINKS)) as server:
        agent = bound_agent(server, tmp_path, strategy="hybrid", keep=0.05)
        async with agent.session("s") as session:
            await ask_often(session, 4)
            await session.compact()
            await session.wait()
            await ask_often(session, 2)
            (done,) = of_kind(await session.history(), CompactionCommitted)
            await session.uncompact(done.compaction)
            await ask_often(session, 2)
            events = await session.history()
        assert took_everything(server, events)
        assert thoughts(server)[-2:] == [4, 5], "the two behind the summary are lost"


async def test_an_image_that_the_model_takes_no_more_costs_the_reasoning_behind_it(
    tmp_path: Path,
) -> None:
    with running(script(THINKS, server={"max_images": 2})) as server:
        async with bound_agent(server, tmp_path).session("s") as session:
            await ask_often(session, 1)
            for number in range(3):
                await session.send("Is it full?", PIXEL + bytes([number]))
                await session.wait()
            await ask_often(session, 1)
            events = await session.history()
        refused = [exchange.rule for exchange in server.exchanges if exchange.rule]
        assert not of_kind(events, ReasoningRefused)
        assert all("image" in rule for rule in refused), refused
        assert thoughts(server)[-2:] == [1, 2]

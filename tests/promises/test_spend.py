"""What a session is said to have cost is what the simulator has charged; and what limits it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import (
    CHAT,
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    RESPONSES,
    SIX,
    Shown,
    Speaker,
    agent_for,
    assert_accepted,
    assert_calls_closed,
    ended,
    generated,
    of_kind,
    results_of,
    script,
    until,
)
from tests.tiers import first_of
from ullage.codec.dialects import passes_of
from ullage.events import (
    CallEnded,
    ChildStarted,
    CompactionCommitted,
    Event,
)
from ullage.meter.spend import Spend
from ullage_agent.runtime.subagent import subagent
from ullage_simulators import Scenario, Server, running

WORDY = "It is large and full of old things, and nobody has counted them yet. " * 60
SUMMARY = "## Goal\nLook after the museum.\n## State\nIt is large, full of old things, and nobody has counted them."


def look(room: str) -> str:
    """Look into a room.

    Args:
        room: Which.
    """
    return f"The {room} is empty, and one goes on."


def summed(counts: Iterable[int | None]) -> int:
    """Of a call and the passes that are billed beside it: each says its own."""
    known = [count for count in counts if count is not None]
    assert known
    return sum(known)


def assert_charged(spend: Spend, events: list[Event], server: Server) -> None:
    """Row for row, what the simulator charged: calls that it did not charge have none."""
    bills = server.truth().bills
    rows = [
        (event.usage, *(one.usage for one in passes_of(event.usage)))
        for event in of_kind(events, CallEnded)
        if event.usage is not None
    ]
    assert sorted(
        (summed(one.input for one in row), summed(one.output for one in row))
        for row in rows
    ) == sorted((bill.input, bill.output) for bill in bills)
    assert spend.all.input == sum(bill.input for bill in bills)
    assert spend.all.output == sum(bill.output for bill in bills)
    assert spend.all.cache_read == sum(bill.cache_read for bill in bills)
    assert spend.all.estimated == 0
    assert spend.all.calls == len(of_kind(events, CallEnded)) + sum(
        len(row) - 1 for row in rows
    )


def summarised() -> Scenario:
    calls = [{"name": "look", "arguments": {"room": "hall"}}]
    return script(
        {"when": {"contains": "ummar"}, "text": SUMMARY},
        {"when": {"contains": "It is large"}, "text": "So it is."},
        {
            "when": {"contains": "hall, please", "after": "user"},
            "reasoning": "The hall.",
            "calls": calls,
        },
        {"text": "Empty."},
        faults=[{"kind": "status", "request": 2, "status": 529, "retry_after_s": 0.01}],
    )


@pytest.mark.parametrize("speaker", first_of(SIX, 2), ids=lambda one: one.name)
async def test_the_rows_of_main_retried_and_summary_calls_are_the_bills(
    speaker: Speaker, tmp_path: Path
) -> None:
    with running(summarised()) as server:
        agent = agent_for(tmp_path / "s.db", tools=[look], window=16_000, server=server)
        async with agent.session("s", **speaker.settings()) as session:
            for _ in range(4):
                await session.ask(WORDY)
            await session.ask("The hall, please.")
            await session.compact()
            await session.wait()
            await session.ask("The hall, please.")
            events, spend = await session.history(), (await session.context()).spend
        assert of_kind(events, CompactionCommitted)
        assert_charged(spend, events, server)
        assert spend.by_purpose["summary"].calls == len(ended(events, "summary")) >= 1
        assert_accepted(server, but=[2])


@pytest.mark.parametrize(
    "speaker",
    [pytest.param(one, id=one.name) for one in (CLAUDE, RESPONSES, GEMINI, DEEPSEEK)],
)
async def test_a_cancelled_call_is_spend_near_what_was_charged_for_it(
    speaker: Speaker, tmp_path: Path
) -> None:
    """Its input was reported on one wire, and is an estimate on the others; its output is what was shown."""
    scenario = script(
        {
            "when": {"contains": "story"},
            "text": "Once there was a cask in a cellar, full of old wine. " * 80,
        },
        {"text": WORDY},
        faults=[{"kind": "slow", "request": 4, "seconds": 0.05}],
    )
    with running(scenario) as server:
        agent = agent_for(tmp_path / "s.db", server=server)
        async with (
            agent.session("s", **speaker.settings()) as session,
            Shown(session) as shown,
        ):
            for _ in range(3):
                await session.ask(WORDY)
            seen = len(shown.pieces)
            await session.send("Tell me a story.")
            await shown.until(lambda now: len(now.pieces) > seen + 10)
            await session.cancel()
            spend, events = (await session.context()).spend, await session.history()
        cut, bill = ended(events)[-1], server.truth().bills[-1]
        assert cut.usage is not None and cut.usage.input is not None and cut.usage.output
        assert abs(cut.usage.input - bill.input) <= 0.03 * bill.input
        assert 0 < cut.usage.output <= bill.output
        assert spend.by_purpose["cancelled"].input == cut.usage.input
        assert spend.by_purpose["main"].input == sum(
            each.input for each in server.truth().bills[:-1]
        )


# -- children --


def with_child() -> Scenario:
    task = [{"name": "research", "arguments": {"task": "Find out about the hall."}}]
    calls = [{"name": "look", "arguments": {"room": "hall"}}]
    return script(
        {
            "when": {"contains": "Ask somebody", "after": "user"},
            "reasoning": "Somebody else.",
            "calls": task,
        },
        {
            "when": {"contains": "Find out", "after": "user"},
            "reasoning": "I look.",
            "calls": calls,
        },
        {"when": {"contains": "one goes on"}, "text": "The hall is empty. " * 30},
        {"text": "They say it is empty."},
        models=[
            {
                "name": "smaller",
                "like": "claude-opus-4-6",
                "window": 32_000,
                "max_output": 4_000,
            }
        ],
    )


@pytest.mark.parametrize(
    "speaker", [pytest.param(one, id=one.name) for one in (CLAUDE, RESPONSES, CHAT)]
)
async def test_a_child_is_spend_of_its_parent_and_no_part_of_its_reading(
    speaker: Speaker, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    with running(with_child()) as server:
        settings: dict[str, Any] = {
            "model": "anthropic:smaller",
            "base_url": server.url("anthropic"),
        }
        child = agent_for(store, tools=[look], **settings, server=server)
        research = subagent(child, name="research", description="Finds things out.")
        agent = agent_for(store, tools=[research], server=server)
        async with agent.session("s", **speaker.settings()) as session:
            result = await session.ask("Ask somebody about the hall.")
            events, spend = await session.history(), (await session.context()).spend
            reading = await session.context()
        (begun,) = of_kind(events, ChildStarted)
        async with child.session(begun.child) as below:
            inner = await below.context()
            own = inner.spend
        assert result.text == "They say it is empty."
        assert_charged(spend, events, server)
        assert spend.by_purpose["child"].calls == 2 and own.by_purpose["main"].calls == 2
        assert spend.by_purpose["child"].input == own.all.input
        last = ended(events)[-1]
        assert last.usage is not None and last.usage.input is not None
        assert reading.used.tokens <= last.usage.input + (last.usage.output or 0)
        assert inner.window.tokens == 32_000 and reading.window.tokens != 32_000
        assert len(results_of(await messages_of(store, "s", server))) == 1
        assert_accepted(server)


async def messages_of(store: Path, session: str, server: Server) -> tuple[Any, ...]:
    async with agent_for(store, server=server).session(session, resume=False) as opened:
        return await opened.messages()


async def test_a_cancel_reaches_a_child_and_the_tools_it_runs(tmp_path: Path) -> None:
    store, begun, stopped = tmp_path / "s.db", list[bool](), list[bool]()

    async def look(room: str) -> str:
        """Look into a room.

        Args:
            room: Which.
        """
        begun.append(True)
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(True)
        return "never"

    with running(with_child()) as server:
        settings: dict[str, Any] = {
            "model": "anthropic:smaller",
            "base_url": server.url("anthropic"),
        }
        child = agent_for(store, tools=[look], **settings, server=server)
        agent = agent_for(
            store,
            tools=[subagent(child, name="research", description="Finds things out.")],
            server=server,
        )
        async with agent.session("s", **CLAUDE.settings()) as session:
            await session.send("Ask somebody about the hall.")
            await until(lambda: begun)
            assert (await session.cancel()).persisted == "tools_in_progress"
            assert (await session.wait()).reason == "cancelled"
            events, spend = await session.history(), (await session.context()).spend
            (started,) = of_kind(events, ChildStarted)
            async with child.session(started.child, resume=False) as below:
                loop = (await below._look()).ledger.loop
                assert (loop.turn, loop.ended, loop.open) == ("", "cancelled", ())
                assert_calls_closed(await below.history())
        assert stopped
        assert_charged(spend, events, server)
        assert_calls_closed(events)


# -- limits --


def endless() -> Scenario:
    calls = [{"name": "look", "arguments": {"room": "hall"}}]
    return script(
        {"when": {"contains": "go"}, "reasoning": "On.", "calls": calls},
        {"text": "Well."},
    )


@pytest.mark.parametrize(
    ("budget", "most", "least"),
    [
        ({"calls": 3}, 3, 3),
        ({"tokens": 700}, 100, 2),
        ({"usd": 0.004}, 100, 2),
        ({"seconds": 1_800}, 1, 1),  # the clock is put on by the first call of a tool
    ],
)
async def test_a_budget_pauses_the_turn_and_more_of_it_goes_on(
    budget: dict[str, Any], most: int, least: int, tmp_path: Path
) -> None:
    ahead_s = 0.0

    async def look(room: str) -> str:
        """Look into a room.

        Args:
            room: Which.
        """
        nonlocal ahead_s
        ahead_s = 3_600.0
        await asyncio.sleep(0.02)
        return "one goes on"

    with running(endless()) as server:
        agent = agent_for(tmp_path / "s.db", tools=[look], budget=budget, server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            assert agent._shared is not None
            agent._shared.clock = lambda: time.time() + ahead_s
            await session.send("Go, go on.")
            first = await session.wait()
            assert (first.reason, first.is_paused) == ("budget", True) and first.note
            made = len(generated(server))
            assert least <= made <= most
            await session.send("Faster, go.")
            assert (await session.wait()).reason == "budget" and len(
                generated(server)
            ) == made
            assert [one.message.role for one in await session.pending()] == ["user"]
            ahead_s = 0.0
            await session.resume()
            assert (await session.wait()).reason == "budget"
            assert len(generated(server)) > made
        async with agent_for(tmp_path / "s.db", tools=[look], server=server).session(
            "s"
        ) as session:
            assert (await session.cancel()).cancelled
            assert_calls_closed(await session.history())
        assert_accepted(server)


async def test_a_turn_goes_on_when_its_session_gets_more_budget(tmp_path: Path) -> None:
    with running(endless()) as server:
        agent = agent_for(tmp_path / "s.db", tools=[look], server=server, max_steps=3)
        own = {**CLAUDE.settings(), "budget": {"calls": 1}}
        async with agent.session("s", **own) as session:
            assert (await session.ask("Go, go on.")).reason == "budget"
            await session.set(budget={"calls": 9})
            assert (await session.wait()).reason == "max_steps"


async def test_the_steps_of_a_turn_end_it_and_leave_a_session_that_goes_on(
    tmp_path: Path,
) -> None:
    with running(endless()) as server:
        agent = agent_for(tmp_path / "s.db", tools=[look], max_steps=4, server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            result = await session.ask("Go, go on.")
            assert result.reason == "max_steps" and "4" in result.note
            assert len(generated(server)) == 4
            last = results_of(await session.messages())[-1]
            assert last.is_error and "limit of 4 steps" in last.text
            assert (await session.ask("And now?")).reason == "finished"
            assert_calls_closed(await session.history())
        assert_accepted(server)

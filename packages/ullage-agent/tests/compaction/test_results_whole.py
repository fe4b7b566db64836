"""A tool's result is shown whole where a compaction makes room for it, and cut only where none does."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.stage import (
    CHAT,
    agent_on,
    conversing,
    gave,
    generated,
    heard,
    imported,
    is_summary_call,
    of_kind,
    refused,
    said,
    scene,
    script,
    turns,
)
from tests.context.sessions import words
from ullage.events import CompactionCommitted, Event, ToolEnded
from ullage.messages import ToolResultPart
from ullage.meter.reading import Reading
from ullage.tokens.truncation import estimated_tokens
from ullage_agent.runtime.hooks import Hook, Refusal
from ullage_agent.tools.functions import tool
from ullage_agent.tools.result_budget import WHOLE
from ullage_simulators import running
from ullage_simulators.server import Exchange

WINDOW = 16_000
FULL = turns(29)
"""Leaves so little room that a result of ``LONG`` words was cut before the compaction."""
LONG = 1_500
FACT = "the bung of cask nine is number 48213"


def log(words_of_it: int, seed: int = 1) -> str:
    """A log with the fact in its middle, where a cut takes it away."""
    half = words_of_it // 2
    return f"{words(half, seed)}\n{FACT} of log {seed}\n{words(half, seed + 100)}"


@tool
def look(at: int) -> str:
    """Read the log of a cask."""
    return log(LONG, at)


@tool
def read_short(at: int) -> str:
    """Read a short log of a cask."""
    return log(450, at)


@tool
def read_all() -> str:
    """Read all logs, which no window holds."""
    return "\n".join(words(500, at) for at in range(100)) + f"\n{FACT}\n"


def calling(name: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    calls = [{"name": name, "arguments": each} for each in arguments]
    return {"when": {"after": "user", "contains": "newest"}, "calls": calls}


def main_calls(every: Sequence[Exchange]) -> list[Exchange]:
    return [one for one in every if not is_summary_call(one)]


def ends_of(events: Sequence[Event]) -> list[ToolEnded]:
    return of_kind(events, ToolEnded)


async def test_a_result_that_fits_behind_a_compaction_is_shown_whole(
    tmp_path: Path,
) -> None:
    scenario = script(CHAT, calling("look", {"at": 1}), window=WINDOW)
    async with scene(
        tmp_path, CHAT, FULL, scenario=scenario, window=WINDOW, tools=[look]
    ) as (server, session):
        await session.ask("Hello.")
        result = await session.ask("Look, newest.")
        assert result.reason == "finished"
        first, second = main_calls(generated(server))[1:]
        assert FACT not in heard(first) and FACT in heard(second)
        assert any(is_summary_call(one) for one in generated(server))
        assert not ends_of(await session.history())[0].handle
        assert (result.reading.used.high) < 8_000
    assert not refused(server)


async def test_results_of_one_step_share_the_room_and_stay_whole(tmp_path: Path) -> None:
    calls = [{"at": at} for at in range(4)]
    scenario = script(CHAT, calling("read_short", *calls), window=WINDOW)
    async with scene(
        tmp_path, CHAT, FULL, scenario=scenario, window=WINDOW, tools=[read_short]
    ) as (server, session):
        await session.ask("Hello.")
        assert (await session.ask("Look, newest.")).reason == "finished"
        last = heard(main_calls(generated(server))[-1])
        assert all(f"{FACT} of log {at}" in last for at in range(4))


async def test_a_steer_behind_a_result_does_not_let_the_summary_take_it(
    tmp_path: Path,
) -> None:
    scenario = script(CHAT, calling("steered", {}), window=WINDOW)

    @tool
    async def steered() -> str:
        """Read a log, while the user says something."""
        await session.send("And hurry, please.")
        return log(LONG)

    async with scene(
        tmp_path, CHAT, FULL, scenario=scenario, window=WINDOW, tools=[steered]
    ) as (server, session):
        await session.ask("Hello.")
        assert (await session.ask("Look, newest.")).reason == "finished"
        last = heard(main_calls(generated(server))[-1])
        assert FACT in last and "And hurry, please." in last


@pytest.mark.parametrize("settings", [{"strategy": "noop"}, {"auto": False}], ids=str)
async def test_without_compaction_a_result_gets_what_is_free_now(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    """Behind a compaction there would be room for more."""
    scenario = script(CHAT, calling("read_all", {}), window=WINDOW)
    settings = {**settings, "window": WINDOW, "tools": [read_all]}
    async with scene(tmp_path, CHAT, turns(15), scenario=scenario, **settings) as (
        _server,
        session,
    ):
        assert (await session.ask("Look, newest.")).reason == "finished"
        results = [
            part.text
            for message in await session.messages()
            for part in message.of_type(ToolResultPart)
        ]
        assert WHOLE * 0.8 < estimated_tokens(results[-1]) <= WHOLE


class Veto(Hook):
    """Refuses every compaction."""

    async def before_compaction(
        self, reading: Reading, trigger: str
    ) -> Refusal | tuple[str, ...]:
        return Refusal("Not now.")


@pytest.mark.parametrize(
    ("settings", "summary"),
    [
        ({"hooks": [Veto()]}, None),
        ({"strategy": "llm"}, {"text": ""}),
        ({"strategy": "trim"}, None),
    ],
    ids=["vetoed", "no summary", "nothing to trim"],
)
async def test_where_no_compaction_helps_the_result_is_cut_and_the_turn_goes_on(
    settings: dict[str, Any], summary: dict[str, Any] | None, tmp_path: Path
) -> None:
    scenario = script(CHAT, calling("look", {"at": 1}), window=WINDOW, summary=summary)
    async with scene(
        tmp_path,
        CHAT,
        FULL,
        scenario=scenario,
        window=WINDOW,
        tools=[look],
        **settings,
    ) as (server, session):
        await session.ask("Hello.")
        result = await session.ask("Look, newest.")
        assert result.reason == "finished"
        last = heard(main_calls(generated(server))[-1])
        assert FACT not in last and "call read_result with" in last
        assert ends_of(await session.history())[0].handle == ""
        cut = of_kind(await session.history(), CompactionCommitted)[-1]
        assert cut.rung == "trim" and cut.summary is None
    assert not refused(server)


class Hang(Hook):
    """Stops where the compaction begins."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def before_compaction(
        self, reading: Reading, trigger: str
    ) -> Refusal | tuple[str, ...]:
        self.begun.set()
        return await asyncio.Future[tuple[str, ...]]()


async def test_a_driver_that_finds_a_result_before_its_compaction_shows_it_whole(
    tmp_path: Path,
) -> None:
    scenario = script(CHAT, calling("look", {"at": 1}), window=WINDOW)
    store, hook = tmp_path / "s.db", Hang()
    await imported(store, FULL)
    settings: dict[str, Any] = {"window": WINDOW, "tools": [look]}
    with running(scenario) as server:
        async with conversing(
            agent_on(server, store, CHAT, hooks=[hook], **settings)
        ) as session:
            await session.ask("Hello.")
            await session.send("Look, newest.")
            await hook.begun.wait()
            await session.close()
        async with conversing(agent_on(server, store, CHAT, **settings)) as session:
            assert (await session.wait()).reason == "finished"
        first, second = main_calls(generated(server))[1:]
        assert FACT not in heard(first) and FACT in heard(second)


async def test_what_is_cut_of_a_result_larger_than_the_window_is_one_call_away(
    tmp_path: Path,
) -> None:
    """The simulator's model calls what the notice says; its page is as long as there is room, and not cut again."""
    scenario = script(CHAT, calling("read_all", {}), window=WINDOW)
    async with scene(
        tmp_path, CHAT, FULL, scenario=scenario, window=WINDOW, tools=[read_all]
    ) as (server, session):
        await session.ask("Hello.")
        assert (await session.ask("Look, newest.")).reason == "finished"
        last = heard(main_calls(generated(server))[-1]).replace("\\", "")
        noticed = re.search(
            r'call read_result with (\{"handle": "[^"]+", "start": \d+\})', last
        )
        assert noticed is not None
    arguments = json.loads(noticed[1])
    scenario = script(CHAT, calling("read_result", arguments), window=WINDOW)
    with running(scenario) as server:
        again = agent_on(server, tmp_path / "s.db", CHAT, window=WINDOW, tools=[read_all])
        async with conversing(again) as session:
            await session.ask("Hello.")
            assert (await session.ask("Look, newest.")).reason == "finished"
            page = heard(main_calls(generated(server))[-1])
            assert "to go on, call read_result" in page
            assert not ends_of(await session.history())[-1].handle


async def test_what_was_cleared_is_one_call_away(tmp_path: Path) -> None:
    scenario = script(CHAT, calling("read_result", {"handle": "r0.0"}), window=WINDOW)
    had = [message for message in turns(40, size=300) if message.role != "user"]
    had[1] = gave("r0", "a0", log(300))
    settings = {"window": WINDOW, "tools": [look], "strategy": "clear"}
    async with scene(
        tmp_path, CHAT, [said("u", "Go."), *had], scenario=scenario, **settings
    ) as (server, session):
        assert (await session.ask("Look, newest.")).reason == "finished"
        first, second = main_calls(generated(server))
        assert FACT not in heard(first)
        assert "[Old result cleared: read_result r0.0]" in heard(first)
        assert FACT in heard(second)

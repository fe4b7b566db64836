"""Many sessions in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from ullage_simulators import running
from ullage_simulators.scenario import read

from tests.agents import haiku
from ullage.errors import CommandRefused, SessionNotFound, SettingError
from ullage.events import (
    CancelAsked,
    Event,
    Queued,
    ReadingTaken,
    SettingsChanged,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.messages import Message, TextPart
from ullage.runtime.hosting import Host, is_child, is_unfinished
from ullage.store.sqlite import SqliteStore


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with running(
        read(
            {"answers": [{"text": "Word after word. " * 20}], "server": {"delay_s": 0.01}}
        )
    ) as simulator:
        yield simulator.url("anthropic")


@asynccontextmanager
async def hosting(
    provider: str, store: Path, *, idle_s: float = 300.0
) -> AsyncIterator[Host]:
    agent = haiku(store, base_url=provider, yields=True)
    async with Host(agent, idle_s=idle_s) as host:
        yield host


async def test_a_session_is_opened_once_however_many_ask_for_it(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        await host.begin("s")
        await host.forget("s")
        found = await asyncio.gather(*(host.session("s") for _ in range(10)))
        assert len({id(session) for session in found}) == 1
        assert host.open_sessions == 1


async def test_a_taken_id_and_a_setting_that_can_t_be_begin_nothing(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        await host.begin("s")
        with pytest.raises(CommandRefused):
            await host.begin("s")
        with pytest.raises(SettingError):
            await host.begin("t", {"trigger": -1})
        with pytest.raises(SessionNotFound):
            await host.session("t")


async def test_settings_of_the_session_win_over_those_of_a_yielding_agent(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        session = await host.begin("s", {"model": "anthropic:claude-sonnet-4-6"})
        await session.wait()
        assert (await session.context()).model == "claude-sonnet-4-6"


async def test_a_setting_that_changes_while_the_first_ones_are_written_counts(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        for number in range(20):
            session = await host.begin(f"s{number}")
            await asyncio.sleep(number / 2_000)
            await session.set(window=50_000 + number)
            await session.wait()
            assert (await session.context()).window.tokens == 50_000 + number


async def test_who_leaves_a_host_leaves_work_that_the_next_one_finds(
    provider: str, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    async with hosting(provider, store) as host:
        busy, resting = await host.begin("busy"), await host.begin("resting")
        await resting.wait()
        await busy.send("hello")
        async for event in busy.events(after=0):
            if not isinstance(event, Event):
                break
    async with hosting(provider, store) as host:
        assert await host.recover() == ["busy"]
        assert (await (await host.session("busy")).wait()).reason == "finished"
        assert await host.recover() == []


async def test_sessions_that_rest_are_closed_after_a_while_and_opened_again_when_needed(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db", idle_s=0.05) as host:
        session = await host.begin("s")
        await session.ask("hello")
        while host.open_sessions:
            await asyncio.sleep(0.01)
        again = await host.session("s")
        assert again is not session
        assert len(await again.messages()) == 2


def said(name: str) -> Queued:
    message = Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text="x"),))
    return Queued(message=message, kind="steer", position=1)


RESTING: list[Event] = [
    TurnStarted(turn="t"),
    TurnEnded(turn="t"),
    SettingsChanged(settings={"trigger": 0.5}),
]


@pytest.mark.parametrize(
    ("events", "is_left"),
    [
        ([], False),
        (RESTING, False),
        ([TurnStarted(turn="t")], True),
        ([*RESTING, CancelAsked()], True),
        ([*RESTING, said("m")], True),
        ([TurnStarted(turn="t"), TurnPaused(turn="t", reason="approval")], False),
        ([TurnStarted(turn="t"), *[SettingsChanged(settings={})] * 60], True),
    ],
)
async def test_what_is_left_to_do_is_told_from_the_ledger(
    events: list[Event], is_left: bool, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("s", events)
    assert await is_unfinished(store, await store.about("s")) is is_left
    await store.close()


async def test_a_tool_call_s_own_session_is_looked_at_and_not_driven(
    provider: str, tmp_path: Path
) -> None:
    """Who called it decides what becomes of it."""
    assert is_child("parent/call-1") and not is_child("parent")
    async with hosting(provider, tmp_path / "s.db") as host:
        started = (await host.begin("parent"), await host.store.read("parent"))[1]
        await host.store.create("parent/call-1", [*started[:1], said("m")])
        assert await host.recover() == []
        child = await host.session("parent/call-1")
        await asyncio.sleep(0.1)
        assert not any(
            isinstance(event, ReadingTaken | TurnStarted)
            for event in await child.history()
        )


async def test_busy_is_who_is_worked_for(provider: str, tmp_path: Path) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        session = await host.begin("s")
        await session.wait()
        assert host.busy_sessions == 0
        await session.send("hello")
        assert host.busy_sessions == 1
        await session.wait()
        assert host.busy_sessions == 0


async def test_a_host_that_is_not_open_says_so(tmp_path: Path) -> None:
    agent = haiku(tmp_path / "s.db", environment={})
    with pytest.raises(RuntimeError, match="async with"):
        await Host(agent).session("s")

"""Many sessions in one process."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agents import haiku
from ullage.errors import CommandRefused, SessionNotFound, SettingError, StoreUnavailable
from ullage.events import (
    CallEnded,
    CallStarted,
    Queued,
    ReadingTaken,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from ullage.messages import Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Unattended
from ullage_agent.runtime.dispatch import Embedded
from ullage_agent.runtime.hosting import Host, is_child
from ullage_agent.runtime.policy import RETRY_S, WOKEN_AT_ONCE
from ullage_simulators import running
from ullage_simulators.scenario import read


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
    provider: str, store: Path, *, idle_s: float = 300.0, attends: bool = False
) -> AsyncIterator[Host]:
    agent = haiku(store, base_url=provider, yields=True)
    async with Host(agent, idle_s=idle_s, attends=attends) as host:
        yield host


async def test_a_session_is_opened_once_however_many_ask_for_it(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        await host.begin("s")
        await host.forget("s")
        found = await asyncio.gather(*(host.look("s") for _ in range(10)))
        assert len({id(session) for session in found}) == 1
        assert host.open_sessions == 1


async def test_a_session_that_is_forgotten_while_its_driver_begins_is_not_opened_again(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        for number in range(20):
            name = f"s{number}"
            await host.begin(name)
            await host.forget(name)
            assert host.open_sessions == 0
            await host.store.delete(name)
            await asyncio.sleep(0)
        assert host.open_sessions == 0


async def test_a_taken_id_and_a_setting_that_can_t_be_begin_nothing(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        await host.begin("s")
        for taken_or_never_driven in ("s", "s/call", "s\nt", "..", " "):
            with pytest.raises(CommandRefused):
                await host.begin(taken_or_never_driven)
        with pytest.raises(SettingError):
            await host.begin("t", {"trigger": -1})
        with pytest.raises(SessionNotFound):
            await host.look("t")


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


async def test_sessions_that_rest_are_closed_after_a_while_and_opened_again_when_needed(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        session = await host.begin("s")
        await session.ask("hello")
        host._used["s"] = -math.inf
        await host._close_unused()
        assert not host.open_sessions
        again = await host.look("s")
        assert again is not session
        assert len(await again.messages()) == 2


async def test_a_session_is_not_idle_as_long_as_it_works(
    provider: str, tmp_path: Path
) -> None:
    async with hosting(provider, tmp_path / "s.db") as host:
        session = await host.begin("s")
        session._idle.clear()
        host._used["s"] = -math.inf
        await host._close_unused()
        session._idle.set()
        await host._close_unused()
        assert host.open_sessions


async def test_a_host_closes_them_by_itself(provider: str, tmp_path: Path) -> None:
    async with hosting(provider, tmp_path / "s.db", idle_s=0.01) as host:
        await host.store.create("s")
        await host.look("s")
        while host.open_sessions:
            await asyncio.sleep(0.01)


def said(name: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text="x"),))


async def test_a_host_that_attends_resumes_what_others_left_and_looking_resumes_nothing(
    provider: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    async with hosting(provider, path) as host:
        await (await host.begin("s")).wait()
        await host.store.send("s", said("m"), "steer")
        async with hosting(provider, path) as other:
            before = await other.store.read("s")
            looked = await other.look("s")
            await looked.context()
            assert len(await looked.pending()) == 1
            assert await looked._is_interrupted()
            assert await other.store.read("s") == before
            assert (await other.store.about("s")).held_by == ""
        async with hosting(provider, path, attends=True) as third:
            async for event in (await third.look("s")).events(after=len(before)):
                if isinstance(event, TurnEnded):
                    break
        assert len(await (await host.look("s")).messages()) == 2


@pytest.mark.program
async def test_a_drained_host_ends_the_call_and_leaves_the_rest(tmp_path: Path) -> None:
    script = read(
        {
            "answers": [
                {"calls": [{"name": "search", "arguments": {"pattern": "x"}}]},
                {"text": "Done."},
            ],
            "server": {"delay_s": 0.2},
        }
    )
    with running(script) as simulator:
        provider = simulator.url("anthropic")
        agent = haiku(
            tmp_path / "s.db",
            base_url=provider,
            tools=["search"],
            root=tmp_path,
            yields=True,
        )
        async with Host(agent) as host:
            session = await host.begin("s")
            await session.send("hello")
            async for event in session.events(after=0):
                if isinstance(event, CallStarted):
                    break
            await host.drain()
            left = await host.store.read("s")
            assert (await host.store.about("s")).held_by == ""
            assert [e.outcome for e in left if isinstance(e, CallEnded)] == ["finished"]
            assert not any(isinstance(event, ToolStarted) for event in left)
            await session.send("and more")
            await session.until_idle()
            assert len(await host.store.pending("s")) == 1
        async with Host(agent, attends=True) as host:
            async for event in (await host.look("s")).events(after=len(left)):
                if isinstance(event, TurnEnded):
                    break
            calls = [
                event
                for event in await host.store.read("s")
                if isinstance(event, CallEnded)
            ]
            assert [call.outcome for call in calls] == ["finished"] * len(calls)


async def test_a_tool_call_s_session_is_not_driven(provider: str, tmp_path: Path) -> None:
    """Who called it decides what becomes of it."""
    assert is_child("parent/call-1") and not is_child("parent")
    async with hosting(provider, tmp_path / "s.db") as host:
        started = (await host.begin("parent"), await host.store.read("parent"))[1]
        queued = Queued(message=said("m"), kind="steer", position=1)
        await host.store.create("parent/call-1", [*started[:1], queued])
        child = await host.wake("parent/call-1")
        await host.dispatch.wake("parent/call-1", 2)
        await asyncio.sleep(0.1)
        assert not any(
            isinstance(event, ReadingTaken | TurnStarted)
            for event in await child.history()
        )


class FakeLeft(SqliteStore):
    """Lists the same sessions as left, until they are driven."""

    left: list[str]
    fails = 0

    async def unattended(
        self, limit: int, places: Sequence[str] | None = None
    ) -> list[Unattended]:
        if self.fails:
            self.fails -= 1
            raise StoreUnavailable("The disk is full.")
        return [Unattended(name, 7) for name in self.left[:limit]]


class FakeWakes(Embedded):
    """Notes the wakes, in order, and drives nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[tuple[str, int]] = []
        self.any = asyncio.Event()

    async def wake(self, session: str, why: int, place: str = "") -> None:
        self.all.append((session, why))
        self.any.set()


@asynccontextmanager
async def sweeping(
    path: Path, count: int, *, attends: bool = False, fails: int = 0
) -> AsyncIterator[tuple[Host, FakeLeft, FakeWakes]]:
    store, wakes = FakeLeft(path / "s.db"), FakeWakes()
    store.left, store.fails = [f"s{number}" for number in range(count)], fails
    async with Host(haiku(store), dispatch=wakes, attends=attends) as host:
        yield host, store, wakes
    await store.close()


async def test_a_sweep_wakes_what_has_no_driver_and_skips_failed(tmp_path: Path) -> None:
    async with sweeping(tmp_path, WOKEN_AT_ONCE + 1) as (host, store, wakes):
        now = 0.0
        host.clock = lambda: now
        for name in await host.sweep():
            host._failed[name] = now
        assert wakes.all == [(name, 7) for name in store.left[:-1]]
        assert await host.sweep() == store.left[-1:]
        now = RETRY_S
        assert await host.sweep() == store.left[:-1]


async def test_sessions_that_no_driver_takes_hold_up_no_other(tmp_path: Path) -> None:
    """As where Restate knows no worker of their place: they stay due, and wait longest."""
    async with sweeping(tmp_path, 2 * WOKEN_AT_ONCE + 1) as (host, store, wakes):
        for _ in range(3):
            await host.sweep()
        assert {name for name, _ in wakes.all} == set(store.left)
        for number in range(3):
            await host.sweep()
            due = f"due after {number}"
            store.left.append(due)
            assert due in await host.sweep()
            store.left.pop()
        woken = Counter(name for name, _ in wakes.all)
        assert all(woken[name] >= 2 for name in store.left)


async def test_a_store_that_fails_is_searched_again(tmp_path: Path) -> None:
    async with sweeping(tmp_path, 1, attends=True, fails=2) as (_, _, wakes):
        await wakes.any.wait()
    assert wakes.all[0] == ("s0", 7)

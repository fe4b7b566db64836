"""An unexpected exception anywhere in a driver leaves a session that says so and answers the next message."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import (
    CLAUDE,
    assert_accepted,
    assert_calls_closed,
    of_kind,
    script,
)
from ullage.errors import InternalError, StoreUnavailable
from ullage.events import DraftPiece, Event, TurnPaused
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Checkpoint, Lease
from ullage.wire.client import Client, Heard, Incoming, Post
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.session import Session
from ullage_agent.tools.functions import tool
from ullage_server.sessions import session_state
from ullage_simulators import Scenario, running
from ullage_simulators.server import Server


class Broken(Exception):
    """Raised by everything in this file that is broken on purpose."""


class Counter:
    """Raises at one of the moments that are counted, once, or at all of them from there on."""

    def __init__(self, at: int = -1, *, lasts: bool = False) -> None:
        self.at = at
        self.lasts = lasts
        self.seen = 0

    def count(self) -> None:
        self.seen += 1
        if self.seen - 1 == self.at or (self.lasts and self.seen > self.at >= 0):
            raise Broken("a part is broken")


class ShakyStore(SqliteStore):
    """A store whose driver's methods raise what no store is expected to raise."""

    def __init__(self, path: Path, counter: Counter) -> None:
        super().__init__(path)
        self.counter = counter

    async def acquire(self, session: str, owner: str, *, ttl_s: float) -> Lease:
        self.counter.count()
        return await super().acquire(session, owner, ttl_s=ttl_s)

    async def append(
        self, lease: Lease, events: Sequence[Event], **more: Any
    ) -> tuple[Event, ...]:
        self.counter.count()
        return await super().append(lease, events, **more)

    async def draft(self, lease: Lease, pieces: Sequence[DraftPiece], **more: Any) -> int:
        self.counter.count()
        return await super().draft(lease, pieces, **more)

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        self.counter.count()
        await super().save_checkpoint(lease, checkpoint)


class ShakyClient(Client):
    """A client that raises what no client is expected to raise."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter

    @asynccontextmanager
    async def send(
        self, post: Post, heard: Heard | None = None
    ) -> AsyncIterator[Incoming]:
        self.counter.count()
        async with super().send(post, heard) as incoming:
            yield incoming


@tool
def look(room: str) -> str:
    """Look into a room.

    Args:
        room: Which one.
    """
    return f"The {room} is empty."


def two_steps() -> Scenario:
    return script(
        {
            "when": {"contains": "please", "after": "user"},
            "calls": [{"name": "look", "arguments": {"room": "hall"}}],
        },
        {"text": "It is empty."},
    )


async def answered(session: Session) -> Result:
    """What the session answers to the next message. The exception may come as late as while this is said."""
    try:
        result = await session.ask("Once more, please.", check=False)
    except Broken:
        return await session.ask("Once more, please.", check=False)
    if isinstance(result.error, InternalError):
        return await session.ask("Once more, please.", check=False)
    return result


async def first_try(session: Session) -> None:
    try:
        await session.ask("Look, please.")
    except (Broken, InternalError):
        return


def agent_with(
    store: SqliteStore, server: Server, tools: Sequence[Any] = (look,), **more: Any
) -> Agent:
    settings = {**CLAUDE.settings(), "base_url": server.url("anthropic"), **more}
    settings["count"] = "never"  # so that each request of a turn is one of the model's
    key = {"ANTHROPIC_API_KEY": "x"}
    return Agent(tools=tools, store=store, environment=key, config=False, **settings)


@asynccontextmanager
async def closing(agent: Agent) -> AsyncIterator[Agent]:
    """The agent inside the block; its store, and a client that was given to it, are closed afterwards."""
    store, client = agent._given_store, agent._given_client
    assert isinstance(store, SqliteStore)
    try:
        yield agent
    finally:
        if client is not None:
            await client.close()
        await store.close()


async def judged(session: Session, server: Server) -> None:
    result = await answered(session)
    assert result.reason == "finished" and result.text, result
    state = await session_state(
        session, await (await session._look()).ledger.store.about(session.id)
    )
    assert (state.state, state.open) == ("idle", ())
    assert_calls_closed(await session.history())
    assert_accepted(server)


async def moments(directory: Path, kind: Callable[[Path, Counter, Server], Any]) -> int:
    """How often the counter is asked in a turn that nothing disturbs."""
    counter = Counter()
    with running(two_steps()) as server:
        async with (
            closing(kind(directory / "counted.db", counter, server)) as agent,
            agent.session("s") as session,
        ):
            await session.ask("Look, please.")
    return counter.seen


def with_shaky_store(path: Path, counter: Counter, server: Server) -> Agent:
    return agent_with(ShakyStore(path, counter), server)


def with_shaky_client(path: Path, counter: Counter, server: Server) -> Agent:
    store = SqliteStore(path)
    return agent_with(store, server)._within(store, ShakyClient(counter))


def with_shaky_estimator(path: Path, counter: Counter, server: Server) -> Agent:
    def estimate(text: str) -> float:
        counter.count()
        return len(text) / 4

    return agent_with(SqliteStore(path), server, estimator=estimate)


def with_shaky_schema(path: Path, counter: Counter, server: Server) -> Agent:
    """A tool whose question for approval raises."""

    def asks(arguments: object) -> bool:
        counter.count()
        return False

    return agent_with(
        SqliteStore(path), server, tools=[replace(look, needs_approval=asks)]
    )


@pytest.mark.parametrize(
    "kind",
    [with_shaky_store, with_shaky_client, with_shaky_estimator],
    ids=lambda one: one.__name__,
)
async def test_an_exception_at_any_moment_leaves_a_session_that_answers_the_next_message(
    kind: Callable[[Path, Counter, Server], Agent], tmp_path: Path
) -> None:
    total = await moments(tmp_path, kind)
    assert total > 1
    with running(two_steps()) as server:
        for at in range(total):
            counter = Counter(at)
            async with closing(kind(tmp_path / f"{at}.db", counter, server)) as agent:
                try:
                    async with agent.session("s") as session:
                        await first_try(session)
                        await judged(session, server)
                except Broken:  # the session could not even be opened
                    async with agent.session("s") as session:
                        await judged(session, server)
            assert counter.seen > at, "the exception was raised"


async def test_an_unexpected_exception_is_logged_recorded_and_raised_by_wait(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(two_steps()) as server, caplog.at_level(logging.ERROR):
        shaky = with_shaky_client(tmp_path / "s.db", Counter(0), server)
        async with closing(shaky) as agent, agent.session("s") as session:
            with pytest.raises(InternalError, match="Broken: a part is broken") as raised:
                await session.ask("Look, please.")
            assert isinstance(raised.value.__cause__, Broken)
            assert "Traceback" in caplog.text and "a part is broken" in caplog.text
            (paused,) = of_kind(await session.history(), TurnPaused)
            assert (
                paused.reason == "failed" and "send a message to try again" in paused.note
            )
            about = await (await session._look()).ledger.store.about("s")
            state = await session_state(session, about)
            assert state.state == "waiting"
            assert state.paused == "failed"
            assert state.note == paused.note
            await session.resume()
            assert (await session.wait()).reason == "finished"


class FullStore(ShakyStore):
    """A store that is full from the moment on that its client breaks."""

    is_full = False

    async def append(
        self, lease: Lease, events: Sequence[Event], **more: Any
    ) -> tuple[Event, ...]:
        if self.is_full:
            raise StoreUnavailable("The disk is full.")
        return await super().append(lease, events, **more)


async def test_where_the_exception_can_not_be_recorded_the_session_is_not_shown_as_working(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class FillingClient(ShakyClient):
        @asynccontextmanager
        async def send(
            self, post: Post, heard: Heard | None = None
        ) -> AsyncIterator[Incoming]:
            store.is_full = self.counter.seen == self.counter.at
            async with super().send(post, heard) as incoming:
                yield incoming

    with running(two_steps()) as server:
        store = FullStore(tmp_path / "s.db", Counter())
        filling = agent_with(store, server)._within(store, FillingClient(Counter(0)))
        async with closing(filling) as agent, agent.session("s") as session:
            with pytest.raises(StoreUnavailable, match="full"):
                await session.ask("Look, please.")
            state = await session_state(session, await store.about("s"))
            assert (state.state, state.note) == ("waiting", "The disk is full.")
            with pytest.raises(StoreUnavailable, match="full"):
                await session.ask("Once again, please.")
            assert caplog.text.count("The session s stopped: The disk is full.") == 1
            store.is_full = False
            assert (await session.ask("Once more, please.")).reason == "finished"


async def test_an_approval_question_that_raises_counts_as_yes(tmp_path: Path) -> None:
    with running(two_steps()) as server:
        shaky = with_shaky_schema(tmp_path / "s.db", Counter(0), server)
        async with closing(shaky) as agent, agent.session("s") as session:
            result = await session.ask("Look, please.")
            assert (result.reason, result.is_paused) == ("approval", True)

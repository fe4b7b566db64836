"""Who drives a session lets it go, at whichever moment it is stopped."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from ullage.events import Event, QueueLeft, ReadingTaken
from ullage.messages import Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Lease
from ullage_simulators import running
from ullage_simulators.scenario import read


class Asked(SqliteStore):
    """A store that says when somebody wants to drive a session, before it has answered."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_asked = asyncio.Event()

    async def acquire(self, session: str, owner: str, *, ttl_s: float) -> Lease:
        self.is_asked.set()
        return await super().acquire(session, owner, ttl_s=ttl_s)


async def test_a_session_stopped_while_acquired_is_free(tmp_path: Path) -> None:
    store = Asked(tmp_path / "s.db")
    agent = haiku(store)
    with pytest.raises(RuntimeError, match="away"):
        async with agent.session("one"):
            await store.is_asked.wait()
            raise RuntimeError("Its user went away.")
    assert (await store.about("one")).held_by == ""
    await store.delete("one")
    await store.close()


class FakeSendingAtRest(SqliteStore):
    """A store in which another process sends a message while the driver records the reading at rest."""

    is_sent = False

    async def append(
        self, lease: Lease, events: Sequence[Event], **more: Any
    ) -> tuple[Event, ...]:
        if isinstance(events[0], ReadingTaken) and not self.is_sent:
            self.is_sent = True
            text = TextPart(id="late.text", text="And this?")
            late = Message(id="late", role="user", parts=(text,))
            await self.send(lease.session, late, "steer")
        return await super().append(lease, events, **more)


async def test_a_message_sent_at_coming_to_rest_is_driven(tmp_path: Path) -> None:
    store = FakeSendingAtRest(tmp_path / "s.db")
    with running(read({"answers": [{"text": "Yes."}]})) as server:
        agent = haiku(store, base_url=server.url("anthropic"))
        async with agent.session("one", resume=False) as session:
            await session._driving.drive()
            left = [
                event.message_id
                for event in await session.history()
                if isinstance(event, QueueLeft)
            ]
    assert left == ["late"]
    await store.close()


async def test_who_looks_while_it_opens_gets_the_same_folds(tmp_path: Path) -> None:
    """With folds of their own, a reader and the driver each recorded the settings."""
    async with haiku(tmp_path / "s.db").session("one", resume=False) as session:
        driver = session._driving
        driver.runtime = None
        one, other = await asyncio.gather(driver.look(), driver.look())
        assert one is other is driver.runtime

"""Who drives a session lets it go, at whichever moment it is stopped."""

import asyncio
from pathlib import Path

import pytest

from tests.agents import haiku
from ullage.store.sqlite import SqliteStore
from ullage.store.store import Lease


class Asked(SqliteStore):
    """A store that says when somebody wants to drive a session, before it has answered."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_asked = asyncio.Event()

    async def acquire(self, session: str, owner: str, *, ttl_s: float) -> Lease:
        self.is_asked.set()
        return await super().acquire(session, owner, ttl_s=ttl_s)


async def test_a_session_stopped_while_its_driver_asks_for_it_can_be_driven_by_others(
    tmp_path: Path,
) -> None:
    store = Asked(tmp_path / "s.db")
    agent = haiku(store)
    with pytest.raises(RuntimeError, match="away"):
        async with agent.session("one"):
            await store.is_asked.wait()
            raise RuntimeError("Its user went away.")
    assert (await store.about("one")).held_by == ""
    await store.delete("one")
    await store.close()

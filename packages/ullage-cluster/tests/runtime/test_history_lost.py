"""The database lost the last events of a session in a failover, while several look at it and one drives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.promises.stage import CLAUDE, agent_for, script
from tests.store.fixtures import new_database, new_place, place
from tests.store.losing import lose
from ullage_agent.runtime.session import Session
from ullage_simulators import running

__all__ = ["new_database", "new_place", "place"]

LOOKS = 8


async def looked(session: Session) -> int:
    work = await session._look()
    return work.ledger.loop.seq


@asynccontextmanager
async def lost(place: str) -> AsyncIterator[tuple[Session, int]]:
    """A session whose only turn the database has lost, and its last event."""
    with running(script({"text": "Yes."})) as server:
        agent = agent_for(place, server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            before = await looked(session)
            await session.send("This will be lost.")
            await session.wait()
            lose(place, "s", last=before)
            yield session, before


async def test_all_who_look_at_once_get_the_same_folds_of_what_remains(
    place: str,
) -> None:
    async with lost(place) as (session, last):
        found = await asyncio.gather(*(session._look() for _ in range(LOOKS)))
        assert {work.ledger.loop.seq for work in found} == {last}
        assert len(set(map(id, found))) == 1


async def test_who_looks_does_not_stop_who_drives(place: str) -> None:
    async with lost(place) as (session, _):
        looking = [asyncio.create_task(session._look()) for _ in range(LOOKS)]
        await session.send("This is what remains.")
        assert (await session.wait()).reason == "finished"
        await asyncio.gather(*looking)
        said = [message.role for message in await session.messages()]
        assert said == ["user", "assistant"]

"""A decision is written only on what it was made of."""

import asyncio
from pathlib import Path

from ullage.agent.loop import Loop
from ullage.events import CompactAsked, TurnStarted
from ullage.meter.meter import Meter
from ullage.runtime.ledger import Ledger
from ullage.store.sqlite.store import SqliteStore


async def test_an_exact_write_is_not_made_where_a_command_was_folded_while_it_waited(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("s")
    ledger = Ledger(store, "s", Meter("anthropic:claude-haiku-4-5"), Loop())
    ledger.lease = await store.acquire("s", "me", ttl_s=60)
    async with ledger.still():
        await store.command("s", [CompactAsked()])
        folding = asyncio.create_task(ledger.catch_up())
        await asyncio.sleep(0)
        writing = asyncio.create_task(ledger.write([TurnStarted(turn="t")], exact=True))
        await asyncio.sleep(0)
    assert await folding == 1
    assert not await writing
    assert [
        event for event in await store.read("s") if isinstance(event, TurnStarted)
    ] == []
    assert await ledger.write([TurnStarted(turn="t")], exact=True)
    await store.close()

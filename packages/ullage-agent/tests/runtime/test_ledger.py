"""A decision is written only on what it was made of, and a ledger does not read what it wrote."""

import asyncio
from pathlib import Path

from tests.advice.story import Story, prose
from tests.agents import haiku
from ullage.events import CompactAsked, Event, TurnStarted
from ullage.meter.meter import Meter
from ullage.store.sqlite.store import SqliteStore
from ullage.turns.loop import Loop, apply
from ullage_agent.runtime.ledger import Ledger
from ullage_simulators import running
from ullage_simulators.scenario import read


async def test_an_exact_write_yields_to_a_folded_command(tmp_path: Path) -> None:
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
    await folding
    assert ledger.loop.seq == 1
    assert not await writing
    found = [event for event in await store.read("s") if isinstance(event, TurnStarted)]
    assert found == []
    assert await ledger.write([TurnStarted(turn="t")], exact=True)
    await store.close()


class FakeCounting(SqliteStore):
    """A store that counts how often a ledger is read."""

    reads = 0

    async def read(
        self, session: str, *, after: int = 0, limit: int | None = None, at: float = 0.0
    ) -> list[Event]:
        self.reads += 1
        return await super().read(session, after=after, limit=limit, at=at)


async def test_a_ledger_is_read_only_where_no_write_told_enough(tmp_path: Path) -> None:
    store = FakeCounting(tmp_path / "s.db")
    await store.create("s")
    ledger = Ledger(store, "s", Meter("anthropic:claude-haiku-4-5"), Loop())
    ledger.lease = await store.acquire("s", "me", ttl_s=60)
    await store.command("s", [CompactAsked()])
    await ledger.write([TurnStarted(turn="t")])
    await ledger.keep_up()
    assert (store.reads, ledger.loop.seq) == (0, 2)
    await store.command("s", [CompactAsked()])
    await ledger.keep_up()
    assert (store.reads, ledger.loop.seq) == (1, 3)
    await ledger.keep_up()
    assert store.reads == 2
    await store.close()


async def test_a_turn_reads_the_ledger_at_its_begin_and_end_and_for_its_result(
    tmp_path: Path,
) -> None:
    store = FakeCounting(tmp_path / "s.db")
    with running(read({"answers": [{"text": "Yes."}] * 2})) as server:
        agent = haiku(store, base_url=server.url("anthropic"))
        async with agent.session("s") as session:
            await session.ask("Is it there?")
            before = store.reads
            await session.ask("And now?")
            assert store.reads - before <= 3
    await store.close()


async def test_causes_are_read_once_and_then_followed(tmp_path: Path) -> None:
    """A page asks after every change: that costs no more with a long ledger than with a short one."""
    store = FakeCounting(tmp_path / "s.db")
    story = Story().user("go\n" + prose(1_200)).chat(4).billed(lost=frozenset({3}))
    await store.create("s", story[:-2])
    loop, meter = Loop(), Meter()
    for event in await store.read("s"):
        meter.apply(event)
        loop = apply(loop, event)
    ledger = Ledger(store, "s", meter, loop)
    ledger.lease = await store.acquire("s", "me", ttl_s=60)
    assert list(await ledger.explain()) == ["c3"]
    assert ledger.causes.expected(meter._fold, meter.steps[-1].at + 400) is not None
    before = store.reads
    await ledger.write(story[-2:])
    assert list(await ledger.explain()) == ["c3"]
    assert store.reads == before
    await store.close()

"""After a pause longer than the provider's cache lives, old tool results are cleared, where the setting says so."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    SESSION,
    Dialect,
    agent_on,
    conversing,
    generated,
    of_kind,
    refused,
    script,
    turns,
)
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionStarted,
    Event,
    MessageAdded,
    Pruned,
    SessionStarted,
)
from ullage.store.sqlite.store import SqliteStore
from ullage.usage import Usage
from ullage_simulators import running

WINDOW = 32_000


async def had(store: Path, *, seconds_ago: float) -> None:
    """A session of long results whose last call was some time ago."""
    database = SqliteStore(store)
    began = time.time() - seconds_ago
    messages = turns(16, size=600)
    call = CallStarted(call="c", at=began)
    ended = CallEnded(call="c", usage=Usage(), at=began)
    events: list[Event] = [
        SessionStarted(model="elsewhere", wire="messages", provider="anthropic"),
        *(MessageAdded(message=message) for message in messages[:-1]),
        call,
        ended,
        MessageAdded(message=messages[-1]),
    ]
    try:
        await database.create(SESSION, events)
    finally:
        await database.close()


async def events_of(
    tmp_path: Path, dialect: Dialect, *, seconds_ago: float, share: float | None
) -> list[Event]:
    """What happens in two more turns."""
    store = tmp_path / "s.db"
    await had(store, seconds_ago=seconds_ago)
    with running(script(dialect, window=WINDOW)) as server:
        agent = agent_on(server, store, dialect, clear_cold_at=share)
        async with conversing(agent) as session:
            before = await session.messages()
            for text in ("How is it now?", "And now?"):
                await session.send(text)
                await session.wait()
            events = list(await session.history())
            pruned = of_kind(events, Pruned)
            if pruned:
                await session.uncompact(pruned[0].prune)
                assert (await session.messages())[: len(before)] == before
        assert not refused(server)
        assert len(generated(server)) == 2
    return events


async def test_old_results_are_cleared_once_before_the_first_call_after_the_pause(
    tmp_path: Path,
) -> None:
    events = await events_of(tmp_path, ANTHROPIC, seconds_ago=3_600, share=0.3)
    (pruned,) = of_kind(events, Pruned)
    assert pruned.reason.startswith("cold")
    assert pruned.before is not None
    assert pruned.after is not None
    assert pruned.after < 0.9 * pruned.before
    calls = of_kind(events, CallStarted)[1:]
    assert events.index(pruned) < events.index(calls[0])
    assert not of_kind(events, CompactionStarted)


@pytest.mark.parametrize(
    ("seconds_ago", "share"), [(60.0, 0.3), (3_600.0, None), (3_600.0, 1.0)]
)
async def test_nothing_is_cleared_in_a_warm_cache_unasked_or_below_the_share(
    tmp_path: Path, seconds_ago: float, share: float | None
) -> None:
    events = await events_of(tmp_path, ANTHROPIC, seconds_ago=seconds_ago, share=share)
    assert not of_kind(events, Pruned)


async def test_a_history_without_old_results_is_left_alone_and_can_be_compacted_later(
    tmp_path: Path,
) -> None:
    """The attempt that finds nothing leaves no row, so that no breaker holds a later compaction back."""
    store = tmp_path / "s.db"
    database = SqliteStore(store)
    started = SessionStarted(model="elsewhere", wire="messages", provider="anthropic")
    plain = [
        message
        for message in turns(60, size=400)
        if message.role in ("user", "assistant") and message.id[0] in "ub"
    ]
    began = time.time() - 3_600
    events: list[Event] = [
        started,
        *(MessageAdded(message=message) for message in plain),
        CallStarted(call="c", at=began),
        CallEnded(call="c", at=began),
    ]
    await database.create(SESSION, events)
    await database.close()
    with running(script(ANTHROPIC, window=WINDOW)) as server:
        agent = agent_on(server, store, ANTHROPIC, clear_cold_at=0.1)
        async with conversing(agent) as session:
            await session.send("How is it now?")
            await session.wait()
            kinds = [type(event) for event in await session.history()]
            assert Pruned not in kinds
            assert CompactionStarted not in kinds
            runtime = await session._look()
            assert runtime.memory.breakers.failed is None

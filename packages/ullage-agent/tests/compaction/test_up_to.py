"""A compaction up to a message: what stands before it is summarised, and it stays with all behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    RESPONSES,
    Dialect,
    agent_on,
    conversing,
    generated,
    imported,
    of_kind,
    refused,
    script,
    turns,
)
from ullage.events import CompactionCommitted
from ullage_simulators import running

WAYS = [
    (ANTHROPIC, ["hybrid"]),
    (RESPONSES, ["pieces"]),
    (ANTHROPIC, ["server"]),
    (RESPONSES, ["server"]),
]


@pytest.mark.parametrize(("dialect", "strategy"), WAYS)
async def test_exactly_what_stands_before_the_message_leaves_and_comes_back(
    dialect: Dialect, strategy: list[str], tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    before = turns(40, size=300)
    await imported(store, before)
    scenario = script(dialect, window=64_000, max_output=16_000)
    with running(scenario, seed=3) as server:
        agent = agent_on(server, store, dialect, strategy=strategy, window=64_000)
        async with conversing(agent) as session:
            await session.compact(up_to="u30")
            await session.wait()
            names = [message.id for message in await session.messages()]
            (event,) = of_kind(await session.history(), CompactionCommitted)
            assert event.summary is not None
            places = [message.id for message in before]
            start = places.index("u30")
            assert names == [event.summary.id, *places[start:]]
            assert list(event.summarised) == places[:start]
            await session.send("And now?")
            assert (await session.wait()).reason == "finished"
            await session.uncompact(event.compaction)
            assert list(await session.messages())[: len(before)] == before
        assert not refused(server)
        assert len(generated(server)) >= 2

"""A reading is that of the settings that count, from the moment a session is opened."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from ullage.events import CompactionCommitted, Event, MessageAdded, SessionStarted
from ullage.messages import Message, Role, TextPart
from ullage.meter.reading import Reading
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.session import Session
from ullage_agent.tools.mcp import McpServer
from ullage_simulators import read, running

SYSTEM = "You look after casks. " * 200


def look(cask: int) -> str:
    """How full a cask is.

    Args:
        cask: Its number.
    """
    return f"Cask {cask} is full."


def agent(place: Path, **settings: Any) -> Agent:
    return haiku(
        place / "s.db",
        environment={"ANTHROPIC_API_KEY": "x", "ULLAGE_DATA": str(place)},
        **settings,
    )


def limits(reading: Reading) -> tuple[int | None, str, int | None]:
    return reading.window.tokens, reading.window.source, reading.compaction_point


async def at_once_and_at_rest(session: Session) -> tuple[Reading, Reading]:
    first = await session.context()
    await session.wait()
    return first, await session.context()


async def test_the_first_reading_has_window_prompt_and_tools(tmp_path: Path) -> None:
    """A program that checks the room before it sends gets the number that is decided on later, with its id."""
    made = agent(tmp_path, system=SYSTEM, window=30_000, tools=[look])
    async with made.session("one") as session:
        first, later = await at_once_and_at_rest(session)
    assert limits(first) == (30_000, "user", 24_000)
    assert first.used.tokens > 1_000 and not first.notes
    assert (first.snapshot_id, first.used) == (later.snapshot_id, later.used)


async def test_a_reopened_session_reads_by_other_settings_at_once(tmp_path: Path) -> None:
    async with agent(tmp_path, system=SYSTEM, window=30_000).session("one") as session:
        await session.wait()
    other = agent(tmp_path, window=50_000, trigger=0.5, tools=[look])
    async with other.session("one") as session:
        first, later = await at_once_and_at_rest(session)
    assert limits(first) == (50_000, "user", 25_000)
    assert first.snapshot_id == later.snapshot_id


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"trigger": "15k"}, (30_000, "user", 15_000)),
        ({"window": "100k"}, (100_000, "user", 80_000)),
        ({"auto": "no"}, (30_000, "user", None)),
        ({"strategy": "noop"}, (30_000, "user", None)),
        ({"reserve": "20k"}, (30_000, "user", 10_000)),
        ({"model": "openai:gpt-5", "window": "60k"}, (60_000, "user", 48_000)),
    ],
    ids=str,
)
async def test_what_is_set_as_text_counts_in_the_next_reading(
    setting: dict[str, Any], expected: tuple[int, str, int | None], tmp_path: Path
) -> None:
    """Nothing has driven the session yet, and its own settings stay as they were given."""
    made = agent(tmp_path, system=SYSTEM, window=30_000)
    async with made.session("one", resume=False) as session:
        await session._set(setting)
        first, later = await at_once_and_at_rest(session)
        own = (await session._look()).ledger.loop.settings
    assert limits(first) == limits(later) == expected
    assert first.snapshot_id == later.snapshot_id
    assert dict(own) == setting


async def test_a_session_that_is_only_looked_at_reads_as_it_was(tmp_path: Path) -> None:
    """Its next request is not made with the settings of the one who looks."""
    with running(read({})) as server:
        base_url = server.url("anthropic")
        theirs = agent(tmp_path, window=30_000, base_url=base_url)
        async with theirs.session("one") as session:
            await session.ask("Which cask is full?")
            left = await session.context()
        ours = agent(tmp_path, window=90_000, base_url=base_url)
        async with ours.session("one", resume=False) as session:
            assert (await session.context()).snapshot_id == left.snapshot_id
            await session.set(timeout=500)
            assert (await session.context()).window.tokens == 90_000


@pytest.mark.program
async def test_a_tool_server_that_offers_nothing_is_in_the_notes(tmp_path: Path) -> None:
    missing = McpServer("cellar", command="/no/such/program")
    async with agent(tmp_path, tools=[look, missing]).session("one") as session:
        first, later = await at_once_and_at_rest(session)
    for reading in (first, later):
        (note,) = [note for note in reading.notes if "cellar" in note]
        assert "none are counted" in note


async def _compacted_and_undone(session: Session) -> None:
    await session.compact()
    await session.wait()
    done = [e for e in await session.history() if isinstance(e, CompactionCommitted)]
    await session.uncompact(done[0].compaction)


CHANGED: dict[str, Callable[[Session], Awaitable[object]]] = {
    "rewind": lambda session: session.rewind("m3"),
    "rewind_to_begin": lambda session: session.rewind(""),
    "uncompact": _compacted_and_undone,
}
"""What changes messages that were sent before."""


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
async def test_a_changed_session_that_never_called_a_model_comes_to_rest(
    change: Callable[[Session], Awaitable[object]], tmp_path: Path
) -> None:
    """Its changed messages were never sent, so that no epoch of requests ends. It wrote its settings for ever once."""
    text = "The gauge reads full. " * 200
    with running(read({"answers": [{"text": "## Goal\nCasks."}]})) as simulator:
        store = SqliteStore(tmp_path / "s.db")
        events: list[Event] = [
            SessionStarted(
                model="claude-haiku-4-5", wire="messages", provider="anthropic"
            )
        ]
        for n in range(6):
            role: Role = ("user", "assistant")[n % 2]
            part = TextPart(id=f"m{n}.text", text=text)
            events.append(
                MessageAdded(message=Message(id=f"m{n}", role=role, parts=(part,)))
            )
        await store.create("one", events)
        made = haiku(store, window=10_000, base_url=simulator.url("anthropic"))
        async with made.session("one") as session:
            await session.wait()
            await change(session)
            await session.wait()
            at_rest = await session.history()
            await session.wait()
            assert await session.history() == at_rest
        await store.close()

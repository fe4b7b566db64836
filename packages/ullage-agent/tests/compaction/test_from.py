"""A compaction from a message on: what stands before it stays, and a summary stands in the place of the rest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    CHAT,
    DIALECTS,
    GEMINI,
    RESPONSES,
    SESSION,
    Dialect,
    agent_on,
    conversing,
    generated,
    heard,
    imported,
    is_summary_call,
    of_kind,
    refused,
    script,
    turns,
)
from tests.context.sessions import fold_of, words
from tests.tiers import first_of
from ullage.errors import CommandRefused
from ullage.events import (
    CallStarted,
    CompactAsked,
    CompactionCommitted,
    CompactionRolledBack,
    Rewound,
)
from ullage.importers.ullage import UllageReader
from ullage.messages import TextPart
from ullage.store.export import export_lines
from ullage_agent.runtime.session import Session
from ullage_simulators import Server, running
from ullage_simulators.server import Exchange

WIRES = (ANTHROPIC, RESPONSES, CHAT, GEMINI)
WINDOW = 64_000

PLACES = {"u30": "u30", "a30": "a30", "r30": "b30", "b30": "b30"}
"""A message by the one that is named: a result stays with the call before it, so that the next message is the first."""


async def committed(session: Session) -> CompactionCommitted:
    """The only compaction so far; what went wrong, where there is none."""
    events = await session.history()
    found = of_kind(events, CompactionCommitted)
    assert found, of_kind(events, CompactionRolledBack)
    return found[-1]


@pytest.mark.parametrize("strategy", ["hybrid", "pieces"])
@pytest.mark.parametrize("place", first_of(list(PLACES), 1))
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_what_stands_before_the_message_stays_to_the_byte_and_every_wire_takes_it(
    dialect: Dialect, place: str, strategy: str, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    before = turns(40, size=300)
    await imported(store, before)
    with running(script(dialect, window=WINDOW, max_output=16_000), seed=3) as server:
        agent = agent_on(server, store, dialect, strategy=[strategy], window=WINDOW)
        async with conversing(agent) as session:
            first = (await session._meter()).request()
            await session.compact(from_=place)
            await session.wait()
            event = await committed(session)
            messages = list(await session.messages())
            start = [message.id for message in before].index(PLACES[place])
            assert messages[:start] == before[:start]
            assert messages[start:] == [event.summary]
            assert list(event.summarised) == [each.id for each in before[start:]]
            assert event.behind == before[start - 1].id
            then = (await session._meter()).request()
            assert shared(first.messages, then.messages) == start
            for text in ("And now?", "And then?"):
                await session.send(text)
                assert (await session.wait()).reason == "finished"
            await session.uncompact(event.compaction)
            assert list(await session.messages())[: len(before)] == before
            assert len(await session.messages()) == len(before) + 4
        assert not refused(server)
        asked = [one for one in generated(server) if is_summary_call(one)]
        assert asked and all("newest messages" in heard(one) for one in asked)


def shared(one: Sequence[object], other: Sequence[object]) -> int:
    """How many messages both begin with."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


# -- sessions of their own --


def look(at: int) -> str:
    """Look at a cask.

    Args:
        at: Its number.
    """
    return f"cask {at}: {words(150 + 50 * (at % 5), at)}"


LOOKS = (
    {
        "when": {"after": "user"},
        "reasoning": "Two of them, then.",
        "calls": [{"name": "look", "arguments": {"at": at}} for at in (0, 3)],
    },
    {"when": {"after": "tool"}, "text": f"Both are whole. {words(60, 4)}"},
)


async def talked(session: Session, *texts: str) -> None:
    for text in texts:
        await session.send(text)
        assert (await session.wait()).reason == "finished"


@pytest.mark.parametrize(
    "dialect", first_of(list(WIRES), 2), ids=lambda dialect: dialect.name
)
async def test_the_next_request_begins_with_the_same_bytes_and_costs_what_the_reading_says(
    dialect: Dialect, tmp_path: Path
) -> None:
    with running(script(dialect, *LOOKS, window=WINDOW), seed=5) as server:
        agent = agent_on(server, tmp_path / "s.db", dialect, window=WINDOW, tools=[look])
        async with agent.session(SESSION) as session:
            await talked(session, *(f"Turn {n}: {words(40, n)}" for n in range(8)))
            chosen = next(
                message.id
                for message in await session.messages()
                if "Turn 5:" in "".join(part.text for part in message.of_type(TextPart))
            )
            before = last_body(server)
            await session.compact(from_=chosen)
            await session.wait()
            event = await committed(session)
            reading = await session.context()
            assert event.after == reading.used.tokens
            assert sum(row.tokens for row in reading.rows) == reading.used.tokens
            await talked(session, "And now?")
            events = await session.history()
        assert not refused(server)
        started = [one for one in of_kind(events, CallStarted) if one.purpose == "main"]
        (first, *_) = [
            one
            for one in generated(server)
            if "And now?" in heard(one) and not is_summary_call(one)
        ]
        assert first.bill is not None
        estimate = started[-2].estimate
        assert estimate is not None
        assert abs(estimate.tokens - first.bill.input) <= 0.02 * first.bill.input
        same = shared(before, contents(first))
        assert "Turn 4:" in json.dumps(contents(first)[:same])
        assert "Turn 5:" not in json.dumps(contents(first)[:same])


def last_body(server: Server) -> list[Any]:
    return contents(generated(server)[-1])


def contents(exchange: Exchange) -> list[Any]:
    """The messages of a request in its wire's own form, without the marks of what to cache."""
    body = exchange.body
    assert body is not None
    found = body.get("messages") or body.get("input") or body.get("contents")
    return cast(list[Any], unmarked(found))


def unmarked(value: Any) -> Any:
    """The value without the marks; the last text that stands alone becomes a block to carry one."""
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {name: unmarked(each) for name, each in value.items()}
    fields.pop("cache_control", None)
    if isinstance(fields.get("content"), str):
        fields["content"] = [{"type": "text", "text": fields["content"]}]
    return fields


async def test_a_turn_that_runs_an_unknown_message_and_both_sides_at_once_are_refused(
    tmp_path: Path,
) -> None:
    runs, ends = asyncio.Event(), asyncio.Event()

    async def look(at: int) -> str:
        """Look at a cask.

        Args:
            at: Its number.
        """
        runs.set()
        await ends.wait()
        return "It is whole."

    with running(script(ANTHROPIC, *LOOKS)) as server:
        agent = agent_on(server, tmp_path / "s.db", ANTHROPIC, tools=[look])
        async with agent.session(SESSION) as session:
            await session.send("Hello.")
            await runs.wait()
            first = (await session.messages())[0].id
            with pytest.raises(CommandRefused, match="A turn is running: cancel it"):
                await session.compact(from_=first)
            ends.set()
            await session.wait()
            with pytest.raises(CommandRefused, match="no message 'gone' in view"):
                await session.compact(from_="gone")
            with pytest.raises(CommandRefused, match="not both"):
                await session.compact(from_=first, up_to=first)
            assert not of_kind(await session.history(), CompactAsked)


async def test_a_message_that_left_before_its_turn_came_is_named_in_the_failure(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    asked = CompactAsked(from_="u5"), Rewound(to="b2")
    await imported(store, turns(8, size=300), more=asked)
    with running(script(ANTHROPIC)) as server:
        async with conversing(agent_on(server, store, ANTHROPIC)) as session:
            await session.wait()
            await talked(session, "And now?")
            (rolled,) = of_kind(await session.history(), CompactionRolledBack)
            assert rolled.note.startswith("The message u5 has left the view.")


async def test_pinned_messages_stay_behind_the_summary_and_the_provider_s_own_is_not_taken(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    before = turns(40, size=300)
    await imported(store, before, pins=["u35"])
    with running(script(ANTHROPIC, window=WINDOW, max_output=16_000)) as server:
        agent = agent_on(
            server, store, ANTHROPIC, window=WINDOW, strategy=["server", "summary"]
        )
        async with conversing(agent) as session:
            await session.compact("Keep the numbers.", from_="u30")
            await session.wait()
            event = await committed(session)
            assert event.summary is not None and event.rung == "summary"
            names = [message.id for message in await session.messages()]
            start = [message.id for message in before].index("u30")
            kept = [message.id for message in before[:start]]
            assert names == [*kept, event.summary.id, "u35"]
            where = await session.explain("b33")
            assert (where.status, where.holder) == ("summarised", event.summary.id)
            await talked(session, "And now?")
        assert not refused(server)
        (asked,) = [one for one in generated(server) if is_summary_call(one)]
        assert "Keep the numbers." in heard(asked)


async def test_two_summaries_with_a_rewind_export_and_new_process(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    before = turns(40, size=300)
    await imported(store, before)
    with running(script(ANTHROPIC, window=WINDOW, max_output=16_000)) as server:
        agent = agent_on(server, store, ANTHROPIC, window=WINDOW)
        async with conversing(agent) as session:
            await session.compact(from_="u35")
            await session.wait()
            first = await committed(session)
            await talked(session, "More.")
            await session.compact(from_="u20")
            await session.wait()
            second = await committed(session)
            assert first.summary is not None and first.summary.id in second.summarised
            await session.uncompact(second.compaction)
            await session.rewind("b10")
            await session.uncompact(first.compaction)
            there = [message.id for message in await session.messages()]
            assert there == [message.id for message in before][: there.index("b10") + 1]
            await session.compact(from_="u5")
            await session.wait()
            messages, reading = await session.messages(), await session.context()
            file = export_lines((await session._look()).shared.store, SESSION)
            lines = [line async for line in file]
        async with conversing(agent_on(server, store, ANTHROPIC, window=WINDOW)) as again:
            assert await again.messages() == messages
            assert (await again.context()).used == reading.used
    copy = fold_of()
    for event in UllageReader().feed(lines):
        copy.apply(event)
    assert tuple(entry.message for entry in copy.view) == messages

"""Cancel at each moment of a compaction: the history is as it was, or wholly what it was to become, and goes on.

HYPOTHESIS_PROFILE=thorough uv run pytest PATH/TO/test_cancelled.py      each moment, on each wire
"""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.compaction.moments import (
    IN_THE_OPEN,
    PIECE,
    FakeHoldingTransport,
    HoldingHook,
    HoldingStrategy,
    Moments,
    holding,
)
from tests.compaction.stage import (
    ANTHROPIC,
    FIVE,
    IS_THOROUGH,
    SESSION,
    Dialect,
    agent_on,
    exported,
    generated,
    imported,
    is_summary_call,
    of_kind,
    refused,
    script,
    sent,
    turns,
)
from tests.sweeps.points import spread
from ullage.context.choice import STRATEGIES
from ullage.events import (
    CallEnded,
    CallStarted,
    CancelAsked,
    Cancelled,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    MessageAdded,
    QueueLeft,
    TurnEnded,
)
from ullage.messages import Message
from ullage.store.sqlite.store import SqliteStore
from ullage.wire import client
from ullage.wire.client import Client
from ullage_agent.runtime.outcome import CancelAnswer
from ullage_agent.runtime.session import Session
from ullage_simulators import Server, running

WINDOW = 16_000
PIECES = 8
"""Pieces of streamed answers that a quick sweep cancels at."""


@pytest.fixture(autouse=True)
def _the_end_of_an_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is held: a call goes on without it otherwise."""
    monkeypatch.setattr(client, "DRAIN_S", 60.0)


class Stage(NamedTuple):
    """A simulator, and the file of a session that is copied for each cancel. ``begins``: what makes it compact."""

    server: Server
    dialect: Dialect
    file: Path
    asks: bool
    queue: str

    @asynccontextmanager
    async def session(self, name: str, moments: Moments) -> AsyncIterator[Session]:
        """A copy of the session, open, with its moments."""
        path = self.file.with_name(f"{name}.db")
        shutil.copy(self.file, path)
        store = SqliteStore(path)
        strategies = [HoldingStrategy(each, moments) for each in STRATEGIES]
        agent = agent_on(
            self.server,
            path,
            self.dialect,
            window=WINDOW,
            hooks=[HoldingHook(moments)],
            strategy=strategies,
            cancel_queue=self.queue,
        )
        async with (
            Client(transport=FakeHoldingTransport(moments)) as connected,
            agent._within(holding(store, moments), connected).session(SESSION) as session,
        ):
            yield session
        await store.close()

    async def compact(self, session: Session) -> None:
        """What makes the session compact: a person asks for it at rest, or says something that has no room."""
        if self.asks:
            await session.compact()
        else:
            await session.send("And what about cask 7?", id="newest")


async def goes_on(session: Session, *said: str) -> None:
    for name in said:
        await session.send(f"Said later: {name}.", id=name, kind="follow_up")
        result = await session.wait(check=False)
        assert result.reason == "finished", result.note


class Outcome(NamedTuple):
    """What a cancel left, and the session at its end. ``answer`` is empty where the moment was not reached."""

    events: list[Event]
    answer: CancelAnswer | None
    view: tuple[Message, ...]
    exported: list[Message]
    last: str


async def cancelled_at(stage: Stage, name: str, moment: str) -> Outcome:
    """Compact, cancel at the moment, and go on. Something is said while it is held."""
    moments = Moments(moment)
    async with asyncio.timeout(60), stage.session(name, moments) as session:
        moments.is_armed = True
        await stage.compact(session)
        held, rests = (
            asyncio.ensure_future(moments.held.wait()),
            asyncio.ensure_future(session.wait(check=False)),
        )
        await asyncio.wait([held, rests], return_when=asyncio.FIRST_COMPLETED)
        moments.is_armed = False
        answer = None
        if held.done():
            await session.send("Said later: queued.", id="queued", kind="follow_up")
            cancelling = asyncio.ensure_future(session.cancel())
            if not moment.startswith(IN_THE_OPEN):
                # It may wait for what is held here, and is behind that then.
                asked = asyncio.ensure_future(moments.cancels.wait())
                await asyncio.wait([asked], timeout=0.5)
                asked.cancel()
                moments.go.set()
            answer = await cancelling
        for each in (held, rests):
            each.cancel()
        await asyncio.wait([held, rests])
        await session.wait(check=False)
        await goes_on(session, "next")
        view, events = await session.messages(), await session.history()
        return Outcome(
            events,
            answer,
            view,
            await exported(session),
            sent(generated(stage.server)[-1]),
        )


async def rehearsed(stage: Stage) -> list[str]:
    """The moments of a compaction that nobody cancels."""
    moments = Moments()
    async with stage.session("rehearsed", moments) as session:
        moments.is_armed = True
        await stage.compact(session)
        await session.wait(check=False)
        names = list(moments.reached)
        (committed,) = of_kind(await session.history(), CompactionCommitted)
    assert committed
    return names[
        names.index("before the hooks, 1") : names.index("behind the hooks, 1") + 2
    ]


def chosen(moments: Sequence[str], others: int) -> list[str]:
    """All in the thorough profile, else some of the pieces and some of the others; always those around the commit."""
    pieces = [moment for moment in moments if moment.startswith(PIECE)]
    rest = [moment for moment in moments if not moment.startswith(PIECE)]
    kept = {pieces[at - 1] for at in spread(len(pieces), PIECES, place=0.5)}
    kept |= {rest[at - 1] for at in spread(len(rest), others, place=0.5)}
    kept |= {
        moment
        for moment in rest
        if "CompactionCommitted" in moment or "the hooks" in moment
    }
    return [moment for moment in moments if moment in kept]


def assert_whole(outcome: Outcome, before: Sequence[Message]) -> str:
    """The view is what it was or what it was to become, which of them is given; the export knows of neither.

    All that began has ended.
    """
    events = outcome.events
    begun, committed = (
        of_kind(events, CompactionStarted),
        of_kind(events, CompactionCommitted),
    )
    rolled = [each for each in of_kind(events, CompactionRolledBack) if not each.rung]
    end = next(
        (event.seq for event in events if isinstance(event, Cancelled)), events[-1].seq
    )
    first = [event for event in committed if event.seq < end]
    if first:
        assert not [each for each in rolled if each.compaction == first[0].compaction]
    else:
        mine = [each for each in begun if each.seq < end]
        assert [each.reason for each in rolled if each.seq < end] == [
            "cancelled" for _ in mine
        ]
    assert len(begun) == len(committed) + len(rolled)
    assert {each.call for each in of_kind(events, CallStarted)} == {
        each.call for each in of_kind(events, CallEnded)
    }
    added = [event.message for event in of_kind(events, MessageAdded)]
    assert added[: len(before)] == list(before)
    assert outcome.exported == added
    assert len({message.id for message in added}) == len(added)
    assert list(outcome.view) == derived(events)
    return "new" if first else "old"


async def swept(
    stage: Stage, before: Sequence[Message], moments: Sequence[str], seen: Counter[str]
) -> AsyncIterator[tuple[str, Outcome, CancelAnswer, str]]:
    """A session cancelled at each moment, what it was answered, and whether it is the old or the new one.

    ``seen`` counts both. Left out are those whose moment did not come: a simulator's pieces may arrive together.
    """
    for place, moment in enumerate(moments):
        outcome = await cancelled_at(stage, f"c{place}", moment)
        how = assert_whole(outcome, before)
        seen[how] += 1
        if outcome.answer is None:
            assert moment.startswith(PIECE), moment
        else:
            yield moment, outcome, outcome.answer, how


def derived(events: Sequence[Event]) -> list[Message]:
    """The view as the commits alone make it."""
    view: dict[str, Message] = {}
    for event in events:
        if isinstance(event, MessageAdded):
            view[event.message.id] = event.message
        elif isinstance(event, CompactionCommitted):
            for name in (*event.summarised, *(each.id for each in event.dropped)):
                del view[name]
            view |= {message.id: message for message in event.replaced}
            view = (
                view
                if event.summary is None
                else {event.summary.id: event.summary, **view}
            )
    return list(view.values())


@pytest.mark.parametrize(
    "dialect", FIVE if IS_THOROUGH else (ANTHROPIC,), ids=lambda dialect: dialect.name
)
async def test_a_compaction_that_was_asked_for_is_cancelled_at_each_of_its_moments(
    dialect: Dialect, tmp_path: Path
) -> None:
    """What is sent next is to the byte what is sent without the compaction, or with it. What was said is delivered."""
    before = turns(12)
    await imported(tmp_path / "had.db", before)
    with running(script(dialect, window=WINDOW, server={"delay_s": 0.001})) as server:
        stage = Stage(server, dialect, tmp_path / "had.db", asks=True, queue="keep")
        expected: dict[str, str] = {}
        for name in ("old", "new"):
            async with stage.session(name, Moments()) as session:
                if name == "new":
                    await session.compact()
                    await session.wait(check=False)
                await goes_on(session, "queued", "next")
            expected[name] = sent(generated(server)[-1])
        assert expected["old"] != expected["new"]
        seen = Counter[str]()
        moments = await rehearsed(stage)
        async for moment, outcome, answer, how in swept(
            stage, before, chosen(moments, len(moments)), seen
        ):
            assert_in_time(moments, moment, how)
            began = bool(of_kind(outcome.events, CompactionStarted))
            assert answer == CancelAnswer(
                True, "compaction_rolled_back" if began and how == "old" else None
            )
            assert outcome.last == expected[how], moment
            left = [
                (each.message_id, each.how) for each in of_kind(outcome.events, QueueLeft)
            ]
            assert left == [("queued", "delivered"), ("next", "delivered")]
        assert not refused(server)
    assert seen["old"] > seen["new"] > 0, seen


def commit_in(moments: Sequence[str]) -> int:
    """Where the commit is written."""
    return next(
        at for at, moment in enumerate(moments) if "CompactionCommitted" in moment
    )


def assert_in_time(moments: Sequence[str], moment: str, how: str) -> None:
    """Behind the commit it is the new view; before it, wherever the compaction waits for somebody, the old one.

    Where it writes or proves, the cancel waits with it, and either may be.
    """
    if moments.index(moment) > commit_in(moments):
        assert how == "new", moment
    elif moment.startswith(IN_THE_OPEN):
        assert how == "old", moment


@pytest.mark.parametrize(
    "dialect", FIVE if IS_THOROUGH else (ANTHROPIC,), ids=lambda dialect: dialect.name
)
async def test_a_compaction_in_pieces_in_a_turn_is_cancelled_at_each_of_its_moments(
    dialect: Dialect, tmp_path: Path
) -> None:
    """The turn ends, what waited is given back, and the next thing that is said is compacted for and answered."""
    before = turns(55)
    await imported(tmp_path / "had.db", before)
    with running(script(dialect, window=WINDOW, server={"delay_s": 0.001})) as server:
        stage = Stage(server, dialect, tmp_path / "had.db", asks=False, queue="return")
        seen = Counter[str]()
        moments = await rehearsed(stage)
        assert sum(moment.startswith("a request is ready") for moment in moments) >= 3, (
            "that is not in pieces"
        )
        async for moment, outcome, answer, how in swept(
            stage, before, chosen(moments, 24), seen
        ):
            assert_in_time(moments, moment, how)
            ends = {
                each.message_id: each.how for each in of_kind(outcome.events, QueueLeft)
            }
            assert ends == {
                "newest": "delivered",
                "queued": "returned",
                "next": "delivered",
            }, moment
            assert len(of_kind(outcome.events, QueueLeft)) == 3
            assert [message.id for message in answer.returned] == ["queued"]
            delivered = {
                event.message.id for event in of_kind(outcome.events, MessageAdded)
            }
            assert {name for name in ends if name in delivered} == {"newest", "next"}
            assert "Said later: next." in outcome.last
        assert not refused(server)
        assert any(is_summary_call(one) for one in generated(server))
    assert seen["old"] > seen["new"] > 0, seen


async def test_a_cancel_before_a_model_is_asked_for_its_limits_ends_the_turn(
    tmp_path: Path,
) -> None:
    """Another process cancels while the turn begins; nobody knows yet how much the model gives."""
    await imported(tmp_path / "had.db", turns(2))
    with running(script(ANTHROPIC, window=WINDOW)) as server:
        stage = Stage(server, ANTHROPIC, tmp_path / "had.db", asks=False, queue="keep")
        moments = Moments("behind the write of TurnStarted QueueLeft MessageAdded, 1")
        async with asyncio.timeout(60), stage.session("a", moments) as session:
            moments.is_armed = True
            await stage.compact(session)
            await moments.held.wait()
            other = SqliteStore(tmp_path / "a.db")
            await other.command(SESSION, [CancelAsked()])
            await other.close()
            moments.go.set()
            await session.wait(check=False)
            (ended,) = of_kind(await session.history(), TurnEnded)
            assert ended.reason == "cancelled"
            await goes_on(session, "next")
        assert not refused(server)


async def test_a_compaction_asked_for_before_anything_is_said_asks_for_no_more_than_the_model_gives(
    tmp_path: Path,
) -> None:
    """Its simulator is all that knows how much that is, and refuses a request for more."""
    await imported(tmp_path / "had.db", turns(12))
    with running(script(ANTHROPIC, window=WINDOW)) as server:
        async with agent_on(
            server, tmp_path / "had.db", ANTHROPIC, window=WINDOW
        ).session(SESSION) as session:
            await session.compact()
            await session.wait(check=False)
            (committed,) = of_kind(await session.history(), CompactionCommitted)
        assert committed.rung == "summary"
        assert [is_summary_call(one) for one in generated(server)] == [True]
        assert not refused(server)

import asyncio
import dataclasses
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.sweeps.forks import fork_server
from tests.sweeps.judging import Trace, judge, judge_ledger
from tests.sweeps.lives import agent_of, found, tools_of
from tests.sweeps.mortal import Switch
from tests.sweeps.orders import (
    DATABASE,
    SESSION,
    Kill,
    Order,
    Report,
    effects_in,
    report_of,
)
from tests.sweeps.points import IS_THOROUGH, spread
from tests.sweeps.sweep import Runs, error_of, ledger_of
from tests.sweeps.wires import WIRES, exchanges_by_run, messages, script
from ullage.errors import StoreUnavailable
from ullage.events import DraftPiece, RowDamaged, TurnEnded
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import SessionStore
from ullage_agent.runtime.session import Session
from ullage_simulators import Server, running

ANTHROPIC = WIRES[0]
WRITES = (
    "create",
    "acquire",
    "renew",
    "release",
    "append",
    "draft",
    "save_checkpoint",
    "command",
    "send",
    "keep",
)


class FakeFullStore:
    """A store whose disk is full from its ``full_at``-th write on, until there is room."""

    def __init__(
        self, store: SessionStore, full_at: int, *, of: Sequence[str] = WRITES
    ) -> None:
        self._store = store
        self._writes = of
        self.full_at = full_at
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return self._limited(method) if name in self._writes else method

    def _limited(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def limited(*args: Any, **more: Any) -> Any:
            self.writes += 1
            if self.full_at and self.writes >= self.full_at:
                raise StoreUnavailable("The disk is full.")
            return await method(*args, **more)

        return limited


def order_in(directory: Path, run: str, server: Server) -> Order:
    return Order(
        life="converse",
        name="first",
        directory=str(directory),
        url=server.url(ANTHROPIC.serves),
        model=ANTHROPIC.model,
        said=messages(run, ("", "", "")),
        settings={"params": dict(ANTHROPIC.params)},
    )


async def say_all(order: Order, session: Session) -> str:
    for said in order.said:
        await session.send(said.text, kind=said.kind, id=said.id)
    return (await session.wait(check=False)).reason


async def filled_up(order: Order, full_at: int) -> tuple[Report, int]:
    """A run whose disk is full from a write on; what was stored then; and room again, in the same open session."""
    store = SqliteStore(order.database)
    full = FakeFullStore(store, full_at)
    agent = agent_of(
        order, cast(SessionStore, full), tools_of(Path(order.directory), Switch(order))
    )
    left = Report()
    try:
        if full_at == 1:
            with pytest.raises(StoreUnavailable):
                await agent.session(SESSION).__aenter__()
            full.full_at = 0
        async with asyncio.timeout(60), agent.session(SESSION) as session:
            try:
                reason = await say_all(order, session)
            except StoreUnavailable:
                for _ in range(2):
                    with pytest.raises(StoreUnavailable):
                        await say_all(order, session)
                left = await found(order)
                full.full_at = 0
                reason = await say_all(order, session)
            else:
                assert full_at != 2
                assert full.full_at == 0 or full.writes < full.full_at + 1, (
                    "nobody was told that nothing is stored"
                )
            full.full_at = 0
        return msgspec.structs.replace(left, reason=reason), full.writes
    finally:
        await store.close()


async def test_a_disk_that_is_full_from_any_write_on_is_said_and_loses_nothing(
    tmp_path: Path,
) -> None:
    problems: list[str] = []
    told = 0
    with running(script()) as server:

        async def run(name: str, full_at: int) -> tuple[Trace, int]:
            directory = tmp_path / name
            directory.mkdir()
            order = order_in(directory, name, server)
            report, writes = await filled_up(order, full_at)
            trace = Trace(
                shown=(),
                found=report,
                ledger=await ledger_of(order.database),
                effects=effects_in(directory),
                exchanges=exchanges_by_run(server)[name],
                sent=[said.id for said in order.said],
            )
            return trace, writes

        writes = (await run("whole", 0))[1]
        assert writes > 30
        for at in spread(writes - 1, 30, place=0.0):
            try:
                trace, _ = await run(f"full-{at}", at)
                judge(trace)
                told += bool(trace.found.before)
            except AssertionError as problem:
                problems.append(f"full from write {at} on: {problem}")
    assert not problems, "\n".join(problems[:6])
    assert told > 10


async def test_whoever_follows_until_the_session_rests_is_told_that_its_store_fails(
    tmp_path: Path,
) -> None:
    with running(script()) as server:
        for full_at in (5, 12, 20):
            directory = tmp_path / str(full_at)
            directory.mkdir()
            order = order_in(directory, f"followed-{full_at}", server)
            store = SqliteStore(order.database)
            full = FakeFullStore(store, 0)
            agent = agent_of(
                order, cast(SessionStore, full), tools_of(directory, Switch(order))
            )
            async with asyncio.timeout(60), agent.session(SESSION) as session:
                await session.send(order.said[0].text, id="task")
                full.full_at = full.writes + full_at
                with pytest.raises(StoreUnavailable):
                    async for _ in session.events(after=0, until_rest=True):
                        pass
                full.full_at = 0
                await session.send(order.said[0].text, id="task")
                events = [
                    event async for event in session.events(after=0, until_rest=True)
                ]
                assert isinstance(events[-1], TurnEnded)
            await store.close()


async def test_leaving_a_session_whose_store_fails_ends_at_once_whatever_was_under_way(
    tmp_path: Path,
) -> None:
    with running(script()) as server:
        for moment in range(0, 100, 4):
            directory = tmp_path / str(moment)
            directory.mkdir()
            order = order_in(directory, f"left-{moment}", server)
            store = SqliteStore(order.database)
            full = FakeFullStore(store, 0)
            agent = agent_of(
                order, cast(SessionStore, full), tools_of(directory, Switch(order))
            )
            with pytest.raises(KeyError):
                async with asyncio.timeout(60), agent.session(SESSION) as session:
                    await session.send(order.said[0].text, id="task")
                    seen = 0
                    async for _ in session.events(after=0):
                        seen += 1
                        if seen > moment or await is_over(session):
                            break
                    full.full_at = 1
                    raise KeyError("the program has other things to do")
            await store.close()


async def is_over(session: Session) -> bool:
    return any(isinstance(event, TurnEnded) for event in await session.history())


async def test_a_cancel_whose_driver_can_store_nothing_is_an_error_and_is_done_when_there_is_room(
    tmp_path: Path,
) -> None:
    with running(script(delay_s=0.05)) as server:
        order = order_in(tmp_path, "cancelled", server)
        store = SqliteStore(order.database)
        full = FakeFullStore(store, 0, of=("append", "draft"))
        agent = agent_of(
            order, cast(SessionStore, full), tools_of(tmp_path, Switch(order))
        )
        async with asyncio.timeout(60), agent.session(SESSION) as session:
            await session.send(order.said[0].text, id="task")
            async for event in session.events(after=0):
                if isinstance(event, DraftPiece):
                    break
            full.full_at = 1
            with pytest.raises(StoreUnavailable):
                await session.cancel()
            full.full_at = 0
            result = await session.wait(check=False)
            assert result.reason == "cancelled"
            assert (await session.cancel()).cancelled
        judge_ledger([], await ledger_of(order.database))
        await store.close()


async def test_a_file_that_can_grow_no_more_stops_the_turn_with_an_error_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    problems: list[str] = []
    kinds: list[str] = []
    with running(script()) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            await runs.warm()
            counts = (await runs.whole(runs.order("whole", "first"))).counts
            at_once = asyncio.Semaphore(3)

            async def point(number: int, kill: Kill) -> None:
                run = f"cramped-{number}"
                first, second = (
                    runs.order(run, "first", kill=kill),
                    runs.order(run, "second"),
                )
                async with at_once:
                    statuses = [await forks.run(first), await forks.run(second)]
                try:
                    assert statuses == [0, 0], error_of(first) + error_of(second)
                    report = report_of(first)
                    assert report is not None
                    trace = await runs.trace(run, first, second)
                    if report.reason:  # it went on itself, from what it had found stored when the file was full
                        trace = dataclasses.replace(
                            trace,
                            shown=(),
                            found=msgspec.structs.replace(
                                report, error="", error_kind=""
                            ),
                        )
                    judge(trace)
                    kinds.append(report.error_kind)
                except AssertionError as problem:
                    problems.append(f"{run} {kill}: {problem}")

            ats = spread(counts["store"], 60 if IS_THOROUGH else 15, place=0.5)
            kills = [Kill("store", at, does="cramp") for at in ats]
            await asyncio.gather(
                *(point(number, kill) for number, kill in enumerate(kills))
            )
    assert not problems, "\n".join(problems[:6])
    assert kinds.count("StoreUnavailable") > len(kills) // 2
    assert set(kinds) <= {"StoreUnavailable", ""}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
async def test_a_file_that_may_not_be_written_is_an_error_and_the_turn_goes_on_once_it_may() -> (
    None
):
    # Not below ``tmp_path``, which nobody else may look into.
    with tempfile.TemporaryDirectory() as place, running(script()) as server:
        directory = Path(place)
        directory.chmod(0o777)
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, directory)
            await runs.warm()
            first = runs.order("one", "first", kill=Kill("tool count did", 1))
            assert await forks.run(first) == -9
            (directory / "one").chmod(0o777)
            files = list((directory / "one").glob(f"{DATABASE}*"))
            for file in files:
                file.chmod(0o444)
            before = await ledger_of_copy(first.database)
            second = runs.order(
                "one", "second", more={"as_nobody": True, "looks_not": True}
            )
            report = await runs.whole(second)
            assert report.error_kind == "StoreUnavailable", report
            assert str(first.database) in report.error
            assert await ledger_of_copy(first.database) == before
            for file in files:
                if file.exists():
                    file.chmod(0o644)
            third = runs.order("one", "third")
            assert (await runs.whole(third)).reason == "finished"
            judge(await runs.trace("one", first, third))


async def ledger_of_copy(database: Path) -> list[Any]:
    """Its events, without touching it."""
    with tempfile.TemporaryDirectory() as place:
        for file in database.parent.glob(f"{database.name}*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, place)
        return list(await ledger_of(Path(place) / database.name))


async def test_a_database_overwritten_in_the_middle_of_a_turn_is_an_error_and_no_call_is_made_blindly(
    tmp_path: Path,
) -> None:
    with running(script()) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            await runs.warm()
            kinds = (
                "tool look begins",
                "tool count did",
                "tool press ends",
                "shown text",
                "shown call",
            )
            for number, kind in enumerate(kinds):
                run = f"spoilt-{number}"
                order = runs.order(run, "first", kill=Kill(kind, 1, does="spoil"))
                report = await runs.whole(order)
                assert report.error_kind == "StoreUnavailable", report
                assert str(order.database) in report.error
                again = await runs.whole(
                    runs.order(run, "second", more={"looks_not": True})
                )
                assert again.error_kind == "StoreUnavailable", again
                assert ".recover" in again.error
                exchanges = exchanges_by_run(server)[run]
                assert len(exchanges) == 1, "it went on without a store"


@pytest.mark.parametrize("how", ["torn", "overwritten"])
async def test_a_database_damaged_while_nobody_had_it_open_is_an_error_or_all_there(
    tmp_path: Path, how: str
) -> None:
    with running(script()) as server, running(script()) as other:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            first = runs.order("one", "first", kill=Kill("tool count did", 1))
            assert await forks.run(first) == -9, error_of(first)
            with closing(sqlite3.connect(first.database)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                size = database.execute("PRAGMA page_size").fetchone()[0]
            whole, before = (
                first.database.read_bytes(),
                await ledger_of_copy(first.database),
            )
            errors = 0
            for page in range(len(whole) // size):
                run = f"damaged-{page}"
                order = runs.order(run, "second", said=first.said)
                order = msgspec.structs.replace(order, url=other.url(ANTHROPIC.serves))
                damaged = bytearray(whole)
                if how == "torn":
                    del damaged[page * size + 1_000 :]
                else:
                    damaged[page * size : (page + 1) * size] = b"\xa5" * size
                order.database.write_bytes(damaged)
                report = await in_process(order)
                errors += bool(report.error)
                if report.error:
                    assert report.error_kind in ("StoreUnavailable", "LedgerError"), (
                        report
                    )
                    assert str(order.database) in report.error, report
                else:
                    assert report.reason == "finished"
                    now = await ledger_of(order.database)
                    told = zip(
                        before, now, strict=False
                    )  # a damaged row is said to be one
                    kept = [
                        new if isinstance(new, RowDamaged) else old for old, new in told
                    ]
                    assert len(kept) == len(before)
                    judge_ledger(kept, now)
            assert errors > len(whole) // size // 3
            third = runs.order("one", "third")
            assert (await runs.whole(third)).reason == "finished", "what is whole goes on"
            judge(await runs.trace("one", first, third))


async def in_process(order: Order) -> Report:
    store = SqliteStore(order.database)
    agent = agent_of(order, store, tools_of(Path(order.directory), Switch(order)))
    try:
        async with asyncio.timeout(60), agent.session(SESSION) as session:
            return Report(reason=await say_all(order, session))
    except StoreUnavailable as problem:
        return Report(error=str(problem), error_kind=type(problem).__name__)
    finally:
        await store.close()

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Iterable
from functools import partial
from pathlib import Path

import pytest

from ullage.errors import CommandRefused, StoreUnavailable
from ullage.store.changes import Change, Watchers
from ullage.store.sqlite.transaction import Transaction
from ullage.store.sqlite.writer import POLL_S, WriterThread


def added(work: Transaction, name: str) -> None:
    work.run("add_session", name, 1.0, 1.0, "", "default", "")


async def ids(writer: WriterThread) -> list[str]:
    def read(work: Transaction) -> list[str]:
        return [
            row[0]
            for row in work.database.execute("SELECT id FROM sessions ORDER BY key")
        ]

    return await writer.perform(read)


async def test_a_refused_thread_is_tried_again_by_the_next_write(tmp_path: Path) -> None:
    writer = WriterThread(tmp_path / "s.db", Watchers())
    usual = threading.stack_size(1 << 46)
    try:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="new thread"):
                await ids(writer)
    finally:
        threading.stack_size(usual)
    assert await ids(writer) == []
    writer.finish()


async def test_one_refused_write_fails_alone_and_leaves_nothing(tmp_path: Path) -> None:
    writer = WriterThread(tmp_path / "s.db", Watchers())

    def write(name: str) -> Awaitable[str]:
        def work(inside: Transaction) -> str:
            inside.run("add_session", name, 1.0, 1.0, "", "default", "")
            if name == "3":
                raise CommandRefused("not this one")
            if name == "5":
                raise ValueError("a fault of the caller's")
            return name

        return writer.perform(work)

    given = await asyncio.gather(
        *(write(str(number)) for number in range(8)), return_exceptions=True
    )
    assert [type(each) for each in given] == [
        str,
        str,
        str,
        CommandRefused,
        str,
        ValueError,
        str,
        str,
    ]
    assert await ids(writer) == ["0", "1", "2", "4", "6", "7"]
    writer.finish()


async def test_a_group_that_sqlite_undoes_is_done_one_by_one(tmp_path: Path) -> None:
    writer = WriterThread(tmp_path / "s.db", Watchers())
    times: dict[str, int] = {}

    def write(name: str) -> Awaitable[str]:
        def work(inside: Transaction) -> str:
            times[name] = times.get(name, 0) + 1
            inside.run("add_session", name, 1.0, 1.0, "", "default", "")
            if name == "bad":
                inside.database.execute("SELECT nonsense")
            return name

        return writer.perform(work)

    await writer.open()
    given = await asyncio.gather(
        write("a"), write("bad"), write("b"), return_exceptions=True
    )
    assert given[0] == "a"
    assert isinstance(given[1], StoreUnavailable)
    assert isinstance(given[1].__cause__, sqlite3.Error)
    assert given[2] == "b"
    assert await ids(writer) == ["a", "b"]
    writer.finish()


class Stop(BaseException):
    """No ``Exception``, as a task's end is none."""


@pytest.mark.parametrize(
    ("problem", "reaches"),
    [
        (StopIteration(), RuntimeError),
        (Stop(), Stop),
        (asyncio.CancelledError(), asyncio.CancelledError),
    ],
)
async def test_whatever_a_write_raises_reaches_who_waits_for_it_and_nobody_else(
    problem: BaseException, reaches: type[BaseException], tmp_path: Path
) -> None:
    writer = WriterThread(tmp_path / "s.db", Watchers())

    def bad(inside: Transaction) -> None:
        added(inside, "bad")
        raise problem

    await writer.open()
    async with asyncio.timeout(60):
        given = await asyncio.gather(
            writer.perform(partial(added, name="a")),
            writer.perform(bad),
            writer.perform(partial(added, name="b")),
            return_exceptions=True,
        )
        assert [type(each) for each in given] == [type(None), reaches, type(None)]
        assert await ids(writer) == ["a", "b"]
    writer.finish()


async def test_an_impossible_path_reaches_all_who_wait(tmp_path: Path) -> None:
    writer = WriterThread(tmp_path / "s\0.db", Listening())
    async with asyncio.timeout(60):
        for _ in range(2):
            with pytest.raises(ValueError, match="null"):
                await ids(writer)
            with pytest.raises(ValueError, match="null"):
                await writer.open()
            await asyncio.sleep(2 * POLL_S)
    writer.finish()


class Listening(Watchers):
    def is_listening(self) -> bool:
        return True

    def sessions(self) -> list[str]:
        return ["a"]


class Failing(Listening):
    def tell(self, changes: Iterable[Change]) -> None:
        is_own = all(change.seq for change in changes)
        raise ValueError("can't hear" if is_own else "can't hear of others")


async def test_an_audience_that_fails_is_logged_and_what_was_stored_is_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = WriterThread(tmp_path / "s.db", Failing())

    def told(inside: Transaction) -> str:
        added(inside, "a")
        inside.changes.append(Change("a", 1))
        return "stored"

    async with asyncio.timeout(60):
        assert await writer.perform(told) == "stored"
        assert await ids(writer) == ["a"]
    writer.finish()
    assert {str(record.exc_info[1]) for record in caplog.records if record.exc_info} == {
        "can't hear",
        "can't hear of others",
    }


async def test_a_look_that_failed_is_made_again(tmp_path: Path) -> None:
    has_told = threading.Event()

    class Hearing(Listening):
        def tell(self, changes: Iterable[Change]) -> None:
            has_told.set()

    writer = WriterThread(tmp_path / "s.db", Hearing())
    await writer.perform(partial(added, name="a"))
    refused: list[str] = []

    def refuse_once(inside: Transaction) -> None:
        def authorize(action: int, table: str | None, *_: object) -> int:
            if action == sqlite3.SQLITE_READ and table == "drafts" and not refused:
                refused.append(table)
                return sqlite3.SQLITE_DENY
            return sqlite3.SQLITE_OK

        inside.database.set_authorizer(authorize)

    await writer.perform(refuse_once)
    has_told.clear()
    with sqlite3.connect(tmp_path / "s.db") as other:
        other.execute("UPDATE sessions SET generation = generation + 1")
    other.close()
    assert await asyncio.to_thread(has_told.wait, 60)
    assert refused
    writer.finish()

import asyncio
import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.sessions import said, source_code
from ullage.errors import LedgerError, StoreUnavailable, UllageError
from ullage.events import Event, MessageAdded, RowDamaged, TurnStarted
from ullage.store.sqlite.failures import failure, free_bytes
from ullage.store.sqlite.store import SqliteStore


async def filled(path: Path, events: int = 200) -> None:
    store = SqliteStore(path)
    chance = random.Random(1)
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    for number in range(events):
        message = said(f"m{number}", source_code(chance, 3_000))
        await store.append(lease, [MessageAdded(message=message)], after=number)
    await store.close()


async def outcome(path: Path) -> str:
    """What a store says of a file: everything is read, and one write tried."""
    store = SqliteStore(path)
    try:
        events = await store.read("s")
        await store.command("s", [TurnStarted(turn="t")])
        return f"{len(events)} events"
    except StoreUnavailable as problem:
        return str(problem)
    finally:
        await store.close()


@pytest.mark.parametrize(
    "content",
    [b"no database at all " * 100, b"\0" * 5_000, b"SQLite format 3\0" + b"x" * 5_000],
)
async def test_what_is_no_database_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(content)
    said = await outcome(path)
    assert str(path) in said
    assert "damaged or no database" in said
    assert "Move it away" in said
    assert path.read_bytes() == content


async def test_overwritten_pages_are_named_or_lose_nothing(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    await filled(whole)
    chance = random.Random(3)
    for number in range(25):
        path = tmp_path / f"{number}.db"
        data = bytearray(whole.read_bytes())
        page = chance.randrange(len(data) // 4096)
        data[page * 4096 : page * 4096 + 4096] = chance.randbytes(4096)
        path.write_bytes(data)
        said = await outcome(path)
        assert said == "200 events" or str(path) in said, said


async def test_a_torn_last_page_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await filled(path)
    os.truncate(path, path.stat().st_size - 4096 * 3 - 1_000)
    said = await outcome(path)
    assert "damaged" in said
    assert ".recover" in said


async def test_a_truncated_log_opens_with_all_that_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    sizes = []
    for number in range(40):
        await store.append(
            lease, [MessageAdded(message=said(f"m{number}", "x" * 2_000))], after=number
        )
        sizes.append(path.with_name("s.db-wal").stat().st_size)
    for cut in (sizes[-1] - 1, sizes[20] + 10, sizes[10] - 10, 40, 0):
        copy = tmp_path / f"cut-{cut}.db"
        shutil.copy(path, copy)
        wal = path.with_name("s.db-wal").read_bytes()[:cut]
        copy.with_name(f"{copy.name}-wal").write_bytes(wal)
        whole = sum(size <= cut for size in sizes)
        found = SqliteStore(copy)
        try:
            assert len(await found.read("s")) == whole
        except UllageError as problem:
            assert whole == 0, f"{whole} events were whole, and {problem}"
        await found.close()
    await store.close()


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN])
def test_a_failure_without_room_says_disk_full(code: int, tmp_path: Path) -> None:
    problem = sqlite3.OperationalError("disk I/O error")
    problem.sqlite_errorcode = code
    path = tmp_path / "s.db"
    assert "disk is full" in str(failure(problem, path, lambda _: 0))
    assert "disk is full" not in str(failure(problem, path, lambda _: 10**9))
    assert "disk is full" not in str(failure(problem, path, lambda _: None))
    assert (free_bytes(path) or 0) > 0
    assert free_bytes(tmp_path / "missing" / "s.db") is None


async def test_a_full_disk_is_said_and_nothing_half_stored(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    writer = store._writer
    await writer.perform(
        lambda inside: inside.database.execute("PRAGMA max_page_count = 150").fetchone()
    )
    stored, said_full = 0, 0
    chance = random.Random(5)
    for number in range(80):
        pair: list[Event] = [
            TurnStarted(turn=str(number)),
            MessageAdded(message=said(str(number), source_code(chance, 9_000))),
        ]
        try:
            stored += len(await store.append(lease, pair, after=stored))
        except StoreUnavailable as problem:
            said_full += 1
            assert "disk is full" in str(problem)
            assert "Make room" in str(problem)
    assert stored > 10
    assert said_full > 10
    assert len(await store.read("s")) == stored
    await writer.perform(
        lambda inside: inside.database.execute(
            "PRAGMA max_page_count = 100000"
        ).fetchone()
    )
    assert (
        len(await store.append(lease, [TurnStarted(turn="room again")], after=stored))
        == 1
    )
    await store.close()


async def test_on_a_full_disk_only_what_does_not_fit_fails(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("s")
    await store._writer.perform(
        lambda inside: inside.database.execute("PRAGMA max_page_count = 150").fetchone()
    )
    large = random.Random(1).randbytes(1_000_000)
    writes = [
        store.keep("s", large),
        *(store.send("s", said(str(number)), "steer") for number in range(20)),
    ]
    given = await asyncio.gather(*writes, return_exceptions=True)
    assert isinstance(given[0], StoreUnavailable)
    assert not [each for each in given[1:] if isinstance(each, BaseException)]
    assert len(await store.pending("s")) == 20
    assert await store.handles("s") == []
    await store.close()


async def test_a_replaced_database_is_not_written_silently(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    await store.create("s")
    for name in ("s.db", "s.db-wal", "s.db-shm"):
        (tmp_path / name).rename(tmp_path / f"moved-{name}")
    with pytest.raises(StoreUnavailable, match="moved or deleted while it was in use"):
        await store.send("s", said("m"), "steer")
    for name in ("s.db", "s.db-wal", "s.db-shm"):
        (tmp_path / f"moved-{name}").rename(tmp_path / name)
    await store.send("s", said("m"), "steer")
    await store.close()


async def test_a_message_of_the_error_names_the_file_for_every_cause() -> None:
    path = Path("somewhere/sessions.db")
    for code in (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_IOERR | 5 << 8,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_NOMEM,
    ):
        problem = sqlite3.OperationalError("what SQLite says")
        problem.sqlite_errorcode = code
        ours = failure(problem, path)
        assert isinstance(ours, StoreUnavailable)
        assert str(path) in str(ours)
    assert isinstance(failure(sqlite3.IntegrityError("UNIQUE"), path), LedgerError)


async def test_a_lock_that_another_program_holds_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    await store.create("s")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(store.send("s", said("m"), "steer"))
        assert await store.pending("s") == [], "reading does not wait"
        await asyncio.sleep(0.05)
        assert not writing.done()
        other.execute("COMMIT")
    assert (await writing).is_new
    await store.close()


async def test_an_altered_row_is_damaged_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await filled(path, 3)
    for body in (
        b"x\x9c rubbish",
        b"\x78\x9c rubbish",
        b'{"type":"message_added"}',
        b"{",
    ):
        with closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE events SET body = ? WHERE seq = 2", (body,))
            database.commit()
        store = SqliteStore(path)
        damaged = (await store.read("s"))[1]
        assert (
            isinstance(damaged, RowDamaged)
            and (damaged.seq, damaged.size_bytes) == (2, len(body))
            and damaged.why
        )
        lease = await store.acquire("s", "o", ttl_s=60)
        assert isinstance(
            (await store.append(lease, [TurnStarted(turn="t")], after=0))[1], RowDamaged
        )
        await store.append(
            lease, [TurnStarted(turn="t")], after=(await store.about("s")).seq
        )
        await store.release(lease)
        await store.close()


def test_an_sqlite_without_fts5_is_named() -> None:
    found = failure(sqlite3.OperationalError("no such module: fts5"), Path("s.db"))
    assert "has no FTS5" in str(found)
    assert "Use another Python" in str(found)

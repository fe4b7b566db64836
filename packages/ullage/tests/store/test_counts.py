"""The file of counts: a cache that may be damaged or lost, written by many sessions at once."""

import multiprocessing
from pathlib import Path

import pytest

from ullage.store.counts import (
    MOST_PIECES,
    MOST_PLACES,
    VERSION,
    CountStore,
    KnownCounts,
    KnownEndpoint,
)
from ullage.store.private_file import UnwritableStore

ONE = KnownCounts(
    endpoints={"place": KnownEndpoint(way="tokenize", at=5.0)}, pieces={"a": 17}
)
DAMAGED = {
    "empty": b"",
    "cut": b'{"version":1,"pieces":{"a":1',
    "no JSON": b"\x00\xff\xfe",
    "not UTF-8": b'{"version":1,"pieces":{"\xff":1}}',
    "a list": b"[]",
    "no number": b'{"version":1,"pieces":{"a":"many"}}',
    "too deep": b"[" * 100_000,
    "of another version": b'{"version":99,"pieces":{"a":1}}',
}


def test_a_store_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert CountStore(tmp_path / "none").read() == KnownCounts()


def test_what_was_stored_is_read_back_and_the_users_alone(tmp_path: Path) -> None:
    store = CountStore(tmp_path / "a")
    store.add(ONE)
    store.add(KnownCounts(pieces={"b": 4}))
    assert store.read() == ONE.plus(KnownCounts(pieces={"b": 4}))
    assert store.read().version == VERSION
    assert store.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_an_empty_one(content: bytes, tmp_path: Path) -> None:
    store = CountStore(tmp_path)
    store.path.write_bytes(content)
    assert store.read() == KnownCounts()
    store.add(ONE)
    assert store.read() == ONE


def test_an_unwritable_file_says_so_and_stays(tmp_path: Path) -> None:
    store = CountStore(tmp_path / "file" / "below")
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(UnwritableStore):
        store.add(ONE)
    assert store.read() == KnownCounts()


def test_only_the_newest_entries_stay(tmp_path: Path) -> None:
    store = CountStore(tmp_path)
    endpoint = KnownEndpoint(way="", at=1.0)
    store.add(
        KnownCounts(
            endpoints={f"{number}": endpoint for number in range(MOST_PLACES + 1)},
            pieces={f"{number}": number for number in range(MOST_PIECES + 1)},
        )
    )
    store.add(KnownCounts(pieces={"1": 7}))  # counted again: the newest
    store.add(KnownCounts(pieces={"new": 8}))
    known = store.read()
    assert len(known.endpoints) == MOST_PLACES and "0" not in known.endpoints
    assert len(known.pieces) == MOST_PIECES
    assert known.pieces["1"] == 7 and "2" not in known.pieces
    assert store.path.stat().st_size < 500_000


WRITES = 20


def write(directory: Path, writer: int) -> None:
    store = CountStore(directory)
    for number in range(WRITES):
        store.add(KnownCounts(pieces={f"{writer}.{number}": number}))


def test_writers_at_once_leave_a_whole_file_of_true_counts(tmp_path: Path) -> None:
    """An entry may be lost to another writer, and is then counted again; none is wrong."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(tmp_path, one)) for one in range(3)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        known = CountStore(tmp_path).read()
        assert all(key.endswith(f".{number}") for key, number in known.pieces.items())
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    known = CountStore(tmp_path).read()
    assert WRITES <= len(known.pieces) <= 3 * WRITES
    assert all(key.endswith(f".{number}") for key, number in known.pieces.items())
    assert [path.name for path in tmp_path.iterdir()] == [CountStore(tmp_path).path.name]

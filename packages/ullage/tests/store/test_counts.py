"""The record of counts: a cache that may be damaged or lost, written by many sessions at once."""

import multiprocessing
from pathlib import Path

from ullage.store.counts import (
    MOST_PIECES,
    MOST_PLACES,
    CountStore,
    KnownCounts,
    KnownEndpoint,
)

FILE = "counts/known.json"
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
    "too deep": b'{"further":' + b"[" * 100_000,
}


def test_a_store_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert CountStore(tmp_path / "none").read() == KnownCounts()


def test_what_was_stored_is_read_back(tmp_path: Path) -> None:
    store = CountStore(tmp_path)
    store.add(ONE)
    store.add(KnownCounts(pieces={"b": 4}))
    assert store.read() == ONE.plus(KnownCounts(pieces={"b": 4}))


def test_a_damaged_record_is_an_empty_one_and_the_next_write_mends_it(
    tmp_path: Path,
) -> None:
    store = CountStore(tmp_path)
    store.add(ONE)
    for what, content in DAMAGED.items():
        (tmp_path / FILE).write_bytes(content)
        assert store.read() == KnownCounts(), what
        store.add(ONE)
        assert store.read() == ONE, what


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
    assert (tmp_path / FILE).stat().st_size < 500_000


WRITES = 20


def write(directory: Path, writer: int) -> None:
    store = CountStore(directory)
    for number in range(WRITES):
        store.add(KnownCounts(pieces={f"{writer}.{number}": number}))


def test_writers_at_once_lose_no_count(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(tmp_path, one)) for one in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    known = CountStore(tmp_path).read().pieces
    assert len(known) == 3 * WRITES
    assert all(key.endswith(f".{number}") for key, number in known.items())

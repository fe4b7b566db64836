"""Records in files and in a database's table: the contract of both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.postgres import database
from ullage.store.records import FileRecords, Records
from ullage_cluster.postgres.store import PostgresStore


@pytest.fixture(params=("files", "postgres"))
def opened(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], Records]]:
    """Opens the same place again and again."""
    if request.param == "files":
        yield lambda: FileRecords(tmp_path)
        return
    stores: list[PostgresStore] = []
    with database() as url:

        def new() -> Records:
            stores.append(PostgresStore(url))
            return stores[-1].records()

        yield new
        for store in stores:
            store._base.close()


def test_what_was_put_is_read_until_it_is_removed(opened: Callable[[], Records]) -> None:
    one, other = opened(), opened()
    assert one.all("grants") == {}
    one.change("grants", "g-1", lambda _: b"first")
    one.change("grants", "g-2", lambda _: b"second")
    one.change("overhead", "g-1", lambda _: b"of another kind")
    assert [body.strip() for body in other.all("grants").values()] == [
        b"first",
        b"second",
    ]
    other.change("grants", "g-1", lambda _: None)
    other.change("grants", "g-1", lambda _: None)
    assert one.all("grants").keys() == {"g-2"}
    assert one.recent("grants").bodies.keys() == {"g-2"}


def test_a_change_that_fails_changes_nothing(opened: Callable[[], Records]) -> None:
    records = opened()
    records.change("grants", "g", lambda _: b"kept")

    def fail(body: bytes | None) -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        records.change("grants", "g", fail)
    assert records.all("grants")["g"].strip() == b"kept"


def test_the_own_change_is_seen_at_once(opened: Callable[[], Records]) -> None:
    records = opened()
    before = records.recent("grants")
    assert before.bodies == {}
    records.change("grants", "g", lambda _: b"new")
    after = records.recent("grants")
    assert after.bodies.keys() == {"g"}
    assert after.version != before.version


def test_writers_at_once_to_one_record_see_each_other_s(database_url: str) -> None:
    stores = [PostgresStore(database_url) for _ in range(3)]

    def add(records: Records, mark: bytes) -> None:
        for _ in range(10):
            records.change("learnt", "a/model", lambda body: (body or b"") + mark)

    threads = [
        threading.Thread(target=add, args=(store.records(), mark))
        for store, mark in zip(stores, (b"a", b"b", b"c"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (body,) = stores[0].records().all("learnt").values()
    assert sorted(body) == sorted(b"a" * 10 + b"b" * 10 + b"c" * 10)
    for store in stores:
        store._base.close()

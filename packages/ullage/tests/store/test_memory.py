"""The store in memory: that it is in memory, and seen by all that are given it."""

import asyncio
import threading
from pathlib import Path

import pytest

from ullage.errors import SettingError, StoreUnavailable
from ullage.events import TurnStarted
from ullage.store.adapter import StoreAdapter
from ullage.store.memory import MemoryStore
from ullage.store.places import is_memory, shown_store, store_at
from ullage.store.sqlite.store import SqliteStore


@pytest.mark.parametrize(
    "place",
    [
        ":memory:",
        Path(":memory:"),
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite+aiosqlite:///:memory:",
        "file::memory:?cache=shared",
    ],
)
async def test_what_sqlite_calls_memory_is_no_file(
    place: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = store_at(place)
    await store.create("s", [TurnStarted(turn="t")])
    assert len(await store.read("s")) == 1
    await store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["memory", ":memory:.db", "", "s.db", "file:s.db"])
def test_other_names_are_files(place: str) -> None:
    assert not is_memory(place)
    assert isinstance(store_at(place), SqliteStore)


def test_a_url_of_a_file_of_sqlite_is_refused_with_what_to_give() -> None:
    with pytest.raises(StoreUnavailable, match="Name a file"):
        store_at("sqlite:///sessions.db")


async def test_who_is_given_the_same_store_sees_the_same_sessions() -> None:
    memory = MemoryStore()
    first, second = store_at(memory), store_at(memory)
    await first.create("s", [TurnStarted(turn="t")])
    await first.close()
    assert len(await second.read("s")) == 1


def test_threads_share_a_store() -> None:
    memory = MemoryStore()

    async def write() -> None:
        store = StoreAdapter(memory)
        for _ in range(20):
            await store.command("s", [TurnStarted(turn="t")])
            await asyncio.sleep(0)

    asyncio.run(StoreAdapter(memory).create("s"))
    threads = [threading.Thread(target=asyncio.run, args=(write(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = asyncio.run(StoreAdapter(memory).read("s"))
    assert [event.seq for event in events] == list(range(1, 81))


async def test_a_wait_that_was_cancelled_leaves_nothing() -> None:
    memory = MemoryStore()
    waiting = asyncio.create_task(memory.wait("s", 0, 60))
    await asyncio.sleep(0)
    assert memory._waiting
    waiting.cancel()
    await asyncio.wait([waiting])
    assert not memory._waiting


def test_what_is_no_store_is_named_with_what_it_lacks() -> None:
    class Half:
        async def read_values(self) -> None: ...

    for wrong, lacks in ((42, "read_values"), (Half(), "read_rows, write")):
        with pytest.raises(SettingError, match=rf"is no store: it has no {lacks}"):
            store_at(wrong)  # type: ignore[arg-type]


def test_each_store_says_where_it_is() -> None:
    assert shown_store(None) == "nowhere"
    assert shown_store(MemoryStore()) == "memory"
    assert (
        shown_store(Path("a/s.db"))
        == shown_store(SqliteStore(Path("a/s.db")))
        == "a/s.db"
    )
    assert shown_store("postgresql://u:secret@h/d") == "postgresql://u@h/d"


async def test_a_store_that_raises_is_unavailable_with_its_words() -> None:
    class Failing(MemoryStore):
        async def read_values(
            self, session: str, names: object
        ) -> tuple[int, dict[str, bytes]]:
            raise OSError("no route to host")

    with pytest.raises(StoreUnavailable, match="OSError: no route to host"):
        await StoreAdapter(Failing()).about("s")

"""Stores of every kind."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.postgres import database, database_url  # noqa: F401 - a fixture for all
from ullage.store.memory import MemoryStore
from ullage.store.places import StorePlace, store_at
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import SessionStore

STORES = ("sqlite", "postgres", "memory")
"""Every kind of store: each test with ``store`` or ``place`` holds each of them to the contract of
``SessionStore``. The one in memory is a ``Store`` behind ``StoreAdapter``."""


@pytest.fixture
def new_database() -> Callable[[], AbstractContextManager[str]]:
    """Makes a database in which a store of PostgreSQL is."""
    return database


@contextmanager
def _places(
    kind: str, folder: Path, new_database: Callable[[], AbstractContextManager[str]]
) -> Iterator[Callable[[], StorePlace]]:
    if kind == "memory":
        yield MemoryStore
        return
    if kind == "sqlite":
        names = (str(folder / f"sessions-{number}.db") for number in count())
        yield lambda: next(names)
        return
    with ExitStack() as made:
        yield lambda: made.enter_context(new_database())


@pytest.fixture(params=STORES)
def new_place(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    new_database: Callable[[], AbstractContextManager[str]],
) -> Iterator[Callable[[], StorePlace]]:
    """Gives places of empty stores of one kind, as ``store_at`` takes them."""
    with _places(request.param, tmp_path, new_database) as made:
        yield made


@pytest.fixture(params=("sqlite", "postgres"))
def processes_place(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    new_database: Callable[[], AbstractContextManager[str]],
) -> Iterator[StorePlace]:
    """Where an empty store is that several processes can use."""
    with _places(request.param, tmp_path, new_database) as made:
        yield made()


@pytest.fixture
def place(new_place: Callable[[], StorePlace]) -> StorePlace:
    """Where an empty store is."""
    return new_place()


@pytest.fixture
def other_place(new_place: Callable[[], StorePlace]) -> StorePlace:
    """A second place of the same kind."""
    return new_place()


@pytest.fixture
async def store(place: StorePlace) -> AsyncIterator[SessionStore]:
    opened = store_at(place)
    yield opened
    await opened.close()


@pytest.fixture
async def sqlite_store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "sessions.db")
    yield opened
    await opened.close()

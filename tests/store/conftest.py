from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ullage.store.sqlite import SqliteStore
from ullage.store.store import Store

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda directory: SqliteStore(directory / "sessions.db")
}
"""Every store by its name: each test with the fixture ``store`` holds each of them to the contract of ``Store``."""


@pytest.fixture(params=STORES)
async def store(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    opened = STORES[request.param](tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def sqlite_store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "sessions.db")
    yield opened
    await opened.close()

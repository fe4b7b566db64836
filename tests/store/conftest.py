from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ullage.store.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "sessions.db")
    yield opened
    await opened.close()

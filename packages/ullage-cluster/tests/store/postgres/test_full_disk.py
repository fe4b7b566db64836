"""A database whose disk is full says so when it is checked, and no longer once there is room."""

from __future__ import annotations

import random

import pytest

from tests.disks import small_disk
from tests.postgres import NOBODY, new_server
from ullage.errors import StoreUnavailable
from ullage_cluster.postgres.store import PostgresStore

pytestmark = pytest.mark.slow

GROWING = ("kept", "blobs", "records")


async def test_a_check_after_a_failed_write_writes_itself() -> None:
    server = new_server()
    name = server.new_database()
    store = PostgresStore(server.url(name))
    await store.create("s")
    chance = random.Random(2)
    with small_disk(server.folder / "small", 4, NOBODY) as place:
        server.sql(f"CREATE TABLESPACE small LOCATION '{place}'")
        for table in GROWING:
            server.sql(f"ALTER TABLE {table} SET TABLESPACE small", name)
        with pytest.raises(StoreUnavailable, match="is full"):
            for _ in range(200):
                await store.keep("s", chance.randbytes(60_000))
                await store.check()
        with pytest.raises(StoreUnavailable, match="is full"):
            for _ in range(100):
                await store.check()
        for table in GROWING:
            server.sql(f"ALTER TABLE {table} SET TABLESPACE pg_default", name)
        await store.check()
        await store.keep("s", b"there is room")
        await store.close()
        server.stop()
    server.start()
    server.remove()

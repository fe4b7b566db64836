"""The store behind pgbouncer in transaction mode, with PostgreSQL's own address beside it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.postgres import NOBODY, WAIT_S, shared_server
from tests.programs import needed
from tests.store.sessions import said
from ullage.errors import LeaseLost
from ullage.events import DraftPiece, TurnStarted
from ullage_cluster.postgres.store import PostgresStore

SETTINGS = """
[databases]
* = host={server} port=5432 user=postgres
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
listen_addr =
unix_socket_dir = {folder}
unix_socket_mode = 0777
auth_type = any
logfile = {folder}/log
"""
"""Fewer connections than a store has: the statements of each come to PostgreSQL on any of them."""


@pytest.fixture
def pool(database_url: str) -> Iterator[str]:
    """The URL of a database through a pgbouncer, without the address of PostgreSQL itself."""
    program = needed("pgbouncer")
    folder = Path(tempfile.mkdtemp(prefix="ullage-pool-"))
    settings = folder / "settings"
    settings.write_text(SETTINGS.format(server=shared_server().folder, folder=folder))
    user = NOBODY if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user, user)
    pgbouncer = subprocess.Popen([program, "-q", str(settings)], user=user)
    ends = time.monotonic() + WAIT_S
    while not (folder / ".s.PGSQL.6432").exists():
        assert pgbouncer.poll() is None and time.monotonic() < ends, "no pgbouncer"
        time.sleep(0.05)
    yield f"{database_url.partition('?')[0]}?host={folder}&port=6432"
    pgbouncer.kill()
    pgbouncer.wait(WAIT_S)
    shutil.rmtree(folder)


async def test_sessions_at_once_are_written_and_followed_by_pooler(pool: str) -> None:
    socket = quote(quote(str(shared_server().folder), safe=""))
    url = f"{pool}&direct={socket}:5432"
    store, other = PostgresStore(url), PostgresStore(url)

    async def used(session: str) -> None:
        await store.create(session)
        lease = await store.acquire(session, "one", ttl_s=600)
        following = other.follow(session)
        for number in range(1, 11):
            receipt = await other.send(session, said(f"m{number}"), "steer")
            assert receipt.position == number
            (turn,) = await store.append(
                lease, [TurnStarted(turn=f"t{number}")], after=2 * number - 1, exact=True
            )
            await store.draft(lease, [DraftPiece("c", number - 1, "text", "p", "piece")])
            seen = [await anext(following) for _ in range(3)]
            assert turn in seen and any(isinstance(each, DraftPiece) for each in seen)
        await other.acquire(session, "two", ttl_s=600, steal=True)
        with pytest.raises(LeaseLost):
            await store.append(lease, [TurnStarted(turn="late")], after=20)
        assert len(await store.read(session)) == 20

    async with asyncio.timeout(5 * WAIT_S):
        await asyncio.gather(*(used(f"s{number}") for number in range(8)))
    await store.close()
    await other.close()

"""Backups of PostgreSQL as docs/backup.md makes them, and what Ullage does when history is suddenly shorter."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.deployed import DEPLOY, GIVEN
from tests.postgres import PostgresServer, new_server
from tests.server.served import Frame, frames_of, patiently, process, script
from ullage.errors import HistoryLost
from ullage.events import CancelAsked, Event, SettingsChanged
from ullage_cluster.postgres.store import PostgresStore
from ullage_simulators import running

ARCHIVING = """
wal_level = replica
max_wal_senders = 3
fsync = on
archive_mode = on
archive_command = 'test ! -f {archive}/%f && cp %p {archive}/%f'
"""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server with the role and the database of ``deploy/``, whose log is archived."""
    server = new_server()
    try:
        archive = server.folder / "archive"
        server.make_folder("archive")
        server.stop()
        with (server.data / "postgresql.conf").open("a") as file:
            file.write(ARCHIVING.format(archive=archive))
        server.start()
        server.run_script(DEPLOY / "postgres-role.sh", GIVEN)
        yield server
    finally:
        server.remove()


def place(server: PostgresServer, database: str = "ullage") -> str:
    """The URL of the role that owns the tables."""
    return server.url(database).replace("postgres@", "ullage@")


def base_backup(server: PostgresServer) -> None:
    server.run(
        "pg_basebackup",
        *("-h", str(server.folder), "-p", str(server.port), "-U", "postgres"),
        *("--checkpoint=fast", "-X", "stream", "-D", str(server.folder / "base")),
    )


def restore(server: PostgresServer, time: str) -> None:
    """Put the base backup into the place of the data, and replay the archived log up to a time."""
    before = server.sql("SELECT last_archived_wal FROM pg_stat_archiver")
    server.sql("SELECT pg_switch_wal()")
    for _ in patiently():
        if server.sql("SELECT last_archived_wal FROM pg_stat_archiver") != before:
            break
    server.stop()
    server.data.rename(server.folder / "lost")
    (server.folder / "base").rename(server.data)
    archive = server.folder / "archive"
    with (server.data / "postgresql.conf").open("a") as file:
        file.write(
            f"restore_command = 'cp {archive}/%f %p'\n"
            f"recovery_target_time = '{time}'\nrecovery_target_action = promote\n"
        )
    (server.data / "recovery.signal").touch()
    server.start()
    for _ in patiently():
        if server.sql("SELECT pg_is_in_recovery()") == "f\n":
            return
    raise AssertionError("the recovery did not end")


async def write(url: str, session: str, *, more: bool = False) -> list[Event]:
    store = PostgresStore(url)
    try:
        if not more:
            await store.create(session, [SettingsChanged(settings={})])
        await store.command(session, [CancelAsked()])
        return await store.read(session)
    finally:
        await store.close()


def frames(url: str, session: str, last: str = "") -> Iterator[Frame]:
    headers = {"Last-Event-ID": last} if last else {}
    with (
        httpx2.Client(timeout=60, headers=headers) as client,
        client.stream("GET", f"{url}/v1/sessions/{session}/events?after=0") as answer,
    ):
        yield from frames_of(answer.iter_lines())


def test_a_server_goes_on_with_a_database_of_an_earlier_time(
    server: PostgresServer, tmp_path: Path
) -> None:
    with (
        running(script({"text": "One."})) as simulator,
        process(simulator.url("anthropic"), tmp_path / "x", database=place(server)) as at,
        at.api() as api,
    ):
        api.session("s")
        api.say("s", "First.")
        api.until("s")
        base_backup(server)
        api.say("s", "Second.")
        api.until("s")
        kept = api.state("s")["seq"]
        server.sql("SELECT pg_sleep(1.1)")
        time = server.sql("SELECT now()").strip()
        server.sql("SELECT pg_sleep(1.1)")
        api.say("s", "Third, which is lost.")
        api.until("s")
        lost = api.state("s")["seq"]
        last = next(f.id for f in frames(at.url, "s") if f.data.get("seq") == lost)
        api.session("lost")

        restore(server, time)

        first = next(iter(frames(at.url, "s", last)))
        assert (first.event, first.data["seq"]) == ("reset", kept)
        assert api.get("/v1/sessions/lost").status_code == 404
        assert "Third" not in json.dumps(api.messages("s"))
        api.say("s", "Fourth.")
        api.until("s")
        text = json.dumps(api.messages("s"))
        assert "Second." in text
        assert "Fourth." in text
        assert api.state("s")["seq"] > kept


def test_who_read_what_was_lost_is_told_by_the_store(server: PostgresServer) -> None:
    url = place(server)
    asyncio.run(write(url, "s"))
    base_backup(server)
    server.sql("SELECT pg_sleep(1.1)")
    time = server.sql("SELECT now()").strip()
    server.sql("SELECT pg_sleep(1.1)")
    had = asyncio.run(write(url, "s", more=True))
    restore(server, time)
    now = asyncio.run(write(url, "s", more=True))
    assert len(now) == len(had)

    async def read_on() -> None:
        store = PostgresStore(url)
        try:
            with pytest.raises(HistoryLost):
                await store.read("s", after=had[-1].seq, at=had[-1].at)
        finally:
            await store.close()

    asyncio.run(read_on())


def test_a_dump_is_refused_to_the_role_that_policies_bind_and_whole_as_superuser(
    server: PostgresServer,
) -> None:
    asyncio.run(write(place(server), "s"))
    at = ("-h", str(server.folder), "-p", str(server.port))
    dump = str(server.folder / "ullage.dump")
    with pytest.raises(AssertionError, match="row-level security policy"):
        server.run("pg_dump", *at, "-U", "ullage", "-Fc", "-f", dump, "ullage")
    server.run("pg_dump", *at, "-U", "postgres", "-Fc", "-f", dump, "ullage")
    server.run("createdb", *at, "-U", "postgres", "-O", "ullage", "restored")
    server.run(
        *("pg_restore", *at, "-U", "postgres", "--exit-on-error", "-d", "restored", dump)
    )
    before = asyncio.run(write(place(server), "s", more=True))
    after = asyncio.run(write(place(server, "restored"), "s", more=True))
    assert before[:2] == after[:2]
    policies = "SELECT count(*) FROM pg_policies WHERE tablename = 'sessions'"
    assert server.sql(policies, "restored") == "1\n"

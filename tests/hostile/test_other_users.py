"""Another user of this machine at everything that listens: it gets health and the page's files, and nothing else."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.other_user import (
    NOBODY,
    OTHER,
    as_user,
    asked,
    connected,
    needs_root,
    ports_of,
)
from tests.restate import shared_restate
from tests.server.served import WAIT_S, script
from ullage_cluster.cli.local_postgres import LocalPostgres
from ullage_cluster.restate.client import UNIX
from ullage_simulators import running

TOLD = ("/healthz", "/readyz", "/drainz")
CLOSED = (
    "/metrics",
    "/v1/access",
    "/v1/live",
    "/v1/sessions",
    "/v1/sessions/one",
    "/v1/sessions/one/approvals",
    "/v1/sessions/one/events",
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[LocalPostgres]:
    """A server as `ullage admin cluster --local` starts it."""
    place = Path(tempfile.mkdtemp(prefix="ullage-pg-"))
    server = LocalPostgres(place / "postgres")
    server.start()
    yield server
    server.stop()
    shutil.rmtree(place)


def folder_of(server: LocalPostgres) -> str:
    return server.url.partition("host=")[2].partition("&")[0]


@needs_root
@pytest.mark.parametrize("user", [OTHER, NOBODY])
def test_the_trial_s_database_is_reached_by_its_own_user_alone(
    user: int, postgres: LocalPostgres
) -> None:
    folder = folder_of(postgres)
    assert connected(f"{folder}/.s.PGSQL.5432") == "connected"
    for path in (".s.PGSQL.5432", "../postgres/.s.PGSQL.5432"):
        assert as_user(user, connected, f"{folder}/{path}") == "PermissionError"
    for file in ("data/PG_VERSION", "postgres.log", "../pgpass"):
        assert as_user(user, os.stat, f"{folder}/{file}") == "PermissionError"


async def test_a_command_that_runs_as_the_same_user_has_no_password(
    postgres: LocalPostgres,
) -> None:
    folder = folder_of(postgres)
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(
            host=folder, user="ullage", database="ullage", password="x", ssl=False
        )
    for name in ("postgres", "template1", "ullage"):
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
            await asyncpg.connect(
                host=folder, user="postgres", database=name, password="x", ssl=False
            )


async def test_the_role_of_the_trial_is_no_superuser_and_nothing_listens_on_tcp(
    postgres: LocalPostgres,
) -> None:
    connection = await asyncpg.connect(postgres.url)
    try:
        assert await connection.fetchval("SHOW listen_addresses") == ""
        # In /dev/shm another process of `nobody` could open it.
        assert await connection.fetchval("SHOW dynamic_shared_memory_type") == "mmap"
        assert await connection.fetchval("SHOW is_superuser") == "off"
        can_log_in = "SELECT rolname FROM pg_roles WHERE rolsuper AND rolcanlogin"
        assert [row[0] for row in await connection.fetch(can_log_in)] == ["postgres"]
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(
                "CREATE TEMP TABLE t (x TEXT); COPY t FROM PROGRAM 'id'"
            )
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("SET SESSION AUTHORIZATION postgres")
    finally:
        await connection.close()


def test_restate_listens_on_no_port() -> None:
    restate = shared_restate()
    assert restate.process is not None
    assert ports_of([restate.process.pid]) == {}


@needs_root
@pytest.mark.parametrize("user", [OTHER, NOBODY])
def test_restate_s_sockets_are_reached_by_its_own_user_alone(user: int) -> None:
    for address in (shared_restate().ingress, shared_restate().admin):
        path = address.removeprefix(UNIX)
        assert connected(path) == "connected"
        assert as_user(user, connected, path) == "PermissionError"


@contextmanager
def started(*words: str, folder: Path) -> Iterator[tuple[str, int]]:
    """The first line that a command of ours prints which listens, and its port. It may have 128 files open."""
    limited = ["sh", "-c", 'ulimit -n 128; exec "$0" "$@"', sys.executable]
    program = subprocess.Popen(
        [*limited, "-m", "ullage", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, "ANTHROPIC_API_KEY": "x", "ULLAGE_DATA": str(folder / "data")},
    )
    try:
        assert program.stdout is not None
        line = program.stdout.readline()
        ports = ports_of([program.pid])
        assert ports, line
        yield line, next(iter(ports))
    finally:
        program.terminate()
        program.communicate(timeout=WAIT_S)


def test_a_server_tells_another_user_its_health_alone(tmp_path: Path) -> None:
    with running(script({"text": "Yes."})) as provider:
        words = [
            "--model",
            "anthropic:claude-haiku-4-5",
            "--base-url",
            provider.url("anthropic"),
        ]
        store = ["--store", str(tmp_path / "s.db")]
        with started("serve", "--port", "0", *words, *store, folder=tmp_path) as (
            _,
            port,
        ):
            assert {asked(port, path) for path in TOLD} == {"200"}
            assert {asked(port, path) for path in CLOSED} == {"401"}
            for path in (
                "/v1/sessions",
                "/v1/sessions/one/messages",
                "/v1/sessions/one/approvals/c",
            ):
                assert asked(port, path, "POST") == "401"
            assert asked(port, "/v1/link", "POST") in ("400", "415")
    secret = tmp_path / "data" / "server-token"
    assert secret.stat().st_mode & 0o777 == 0o600


def test_a_worker_tells_another_user_its_health_alone(tmp_path: Path) -> None:
    words = ["--store", str(tmp_path / "s.db"), "--metrics", "127.0.0.1:0"]
    model = ["--model", "anthropic:claude-haiku-4-5"]
    with started("admin", "worker", *words, *model, folder=tmp_path) as (line, port):
        assert f"http://127.0.0.1:{port}/metrics (the token in {tmp_path}/" in line
        assert {asked(port, path) for path in TOLD} == {"200"}
        assert {asked(port, path) for path in CLOSED} == {"401"}


def test_idle_connections_of_another_user_shut_out_nobody(tmp_path: Path) -> None:
    words = ["admin", "worker", "--store", "s.db", "--metrics", "127.0.0.1:0"]
    words += ["--model", "anthropic:claude-haiku-4-5"]
    with started(*words, folder=tmp_path) as (_, port), ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        told = "503"
        while told == "503":  # until those have been idle for a moment
            told = asked(port, "/healthz")
        assert told == "200"


def test_a_worker_under_restate_without_a_key_does_not_start(tmp_path: Path) -> None:
    words = [
        "admin",
        "worker",
        "--store",
        "postgresql://x@/x",
        "--dispatch",
        "restate",
        "--model",
        "anthropic:m",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "ullage", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "--restate-key" in done.stderr and "--no-token" in done.stderr
    assert "Traceback" not in done.stderr


async def test_an_invented_wake_costs_no_attempt_and_no_long_line(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    from ullage_agent.runtime.agent import Agent
    from ullage_agent.runtime.hosting import Host

    agent = Agent(
        "anthropic:claude-haiku-4-5",
        store=tmp_path / "s.db",
        config=False,
        environment={},
    )
    async with Host(agent, attends=True) as host:
        with caplog.at_level("INFO"):
            for number in range(50):
                assert await host._drive(f"{number}-" + "e" * 100_000)
            await asyncio.sleep(0)
        assert host.open_sessions == 0
        assert not host._failed
    assert "WARNING" not in caplog.text
    assert max(len(line) for line in caplog.text.splitlines()) < 500

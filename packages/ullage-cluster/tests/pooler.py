"""A pgbouncer in transaction mode before a PostgreSQL server, for tests and benches: a process that can be killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tests.postgres import NOBODY, WAIT_S, PostgresServer
from tests.programs import needed

SOCKET: Final = ".s.PGSQL.6432"

SETTINGS: Final = """
[databases]
* = host={server} port=5432 user=postgres
[pgbouncer]
pool_mode = transaction
default_pool_size = {size}
listen_addr =
unix_socket_dir = {folder}
unix_socket_mode = 0777
auth_type = any
logfile = {folder}/log
"""


class Pooler:
    """Pools the connections to a server: ``size`` for each database."""

    def __init__(self, server: PostgresServer, size: int) -> None:
        self._server = server
        self.folder = Path(tempfile.mkdtemp(prefix="ullage-pool-"))
        self._user = NOBODY if os.geteuid() == 0 else None
        (self.folder / "settings").write_text(
            SETTINGS.format(server=server.folder, folder=self.folder, size=size)
        )
        if self._user is not None:
            os.chown(self.folder, self._user, self._user)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        (self.folder / SOCKET).unlink(missing_ok=True)
        command = [needed("pgbouncer"), "-q", str(self.folder / "settings")]
        self._process = subprocess.Popen(command, user=self._user)
        ends = time.monotonic() + WAIT_S
        while not (self.folder / SOCKET).exists():
            assert self._process.poll() is None and time.monotonic() < ends, (
                "no pgbouncer"
            )
            time.sleep(0.05)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT_S)

    def url(self, database: str) -> str:
        """A database of the server through the pooler; ``direct`` is not in it."""
        return f"{database.partition('?')[0]}?host={self.folder}&port=6432"

    def url_with_direct(self, database: str) -> str:
        """The same, with PostgreSQL's own address beside it."""
        socket = quote(quote(str(self._server.folder), safe=""))
        return f"{self.url(database)}&direct={socket}:5432"


@contextmanager
def pooled(server: PostgresServer, size: int = 20) -> Iterator[Pooler]:
    """A pooler that runs, and is removed afterwards."""
    pooler = Pooler(server, size)
    try:
        pooler.start()
        yield pooler
    finally:
        pooler.kill()
        shutil.rmtree(pooler.folder)

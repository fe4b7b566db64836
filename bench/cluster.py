"""The processes that a bench measures, and what they have used: stores, servers, workers and Restate."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.store_postgres import SETTINGS
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

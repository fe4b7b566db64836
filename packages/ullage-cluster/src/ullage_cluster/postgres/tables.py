"""The tables of the database, and the version that they have."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from ullage.store.refusals import other_version
from ullage.store.sql_files import named_statements
from ullage_cluster.postgres.connecting import PgConnection

VERSION: Final = 1
"""Of the tables, as ``schema_versions`` has it."""

LOCK: Final = 0x556C6C67
"""The number of the advisory lock under which the tables are made: ``Ullg``."""

LOCK_S: Final = 60.0
"""How long a process waits for another one that makes them."""


@cache
def statements() -> dict[str, str]:
    """Every statement of ``statements.sql`` by its name."""
    return named_statements("ullage_cluster.postgres")


SET_TENANT: Final = "SELECT set_config('ullage.tenant', $1, true)"
"""Limits a transaction to a tenant: see ``schema.sql``."""


def call_of(function: str, values: int) -> str:
    """The statement that calls a function with so many values."""
    marks = ", ".join(f"${number}" for number in range(1, values + 1))
    return f"SELECT * FROM {function}({marks})"  # noqa: S608 - a name in this package


def write_of(function: str, values: int) -> str:
    """The statement that is a whole transaction: a call of a function that writes, whose first value is the session.

    Its own values are the writer, the number of the transaction, whether it is durable, and its tenant; it gives the
    answer as JSON.
    """
    marks = ", ".join(f"${number}" for number in range(6, values + 5))
    call = f"{function}(begin_write($5, $3, $4), {marks})"
    return f"SELECT end_write($1, $2, to_jsonb({call}))"


async def version_of(connection: PgConnection) -> int:
    """The version of the tables that a connection sees; 0 where there are none."""
    if await connection.fetchval("SELECT to_regclass('schema_versions')") is None:
        return 0
    version: int = await connection.fetchval(
        "SELECT coalesce(max(version), 0) FROM schema_versions"
    )
    return version


def check_version(version: int, shown: str) -> None:
    """Raises ``StoreUnavailable`` for tables of another version."""
    if version != VERSION:
        raise other_version(shown, version, VERSION)


async def make_tables(connection: PgConnection, shown: str) -> bool:
    """Make the tables where there are none; whether this process did. Raises ``StoreUnavailable`` for others.

    The lock is taken before the transaction begins: one that waits for it would see the tables as they were before.
    """
    version = await version_of(connection)
    is_empty = version == 0
    if is_empty:
        await connection.execute("SELECT pg_advisory_lock($1)", LOCK, timeout=LOCK_S)
        try:
            version = await version_of(connection)
            is_empty = version == 0
            if is_empty:
                await _make(connection)
                version = VERSION
        finally:
            await connection.execute("SELECT pg_advisory_unlock($1)", LOCK)
    check_version(version, shown)
    return is_empty


async def _make(connection: PgConnection) -> None:
    script = files("ullage_cluster.postgres").joinpath("schema.sql").read_text("utf-8")
    async with connection.transaction():
        await connection.execute(script)
        await connection.execute(
            "INSERT INTO schema_versions (version) VALUES ($1)", VERSION
        )

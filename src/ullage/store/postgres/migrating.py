"""The versions of the schema, and the steps between them."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from ullage.errors import StoreUnavailable
from ullage.store.postgres.connecting import (
    Failures,
    PgConnection,
    connect,
    database_of,
    drop,
)
from ullage.store.postgres.failures import failure
from ullage.store.sql_files import Migration, migrations_in, named_statements

LOCK: Final = 0x556C6C67
"""The number of the advisory lock under which the schema is changed: ``Ullg``."""

LOCK_S: Final = 60.0
"""How long a process waits for another one that changes the schema."""

_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS schema_versions (
    version INT PRIMARY KEY, name TEXT NOT NULL, oldest INT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""


@cache
def statements() -> dict[str, str]:
    """Every statement of ``statements.sql`` by its name."""
    return named_statements("ullage.store.postgres")


@cache
def steps() -> tuple[Migration, ...]:
    """All steps in order, the first from an empty database to version 1."""
    return migrations_in("ullage.store.postgres")


def newest() -> int:
    """The version of the schema that this code was written for."""
    return steps()[-1].version


def oldest_for(step: Migration) -> int:
    """The oldest version of the code that still works after a step, as the head of its file says."""
    found = re.search(r"^-- oldest: (\d+)$", step.script, flags=re.MULTILINE)
    assert found is not None, (
        f"the migration {step.name} does not say which code it leaves working"
    )
    return int(found[1])


class SchemaState(NamedTuple):
    """The version of a database's schema, 0 for none, and the oldest code that works with it."""

    version: int
    oldest: int


async def state_of(connection: PgConnection) -> SchemaState:
    """The state of the schema that a connection sees."""
    if await connection.fetchval("SELECT to_regclass('schema_versions')") is None:
        return SchemaState(0, 0)
    row = await connection.fetchrow(
        "SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM schema_versions"
    )
    return SchemaState(row[0], row[1])


def check_state(state: SchemaState, shown: str) -> None:
    """Raise ``StoreUnavailable`` unless this code works with the schema: an older one is migrated first."""
    if state.oldest > newest():
        raise StoreUnavailable(
            f"The tables of {shown} are of a newer Ullage (version {state.version}), which this one can't use: it "
            f"knows version {newest()}. Update Ullage. Nothing was changed."
        )
    if state.version < newest():
        raise StoreUnavailable(
            f"The tables of {shown} are of version {state.version}, this Ullage needs {newest()}. "
            "Run `ullage store migrate URL`; servers of the older version keep running."
        )


async def migrate(connection: PgConnection, shown: str) -> list[str]:
    """Bring the schema to this version, one transaction for each step; gives the names of the steps taken.

    The lock is taken before the first transaction begins: a transaction that waits for it would see the tables as they
    were before the wait. Raises ``StoreUnavailable`` for a schema that this code can't use.
    """
    await connection.execute("SELECT pg_advisory_lock($1)", LOCK, timeout=LOCK_S)
    try:
        taken = []
        state = await state_of(connection)
        if state.oldest > newest():
            check_state(state, shown)
        for step in steps():
            if step.version > state.version:
                async with connection.transaction():
                    await connection.execute(_VERSIONS)
                    await connection.execute(step.script)
                    await connection.execute(
                        "INSERT INTO schema_versions (version, name, oldest) VALUES ($1, $2, $3)",
                        step.version,
                        step.name,
                        oldest_for(step),
                    )
                taken.append(step.name)
        return taken
    finally:
        await connection.execute("SELECT pg_advisory_unlock($1)", LOCK)


async def migrate_at(url: str) -> list[str]:
    """Bring the database of a URL up to date; gives the names of the steps taken. Raises ``StoreUnavailable``."""
    database = database_of(url)
    connection = None
    try:
        connection = await connect(database, direct=True)
        return await migrate(connection, database.shown)
    except Failures as problem:
        raise failure(problem, database.shown) from problem
    finally:
        drop(connection)

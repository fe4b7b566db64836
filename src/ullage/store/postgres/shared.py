"""Values that all processes of a store share, in PostgreSQL: see ``Store.revise``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Final, TypeVar

from ullage.store.postgres.connecting import PgConnection
from ullage.store.postgres.tables import statements
from ullage.store.store import SPENT_BY, Revise, SharedKey

T = TypeVar("T")

PROBE_BYTES: Final = 65_536
"""Of chance, which PostgreSQL can't compress: some 16 pages of 8 KiB."""


async def read(
    connection: PgConnection, kind: str, names: list[str] | None
) -> Mapping[str, str]:
    """See ``Store.shared``."""
    rows = await connection.fetch(statements()["shared"], kind, names)
    return {row["name"]: row["value"] for row in rows}


async def forget(connection: PgConnection, session: str) -> None:
    """Delete what was counted of a session that was deleted."""
    await connection.execute(statements()["unset_shared"], SPENT_BY, session)


async def probe(connection: PgConnection) -> None:
    """Write a value that needs new pages on the disk, and undo it."""
    key = SharedKey("probe", token_hex(8))
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.fetchrow(statements()["lock_shared"], *key)
        await connection.execute(statements()["set_shared"], *key, token_hex(PROBE_BYTES))
    finally:
        await transaction.rollback()


async def revise(
    connection: PgConnection, keys: Sequence[SharedKey], change: Revise[T]
) -> T:
    """See ``Store.revise``. Rows are locked in one order, so that no two transactions wait for each other."""
    async with connection.transaction():
        found: dict[SharedKey, str] = {}
        now = 0.0
        for key in sorted(set(keys)):
            row = await connection.fetchrow(statements()["lock_shared"], *key)
            found[key], now = row["value"], row["now"]
        revised = change(tuple(found[key] for key in keys), now)
        for key, new in zip(keys, revised.values, strict=True):
            if not new:
                await connection.execute(statements()["unset_shared"], *key)
            elif new != found[key]:
                await connection.execute(statements()["set_shared"], *key, new)
    return revised.result

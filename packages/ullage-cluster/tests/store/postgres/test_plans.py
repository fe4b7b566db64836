"""What PostgreSQL reads for a statement, with many other sessions in the store."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest

from ullage.events import DraftPiece
from ullage.store.drafts import group_of
from ullage_cluster.postgres.rows import append_values, folded_standing
from ullage_cluster.postgres.store import PostgresStore
from ullage_cluster.postgres.tables import statements, write_of

OTHERS = 2_000

OTHER_SESSIONS = """
INSERT INTO sessions (id, title, model, created, changed, listed, origin)
SELECT 's' || n, '', '', 0, 0, 0, '' FROM generate_series(1, $1::int) n
"""

OTHER_DRAFTS = """
INSERT INTO drafts (session, call, first, last, seq, body)
SELECT key, 'c', n, n, 0, '' FROM sessions, generate_series(1, 10) n
"""

READ_THROUGH = "SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables"
"""The rows that sequential scans read, in this transaction and just before it."""


def rows_read(plan: dict[str, Any]) -> float:
    """The rows that a plan and its parts read from tables and indexes, those among them that a condition drops."""
    parts = sum(rows_read(part) for part in plan.get("Plans", ()))
    if "Relation Name" not in plan:
        return parts
    dropped = plan.get("Rows Removed by Filter", 0)
    read: float = (plan["Actual Rows"] + dropped) * plan["Actual Loops"]
    return parts + read


@pytest.mark.parametrize("is_analysed", [False, True])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("states", (["s1"],)),
        ("unattended", ([], None, 100)),
        ("living_owners", ()),
        ("read_events", ("s1", 0, 100)),
        ("look", ("s1", 0, 0, 100)),
    ],
)
async def test_a_statement_about_few_sessions_does_not_read_the_others(
    database_url: str, name: str, values: tuple[object, ...], is_analysed: bool
) -> None:
    store = PostgresStore(database_url)
    await store.open()
    await store.close()
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(OTHER_SESSIONS, OTHERS)
        await connection.execute(OTHER_DRAFTS)
        await connection.execute("SELECT make_due(key) FROM sessions WHERE id = 's1'")
        if is_analysed:
            await connection.execute("ANALYZE")
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {statements()[name]}"
        (plan,) = json.loads(await connection.fetchval(explain, *values))
    finally:
        await connection.close()
    assert rows_read(plan["Plan"]) < 100


FOUND = "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables"
"""The rows that were read in this transaction and just before it, in whatever way."""


@pytest.mark.parametrize("is_analysed", [False, True])
@pytest.mark.parametrize("states", [[], ["failed"]])
@pytest.mark.parametrize("tenant", ["", "default", "few"])
async def test_a_list_reads_its_own_rows(
    database_url: str, tenant: str, states: list[str], is_analysed: bool
) -> None:
    store = PostgresStore(database_url)
    await store.open()
    await store.close()
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(OTHER_SESSIONS, OTHERS)
        await connection.execute(
            "UPDATE sessions SET tenant = CASE WHEN key % 100 = 0 THEN 'few' ELSE tenant END, "
            "listed = -(key * 7919 % 2003) - CASE WHEN key % 100 = 0 THEN 9999 ELSE 0 END, "
            "state = CASE WHEN key % 3 = 0 THEN 'failed' END"
        )
        if is_analysed:
            await connection.execute("VACUUM ANALYZE")
        async with connection.transaction():
            before = await connection.fetchval(FOUND)
            found = await connection.fetch(
                statements()["list_sessions"], 0.0, 0, 10, tenant, states
            )
            read = await connection.fetchval(FOUND) - before
    finally:
        await connection.close()
    assert [row["listed"] for row in found] == sorted(
        (row["listed"] for row in found), reverse=True
    )
    assert (len(found), read < 100) == (
        6 if states and tenant == "few" else 10,
        True,
    )


async def test_a_plan_made_of_empty_tables_reads_none_through(database_url: str) -> None:
    store = PostgresStore(database_url)
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=600)
    await store.close()
    connection = await asyncpg.connect(database_url)
    add = write_of("add_pieces", 9)
    end = write_of("append_events", 21)
    ends = append_values("s", [], lease=lease, ends_draft="c")
    ends += folded_standing("{}", "s", [], 0)

    async def write(number: int) -> None:
        piece = group_of([DraftPiece("c", 0, "text", "p", "x")])
        await connection.fetchval(
            add, "writer", 2 * number + 1, False, "", *lease, 0, 0.0, *piece
        )
        await connection.fetchval(end, "writer", 2 * number + 2, False, "", *ends)

    try:
        await connection.execute("VACUUM ANALYZE")
        for number in range(10):  # more than a plan takes to be kept
            await write(number)
        await connection.execute(OTHER_SESSIONS, OTHERS)
        await connection.execute(OTHER_DRAFTS)
        async with connection.transaction():
            before = await connection.fetchval(READ_THROUGH)
            await write(10)
            read = await connection.fetchval(READ_THROUGH) - before
    finally:
        await connection.close()
    assert read < 100

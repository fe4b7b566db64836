"""What PostgreSQL reads for a statement, with many other sessions in the store."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest

from ullage.store.postgres.migrating import statements
from ullage.store.postgres.store import PostgresStore

OTHERS = 2_000

OTHER_SESSIONS = """
INSERT INTO sessions (id, title, model, created, changed, origin)
SELECT 's' || n, '', '', 0, 0, '' FROM generate_series(1, $1::int) n
"""

OTHER_DRAFTS = """
INSERT INTO drafts (session, call, first, last, seq, body)
SELECT key, 'c', n, n, 0, '' FROM sessions, generate_series(1, 10) n
"""


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
        ("waiting_places", ([],)),
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

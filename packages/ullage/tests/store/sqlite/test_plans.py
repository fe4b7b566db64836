"""How SQLite finds rows: no statement reads all sessions, and a list is read in the order of an index."""

from __future__ import annotations

import re
import sqlite3

import pytest

from ullage.store.sqlite.transaction import schema, statements


def plan(statement: str) -> str:
    database = sqlite3.connect(":memory:")
    database.executescript(schema())
    numbers = [int(number) for number in re.findall(r"\?(\d+)", statement)]
    values = [1] * max([statement.count("?"), *numbers])
    if numbers:
        values = values[: max(numbers)]
    rows = database.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
    database.close()
    return "\n".join(row[3] for row in rows)


READ_THROUGH = {
    "newest_text": {"texts"},  # from its end, and the first row alone
    "find_texts": {"words", "found"},  # what the index of words has, at most a page
    **{
        name: {"sessions_counted", "sessions_by_state"}
        for name in statements()
        if "standing" in name
    },
}
"""What a statement may read through, by its name."""


@pytest.mark.parametrize("name", statements())
def test_no_statement_reads_through_a_table_of_all_sessions(name: str) -> None:
    read_through = re.findall(
        r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", plan(statements()[name])
    )
    whole = {
        index or table
        for table, index in read_through
        if table not in ("due", "json_each", "CONSTANT")
    }
    assert whole <= READ_THROUGH.get(name, set())


@pytest.mark.parametrize(
    "name", [name for name in statements() if name.startswith("list_")]
)
def test_a_list_is_not_sorted(name: str) -> None:
    assert "TEMP B-TREE" not in plan(statements()[name])

"""Databases that are damaged or made to hurt: read within limits, or a clear error."""

from __future__ import annotations

import random
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from tests.importers.folding import Folded
from tests.importers.opencode_database import SCHEMA, make_database
from ullage.envelope import DATABASE_CELL_BYTES
from ullage.errors import InputError, UnreadableInput
from ullage.importers import database, read
from ullage.importers.database import open_database, unpacked


def changed(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(script)
    return path


def test_a_file_that_only_begins_like_a_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    for rest in (b"", b"\0" * 5_000, b"x" * 5_000):
        path.write_bytes(b"SQLite format 3\0" + rest)
        with pytest.raises(UnreadableInput, match="can't be read"):
            read(path)


def test_a_value_that_is_too_large_is_not_loaded(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    changed(
        path,
        f"UPDATE part SET data = zeroblob({DATABASE_CELL_BYTES + 1}) WHERE rowid = 1",
    )
    with pytest.raises(UnreadableInput, match="holds a value of more than 64 MB"):
        read(path)


@pytest.mark.sweep  # waits for the limit of time
def test_a_view_that_never_ends_is_given_up(tmp_path: Path) -> None:
    for table in ("session", "part"):
        path = changed(tmp_path / f"{table}.db", SCHEMA)
        changed(
            path,
            "INSERT INTO session (id, time_updated) VALUES ('ses_1', 1)"
            if table != "session"
            else "",
        )
        changed(path, f"DROP TABLE {table}; CREATE VIEW {table} AS SELECT x AS id, '' AS data, 'ses_1' AS session_id, "
                      f"x AS message_id FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
                      f"SELECT x FROM n)")  # fmt: skip
        with pytest.raises(InputError):
            read(path)


def test_sorting_what_a_small_view_makes_large_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "DATABASE_ROW_S", 0.05)
    path = changed(
        make_database(tmp_path / "opencode.db"),
        """
        DROP TABLE part;
        CREATE VIEW part AS
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        SELECT i AS id, m.id AS message_id, m.session_id, hex(zeroblob(2000000)) AS data
        FROM n, message m;
        """,
    )
    with pytest.raises(UnreadableInput, match="do not end"):
        read(path)


def test_triggers_and_functions_of_the_database_do_not_run(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    changed(
        path, "CREATE TRIGGER evil AFTER INSERT ON part BEGIN DELETE FROM session; END"
    )
    before = path.read_bytes()
    assert read(path).events
    assert path.read_bytes() == before
    with open_database(path, whose="OpenCode's") as database:
        for query in (
            "SELECT load_extension('/tmp/evil.so')",
            "DELETE FROM session",
            "CREATE TABLE x (y)",
        ):
            with pytest.raises(sqlite3.Error):
                list(database.rows(query))


def test_columns_of_any_type_never_raise_anything_untyped(tmp_path: Path) -> None:
    values = ("NULL", "-9223372036854775808", "1e308", "x'00ff'", "'[[['")
    names = {
        "session": (
            "id",
            "parent_id",
            "directory",
            "title",
            "version",
            "revert",
            "time_updated",
        ),
        "message": ("id", "session_id", "time_created", "data"),
        "part": ("id", "message_id", "session_id", "data"),
    }
    for table, columns in names.items():
        for column in columns:
            for number, value in enumerate(values):
                path = make_database(tmp_path / f"{table}-{column}-{number}.db")
                changed(
                    path,
                    f"PRAGMA ignore_check_constraints = 1; UPDATE OR REPLACE {table} SET {column} = {value}",
                )
                try:
                    Folded(read(path).events)
                except InputError:
                    continue


def test_garbage_at_any_place_never_raises_anything_untyped(tmp_path: Path) -> None:
    whole = make_database(tmp_path / "whole.db").read_bytes()
    chance = random.Random(7)
    for number in range(200):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 40)):
            data[chance.randrange(16, len(data))] = chance.randrange(256)
        path = tmp_path / f"{number}.db"
        path.write_bytes(data)
        try:
            Folded(read(path).events)
        except InputError:
            continue


def test_a_compressed_value_is_not_unpacked_beyond_the_limit() -> None:
    assert unpacked(zlib.compress(b"x" * 1_000)) == b"x" * 1_000
    with pytest.raises(zlib.error, match="more than 64 MB"):
        unpacked(zlib.compress(bytes(DATABASE_CELL_BYTES + 1)))

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.importers.folding import Folded
from tests.importers.opencode_database import make_database
from ullage.errors import NotASession
from ullage.importers import read
from ullage_programs.opencode.log import stored_in_database


def test_a_session_can_be_chosen(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    assert read(path, session="ses_0002").title == "helper"
    with pytest.raises(NotASession, match="no session ses_9"):
        read(path, session="ses_9")


def test_the_data_directory_stands_for_its_newest_session(tmp_path: Path) -> None:
    make_database(tmp_path / "opencode.db")
    assert read(tmp_path).session == "ses_0001"


def test_what_was_reverted_left_the_view(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db", revert="msg_0010")
    assert Folded(read(path).events).view[-1] == "msg_0007.results"


def test_torn_rows_are_counted_and_the_others_are_read(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE message SET data = '{\"id\": \"m' WHERE id = 'msg_0004'")
        database.execute("UPDATE part SET data = '' WHERE id = 'prt_0005_01'")
    imported = read(path)
    assert sorted(dict(imported.reasons)) == [
        "torn: a message that is no complete JSON",
        "torn: a part that is no complete JSON",
    ]
    assert Folded(imported.events).inputs() == [9005, 9034, 9064, 9024, 700]


def test_a_database_of_another_program_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE things (id TEXT)")
    with pytest.raises(NotASession, match="without the tables session and message"):
        read(path)


def test_a_database_that_is_being_written_is_read_all_the_same(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE session SET title = 'unfinished'")
        assert read(path).title == "Price test"
        writer.execute("ROLLBACK")


def test_reading_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before
    assert [each.id for each in stored_in_database(path)] == ["ses_0001"]

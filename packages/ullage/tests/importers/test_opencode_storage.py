import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.importers.folding import Folded
from tests.importers.opencode_database import add_rows, make_database
from ullage.errors import NotASession, UnreadableInput
from ullage.events import SystemChanged
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


def test_the_newer_rows_are_read_where_they_tell_more(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    model = {"providerID": "openai", "id": "gpt-5.2"}
    tokens = {
        "input": 100,
        "output": 20,
        "reasoning": 30,
        "cache": {"read": 400, "write": 0},
    }
    tool = {
        "type": "tool",
        "id": "c1",
        "name": "read",
        "state": {
            "status": "completed",
            "input": {},
            "content": [{"type": "text", "text": "out"}],
        },
        "time": {"created": 1, "pruned": 1_780_000_000_004},
    }
    add_rows(
        path,
        "ses_0001",
        [
            {
                "type": "user",
                "text": "look",
                "files": [{"mime": "image/png", "data": "AAAA", "name": "a.png"}],
            },
            {
                "type": "assistant",
                "model": model,
                "content": [{"type": "text", "text": "ok"}, tool],
                "tokens": tokens,
            },
            {"type": "system", "text": "the date changed"},
            {"type": "shell", "command": "ls", "output": {"output": "a"}},
            {"type": "idle", "outcome": "succeeded"},
            {
                "type": "compaction",
                "status": "failed",
                "reason": "auto",
                "tokens": tokens,
                "error": {},
            },
            {
                "type": "compaction",
                "status": "completed",
                "reason": "auto",
                "summary": "s",
                "recent": "r",
            },
            {
                "type": "assistant",
                "model": model,
                "content": [],
                "error": {"message": "overloaded"},
            },
            {"type": "hologram"},
            {"type": "synthetic", "text": "go on"},
        ],
    )
    imported = read(path)
    session = Folded(imported.events)
    assert session.inputs() == [500]
    usage = session.main[0].usage
    assert usage is not None
    assert (usage.output, usage.reasoning) == (50, 30)
    assert [call.purpose for call in session.calls[:3]] == ["main", "summary", "main"]
    assert session.said()[-1] == "user: go on"
    assert "<summary>\ns\n</summary>" in session.said()[0]
    assert len(session.pruned) == 1
    system = next(
        event for event in imported.events if isinstance(event, SystemChanged)
    ).system
    assert [block.text for block in system] == ["You are an agent."]
    assert dict(imported.reasons) == {"unknown kind of message: hologram": 1}


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


def test_a_damaged_database_is_a_clear_error(tmp_path: Path) -> None:
    path = make_database(tmp_path / "opencode.db")
    data = bytearray(path.read_bytes())
    data[100 : len(data)] = b"\xff" * (len(data) - 100)
    path.write_bytes(data)
    with pytest.raises(UnreadableInput, match="can't be read"):
        read(path)


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

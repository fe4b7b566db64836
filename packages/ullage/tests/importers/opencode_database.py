"""An OpenCode database with the content of the JSON fixtures, in its own schema."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.importers.folding import FIXTURES

STORAGE = FIXTURES / "opencode" / "storage"

SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
    revert TEXT, time_created INTEGER, time_updated INTEGER, tokens_input INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
"""


def load(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text())
    return value


def make_database(path: Path, *, revert: str = "", storage: Path = STORAGE) -> Path:
    """The fixture's sessions, messages and parts as rows; ``revert`` names a message that was reverted."""
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(SCHEMA)
        for file in storage.glob("session/*/*.json"):
            info = load(file)
            reverted = (
                json.dumps({"messageID": revert})
                if revert and "parentID" not in info
                else None
            )
            database.execute(
                "INSERT INTO session VALUES (?, 'p', ?, ?, ?, ?, ?, 1, ?, 999999)",
                (
                    info["id"],
                    info.get("parentID"),
                    info["directory"],
                    info["title"],
                    info["version"],
                    reverted,
                    info["time"]["updated"],
                ),
            )
        sessions = {}
        for file in storage.glob("message/*/*.json"):
            data = load(file)
            name, session = data.pop("id"), data.pop("sessionID")
            sessions[name] = session
            created = data["time"]["created"]
            database.execute(
                "INSERT INTO message VALUES (?, ?, ?, ?, ?)",
                (name, session, created, created, json.dumps(data)),
            )
        for file in storage.glob("part/*/*.json"):
            data = load(file)
            name, message = data.pop("id"), data.pop("messageID")
            data.pop("sessionID", "")
            database.execute(
                "INSERT INTO part VALUES (?, ?, ?, 1, ?)",
                (name, message, sessions[message], json.dumps(data)),
            )
    return path

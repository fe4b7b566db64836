"""Sessions that a proxy metered are found, read and listed as the logs of programs are."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ullage.events import CallEnded, CallStarted, MessageAdded, SessionStarted
from ullage.importers import find_sessions, read
from ullage.importers.growing import GrowingLog
from ullage.messages import Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage_programs.programs import facts_of
from ullage_programs.settings import PROXY_FILE, settings_of

ID = "2f764e64-de0c-454d-ab43-8044e4d3deeb"
STARTED = SessionStarted(model="claude-haiku-4-5", program="claude-code 2.1.330")


async def metered(home: Path) -> Path:
    """A home directory with one metered session and its subagent's."""
    path = home / ".local/share/ullage" / PROXY_FILE
    path.parent.mkdir(parents=True)
    store = SqliteStore(path)
    parts = (TextPart(id="t", text="Is the lamp lit?"),)
    asked = MessageAdded(message=Message(id="m", role="user", parts=parts))
    call = CallStarted(call="r-1")
    await store.create(ID, [STARTED, asked, call, CallEnded(call="r-1")])
    await store.create(f"{ID}.child-1", [STARTED], origin=ID)
    await store.close()
    return path


def log_of(home: Path, name: str, modified: float) -> Path:
    path = home / ".claude/projects/-home-ada" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"type":"user"}\n')
    os.utime(path, (modified, modified))
    return path


async def test_a_metered_session_is_found_without_its_subagents(tmp_path: Path) -> None:
    path = await metered(tmp_path)
    (place,) = find_sessions({}, tmp_path).places
    assert (place.format, place.path, place.session) == ("ullage", path, ID)
    assert place.title == "Is the lamp lit?"


async def test_a_subagent_can_be_read_by_its_own_id(tmp_path: Path) -> None:
    path = await metered(tmp_path)
    assert read(path, session=f"{ID}.child-1").program == "claude-code 2.1.330"
    assert read(path).session == ID


async def test_a_logged_and_metered_session_is_shown_once(tmp_path: Path) -> None:
    path = await metered(tmp_path)
    log_of(tmp_path, ID, 5_000.0)
    other = log_of(tmp_path, "another", 5_000.0)
    found = find_sessions({}, tmp_path)
    assert len(found.places) == 3
    assert {place.path for place in found.once.places} == {path, other}


async def test_a_metered_session_has_the_directory_of_its_log(tmp_path: Path) -> None:
    await metered(tmp_path)
    log = log_of(tmp_path, ID, 5_000.0)
    said = {"role": "user", "content": "Is the lamp lit?"}
    line = {"type": "user", "parentUuid": None, "sessionId": ID, "message": said}
    log.write_text(json.dumps({**line, "cwd": "/home/ann/teashop"}) + "\n")
    os.utime(log, (5_000.0, 5_000.0))
    (place,) = find_sessions({}, tmp_path).once.places
    assert place.cwd == "/home/ann/teashop"


async def test_a_session_without_the_proxy_is_shown_from_its_log(tmp_path: Path) -> None:
    path = await metered(tmp_path)
    later = log_of(tmp_path, ID, path.stat().st_mtime + 3_600)
    (place,) = find_sessions({}, tmp_path).once.places
    assert place.path == later


async def test_a_metered_session_can_be_watched(tmp_path: Path) -> None:
    path = await metered(tmp_path)
    log = GrowingLog(path, ID)
    first = log.look()
    assert first is not None
    assert len(first.certain) == 4
    store = SqliteStore(path)
    await store.command(ID, [CallStarted(call="r-2")])
    grown = log.look()
    await store.close()
    assert grown is not None
    calls = [event.call for event in grown.certain if isinstance(event, CallStarted)]
    assert calls[-1] == "r-2"


async def test_a_metered_session_has_its_programs_limits(tmp_path: Path) -> None:
    path = await metered(tmp_path)
    own = tmp_path / ".claude/settings.json"
    own.parent.mkdir()
    own.write_text(json.dumps({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}}))
    found = settings_of(facts_of("claude-code 2.1.330"), path, "", {}, tmp_path)
    assert found.values["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"].value == "50"

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.importers.folding import FIXTURES
from tests.importers.opencode_database import make_database
from ullage.importers import detect, directory_of, find_sessions, glance, places
from ullage.importers.detect import databases, formats


def put(source: str, target: Path, modified: float) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((FIXTURES / source).read_bytes())
    os.utime(target, (modified, modified))


def furnish(home: Path) -> None:
    put(
        "claude_code/session.jsonl",
        home / ".claude/projects/-home-ann-shop/s.jsonl",
        5_000,
    )
    put(
        "claude_code/sidechain.jsonl",
        home / ".claude/projects/-home-ann-shop/agent-1.jsonl",
        9_000,
    )
    put(
        "codex/session.jsonl",
        home / ".codex/sessions/2026/02/03/rollout-2026-02-03T11-00-00-x.jsonl",
        6_000,
    )
    put("pi/session.jsonl", home / ".pi/agent/sessions/--home-ann-shop--/a.jsonl", 4_000)
    put(
        "gemini_cli/session.jsonl", home / ".gemini/tmp/shop/chats/session-a.jsonl", 3_000
    )
    put("gemini_cli/chat.json", home / ".gemini/tmp/shop/chats/session-b.json", 2_000)
    (home / ".local/share/opencode").mkdir(parents=True)
    make_database(home / ".local/share/opencode/opencode.db")


def test_all_sessions_in_the_usual_places_are_found_newest_first(tmp_path: Path) -> None:
    furnish(tmp_path)
    found = find_sessions({}, tmp_path)
    assert [place.format for place in found.places] == [
        "opencode",
        "codex",
        "claude-code",
        "pi",
        "gemini-cli",
        "gemini-cli",
    ]
    assert found.newest is not None
    assert (found.newest.session, found.newest.title) == ("ses_0001", "Price test")
    assert not any("agent-1" in str(place.path) for place in found.places)


def test_on_a_machine_without_logs_it_says_where_was_looked(tmp_path: Path) -> None:
    found = find_sessions({}, tmp_path)
    assert found.newest is None
    programs = {each.name for each in formats()} - {"plain"} | {"opencode"}
    assert {looked.format for looked in found.looked} == programs
    assert all(
        looked.found == 0 and str(tmp_path) in looked.where for looked in found.looked
    )


def test_the_environment_moves_the_places(tmp_path: Path) -> None:
    put("claude_code/session.jsonl", tmp_path / "a/projects/p/s.jsonl", 5_000)
    put("codex/session.jsonl", tmp_path / "b/archived_sessions/rollout-x.jsonl", 6_000)
    put("pi/session.jsonl", tmp_path / "c/sessions/p/a.jsonl", 4_000)
    put("qwen_code/session.jsonl", tmp_path / "e/projects/p/chats/q.jsonl", 3_000)
    environment = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "a"),
        "CODEX_HOME": str(tmp_path / "b"),
        "PI_CODING_AGENT_DIR": str(tmp_path / "c"),
        "XDG_DATA_HOME": str(tmp_path / "d"),
        "QWEN_HOME": str(tmp_path / "e"),
    }
    found = find_sessions(environment, tmp_path / "home")
    formats = [place.format for place in found.places]
    assert formats == ["codex", "claude-code", "pi", "qwen-code"]


def test_an_unreadable_database_is_named_and_the_rest_found(tmp_path: Path) -> None:
    furnish(tmp_path)
    (tmp_path / ".local/share/opencode/opencode.db").write_bytes(
        b"SQLite format 3\0" + b"\xff" * 2000
    )
    found = find_sessions({}, tmp_path)
    assert found.newest is not None
    assert found.newest.format == "codex"
    assert [
        "can't be read" in looked.problem for looked in found.looked if looked.problem
    ] == [True]


def test_a_glance_gives_title_directory_and_model(tmp_path: Path) -> None:
    furnish(tmp_path)
    glances = {
        place.path.name: glance(place) for place in find_sessions({}, tmp_path).places
    }
    assert glances["s.jsonl"] == (
        "Fix the price test",
        "/home/ann/shop",
        "claude-sonnet-4-5",
    )
    assert glances["rollout-2026-02-03T11-00-00-x.jsonl"].title == "Price test"
    assert glances["a.jsonl"].title == "Shop drawing"
    assert glances["session-a.jsonl"].model == "gemini-3-flash-preview"
    assert glances["session-b.json"].title == "what is this?"
    assert glances["opencode.db"].title == "Price test"


def test_a_glance_at_a_long_log_reads_its_head_and_its_tail(tmp_path: Path) -> None:
    source = (FIXTURES / "claude_code/session.jsonl").read_bytes().splitlines()
    middle = [b'{"type":"file-history-snapshot","messageId":"x","snapshot":{}}'] * 5_000
    path = tmp_path / ".claude/projects/p/s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join([*source[:-1], *middle, source[-1]]))
    place = find_sessions({}, tmp_path).newest
    assert place is not None
    assert glance(place).title == "Fix the price test"


def test_a_log_is_read_as_far_as_the_line_that_names_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``ullage context DIRECTORY`` looks into all logs where none is of the directory."""
    furnish(tmp_path)
    found = find_sessions({}, tmp_path).places
    logs = [each for each in found if each.path.suffix == ".jsonl"]
    wanted = [detect.read(each.path).cwd for each in logs]
    taken: list[list[bytes]] = []

    def lines_of(file: BinaryIO) -> Iterator[bytes]:
        taken.append([])
        for line in file:
            taken[-1].append(line)
            yield line

    monkeypatch.setattr(places, "lines_of", lines_of)
    monkeypatch.delattr(detect, "lines_of")  # no sample is taken: the format is known
    assert [directory_of(each) for each in logs] == wanted
    read = {place.format: len(lines) for place, lines in zip(logs, taken, strict=True)}
    assert read == {"codex": 1, "claude-code": 3, "pi": 1, "gemini-cli": 1}


def test_a_glance_at_what_is_gone_is_empty(tmp_path: Path) -> None:
    furnish(tmp_path)
    place = find_sessions({}, tmp_path).places[1]
    place.path.unlink()
    assert glance(place) == ("", "", "")


def test_each_format_of_databases_says_where_its_files_are(tmp_path: Path) -> None:
    for database in databases():
        files = database.files({}, tmp_path)
        assert files
        assert all(tmp_path in file.parents for file in files)
        assert not any(file.exists() for file in files)


def test_the_databases_of_all_channels_of_opencode_are_found(tmp_path: Path) -> None:
    data = tmp_path / ".local/share/opencode"
    data.mkdir(parents=True)
    for name in ("opencode.db", "opencode-beta.db"):
        make_database(data / name)
    places = find_sessions({}, tmp_path).places
    assert {place.path.name for place in places} == {"opencode.db", "opencode-beta.db"}

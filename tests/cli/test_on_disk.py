"""What files on this machine explain of a session's tokens that are not in its log."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from ullage.cli.on_disk import (
    LARGEST_FILE,
    MOST_FILES,
    found_files,
    with_files,
)
from ullage.importers.reader import ImportedSession
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading, Row


def reading_of(*rows: Row) -> Reading:
    return msgspec.structs.replace(Meter(model="claude-opus-4-6").reading(), rows=rows)


def not_in_the_log(tokens: int) -> Row:
    return Row(name="Not in the log", tokens=tokens, source="by_difference")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def session(cwd: Path) -> ImportedSession:
    return ImportedSession(format="claude-code", session="s", cwd=str(cwd))


def names(cwd: Path, home: Path) -> list[str]:
    return [
        Path(each.name).relative_to(home.parent).as_posix()
        for each in found_files(cwd, home)
    ]


def test_instruction_files_skills_and_agents_are_rows_with_an_interval(
    tmp_path: Path,
) -> None:
    home, cwd = tmp_path / "home", tmp_path / "work" / "cellar"
    write(home / ".claude" / "CLAUDE.md", "Be brief. " * 20)
    write(cwd.parent / "CLAUDE.md", "Never break a bottle. " * 20)
    write(cwd / ".claude" / "skills" / "tidy" / "SKILL.md", "name: tidy\n" * 9)
    write(cwd / ".claude" / "agents" / "taster.md", "name: taster\n" * 9)
    found = with_files(reading_of(not_in_the_log(9_000)), session(cwd), home)
    children = found.rows[0].children
    assert [Path(row.name).name for row in children] == [
        "CLAUDE.md",
        "CLAUDE.md",
        "skills",
        "agents",
    ]
    for row in children:
        assert row.source == "estimated"
        assert row.low is not None and row.high is not None
        assert row.low < row.tokens < row.high


def test_what_the_log_lists_itself_is_not_read_from_files(tmp_path: Path) -> None:
    home, cwd = tmp_path / "home", tmp_path / "cellar"
    write(cwd / ".claude" / "skills" / "tidy" / "SKILL.md", "name: tidy")
    logged = Row(name="Skills (2)", tokens=80, source="estimated")
    reading = reading_of(logged, not_in_the_log(9_000))
    assert with_files(reading, session(cwd), home) == reading


def test_files_that_explain_more_than_there_is_are_not_shown(tmp_path: Path) -> None:
    home, cwd = tmp_path / "home", tmp_path / "cellar"
    write(cwd / "CLAUDE.md", "Be brief. " * 500)
    reading = reading_of(not_in_the_log(100))
    assert with_files(reading, session(cwd), home) == reading


def test_a_session_of_another_machine_reads_no_files(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home / ".claude" / "CLAUDE.md", "Be brief.")
    reading = reading_of(not_in_the_log(9_000))
    assert with_files(reading, session(tmp_path / "gone"), home) == reading


@pytest.mark.parametrize("directory", ["/" + "a" * 300, "/a" * 3_000, "/a\0b"])
def test_a_directory_that_no_system_can_have_reads_no_files(
    tmp_path: Path, directory: str
) -> None:
    reading = reading_of(not_in_the_log(20_000))
    assert with_files(reading, session(Path(directory)), tmp_path) == reading


def test_links_pipes_and_large_files_of_a_project_are_left_out(tmp_path: Path) -> None:
    home, cwd = tmp_path / "home", tmp_path / "cellar"
    secret = write(tmp_path / "secret" / "SKILL.md", "a key")
    cwd.mkdir()
    (cwd / "CLAUDE.md").symlink_to(secret)
    os.mkfifo(cwd / "CLAUDE.local.md")
    write(cwd / ".claude" / "CLAUDE.md", "x" * (LARGEST_FILE + 1))
    (cwd / ".claude" / "skills").mkdir()
    (cwd / ".claude" / "skills" / "tidy").symlink_to(secret.parent)
    assert names(cwd, home) == []


def test_a_linked_directory_of_a_project_is_left_out(tmp_path: Path) -> None:
    home, cwd = tmp_path / "home", tmp_path / "cellar"
    elsewhere = write(tmp_path / "other" / "CLAUDE.md", "a key").parent
    write(elsewhere / "agents" / "taster.md", "a key")
    cwd.mkdir()
    (cwd / ".claude").symlink_to(elsewhere)
    assert names(cwd, home) == []


def test_of_very_many_agents_only_some_are_read(tmp_path: Path) -> None:
    home, cwd = tmp_path / "home", tmp_path / "cellar"
    for number in range(MOST_FILES + 20):
        write(cwd / ".claude" / "agents" / f"{number}.md", "!")
    assert [len(each.text) for each in found_files(cwd, home)] == [MOST_FILES]

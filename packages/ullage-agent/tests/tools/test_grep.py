import fnmatch
import io
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_agent.tools.grep import SHOWN, around, glob_pattern, main, matches


def found(root: Path, **more: Any) -> list[dict[str, Any]]:
    directory = os.open(root, os.O_RDONLY)
    request = {
        "pattern": "x",
        "glob": "",
        "ignore_case": False,
        "context": 0,
        "limit": 100,
        "ignored": [".git"],
    }
    try:
        return list(main(request | {"directory": directory, "name": "."} | more))
    finally:
        os.close(directory)


def lines(root: Path, **more: Any) -> list[str]:
    return [
        f"{row['path']}:{row['line']}" for row in found(root, **more) if "path" in row
    ]


def test_matches_come_in_the_order_of_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c", "a", "b/z", "b/y"):
        (tmp_path / name).write_text("no\nx\n")
    assert lines(tmp_path) == ["a:2", "c:2", "b/y:2", "b/z:2"]


def test_ignored_directories_binary_files_and_links_are_left_out(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a").write_text("x")
    (tmp_path / "binary").write_bytes(b"x\0")
    (tmp_path / "text").write_text("x")
    (tmp_path / "link").symlink_to("text")
    (tmp_path / "up").symlink_to("/")
    os.mkfifo(tmp_path / "pipe")
    rows = found(tmp_path)
    assert [row.get("path") for row in rows] == ["text", None]
    assert rows[-1] == {"more": False, "skipped": 1}


def test_a_bad_pattern_is_an_error(tmp_path: Path) -> None:
    assert "error" in found(tmp_path, pattern="(")[0]


def test_lines_around_a_match_come_once() -> None:
    file = io.BytesIO(b"".join(b"%d\n" % number for number in range(1, 11)))
    rows = list(matches(file, re.compile("^[456]$|^9$"), 2))
    assert [(row["line"], row["is_match"]) for row in rows] == [
        (2, False), (3, False), (4, True), (5, True), (6, True), (7, False), (8, False), (9, True), (10, False),
    ]  # fmt: skip


def test_a_long_line_is_shown_around_the_match() -> None:
    text = around("a" * 5_000 + "needle" + "b" * 5_000, 5_000)
    assert "needle" in text and text.startswith("…") and text.endswith("…")
    assert len(text) == SHOWN + 2
    assert around("short", 0) == "short"


def test_a_line_without_end_is_read_in_part() -> None:
    rows = list(matches(io.BytesIO(b"x" + b"a" * 5_000_000 + b"\nx"), re.compile("x"), 0))
    assert [row["line"] for row in rows] == [1, 2]


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a/b.py", False),
        ("**/*.py", "a/b.py", True),
        ("**/*.py", "b.py", True),
        ("src/**", "src/a/b", True),
        ("src/**/*.ts", "src/b.ts", True),
        ("*.{py,c}", "a.c", True),
        ("*.{py,c}", "a.h", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[!a]*", "b", True),
        ("[a", "[a", True),
        ("[a&&b]", "&", True),
        ("[[ab]", "[", True),
        ("a.b", "axb", False),
        ("a}b", "a}b", True),
    ],
)
def test_a_glob_fits_as_in_a_shell(glob: str, path: str, fits: bool) -> None:
    assert bool(re.fullmatch(glob_pattern(glob), path)) is fits


@given(st.text("ab*?.", max_size=8), st.text("ab.", max_size=8))
def test_in_a_name_a_glob_is_that_of_the_standard_library(glob: str, name: str) -> None:
    if "**" not in glob:
        assert bool(re.fullmatch(glob_pattern(glob), name)) is fnmatch.fnmatchcase(
            name, glob
        )


@given(st.text("a[]{},*!\\^-/", max_size=12))
def test_no_glob_makes_it_fail_but_as_a_bad_pattern(glob: str) -> None:
    try:
        re.compile(glob_pattern(glob))
    except re.error as error:
        assert "[" in glob, error

from pathlib import Path

import pytest

from ullage_agent.tools.files import Query, search
from ullage_agent.tools.tool import ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(
        "def first():\n    return 1\n\n\ndef second():\n    return 2\n"
    )
    (tmp_path / "src" / "b.txt").write_text("DEF\n")
    (tmp_path / "n.bin").write_bytes(b"def\0")
    return tmp_path


async def text(root: Path, pattern: str, path: str = ".", **more: object) -> str:
    return (await search(root, path, Query(pattern=pattern, **more))).text  # type: ignore[arg-type]


async def test_matches_have_their_place(root: Path) -> None:
    assert await text(root, "def ") == (
        "src/a.py:1: def first():\nsrc/a.py:5: def second():\n[1 binary files were left out]"
    )


@pytest.mark.parametrize("path", ["src", "src/a.py", "src/../src"])
async def test_places_are_told_from_the_root(root: Path, path: str) -> None:
    assert (await text(root, "first", path)) == "src/a.py:1: def first():"


async def test_a_glob_and_the_case_narrow_and_widen(root: Path) -> None:
    assert "src/b.txt:1: DEF" in await text(root, "def", ignore_case=True)
    assert await text(root, "def", glob="*.txt") == "No match."
    assert await text(root, "first", glob="src/*.py") == "src/a.py:1: def first():"


async def test_lines_around_are_marked_as_such(root: Path) -> None:
    assert await text(root, "return", "src", context=1) == (
        "src/a.py-1- def first():\nsrc/a.py:2:     return 1\nsrc/a.py-3- \n"
        "--\nsrc/a.py-5- def second():\nsrc/a.py:6:     return 2"
    )


async def test_more_matches_than_the_limit_are_said_to_be_there(root: Path) -> None:
    assert "there are more matches" in await text(root, "return", limit=1)


async def test_a_pattern_or_a_glob_that_never_ends_is_stopped(root: Path) -> None:
    (root / "evil").write_text("a" * 60 + "b\n")
    (root / ("a" * 200)).write_text("def")
    for query in (Query(pattern="(a+)+$"), Query(pattern="def", glob="a*" * 60 + "c")):
        output = await search(root, ".", query, timeout_s=1.0)
        assert (output.is_error, output.outcome) == (True, "timed_out")
        assert "stopped after 1 s" in output.text


async def test_lines_are_matched_one_by_one(root: Path) -> None:
    for content, pattern, found in (
        (b"one\r\ntwo\r\n", "one$", "f:1: one"),
        (b"one\ntwo\n", "one.two", "No match."),
        (b"one\ntwo\n", r"one\s+two", "No match."),
        (b"one\ntwo\n", r"\Atwo\Z", "f:2: two"),
        (b"one\ntwo\n", "^two$", "f:2: two"),
        (b"one\ntwo\n", r"e(?!\s)", "f:1: one"),
        (b"a\xffb\n", "a.b", "f:1: a\ufffdb"),
        ("für Ä\n".encode(), "(?i)ä", "f:1: für Ä"),
        (b"x\n\ny\n", "^$", "f:2: "),
    ):
        (root / "f").write_bytes(content)
        assert await text(root, pattern, "f") == found, pattern


@pytest.mark.parametrize(
    ("pattern", "path", "more"),
    [
        ("(", ".", {}),
        ("x", "nothing", {}),
        ("x", "..", {}),
        ("x", ".", {"limit": 0}),
        ("x", ".", {"context": 99}),
    ],
)
async def test_what_makes_no_sense_is_refused(
    root: Path, pattern: str, path: str, more: dict[str, int]
) -> None:
    with pytest.raises(ToolError):
        await text(root, pattern, path, **more)


async def test_a_link_that_leads_out_is_not_searched(root: Path) -> None:
    (root / "src" / "up").symlink_to(root.parent)
    (root.parent / "outside.txt").write_text("def outside")
    assert "outside" not in await text(root, "def")
    with pytest.raises(ToolError):
        await text(root, "def", "src/up")

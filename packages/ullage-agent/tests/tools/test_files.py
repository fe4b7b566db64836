import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.mcp_server import PNG
from ullage.envelope import LISTED_ENTRIES, LISTED_LEVELS
from ullage_agent.tools.files import (
    LONGEST_LINE,
    edit,
    list_directory,
    read,
    replace_content,
    write,
)
from ullage_agent.tools.paths import InsideRepository, walk_to
from ullage_agent.tools.tool import ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "f.txt").write_text(
        "".join(f"line {number}\n" for number in range(1, 11))
    )
    return tmp_path


def shown(root: Path, path: str = "f.txt", offset: int = 1, limit: int = 2_000) -> str:
    return read(root, path, offset, limit).text


def test_a_file_is_read_with_its_lines_numbered(root: Path) -> None:
    assert shown(root).splitlines()[0] == "     1\tline 1"
    assert len(shown(root).splitlines()) == 10


def test_a_part_of_a_file_says_where_to_go_on(root: Path) -> None:
    found = shown(root, offset=3, limit=2)
    assert found == "     3\tline 3\n     4\tline 4\n(the file goes on: offset=5)"
    assert shown(root, offset=9) == "     9\tline 9\n    10\tline 10"


def test_an_offset_behind_the_end_says_how_long_the_file_is(root: Path) -> None:
    with pytest.raises(ToolError, match="only 10 lines"):
        shown(root, offset=11)
    with pytest.raises(ToolError, match="count from 1"):
        shown(root, offset=0)


def test_a_long_line_is_cut_and_says_so(root: Path) -> None:
    (root / "long").write_text("x" * 10_000_000 + "\nnext\n")
    text = shown(root, "long")
    assert f"goes on for {10_000_000 - LONGEST_LINE + 1:,} bytes" in text
    assert text.endswith("     2\tnext")


def test_a_binary_file_is_described(root: Path) -> None:
    (root / "b").write_bytes(b"\0\1\2" * 1000)
    with pytest.raises(ToolError, match="binary file of 3,000 bytes"):
        shown(root, "b")


def test_an_image_is_a_picture_with_its_pixels(root: Path) -> None:
    (root / "i.png").write_bytes(PNG)
    output = read(root, "i.png", 1, 10)
    assert output.text == "i.png: image/png, 1x1 pixels, 70 bytes"
    assert (output.pictures[0].part.width, output.pictures[0].data) == (1, PNG)


def test_a_file_is_written_with_its_directories(root: Path) -> None:
    found = write(root, "a/b/new.txt", "ä\nb").text
    assert found == "Wrote 4 bytes, 2 lines, to a/b/new.txt: a new file."
    assert (root / "a/b/new.txt").read_text("utf-8") == "ä\nb"
    assert "in the place of 4 bytes" in write(root, "a/b/new.txt", "").text


@given(content=st.text(max_size=200))
def test_what_is_written_is_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, content: str
) -> None:
    root = tmp_path_factory.mktemp("w")
    write(root, "f", content)
    assert (root / "f").read_bytes() == content.encode()


def test_an_edit_replaces_exactly_what_was_given(root: Path) -> None:
    found = edit(root, "f.txt", "line 3\n", "third\n", False).text
    assert found == "Replaced 1 in f.txt, on line 3."
    assert (root / "f.txt").read_text().splitlines()[2] == "third"


def test_text_that_stands_twice_is_not_touched_without_being_asked(root: Path) -> None:
    before = (root / "f.txt").read_bytes()
    with pytest.raises(ToolError, match=r"occurs 2 times in f\.txt, on lines 1, 10"):
        edit(root, "f.txt", "line 1", "x", False)
    assert (root / "f.txt").read_bytes() == before
    found = edit(root, "f.txt", "line 1", "x", True).text
    assert found == "Replaced 2 in f.txt, on lines 1, 10."


def test_text_that_is_not_there_gets_a_hint_where_spaces_differ(root: Path) -> None:
    (root / "p.py").write_text("def f():\n    return 1\n")
    with pytest.raises(ToolError, match="Line 2 is like its first line"):
        edit(root, "p.py", "\treturn 1", "return 2", False)
    with pytest.raises(ToolError, match="read the file again"):
        edit(root, "p.py", "return 3", "return 2", False)


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("same", "same")])
def test_an_edit_that_says_nothing_is_refused(root: Path, old: str, new: str) -> None:
    with pytest.raises(ToolError):
        edit(root, "f.txt", old, new, False)


def test_line_ends_of_windows_are_kept(root: Path) -> None:
    (root / "w").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    edit(root, "w", "one\ntwo", "1\n2", False)
    assert (root / "w").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_a_file_that_is_no_utf8_is_edited_where_it_is_text(root: Path) -> None:
    (root / "latin").write_bytes(b"caf\xe9\nold\n")
    edit(root, "latin", "old", "new", False)
    assert (root / "latin").read_bytes() == b"caf\xe9\nnew\n"


@given(
    before=st.text("ab\n", max_size=20),
    old=st.text("ab", min_size=1, max_size=3),
    new=st.text("abc", max_size=3),
)
def test_replacing_all_is_what_str_replace_does(
    tmp_path_factory: pytest.TempPathFactory, before: str, old: str, new: str
) -> None:
    root = tmp_path_factory.mktemp("e")
    (root / "f").write_text(before)
    if old == new or old not in before:
        with pytest.raises(ToolError):
            edit(root, "f", old, new, True)
        assert (root / "f").read_text() == before
    else:
        assert f"Replaced {before.count(old)} " in edit(root, "f", old, new, True).text
        assert (root / "f").read_text() == before.replace(old, new)


def test_a_directory_is_listed_in_order_with_sizes_and_links(root: Path) -> None:
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "g").write_text("four")
    (root / "l").symlink_to("f.txt")
    assert list_directory(root, ".", 1).text == "d/\nf.txt  71 bytes\nl -> f.txt"
    assert list_directory(root, "d", 1).text == "e/\ng  4 bytes"
    found = list_directory(root, ".", 2).text
    assert found == "d/\nd/e/\nd/g  4 bytes\nf.txt  71 bytes\nl -> f.txt"


def test_caches_and_histories_are_not_entered(root: Path) -> None:
    (root / ".git" / "objects").mkdir(parents=True)
    assert list_directory(root, ".", 3).text.splitlines()[0] == ".git/ (not entered)"


def test_a_long_listing_says_how_much_is_not_shown(root: Path) -> None:
    for number in range(LISTED_ENTRIES + 5):
        (root / f"x{number:04}").touch()
    assert list_directory(root, ".", 1).text.endswith(
        "(6 more entries are not shown: list a directory below)"
    )


def test_directories_without_end_are_listed_only_so_deep(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    found = len(list_directory(tmp_path, ".", 1_000_000).text.splitlines())
    assert found == LISTED_LEVELS


def test_names_with_line_breaks_and_escapes_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a\nb  5 bytes\x1b[31m").touch()
    (tmp_path / "to").symlink_to("x\ny")
    found = list_directory(tmp_path, ".", 1).text
    assert found == "a\\nb  5 bytes\\x1b[31m  0 bytes\nto -> x\\ny"


@pytest.mark.sweep  # reads for seconds until it gives up
def test_a_file_of_a_terabyte_without_a_line_break_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.write_text("text " * 2_000)
    os.truncate(path, 1 << 40)
    shown = read(tmp_path, "sparse", 1, 10).text
    assert shown.startswith("     1\ttext text ")
    assert "the line goes on for" in shown


def test_what_is_no_plain_file_is_neither_read_nor_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list_directory(tmp_path, ".", 1).text == "pipe  0 bytes (no plain file)"
    with pytest.raises(ToolError, match="no plain file"):
        read(tmp_path, "pipe", 1, 1)


def tree(root: Path) -> dict[str, bytes | None]:
    return {
        str(each): each.read_bytes() if each.is_file() else None
        for each in root.rglob("*")
    }


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".git/hooks/pre-commit", ".git", ".GIT/config", "./src/../.git/config", "src/.Git/config",
        ".git/../x", "link/config", "indirect/link/config", "module/.git", "leads/.git", "new/deep/.git/config",
        "elsewhere/config", "elsewhere/hooks/pre-commit", "bare/HEAD", "almost/refs/x", "almost/REFS/x", "HEAD",
        "worktree/config", "pointed/commondir",
    ],
)  # fmt: skip
def test_nothing_of_a_repository_is_written(path: str, root: Path) -> None:
    """Settings and hooks are programs that the user's next git command runs, outside the sandbox."""
    subprocess.run(["git", "init", "-q", root], check=True)
    for each in ("src", "module", "leads", "indirect"):
        (root / each).mkdir()
    subprocess.run(
        ["git", "init", "-q", f"--separate-git-dir={root}/elsewhere", root / "leads"],
        check=True,
    )
    subprocess.run(["git", "init", "-q", "--bare", root / "bare"], check=True)
    (root / "link").symlink_to(".git")
    (root / "indirect/link").symlink_to(root / "link")
    (root / "almost/objects").mkdir(parents=True)
    (root / "almost/HEAD").touch()
    for each in ("worktree/HEAD", "worktree/commondir", "pointed/HEAD"):
        (root / each).parent.mkdir(exist_ok=True)
        (root / each).touch()
    before = tree(root)
    for absolute in (path, f"{root}/{path}"):
        with pytest.raises(InsideRepository, match="Ask the person"):
            write(root, absolute, "[core]\n\tfsmonitor = touch /tmp/owned\n")
        with pytest.raises(InsideRepository, match="Ask the person"):
            edit(root, absolute, "a", "b", False)
    assert tree(root) == before


def test_no_root_inside_a_repository_is_written(root: Path) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "init", "-q", "--bare", root / "bare"], check=True)
    (root / "link").symlink_to(".git")
    for inside in (".git", ".git/hooks", "link", "bare"):
        with pytest.raises(InsideRepository):
            write(root / inside, "config", "")


@pytest.mark.parametrize(
    "path",
    [".gitignore", ".github/workflows/a.yml", "src/HEAD", "objects/x", "a.git/x", "refs"],
)
def test_files_that_are_only_named_like_it_are_written(path: str, root: Path) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    write(root, path, "x")
    assert (root / path).read_text() == "x"
    assert "1\t" in read(root, ".git/config", 1, 10).text


def test_a_file_gets_its_content_at_once_and_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(0o751)
    with open(tmp_path / "f", "rb") as reader:
        with walk_to(tmp_path, "f") as place:
            replace_content(place, b"new")
        assert reader.read() == b"old"
    assert (tmp_path / "f").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o751
    assert os.listdir(tmp_path) == ["f"]


def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with walk_to(tmp_path, "f") as place:
        read_as = place.stat()
        (tmp_path / "f").write_bytes(b"somebody else's")
        with pytest.raises(ToolError, match="changed by another program"):
            replace_content(place, b"new", read_as=read_as)
    assert (tmp_path / "f").read_bytes() == b"somebody else's"
    assert os.listdir(tmp_path) == ["f"]


def test_a_link_that_appears_in_its_place_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    with walk_to(tmp_path / "root", "f") as place:
        replace_content(place, b"one")
        os.unlink(tmp_path / "root" / "f")
        (tmp_path / "root" / "f").symlink_to(tmp_path / "secret")
        with pytest.raises(ToolError, match="no plain file"):
            replace_content(place, b"two")
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_directory_that_takes_no_file_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(ToolError), walk_to(tmp_path, "d/f") as place:
        os.rmdir(tmp_path / "d")
        replace_content(place, b"x")

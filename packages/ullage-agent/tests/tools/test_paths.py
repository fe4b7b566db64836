import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_agent.tools.paths import NarrowRoot, OutsideRoot, walk_to
from ullage_agent.tools.tool import ToolError

SECRET = b"secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(SECRET)
    inside = tmp_path / "root"
    (inside / "a" / "b").mkdir(parents=True)
    (inside / "a" / "f").write_bytes(b"inside")
    return inside


def content(root: Path | NarrowRoot, path: str) -> bytes:
    with walk_to(root, path) as place, os.fdopen(place.open_file(), "rb") as file:
        return file.read()


@pytest.mark.parametrize(
    "path", ["a/f", "./a//f", "a/b/../f", "a/../a/f", "{root}/a/f", "a/b/./../f"]
)
def test_a_path_inside_is_followed(root: Path, path: str) -> None:
    assert content(root, path.format(root=root)) == b"inside"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret",
        "a/../../outside/secret",
        "/etc/passwd",
        "{root}/../outside/secret",
        "..",
        "/",
        "a/b/../../..",
    ],
)
def test_a_path_that_leads_out_is_refused(root: Path, path: str) -> None:
    with pytest.raises(OutsideRoot, match="leads out of"):
        content(root, path.format(root=root))


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("l", "a", "l/f"),
        ("l", "a/f", "l"),
        ("a/l", "../a/f", "a/l"),
        ("a/l", "b/..", "a/l/f"),
        ("l", "{root}/a", "l/f"),
        ("l", "./a/./f", "l"),
    ],
)
def test_a_link_inside_is_followed(root: Path, link: str, target: str, path: str) -> None:
    (root / link).symlink_to(target.format(root=root))
    assert content(root, path) == b"inside"


@pytest.mark.parametrize(
    "target",
    ["../outside", "../outside/secret", "{root}/../outside", "/etc", "a/../../outside"],
)
@pytest.mark.parametrize("below", ["", "/secret"])
def test_a_link_that_leads_out_is_refused(root: Path, target: str, below: str) -> None:
    (root / "l").symlink_to(target.format(root=root))
    with pytest.raises(ToolError):
        content(root, f"l{below}")


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")
    with pytest.raises(ToolError, match="too many symbolic links"):
        content(root, "x")


def test_a_root_that_is_reached_by_a_link_is_a_root_by_either_name(root: Path) -> None:
    alias = root.parent / "alias"
    alias.symlink_to(root)
    assert (
        content(alias, str(root / "a/f"))
        == content(alias, str(alias / "a/f"))
        == b"inside"
    )


@pytest.mark.parametrize(
    "path", ["a\0b", "nothing", "nothing/f", "a/f/g", "x" * 5_000, "a", ""]
)
def test_what_can_not_be_read_is_told_in_words(root: Path, path: str) -> None:
    with pytest.raises(ToolError) as raised:
        content(root, path)
    assert "Errno" not in str(raised.value)


def test_pipes_and_sockets_are_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        with contextlib.chdir(root):
            listening.bind("socket")
        for name in ("pipe", "socket"):
            with pytest.raises(ToolError):
                content(root, name)


def test_missing_directories_are_made_where_that_is_asked_for(root: Path) -> None:
    with walk_to(root, "n/e/w", make_parents=True) as place:
        assert (place.shown, place.stat()) == ("n/e/w", None)
    assert (root / "n/e").is_dir()
    with pytest.raises(OutsideRoot), walk_to(root, "n/../../w", make_parents=True):
        pass


def test_nothing_is_left_open(root: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for path in ("a/b/../f", "../x", "a/b/nothing", "l"):
        with contextlib.suppress(ToolError):
            content(root, path)
    assert len(os.listdir("/proc/self/fd")) == len(before)


@contextlib.contextmanager
def exchanging(directory: Path, link: Path) -> Iterator[None]:
    """A directory and a link change places as fast as they can."""
    stop = threading.Event()
    aside = directory.with_name("aside")

    def exchange() -> None:
        while not stop.is_set():
            os.rename(directory, aside)
            os.rename(link, directory)
            os.rename(directory, link)
            os.rename(aside, directory)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_directory_that_becomes_a_link_while_walked_leads_nowhere(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "secret").write_bytes(b"inside")
    (root / "l").symlink_to("../outside")
    seen = set()
    with exchanging(root / "d", root / "l"):
        for _ in range(2_000):
            try:
                seen.add(content(root, "d/secret"))
            except ToolError:
                seen.add(b"refused")
    assert SECRET not in seen
    assert b"inside" in seen


STEPS = ["a", "b", "l", "m", "..", ".", "", "f", "secret", "outside", "root"]
paths = st.lists(st.sampled_from(STEPS), min_size=1, max_size=7).map("/".join)


@given(paths, paths, paths, st.booleans())
def test_no_path_and_no_links_lead_out(
    path: str, one: str, two: str, is_absolute: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        root = top / "root"
        (top / "outside").mkdir()
        (top / "outside" / "secret").write_bytes(SECRET)
        (top / "secret").write_bytes(SECRET)
        (root / "a" / "b").mkdir(parents=True)
        (root / "a" / "f").write_bytes(b"inside")
        for link, target in ((root / "l", one), (root / "a" / "m", two)):
            link.symlink_to(f"{root}/{target}" if is_absolute else target or ".")
        try:
            found = content(root, f"{root}/{path}" if is_absolute else path)
        except ToolError:
            return
        assert found == b"inside"


def test_a_narrower_root_that_becomes_a_link_leads_nowhere(root: Path) -> None:
    narrow = NarrowRoot(root, root / "a" / "b")
    (root / "a" / "b" / "secret").write_bytes(b"inside")
    assert (
        content(narrow, "secret")
        == content(narrow, str(root / "a" / "b" / "secret"))
        == b"inside"
    )
    (root / "o" / "b").mkdir(parents=True)
    for place, target in ((root / "a" / "b", "../../outside"), (root / "a", "o")):
        place.rename(place.with_name("aside"))
        place.symlink_to(target)
        with pytest.raises(ToolError, match="no longer the directory"):
            content(narrow, "secret")

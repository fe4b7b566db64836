import os
import stat
from pathlib import Path

import pytest

from ullage.tools.paths import walk_to
from ullage.tools.replacing import replace_content
from ullage.tools.tool import ToolError


def test_a_file_gets_its_content_at_once_and_keeps_its_permissions(tmp_path: Path) -> None:
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
        with pytest.raises(ToolError, match="changed by somebody else"):
            replace_content(place, b"new", read_as=read_as)
    assert (tmp_path / "f").read_bytes() == b"somebody else's"
    assert os.listdir(tmp_path) == ["f"]


def test_a_link_that_appears_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    with walk_to(tmp_path / "root", "f") as place:
        replace_content(place, b"one")
        os.unlink(tmp_path / "root" / "f")
        (tmp_path / "root" / "f").symlink_to(tmp_path / "secret")
        with pytest.raises(ToolError, match="no plain file"):
            replace_content(place, b"two")
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with walk_to(tmp_path, "d") as place, pytest.raises(ToolError, match="a directory"):
        replace_content(place, b"x")


def test_a_directory_that_takes_no_file_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(ToolError), walk_to(tmp_path, "d/f") as place:
        os.rmdir(tmp_path / "d")
        replace_content(place, b"x")

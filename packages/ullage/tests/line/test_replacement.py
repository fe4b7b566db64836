from pathlib import Path

import pytest

from ullage_programs.replacement import Replacement


def test_a_file_has_its_new_content_at_the_end_of_the_block(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    path.chmod(0o644)
    with Replacement(str(path)) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o600
    with Replacement(str(path), mode=0o640, is_lasting=False) as file:
        file.write(b"again")
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(ValueError), Replacement(str(path)) as file:
        file.write(b"half")
        raise ValueError
    assert path.read_bytes() == b"before"
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError), Replacement(str(tmp_path / "directory")):
        pass
    with pytest.raises(OSError):
        Replacement(str(tmp_path / "none" / "file"))
    assert {each.name for each in tmp_path.iterdir()} == {"file", "directory"}


def test_the_last_of_two_that_write_at_once_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with Replacement(str(path)) as first:
        with Replacement(str(path)) as second:
            second.write(b"second")
            first.write(b"first")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"

from pathlib import Path

import pytest

from ullage.store.private_file import replace_file


def test_the_new_content_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    for data in (b"first", b"second"):
        replace_file(path, data)
        assert path.read_bytes() == data
        assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_can_t_be_replaced_stays_and_nothing_is_left_beside_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file.json"
    (path / "below").mkdir(parents=True)
    with pytest.raises(OSError):
        replace_file(path, b"data")
    assert list(tmp_path.iterdir()) == [path]

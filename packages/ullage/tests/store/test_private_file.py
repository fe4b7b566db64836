import os
from pathlib import Path

import msgspec
import pytest

from ullage.store.private_file import (
    MOST_BYTES,
    UnwritableStore,
    delete_files,
    read_file,
    read_json,
    replace_file,
    write_bytes,
)


class Note(msgspec.Struct):
    text: str


DECODER = msgspec.json.Decoder(Note)


def test_the_new_content_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "below" / "file.json"
    for note in (Note("first"), Note("second")):
        write_bytes(path, msgspec.json.encode(note), "A note")
        assert read_json(path, DECODER) == note
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_what_can_t_be_replaced_stays(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    (path / "below").mkdir(parents=True)
    with pytest.raises(OSError):
        replace_file(path, b"data")
    with pytest.raises(UnwritableStore, match=r"A note can't be written .* ULLAGE_DATA"):
        write_bytes(path, b"data", "A note")
    with pytest.raises(UnwritableStore, match="can't be deleted"):
        delete_files([tmp_path / "none", path])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b'{"text":"\xff"}', b"[]"])
def test_a_damaged_file_holds_nothing(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(data)
    assert read_json(path, DECODER) is None


def test_a_link_and_a_file_that_is_too_long_hold_nothing(tmp_path: Path) -> None:
    path, link = tmp_path / "file.json", tmp_path / "link.json"
    write_bytes(path, msgspec.json.encode(Note("n" * 50)), "A note")
    link.symlink_to(path)
    assert read_json(link, DECODER) is None
    assert read_file(path, most=80)
    with pytest.raises(OSError, match="more than"):
        read_file(path, most=40)


def test_a_pipe_and_an_endless_file_are_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    assert read_json(pipe, DECODER) is None
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError):
            read_file(path)
    sparse = tmp_path / "sparse.json"
    with sparse.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(OSError, match="more than"):
        read_file(sparse)

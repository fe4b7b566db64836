"""Only regular files are read, and only in bounded pieces."""

import os
import socket
from pathlib import Path

import pytest

from ullage.envelope import LOG_LINE_BYTES
from ullage.errors import UnreadableInput
from ullage.importers import read
from ullage.importers.growing import GrowingLog
from ullage.importers.regular import lines_of, open_regular, read_regular


def test_a_regular_file_is_opened_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a\nb")
    (tmp_path / "link").symlink_to("log")
    with open_regular(tmp_path / "link") as file:
        assert list(lines_of(file)) == [b"a\n", b"b"]


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for where, kind in (
            (tmp_path / "pipe", "a pipe"),
            (tmp_path / "socket", "a socket"),
            (tmp_path, "a directory"),
            (Path("/dev/zero"), "a device"),
        ):
            with pytest.raises(
                UnreadableInput, match=f"is {kind}, and only regular files are read"
            ):
                open_regular(where)
            if kind != "a directory":
                for look in (read, lambda path: GrowingLog(path).look()):
                    with pytest.raises(UnreadableInput, match=f"is {kind}"):
                        look(where)


def test_a_name_that_no_file_has_is_refused(tmp_path: Path) -> None:
    for name in ("missing", "a\0b", "x" * 5_000):
        with pytest.raises(UnreadableInput, match="can't be opened"):
            open_regular(tmp_path / name)


def test_a_file_of_a_terabyte_without_content_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(
        UnreadableInput, match="1,099,511,627,776 bytes; the most that is read"
    ):
        read(path)


def test_a_file_without_a_size_is_read_up_to_the_limit() -> None:
    assert read_regular(Path("/proc/self/status"), most=1 << 20).startswith(b"Name:")
    with pytest.raises(UnreadableInput, match="more than 10 bytes"):
        read_regular(Path("/proc/self/status"), most=10)


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for ending in (b"\n", b""):
        path.write_bytes(
            b"short\n" + b"x" * 5_000_000 + b"\nnext\n" + b"y" * 100 + ending
        )
        with open_regular(path) as file:
            assert list(lines_of(file, longest=50)) == [
                b"short\n",
                b"x" * 51,
                b"next\n",
                b"y" * 51,
            ]
    path.write_bytes(b"x" * 50 + b"\n" + b"y" * 50 + b"\nz")
    with open_regular(path) as file:
        assert list(lines_of(file, longest=50)) == [
            b"x" * 50 + b"\n",
            b"y" * 50 + b"\n",
            b"z",
        ]


@pytest.mark.slow
def test_a_line_of_200_megabytes_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"role":"user","content":"first"}\n')
    with path.open("ab") as file:
        file.truncate(200 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"role":"user","content":"last"}\n')
    imported = read(path)
    assert dict(imported.reasons) == {f"longer than {LOG_LINE_BYTES >> 20} MB": 1}
    assert imported.lines == 3


def test_a_growing_log_passes_over_a_line_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"role":"user","content":"first"}\n')
    log = GrowingLog(path)
    assert log.look() is not None
    with path.open("ab") as file:
        file.write(b"x" * (LOG_LINE_BYTES + 10))
        file.flush()
        growth = log.look()
        assert growth is not None and growth.imported.skipped_lines == 1
        file.write(b"y" * 1_000)
        file.flush()
        assert (growth := log.look()) is not None and growth.imported.skipped_lines == 1
        file.write(b'y\n{"role":"user","content":"last"}\n')
    growth = log.look()
    assert growth is not None
    assert growth.imported.skipped_lines == 1
    assert growth.imported.lines == 3
    assert growth.held == read(path).events

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ullage.cli.installing.files import CannotEdit, ClientFile, ClientFiles, parsed

MINE = b'{\n\t"model": "\xc3\xbcber",\n\t"env": {"A": "1"}\n}\n'


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_bytes(MINE)
    return path


def changed(path: Path) -> ClientFile:
    file = ClientFile(path)
    file.content["ours"] = 1
    return file


def test_a_file_is_written_beside_a_copy_of_the_same_owner(settings: Path) -> None:
    settings.chmod(0o640)
    if os.getuid() == 0:
        os.chown(settings, 1000, 1000)
    before = settings.stat()
    changed(settings).write()
    assert settings.read_text() == (
        '{\n\t"model": "über",\n\t"env": {\n\t\t"A": "1"\n\t},\n\t"ours": 1\n}\n'
    )
    copy = settings.with_name("settings.json.bak")
    assert copy.read_bytes() == MINE
    for path in (settings, copy):
        after = path.stat()
        assert stat.S_IMODE(after.st_mode) == 0o640
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_a_new_file_is_the_users_alone_and_gone_when_empty(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    changed(path).write()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file = ClientFile(path)
    file.content.clear()
    assert "held nothing else" in file.write()
    assert list(path.parent.iterdir()) == []


def test_a_link_stays_and_its_target_has_the_copy(settings: Path, tmp_path: Path) -> None:
    link = tmp_path / "client" / "link.json"
    link.parent.mkdir()
    link.symlink_to("../settings.json")
    changed(link).write()
    assert link.is_symlink()
    assert b"ours" in settings.read_bytes()
    assert settings.with_name("settings.json.bak").read_bytes() == MINE


def test_no_file_behind_a_link_is_overwritten(settings: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("other")
    settings.with_name("settings.json.bak").symlink_to(other)
    changed(settings).write()
    assert other.read_text() == "other"


@pytest.mark.parametrize(
    "content",
    [
        '{// mine\n"a": 1}',
        '{"a": 1,}',
        '\ufeff{"a": 1}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
    ],
)
def test_json_that_would_lose_content_is_only_read(tmp_path: Path, content: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(content)
    file = ClientFile(path)
    assert list(file.before) == ["a"]
    assert "not plain JSON" in file.problem


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"7", b"\xff\xfe", b'{"a": 1} rest', b"{'a': 1}", b"[" * 90_000],
    ids=lambda content: content[:9],
)
def test_what_is_no_json_object_is_not_written(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    assert ClientFile(path).problem


def test_a_fifo_and_a_read_only_file_are_refused(settings: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.json")
    assert "no regular file" in ClientFile(tmp_path / "fifo.json").problem
    settings.chmod(0o400)
    assert "chmod u+w" in ClientFile(settings).problem


def test_a_file_that_changed_meanwhile_is_not_replaced(settings: Path) -> None:
    file = changed(settings)
    settings.write_text('{"model": "other"}')
    with pytest.raises(CannotEdit, match="meanwhile"):
        file.write()
    assert settings.read_text() == '{"model": "other"}'


def test_an_error_of_json_names_its_line() -> None:
    with pytest.raises(CannotEdit, match="line 3"):
        parsed(Path("a.json"), '{\n  "a": 1\n  "b": 2\n}')


@pytest.mark.parametrize("text", ["", " \n", "// nothing\n", "/* nothing */"])
def test_a_file_without_content_is_an_empty_object(text: str) -> None:
    assert parsed(Path("a.json"), text) == {}


def test_only_files_that_change_are_named(settings: Path, tmp_path: Path) -> None:
    files = ClientFiles()
    assert files[settings].content["model"] == "über"
    files[tmp_path / "new.json"].content["a"] = 1
    assert [file.path.name for file in files.changed()] == ["new.json"]


KILLED_AT_CALL = """
import os, signal, sys
from pathlib import Path
from ullage.cli.installing.files import ClientFile
left = int(sys.argv[2])
def counted(name):
    original = getattr(os, name)
    def call(*given, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*given, **named)
    setattr(os, name, call)
for name in ("open", "fsync", "replace", "chown", "chmod"):
    counted(name)
file = ClientFile(Path(sys.argv[1]))
file.content["ours"] = 1
file.write()
"""


@pytest.mark.parametrize("step", range(1, 12))
def test_killed_at_any_step_the_file_is_whole(settings: Path, step: int) -> None:
    words = [sys.executable, "-c", KILLED_AT_CALL, str(settings), str(step)]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == (0 if step == 11 else -signal.SIGKILL), done.stderr
    if settings.read_bytes() != MINE:
        assert b"ours" in settings.read_bytes()
        assert settings.with_name("settings.json.bak").read_bytes() == MINE

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ullage.cli.installing.plan import (
    ConfigurationEditor,
    PlannedChange,
    json_item,
    setting,
    whole_file,
)
from ullage.cli.installing.record import read_record, record_file
from ullage.cli.installing.splice import CannotEdit

MINE = b'{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": [{"matcher": "x"}]}\n}'


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "client" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(MINE)
    return path


@pytest.fixture
def editor(tmp_path: Path) -> ConfigurationEditor:
    return ConfigurationEditor(tmp_path / "config")


def line(path: Path, command: str = "ours") -> PlannedChange:
    return setting("c", "statusline", path, ["statusLine"], {"command": command})


def hook(path: Path, event: str = "Stop") -> PlannedChange:
    return json_item("c", f"{event} hook", path, ["hooks", event], {"command": "ours"})


def uninstalled(editor: ConfigurationEditor, *kinds: str) -> list[str]:
    return [outcome.message for outcome in editor.uninstall("c", frozenset(kinds))]


def test_installing_twice_changes_the_file_once(
    editor: ConfigurationEditor, settings: Path
) -> None:
    editor.install(line(settings))
    once = settings.read_bytes()
    assert "already installed" in editor.install(line(settings)).message
    assert settings.read_bytes() == once
    assert len(read_record(editor.directory).changes) == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_uninstalling_restores_every_byte(
    editor: ConfigurationEditor, settings: Path, order: tuple[int, ...]
) -> None:
    changes = [line(settings), hook(settings), hook(settings, "PostToolUse")]
    for number in order:
        editor.install(changes[number])
    uninstalled(editor)
    assert settings.read_bytes() == MINE
    assert read_record(editor.directory).changes == ()


def test_a_file_and_directories_that_were_made_are_removed(
    editor: ConfigurationEditor, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "deep" / "settings.json"
    editor.install(line(path))
    editor.install(hook(path))
    uninstalled(editor)
    assert not (tmp_path / "new").exists()


def test_one_kind_can_be_taken_back_alone(
    editor: ConfigurationEditor, tmp_path: Path
) -> None:
    path = tmp_path / "settings.json"
    editor.install(line(path))
    editor.install(hook(path))
    uninstalled(editor, "statusline")
    assert b"statusLine" not in path.read_bytes()
    assert b"hooks" in path.read_bytes()
    uninstalled(editor)
    assert not path.exists()


def test_what_the_user_changed_since_stays_and_is_said(
    editor: ConfigurationEditor, settings: Path
) -> None:
    editor.install(line(settings))
    settings.write_bytes(settings.read_bytes().replace(b"ours", b"mine again"))
    changed = settings.read_bytes()
    [message] = uninstalled(editor)
    assert "changed since it was installed" in message
    assert settings.read_bytes() == changed


def test_what_the_user_added_elsewhere_stays_when_ours_goes(
    editor: ConfigurationEditor, settings: Path
) -> None:
    editor.install(line(settings))
    settings.write_bytes(settings.read_bytes().replace(b'"opus"', b'"sonnet"'))
    uninstalled(editor)
    assert settings.read_bytes() == MINE.replace(b'"opus"', b'"sonnet"')


def test_a_newer_command_takes_the_place_of_the_older(
    editor: ConfigurationEditor, settings: Path
) -> None:
    editor.install(line(settings, "old"))
    editor.install(line(settings, "new"))
    assert b"old" not in settings.read_bytes()
    uninstalled(editor)
    assert settings.read_bytes() == MINE


def test_the_same_value_of_the_users_own_is_not_ours(
    editor: ConfigurationEditor, settings: Path
) -> None:
    settings.write_bytes(b'{"statusLine": {"command": "ours"}}')
    editor.install(line(settings))
    uninstalled(editor)
    assert settings.read_bytes() == b'{"statusLine": {"command": "ours"}}'


def test_a_dry_run_shows_the_difference_and_changes_nothing(
    tmp_path: Path, settings: Path
) -> None:
    editor = ConfigurationEditor(tmp_path / "config", dry_run=True)
    outcome = editor.install(line(settings))
    assert '+  "statusLine"' in outcome.difference
    assert settings.read_bytes() == MINE
    assert not editor.directory.exists()


def test_a_symbolic_link_stays_one(
    editor: ConfigurationEditor, settings: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(settings)
    editor.install(line(link))
    assert link.is_symlink()
    assert b"statusLine" in settings.read_bytes()
    uninstalled(editor)
    assert link.is_symlink()
    assert settings.read_bytes() == MINE


def test_permissions_stay(editor: ConfigurationEditor, settings: Path) -> None:
    settings.chmod(0o600)
    editor.install(line(settings))
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff\xfe", b'{"a": 1} rest', b"nonsense"]
)
def test_a_file_that_can_not_be_read_is_refused_and_unchanged(
    editor: ConfigurationEditor, settings: Path, content: bytes
) -> None:
    settings.write_bytes(content)
    with pytest.raises(CannotEdit):
        editor.install(line(settings))
    assert settings.read_bytes() == content
    assert read_record(editor.directory).changes == ()


def test_a_fifo_in_the_place_of_the_file_is_refused(
    editor: ConfigurationEditor, tmp_path: Path
) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    with pytest.raises(CannotEdit, match="no regular file"):
        editor.install(line(path))


def test_a_file_of_our_own_is_made_and_removed(
    editor: ConfigurationEditor, tmp_path: Path
) -> None:
    change = whole_file("c", "hook", tmp_path / "plugins" / "ours.js", "// ours\n")
    editor.install(change)
    assert "already installed" in editor.install(change).message
    uninstalled(editor)
    assert not (tmp_path / "plugins").exists()


def test_another_file_of_that_name_stays(
    editor: ConfigurationEditor, tmp_path: Path
) -> None:
    path = tmp_path / "ours.js"
    path.write_text("// mine\n")
    with pytest.raises(CannotEdit, match="there already"):
        editor.install(whole_file("c", "hook", path, "// ours\n"))


@pytest.mark.parametrize("content", [b"{", b'{"changes": [7]}', b"\xff"])
def test_a_record_that_can_not_be_read_is_named_and_not_replaced(
    editor: ConfigurationEditor, settings: Path, content: bytes
) -> None:
    path = record_file(editor.directory)
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(CannotEdit, match=r"installed\.json"):
        editor.install(line(settings))
    assert path.read_bytes() == content
    assert settings.read_bytes() == MINE


KILLED_AT_CALL = """
import os, signal, sys
from pathlib import Path
from ullage.cli.installing.plan import ConfigurationEditor, setting
left = int(sys.argv[3])
def counted(name):
    original = getattr(os, name)
    def call(*given, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*given, **named)
    setattr(os, name, call)
for name in ("open", "fsync", "replace", "rename", "chmod", "unlink", "mkdir"):
    counted(name)
editor = ConfigurationEditor(Path(sys.argv[1]))
change = setting("c", "statusline", Path(sys.argv[2]), ["statusLine"], {"command": "ours"})
if sys.argv[4] == "install":
    editor.install(change)
else:
    editor.uninstall("c", frozenset())
"""


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("step", range(1, 11))
def test_killed_at_any_step_the_file_is_whole_and_the_next_run_ends_the_work(
    editor: ConfigurationEditor, settings: Path, step: int, command: str
) -> None:
    if command == "uninstall":
        editor.install(line(settings))
    before = settings.read_bytes()
    words = [str(editor.directory), str(settings), str(step), command]
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_CALL, *words], capture_output=True, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    after = settings.read_bytes()
    assert after == before or (b"statusLine" in after) != (b"statusLine" in before)
    editor.install(line(settings))
    assert b"statusLine" in settings.read_bytes()
    uninstalled(editor)
    assert settings.read_bytes() == MINE

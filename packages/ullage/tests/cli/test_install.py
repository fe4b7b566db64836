import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform
from ullage.cli import main

MINE = {
    "model": "opus",
    "statusLine": {"type": "command", "command": "npx ccstatusline"},
    "permissions": {"allow": ["Bash", "Read"]},
}
WITH_COMMENTS = '{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": []},\n}\n'


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(MINE, indent=2) + "\n")
    return path


def run(place: Path, *words: str, home: Path | None = None) -> Ended:
    return perform(place, {"HOME": str(home or place)}, *words, "--yes")


@pytest.mark.parametrize("words", [(), ("--remove",)])
def test_without_a_terminal_nothing_is_written_unless_it_is_agreed_to(
    settings: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    if words:
        run(tmp_path, "install", "claude-code")
    before = settings.read_bytes()
    environment = {"HOME": str(tmp_path)}
    ended = perform(tmp_path, environment, "install", "claude-code", *words)
    assert ended.returncode == 2
    assert "Add --yes to write this" in ended.stderr
    assert settings.read_bytes() == before


def test_nothing_is_written_where_a_file_changes_before_the_answer(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_: str) -> str:
        settings.write_text("{}")
        return "y"

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("builtins.input", answer)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main(["install", "claude-code"]) == 2
    assert settings.read_text() == "{}"
    assert os.listdir(tmp_path) == [".claude"]


def test_files_of_a_cache_are_not_written_into_another_program(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.cli.install.is_temporary", lambda: True)
    refused = run(tmp_path, "install", "claude-code")
    assert refused.returncode != 0 and "uv tool install" in refused.stderr
    assert json.loads(settings.read_text()) == MINE


def test_what_is_installed_is_taken_out_again(settings: Path, tmp_path: Path) -> None:
    before = settings.read_text()
    installed = run(tmp_path, "install", "claude-code")
    assert installed.returncode == 0
    for about in ("status line: how full", "after every tool call", "Stop hook:"):
        assert about in installed.stdout
    assert "`ullage install claude-code --remove`" in installed.stdout
    copy = settings.with_name("settings.json.bak")
    assert copy.read_text() == before
    line = tmp_path / ".config" / "ullage" / "line.json"
    assert json.loads(line.read_text()) == {"compose": "npx ccstatusline"}
    found = json.loads(settings.read_text())
    assert list(found["hooks"]) == ["PostToolUse", "Stop"]
    assert found["permissions"] == MINE["permissions"]
    once = settings.read_bytes()
    assert "Already installed" in run(tmp_path, "install", "claude").stdout
    assert settings.read_bytes() == once
    assert run(tmp_path, "install", "claude", "--remove").returncode == 0
    assert json.loads(settings.read_text()) == MINE
    assert not line.exists()


def test_one_kind_can_be_taken_out_alone(settings: Path, tmp_path: Path) -> None:
    run(tmp_path, "install", "claude-code")
    run(tmp_path, "install", "claude-code", "--remove", "--hooks")
    found = json.loads(settings.read_text())
    assert "hooks" not in found and "ullage_programs" in found["statusLine"]["command"]


def test_a_file_with_comments_is_not_changed(settings: Path, tmp_path: Path) -> None:
    settings.write_text(WITH_COMMENTS)
    ended = run(tmp_path, "install", "claude-code", "--statusline", "--hooks")
    assert ended.returncode == 2
    assert f"nothing was changed: {settings}: it has comments" in ended.stderr
    assert settings.read_text() == WITH_COMMENTS
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]
    changes = dict(re.findall(r"^Into (.*):\n((?:  .*\n)+)", ended.stdout, re.MULTILINE))
    member, item = changes[f"{settings}"], changes[f'"hooks" > "Stop" of {settings}']
    by_hand = WITH_COMMENTS.replace("{", "{" + member, 1).replace("[", "[" + item, 1)
    settings.write_text(by_hand)
    again = run(tmp_path, "install", "claude-code", "--statusline")
    assert (again.returncode, again.stdout) == (0, "Already installed for claude-code.\n")
    ended = run(tmp_path, "install", "claude-code", "--remove")
    assert ended.returncode == 2
    assert f'Out of {settings}:\n  "statusLine"' in ended.stdout
    assert settings.read_text() == by_hand


def test_a_proxys_address_is_set_and_removed(settings: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert run(tmp_path, "install", "claude-code", "--proxy").returncode == 0
    assert json.loads(settings.read_text())["env"] == {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:4141/anthropic",
        "ENABLE_TOOL_SEARCH": "true",
    }
    run(tmp_path, "install", "claude-code", "--remove", "--proxy")
    assert json.loads(settings.read_text()) == MINE


def test_in_a_project_the_users_own_settings_of_it_are_changed(tmp_path: Path) -> None:
    run(tmp_path, "install", "claude-code", "--statusline", "--project")
    path = tmp_path / ".claude" / "settings.local.json"
    assert path.exists()
    run(tmp_path, "install", "claude-code", "--project", "--remove")
    assert not path.exists()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    place = tmp_path / "clone"
    (place / ".claude").mkdir(parents=True)
    return place


@pytest.mark.parametrize("words", [(), ("--remove",)])
@pytest.mark.parametrize("kind", ["file", "dangling", "directory"])
def test_a_link_that_leads_out_of_the_project_is_not_followed(
    clone: Path, tmp_path: Path, kind: str, words: tuple[str, ...]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / "settings.local.json"
    if kind == "directory":
        (clone / ".claude").rmdir()
        (clone / ".claude").symlink_to("../outside")
    else:
        (clone / ".claude" / "settings.local.json").symlink_to(target)
    if kind == "file":
        target.write_text("{}")
    words = ("install", "claude-code", "--project", *words)
    refused = run(clone, *words, home=tmp_path)
    assert refused.returncode == 2
    assert f"leads out of the project to {target}" in refused.stderr
    assert target.read_text() == "{}" if kind == "file" else not target.exists()


def test_a_link_within_the_project_is_followed(clone: Path, tmp_path: Path) -> None:
    (clone / ".claude" / "settings.local.json").symlink_to("mine.json")
    run(clone, "install", "claude-code", "--statusline", "--project", home=tmp_path)
    assert "statusLine" in (clone / ".claude" / "mine.json").read_text()


def test_a_projects_status_line_stays_in_the_project(clone: Path, tmp_path: Path) -> None:
    settings = clone / ".claude" / "settings.local.json"
    hostile = '{"statusLine": {"type": "command", "command": "touch PWNED"}}'
    settings.write_text(hostile)
    refused = run(clone, "install", "claude-code", "--project", home=tmp_path)
    assert refused.returncode == 2
    assert "another status line" in refused.stderr
    assert not (tmp_path / ".config" / "ullage" / "line.json").exists()
    assert settings.read_text() == hostile


def test_a_projects_address_is_not_for_all_projects(clone: Path, tmp_path: Path) -> None:
    other = '{"env": {"ANTHROPIC_BASE_URL": "https://api.deepseek.com/v1"}}'
    (clone / ".claude" / "settings.json").write_text(other)
    run(clone, "install", "claude-code", "--proxy", home=tmp_path)
    text = (tmp_path / ".claude" / "settings.json").read_text()
    assert "/anthropic" in text and "deepseek" not in text
    refused = run(clone, "install", "claude-code", "--proxy", "--project", home=tmp_path)
    assert refused.returncode == 2 and "Nothing was done" in refused.stderr


def test_a_broken_file_is_named_and_unchanged(settings: Path, tmp_path: Path) -> None:
    content = '{\n  "model" "opus"\n}'
    settings.write_text(content)
    refused = run(tmp_path, "install", "claude-code")
    assert refused.returncode == 2
    assert f"nothing was changed: {settings}: it " in refused.stderr
    assert settings.read_text() == content


def test_removing_what_is_not_installed_says_so(tmp_path: Path) -> None:
    ended = run(tmp_path, "install", "claude-code", "--remove")
    said = "Nothing of that is installed for claude-code.\n"
    assert (ended.returncode, ended.stdout) == (0, said)


def test_a_dry_run_shows_no_other_key(settings: Path, tmp_path: Path) -> None:
    before = '{"env": {"ANTHROPIC_AUTH_TOKEN": "sk-secret"}, "\x9b2J": 1}'
    settings.write_text(before)
    words = ("--proxy", "http://127.0.0.1:4141\x9b", "--hooks", "--dry-run")
    shown = run(tmp_path, "install", "claude-code", *words)
    assert '"ANTHROPIC_BASE_URL": "http://127.0.0.1:4141' in shown.stdout
    assert "sk-secret" not in shown.stdout
    assert "\x9b" not in shown.stdout
    assert settings.read_text() == before


def test_a_link_to_a_missing_file_is_a_link_again(tmp_path: Path) -> None:
    link = tmp_path / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "dotfiles.json")
    run(tmp_path, "install", "claude-code", "--statusline")
    assert (tmp_path / "dotfiles.json").exists()
    run(tmp_path, "install", "claude-code", "--remove")
    assert link.is_symlink()
    assert not (tmp_path / "dotfiles.json").exists()


def test_a_directory_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / ".claude").symlink_to("/proc/self")
    refused = run(tmp_path, "install", "claude-code", "--hooks")
    assert refused.returncode == 2
    assert "can't be written" in refused.stderr
    assert "Make it writable, then run this again." in refused.stderr


@pytest.mark.parametrize(
    ("words", "typed", "is_written"),
    [
        ((), "\n", False),
        ((), "y\n", True),
        ((), "n\n", False),
        ((), "\x04", False),
        (("--yes",), "", True),
    ],
)
@pytest.mark.program
def test_on_a_terminal_the_user_is_asked(
    tmp_path: Path, words: tuple[str, ...], typed: str, is_written: bool
) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ullage", "install", "gemini", *words],
        env={"HOME": str(tmp_path), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 10_000)
        except OSError:  # its end was closed
            break
        if typed and b"[y/N]" in said:
            os.write(ours, typed.encode())
            typed = ""
    os.close(ours)
    assert process.wait(60) == (0 if is_written else 2), said
    assert b"AfterAgent hook: a message" in said
    assert (b"nothing was changed" in said) is not is_written
    assert (tmp_path / ".gemini" / "settings.json").exists() is is_written

import re
from pathlib import Path

import pytest

from bench.clients.__main__ import main
from bench.clients.clients import CLIENTS
from bench.clients.installation import (
    NODE,
    NotInstallable,
    default_cache,
    installed,
    installed_node,
    newest_version,
)


def program(directory: Path, name: str) -> Path:
    path = directory / "node_modules" / ".bin" / name
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_what_is_installed_is_not_installed_again(tmp_path: Path) -> None:
    client = CLIENTS["codex"]
    codex = program(tmp_path / f"codex-{client.version}", "codex")
    node = program(tmp_path / f"node-{NODE}", "node")
    assert installed(client, client.version, tmp_path) == codex
    assert installed_node(tmp_path) == node.parent


def test_the_quick_run_says_that_no_client_is_run_where_npm_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--quick"]) == 0
    assert capsys.readouterr().out.startswith("npm does not answer")


def npm(directory: Path, ping: int) -> None:
    """A stand-in for npm that installs nothing, and answers a ping with this exit code."""
    path = directory / "npm"
    lines = [f'[ "$1" = ping ] && exit {ping}', '[ "$1" = view ] && echo 9.9 && exit 0']
    path.write_text("\n".join(["#!/bin/sh", *lines, "exit 1\n"]), "utf-8")
    path.chmod(0o755)


def test_a_client_of_pypi_is_installed_by_uv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = tmp_path / "uv"
    lines = ['[ "$2" = compile ] && echo "$(cat)==9.9" && exit 0', "echo $* >> log"]
    uv.write_text("\n".join(["#!/bin/sh", *lines]), "utf-8")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.chdir(tmp_path)
    client = CLIENTS["mini-swe-agent"]
    assert newest_version(client) == "9.9"
    directory = tmp_path / "mini-swe-agent-9.9"
    with pytest.raises(NotInstallable, match="brings no program 'mini'"):
        installed(client, "9.9", tmp_path)
    assert "install" in (tmp_path / "log").read_text("utf-8")
    (directory / "bin").mkdir(parents=True)
    (directory / "bin" / "mini").touch()
    assert installed(client, "9.9", tmp_path) == directory / "bin" / "mini"


def test_a_quick_run_names_the_clients_that_can_not_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    npm(tmp_path, ping=0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--quick", "--cache", str(tmp_path / "cache")]) == 0
    shown = capsys.readouterr().out
    for title, package in (
        ("Claude Code", "@anthropic-ai/claude-code"),
        ("Codex", "@openai/codex"),
    ):
        assert re.search(f"NOT RUN: {title}: `npm install .* {package}@.*` failed", shown)


def test_in_clones_it_is_the_newest_version_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    npm(tmp_path, ping=0)
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["--untrusted", "--client", "codex", "--cache", str(tmp_path / "cache")]
    assert main(words) == 2
    assert "@openai/codex@9.9` failed" in capsys.readouterr().err


def test_a_quick_run_ends_well_where_npm_is_there_and_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    npm(tmp_path, ping=1)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--quick", "--cache", str(tmp_path / "cache")]) == 0
    assert capsys.readouterr().out.startswith("npm does not answer")


def test_the_cache_is_the_users_or_the_chosen_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ULLAGE_CLIENTS", raising=False)
    assert default_cache() == tmp_path / "ullage" / "clients"
    monkeypatch.setenv("ULLAGE_CLIENTS", "/elsewhere")
    assert default_cache() == Path("/elsewhere")

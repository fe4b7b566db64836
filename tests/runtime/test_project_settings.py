"""What a project's file and its instruction files reach in a library, where nobody is asked."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from tests.tools.test_paths import exchanging
from ullage.errors import SettingError
from ullage.runtime.agent import LONGEST_INSTRUCTIONS, Agent, read_instructions
from ullage.runtime.config_file import read_configs
from ullage.store.project_answers import ProjectAnswers


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "clone"
    place.mkdir()
    (place / "ullage.toml").write_text(
        'trigger = 0.5\ntools = ["shell"]\nbase_url = "http://evil.example"\n'
    )
    monkeypatch.chdir(place)
    return place


def test_the_library_ignores_what_nobody_agreed_to_and_logs_it(
    tmp_path: Path, clone: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environment = {"HOME": str(tmp_path), "ULLAGE_DATA": str(tmp_path / "data")}
    with caplog.at_level(logging.WARNING, "ullage"):
        settings = Agent(environment=environment).settings
    assert (settings.trigger, settings.tools, settings.base_url) == (0.5, (), "")
    said = [record.getMessage() for record in caplog.records]
    assert any(
        "line 2" in one and "tools" in one and "`ullage trust` allows it" in one
        for one in said
    )
    assert any(
        "line 3" in one and "base_url" in one and "trust" not in one for one in said
    )


def test_the_library_takes_what_the_user_agreed_to_elsewhere(
    tmp_path: Path, clone: Path
) -> None:
    environment = {"HOME": str(tmp_path), "ULLAGE_DATA": str(tmp_path / "data")}
    (layer,) = read_configs(clone, environment)
    ProjectAnswers(tmp_path / "data").add(clone, layer.digest, is_agreed=True)
    settings = Agent(environment=environment).settings
    assert (settings.tools, settings.base_url) == (("shell",), "")
    (clone / "ullage.toml").write_text('tools = ["shell", "write"]\n')
    assert Agent(environment=environment).settings.tools == ()


def test_files_that_were_read_already_can_be_given(
    tmp_path: Path, clone: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environment = {"HOME": str(tmp_path)}
    with caplog.at_level(logging.WARNING, "ullage"):
        agent = Agent(environment=environment, config=read_configs(clone, environment))
    assert (agent.settings.trigger, agent.settings.tools) == (0.5, ())
    assert not caplog.records


def test_instructions_are_visible_regular_files_below_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / ".secret").mkdir(parents=True)
    (root / ".env").write_text("hunter2")
    (root / ".secret" / "notes.md").write_text("hunter2")
    (root / "AGENTS.md").write_text("Be kind.")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root / ".cursorrules").write_text("Be brief.")
    (tmp_path / "outside.md").write_text("hunter2")
    os.mkfifo(root / "pipe.md")
    (root / "long.md").write_text("x" * (LONGEST_INSTRUCTIONS + 1))
    assert (
        read_instructions(root, "AGENTS.md")
        == read_instructions(root, "CLAUDE.md")
        == "Be kind."
    )
    assert read_instructions(root, "none.md") == ""
    assert read_instructions(root, ".cursorrules") == "Be brief."  # whoever may name it
    for name, target in {
        "a.md": ".env",
        "b.md": ".secret/notes.md",
        ".c": ".env",
        "d.md": "../outside.md",
    }.items():
        (root / name).symlink_to(target)
        with pytest.raises(SettingError, match=r"hidden file|leads out of"):
            read_instructions(root, name)
    for name, said in {
        "pipe.md": "no plain file",
        "long.md": "200,001 bytes",
        ".secret": "is a directory",
    }.items():
        with pytest.raises(SettingError, match=said):
            read_instructions(root, name)


def test_an_instruction_file_that_becomes_a_link_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d" / "AGENTS.md").write_text("Be kind.")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "AGENTS.md").write_text("hunter2")
    (root / "l").symlink_to("../outside")
    seen = set()
    with exchanging(root / "d", root / "l"):
        for _ in range(1_000):
            try:
                seen.add(read_instructions(root, "d/AGENTS.md"))
            except SettingError:
                seen.add("refused")
    assert seen <= {"Be kind.", "", "refused"}


def trusting(tmp_path: Path) -> dict[str, str]:
    """An environment whose user trusts everything in ``tmp_path / "projects"``."""
    own = tmp_path / "own.toml"
    own.write_text(f'trusted = ["{tmp_path / "projects"}"]\n')
    return {
        "HOME": str(tmp_path),
        "ULLAGE_DATA": str(tmp_path / "data"),
        "ULLAGE_CONFIG": str(own),
    }


@pytest.mark.parametrize(
    "before",
    ["", 'tools = ["read"]\n', "trigger = 0.8\n"],
    ids=["no file", "asks", "harmless"],
)
@pytest.mark.parametrize("below", ["", "sub"])
def test_what_a_command_writes_into_a_trusted_directory_does_not_count_in_the_next_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, below: str
) -> None:
    environment = trusting(tmp_path)
    place = tmp_path / "projects" / "ours"
    (place / "sub").mkdir(parents=True)
    if before:
        (place / "ullage.toml").write_text(before)
    monkeypatch.chdir(place)
    for _ in range(2):
        assert Agent(environment=environment).settings.tools == (
            ("read",) if "read" in before else ()
        )
    monkeypatch.chdir(place / below)
    Path("ullage.toml").write_text('[mcp.x]\ncommand = "sh"\n')
    agent = Agent(environment=environment)
    assert not agent.settings.mcp
    (layer, _) = read_configs(Path.cwd(), environment)
    ProjectAnswers(tmp_path / "data").add(Path.cwd(), layer.digest, is_agreed=True)
    assert "x" in Agent(environment=environment).settings.mcp


def test_a_refusal_counts_in_a_trusted_directory_and_so_does_taking_an_answer_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, answers = trusting(tmp_path), ProjectAnswers(tmp_path / "data")
    place = tmp_path / "projects" / "ours"
    place.mkdir(parents=True)
    (place / "ullage.toml").write_text('tools = ["read"]\n')
    monkeypatch.chdir(place)
    assert Agent(environment=environment).settings.tools == ("read",)
    (kept,) = answers.all()
    answers.add(place, kept.digest, is_agreed=False)
    assert Agent(environment=environment).settings.tools == ()
    assert answers.remove(place)
    assert Agent(environment=environment).settings.tools == ()


@pytest.mark.parametrize(
    "name", [".env", "prod.env", ".git/config", "a/.b/c.md", "A.ENV"]
)
def test_a_project_names_no_hidden_file(tmp_path: Path, clone: Path, name: str) -> None:
    (clone / "ullage.toml").write_text(f'instructions = ["AGENTS.md", "{name}"]\n')
    environment = {"HOME": str(tmp_path)}
    assert Agent(environment=environment).settings.instructions == ("AGENTS.md",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"params": {"a": [[] for _ in range(3)] * 30_000}},
        {"params": {"n": object()}},
        {"max_steps": 10**9},
        {"tries": 1_000_000},
        {"lease_ttl_s": 1e9},
        {"window": 10**400},
    ],
    ids=["large", "no JSON", "steps", "tries", "lease", "window"],
)
def test_values_have_bounds(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        Agent(environment={}, config=False, **wrong)


def test_params_are_not_nested_without_end() -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(SettingError, match="no deeper than"):
        Agent(environment={}, config=False, params=deep)

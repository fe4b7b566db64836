"""What a project's file and its instruction files reach in a library, where nobody is asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.tools.test_paths import exchanging
from ullage.errors import SettingError
from ullage_agent.runtime.agent import Agent, instruction_file
from ullage_agent.runtime.config_file import read_configs
from ullage_agent.runtime.policy import LONGEST_INSTRUCTIONS


def test_the_library_refuses_what_a_project_can_t_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "ullage.toml"
    file.write_text('system = "Be brief."\n')
    environment = {"HOME": str(tmp_path / "home")}
    assert Agent(environment=environment).settings.system == "Be brief."
    for line in ('tools = ["shell"]', 'base_url = "http://evil.example"', "[mcp.x]"):
        file.write_text(f'system = "Be brief."\n{line}\n')
        with pytest.raises(SettingError, match="line 2: a project's file can't set"):
            Agent(environment=environment)
        with pytest.raises(SettingError, match="line 2: a project's file can't set"):
            read_configs(tmp_path, environment)
    assert Agent(environment=environment, config=False).settings.system == ""


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
        instruction_file(root, "AGENTS.md")
        == instruction_file(root, "CLAUDE.md")
        == "Be kind."
    )
    assert instruction_file(root, "none.md") == ""
    assert instruction_file(root, ".cursorrules") == "Be brief."  # whoever may name it
    for name, target in {
        "a.md": ".env",
        "b.md": ".secret/notes.md",
        ".c": ".env",
        "d.md": "../outside.md",
    }.items():
        (root / name).symlink_to(target)
        with pytest.raises(SettingError, match=r"hidden file|leads out of"):
            instruction_file(root, name)
    for name, said in {
        "pipe.md": "no plain file",
        "long.md": "200,001 bytes",
        ".secret": "is a directory",
    }.items():
        with pytest.raises(SettingError, match=said):
            instruction_file(root, name)


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
                seen.add(instruction_file(root, "d/AGENTS.md"))
            except SettingError:
                seen.add("refused")
    assert seen <= {"Be kind.", "", "refused"}


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

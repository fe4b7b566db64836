import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from ullage.cli.parser import parser
from ullage.errors import InputError
from ullage.store.memory import MemoryStore
from ullage_agent.cli.agent_options import (
    agent_with_instructions,
    endpoint_settings,
    session_meant,
    tools_settings,
    warn_of,
)
from ullage_agent.cli.run import agent_of
from ullage_agent.runtime.agent import Agent

COMMANDS = (("run", "hello"), ("serve",), ("chat",))


def options(*words: str) -> argparse.Namespace:
    return parser().parse_args(words)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without a file of settings above or beside it, and no variables that say any."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("ULLAGE_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_share_the_options_of_the_endpoint(command: tuple[str, ...]) -> None:
    endpoint = "--base-url http://h/v1 --wire chat --window 20k --max-output 1k"
    more = "--system Be. --strategy clear,summary --count never"
    said = options(*command, *f"{endpoint} {more}".split())
    assert said.system == "Be."
    assert endpoint_settings(said) == {
        "base_url": "http://h/v1",
        "wire": "chat",
        "window": 20_000,
        "max_output": 1_000,
        "strategy": "clear,summary",
        "count": "never",
    }
    assert endpoint_settings(options(*command)) == {}


def test_none_names_no_tools_and_silence_leaves_them_to_the_environment() -> None:
    given: dict[str, Any] = {"environment": {"ULLAGE_TOOLS": "list"}, "config": False}
    for said, names in (("read,shell", ("read", "shell")), ("none", ()), ("", ("list",))):
        agent = agent_with_instructions(
            **given, **tools_settings(options("chat", "--tools", said))
        )
        assert agent.settings.tools == names


def test_the_usual_instructions_are_read_where_nobody_names_others() -> None:
    usual = agent_with_instructions(
        "anthropic:claude-haiku-4-5", environment={}, config=False, window=9_000
    )
    assert usual.settings.instruction_files == ("AGENTS.md",)
    assert usual.settings.model == "anthropic:claude-haiku-4-5"
    assert usual.settings.window == 9_000
    other = agent_with_instructions(
        environment={"ULLAGE_INSTRUCTION_FILES": "HOUSE.md"}, config=False
    )
    assert other.settings.instruction_files == ("HOUSE.md",)


def test_run_s_agent_is_what_the_command_line_says(place: Path) -> None:
    words = f"--model anthropic:m --tools read,shell --window 20k --max-steps 7 --root {place}"
    more = "--system Be. --strategy clear,summary --count never"
    settings = agent_of(options("run", "hello", *f"{words} {more}".split())).settings
    assert (settings.strategy, settings.count) == (("clear", "summary"), "never")
    assert settings.model == "anthropic:m"
    assert settings.tools == ("read", "shell")
    assert settings.window == 20_000
    assert (settings.max_steps, settings.root, settings.system) == (7, place, "Be.")


def test_what_changes_things_asks_first_in_run_unless_a_file_or_a_variable_says_otherwise(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = options("run", "hello")
    assert agent_of(asked).settings.approve == ("write", "edit", "shell", "mcp")
    file = place / ".config" / "ullage" / "ullage.toml"
    file.parent.mkdir(parents=True)
    file.write_text('approve = ["shell"]\nmax_steps = 3\n')
    assert agent_of(asked).settings.approve == ("shell",)
    assert agent_of(asked).settings.max_steps == 3
    monkeypatch.setenv("ULLAGE_APPROVE", "write")
    assert agent_of(asked).settings.approve == ("write",)


@pytest.mark.program
@pytest.mark.parametrize("yes", [True, False])
def test_a_root_that_holds_the_home_directory_is_named_as_the_cause(
    yes: bool, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of(
        agent_of(options("run", "hello", "--tools", "shell", "--root", str(place))),
        yes=yes,
    )
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning == (
        f"Warning: Commands of shell are not confined, so each one needs approval: {place} holds the home directory, "
        "with files that start programs and hold keys; choose another --root, such as the directory of one project."
    ) + (" --yes gives it without asking." if yes else "")


async def test_a_random_id_is_meant_by_its_beginning_or_end_and_a_chosen_one_by_all_of_it(
    place: Path,
) -> None:
    random = ("20261128-5f2a9c1e", "20261129-5f2b0000", "20261129-77aa0000")
    agent = Agent("ollama:m", store=MemoryStore(), config=False, environment={})
    for name in (*random, "cask-2", "the-cask"):
        async with agent.session(name, resume=False):
            pass
    for said, meant in (
        ("20261128-", random[0]),
        ("20261129-5f", random[1]),
        ("9c1e", random[0]),
        ("cask-2", "cask-2"),
    ):
        assert await session_meant(agent, said) == (meant, True)
    for said in ("cask", "c1e", "20261129"):
        assert await session_meant(agent, said) == (said, False)
    assert await session_meant(agent, "") == ("", False)
    with pytest.raises(InputError, match=r"of 2 sessions: .*Give more of it"):
        await session_meant(agent, "20261129-")

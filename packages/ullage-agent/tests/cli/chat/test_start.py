from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.chat.simulator import talking
from ullage.cli.parser import parser
from ullage.errors import SessionNotFound, SettingError
from ullage_agent.chat.start import (
    _tidied,
    agent_of,
    environment_for,
    is_full_screen,
    lacking,
    no_model,
    opened,
    resume_command,
    run,
)
from ullage_agent.cli.agent_options import session_settings
from ullage_agent.cli.simulated import Simulated
from ullage_agent.runtime.agent import Agent


def test_a_dumb_or_unnamed_terminal_and_a_pipe_get_no_full_screen() -> None:
    assert not is_full_screen({"TERM": "dumb"})
    assert not is_full_screen({})


def test_a_script_needs_the_simulator() -> None:
    with pytest.raises(SettingError, match="--simulate"):
        run(parser().parse_args(["chat", "--scenario", "x"]))


async def test_a_session_in_which_nothing_was_said_is_not_kept(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.host.forget("test")
        assert not await _tidied(talk.store, "test")
        with pytest.raises(SessionNotFound):
            await talk.store.about("test")
        session = await talk.host.begin("kept", {"model": "anthropic:claude-sonnet-4-6"})
        await session.ask("hello")
        await talk.host.forget("kept")
        assert await _tidied(talk.store, "kept")


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ((), "sessions.db"),
        (("--store", ":memory:"), "memory"),
        (("--store", "sqlite://"), "memory"),
    ],
)
def test_sessions_are_stored_where_the_option_says(
    options: tuple[str, ...], place: str
) -> None:
    args = parser().parse_args(["chat", *options])
    assert agent_of(args).stored_in.rpartition("/")[2] == place
    assert "/:memory:" not in resume_command(args, "s")


SIMULATOR = Simulated("anthropic:claude-sonnet-4-6", {"ANTHROPIC_API_KEY": "simulated"})


def test_changes_ask_first_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = parser().parse_args(["chat"])
    plain = agent_of(asked).settings
    assert plain.tools == ("read", "list", "search")
    assert plain.approve == ("write", "edit", "shell", "mcp")
    monkeypatch.setenv("ULLAGE_APPROVE", "shell")
    assert agent_of(asked).settings.approve == ("shell",)


def test_with_a_simulator_no_other_key_can_be_reached() -> None:
    held = environment_for(
        {"OPENAI_API_KEY": "real", "ANTHROPIC_API_KEY": "real", "HOME": "/h"}, SIMULATOR
    )
    assert "real" not in held.values()
    assert held["ANTHROPIC_API_KEY"] == "simulated"
    assert held["HOME"] == "/h"


def test_what_runs_and_where_is_the_launch_s_and_the_model_is_stored_with_the_session(
    tmp_path: Path,
) -> None:
    words = (
        "--model",
        "ollama:b",
        "--tools",
        "read,shell",
        "--window",
        "20k",
        "--root",
        str(tmp_path),
    )
    args = parser().parse_args(
        ["chat", *words, "--base-url", "http://h/v1", "--store", str(tmp_path / "s.db")]
    )
    assert session_settings(args) == {"model": "ollama:b", "window": 20_000}
    settings = agent_of(args, SIMULATOR).settings
    assert settings.tools == ("read", "shell")
    assert settings.root == tmp_path
    assert settings.base_url == "http://h/v1"
    assert session_settings(parser().parse_args(["chat"])) == {}
    none = parser().parse_args(
        ["chat", "--tools", "none", "--store", str(tmp_path / "s.db")]
    )
    assert agent_of(none, SIMULATOR).settings.tools == ()


def test_the_resume_command_names_what_the_session_lacks(tmp_path: Path) -> None:
    place = tmp_path / "a b"
    words = [
        "chat",
        "--simulate",
        "--tools",
        "read,shell",
        "--root",
        str(place),
        "--sandbox",
        "off",
    ]
    command = resume_command(
        parser().parse_args([*words, "--store", str(place / "s.db"), "--model", "m"]),
        "5f2a",
    )
    assert shlex.split(command)[1:] == [
        *("chat", "--simulate", "--store", str(place / "s.db"), "--tools", "read,shell"),
        *("--root", str(place), "--sandbox", "off", "--session", "5f2a"),
    ]
    found = resume_command(parser().parse_args(["chat"]), "5f2a")
    assert found == "ullage chat --session 5f2a"


def test_what_lacks_is_said_with_the_variable_that_holds_it() -> None:
    agent = Agent(environment={}, config=False)
    assert "--model" in lacking(agent, {}, {})
    found = lacking(agent, {"model": "anthropic:claude-haiku-4-5"}, {})
    assert "ANTHROPIC_API_KEY" in found
    given = lacking(
        agent, {"model": "anthropic:claude-haiku-4-5"}, {"ANTHROPIC_API_KEY": "k"}
    )
    assert given == ""
    assert lacking(agent, {"model": "ollama:qwen3"}, {}) == ""
    assert "--simulate" in str(no_model("No model."))


async def test_continue_takes_the_newest_and_options_change_it(tmp_path: Path) -> None:
    async with talking(tmp_path, session="old") as talk:
        newer = await talk.host.begin("newer", {"model": "anthropic:claude-haiku-4-5"})
        await newer.ask("hello")
        args = parser().parse_args(["chat", "--continue", "--window", "20k"])
        session = await opened(talk.host, args, SIMULATOR)
        assert session.id == "newer"
        assert (await session._look()).ledger.loop.settings["window"] == 20_000
        begun = await opened(
            talk.host, parser().parse_args(["chat", "--session", "mine"]), SIMULATOR
        )
        assert begun.id == "mine"
        assert (await begun._look()).ledger.loop.settings["model"] == SIMULATOR.model

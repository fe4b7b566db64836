"""What ``ullage mcp --recall`` finds in the logs of other programs, and which session it takes."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tests.cli.claude_logs import SESSION, ClaudeLog
from ullage.cli import mcp_server
from ullage.cli.mcp_answers import AnswerRules
from ullage.cli.mcp_recall import OldText
from ullage.errors import InputError, SettingError

FACT = "the bung of cask nine is number 48213"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    place = tmp_path / "shop"
    place.mkdir()
    monkeypatch.chdir(place)
    return tmp_path


def test_the_exact_line_is_found_once_it_left(home: Path) -> None:
    log = ClaudeLog(home)
    log.user(f"Note that {FACT}.")
    log.said("Noted.")
    old = OldText()
    assert FACT not in old.recalled(AnswerRules(), "bung nine")["text"]
    log.compact()
    answer = old.recalled(AnswerRules(), "bung nine")
    assert f"1:0 user: Note that {FACT}." in answer["text"]
    assert answer["session"] == log.id
    log.user("And the lid is 777123.")
    log.said("Noted.")
    log.compact()
    assert "777123" in old.recalled(AnswerRules(), "lid")["text"]
    assert FACT in old.recalled(AnswerRules(), read="1:0")["text"]


def test_two_sessions_of_a_directory_are_told_apart_by_a_quote(home: Path) -> None:
    old = OldText()
    for number in (1, 2):
        log = ClaudeLog(home, number)
        log.user(f"The lid of cellar {number} is oak.")
        log.said("Noted.")
        log.compact()
        log.user(f"Which lid has\ncellar {number}?")
        log.said("One moment.")
    with pytest.raises(InputError, match="2 sessions of this directory are in use"):
        old.recalled(AnswerRules(), "lid")
    answer = old.recalled(AnswerRules(), "lid", quote="Which lid has cellar 2?")
    assert "cellar 2 is oak" in answer["text"] and "cellar 1" not in answer["text"]
    named = old.recalled(AnswerRules(), "lid", session=f"{SESSION}1")
    assert "cellar 1 is oak" in named["text"]
    with pytest.raises(InputError, match="Call again"):
        old.recalled(AnswerRules(), "lid", quote="something else")


def test_a_session_of_another_directory_is_not_reached(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ClaudeLog(home)
    log.user(f"Note that {FACT}.")
    log.said("Noted.")
    log.compact()
    monkeypatch.chdir(home)
    for session in ("", log.id):
        with pytest.raises(InputError, match=r"[Nn]o session"):
            OldText().recalled(AnswerRules(), "bung", session=session)


async def test_recall_is_offered_only_where_it_was_switched_on() -> None:
    usual = await mcp_server.server_of(AnswerRules()).list_tools()
    more = await mcp_server.server_of(AnswerRules(), recalls=True).list_tools()
    assert {tool.name for tool in more} - {tool.name for tool in usual} == {"recall"}


def test_recall_and_no_content_exclude_each_other() -> None:
    args = argparse.Namespace(recall=True, no_content=True, here=False, agent="")
    with pytest.raises(SettingError, match="--no-content forbids it"):
        mcp_server.run(args)

"""What ``ullage mcp --recall`` finds in the logs of other programs, and which session it takes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from ullage.cli import mcp_server
from ullage.cli.mcp_answers import AnswerRules
from ullage.cli.mcp_recall import OldText
from ullage.errors import InputError, SettingError

SESSION = "5e0a1c2e-0000-4000-8000-00000000000"
FACT = "the bung of cask nine is number 48213"


class ClaudeLog:
    """A log of Claude Code of a session in the current directory."""

    def __init__(self, home: Path, number: int = 1) -> None:
        self.id = f"{SESSION}{number}"
        self.path = home / ".claude/projects/shop" / f"{self.id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.count = 0

    def add(self, kind: str, **more: Any) -> None:
        parent = f"e{self.count}" if self.count else None
        self.count += 1
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "cwd": str(Path.cwd()),
            "sessionId": self.id,
            "version": "2.1.7",
            "type": kind,
            "uuid": f"e{self.count}",
            "timestamp": f"2026-02-03T10:{self.count:02}:00.000Z",
            **more,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def user(self, text: str, **more: Any) -> None:
        self.add("user", message={"role": "user", "content": text}, **more)

    def said(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        usage = {"input_tokens": 500, "output_tokens": 10}
        answer = {"id": f"msg_{self.count}", "role": "assistant", "content": content}
        self.add(
            "assistant", message={**answer, "usage": usage, "model": "claude-opus-4-6"}
        )

    def compact(self) -> None:
        self.add("system", subtype="compact_boundary", content="Conversation compacted")
        self.user("The user looks at casks.", isCompactSummary=True)
        self.said("Go on.")


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

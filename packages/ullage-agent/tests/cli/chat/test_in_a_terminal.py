from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.chat.terminal import PATIENCE_S, STORY, Terminal, scenario
from tests.tiers import first_of
from ullage.events import (
    Event,
    MessageAdded,
    Queued,
    QueueLeft,
    ToolEnded,
    TurnEnded,
)
from ullage.store.sqlite.store import SqliteStore

PRINTS = {"command": "cat huge.txt"}
STEP = {"when": {"contains": "sleep", "after": "user"}, "text": "I run it."}
SLEEPS = {
    **STEP,
    "calls": [{"name": "shell", "arguments": {"command": "echo begun; sleep 60"}}],
}
TALE = {
    "when": {"contains": "story", "after": "user"},
    "text": f"# The cask\n\n**Once** upon a time. {STORY}",
}
RICH = {
    "when": {"contains": "rich", "after": "user"},
    "text": "# Title\n\nSome **bold** text.\n\n- one\n- two\n\n```python\nprint('hello')\n```\n",
}
EDITS = {
    "when": {"contains": "patch", "after": "user"},
    "text": "I change it.",
    "calls": [
        {
            "name": "edit",
            "arguments": {"path": "notes.txt", "old": "wine\n", "new": "good wine\n"},
        }
    ],
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "notes.txt").write_text("bread\nwine\n")
    yield tmp_path


def chat(
    place: Path, *more: str, width: int = 80, height: int = 24, **environment: str
) -> Terminal:
    script = scenario(place, TALE, SLEEPS, RICH, EDITS)
    words = ("chat", "--simulate", "--scenario", script, "--window", "1M", *more)
    return Terminal(place, *words, width=width, height=height, **environment)


async def stored(place: Path, session: str) -> list[Event]:
    """The session's events, read past the program."""
    store = SqliteStore(place / "data" / "simulated" / "sessions.db")
    try:
        return await store.read(session)
    finally:
        await store.close()


def session_of(screen: str) -> str:
    found = re.search(r"--session (\S+)", screen)
    assert found, screen
    return found[1]


def test_ctrl_c_leaves_the_session_whole_and_it_can_be_gone_on_with(place: Path) -> None:
    with chat(place) as terminal:
        terminal.wait_for("ready")
        terminal.say("tell me a story")
        terminal.wait_for("writing")
        terminal.keys("C-c")
        terminal.wait_for(
            "Ctrl+C again leaves", "goes on when the session is opened again"
        )
        terminal.keys("C-c")
        session = session_of(terminal.wait_for("ended with 0", "--session"))
        terminal.start(
            "chat", "--simulate", "--scenario", str(place / "scenario.json"), "--continue"
        )
        screen = terminal.wait_for(session, "> tell me a story", "The cask")
        assert "The cask" in screen
        terminal.keys("Escape")
        terminal.wait_for("cancelled", "ready")


@pytest.mark.sweep
async def test_a_killed_chat_loses_nothing_that_was_shown_or_sent(place: Path) -> None:
    with chat(place) as terminal:
        terminal.wait_for("ready")
        terminal.say("tell me a story")
        terminal.wait_for("writing", "Sentence 2 ")
        terminal.type("when you are done: thanks")
        terminal.keys("Tab")
        shown = terminal.wait_for("then  when you are done: thanks")
        last = max(
            int(number)
            for number in re.findall(r"Sentence (\d+) of the story is told", shown)
        )
        terminal.kill()
        terminal.start(
            "chat", "--simulate", "--scenario", str(place / "scenario.json"), "--continue"
        )
        terminal.wait_for("> tell me a story")
        terminal.press_until("Escape", "ready")
        session = session_of(leave(terminal))
    events = await stored(place, session)
    said = [event.message for event in events if isinstance(event, MessageAdded)]
    answers = [
        "".join(getattr(part, "text", "") for part in message.parts) for message in said
    ]
    assert any(f"Sentence {last} of the story is told" in text for text in answers)
    queued = {event.message.id for event in events if isinstance(event, Queued)}
    left = [event.message_id for event in events if isinstance(event, QueueLeft)]
    assert sorted(left) == sorted(queued)


def leave(terminal: Terminal) -> str:
    """Clear the input and leave; gives the screen after it."""
    terminal.keys("C-q")
    return terminal.wait_for("ended with", "--session")


@pytest.mark.parametrize("how", first_of([signal.SIGHUP, signal.SIGTERM, signal.SIGINT]))
async def test_a_signal_ends_it_in_order(place: Path, how: signal.Signals) -> None:
    with chat(place, "--tools", "shell", "--session", "told-to-end") as terminal:
        terminal.wait_for("ready")
        terminal.say("please sleep")
        terminal.wait_for("Allow? shell")
        terminal.answer("y", "running shell")
        terminal.kill(how)
    events = await stored(place, "told-to-end")
    assert not any(isinstance(event, TurnEnded) for event in events)
    assert not any(isinstance(event, ToolEnded) for event in events)


@pytest.mark.sweep
async def test_it_ends_when_its_terminal_disappears_while_it_draws(place: Path) -> None:
    with chat(place, "--session", "left-alone") as terminal:
        terminal.wait_for("ready")
        terminal.say("tell me a story")
        terminal.wait_for("writing", "Sentence 2 ")
        pid = terminal.pid
        terminal.close_window()
        end = time.monotonic() + PATIENCE_S
        while lives(pid) and time.monotonic() < end:
            await asyncio.sleep(0.1)
        assert not lives(pid)


def lives(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_no_color_uses_no_colour(place: Path) -> None:
    with chat(place, NO_COLOR="1") as terminal:
        terminal.wait_for("ready")
        terminal.say("something rich please")
        terminal.wait_for("print", "ready")
        coloured = re.findall(
            r"\x1b\[[\d;]*(?:3[1-7]|4[1-7]|9\d|38;|48;)[\d;]*m",
            terminal.screen(colours=True),
        )
        assert not coloured


@pytest.mark.sweep
def test_hostile_and_huge_text_is_shown_as_text_and_freezes_nothing(place: Path) -> None:
    hostile = "\x1b[2J\x1b[31mred\x1b]0;title\x07 [bold]markup[/bold] \u202eback"
    (place / "huge.txt").write_text("0123456789abcdef\n" * 300_000)
    script = scenario(
        place,
        {"when": {"contains": "evil", "after": "user"}, "text": hostile},
        {
            "when": {"contains": "huge", "after": "user"},
            "calls": [{"name": "shell", "arguments": PRINTS}],
        },
        {"when": {"contains": "xxxx", "after": "user"}, "text": "That was long."},
        delay_s=0,
    )
    more = (
        "--tools",
        "shell",
        "--root",
        str(place),
        "--session",
        "huge",
        "--window",
        "1M",
    )
    with Terminal(place, "chat", "--simulate", "--scenario", script, *more) as terminal:
        terminal.wait_for("ready")
        terminal.say("something evil")
        screen = terminal.wait_for(
            "␛[2J␛[31mred␛]0;title", "[bold]markup[/bold]", "ready"
        )
        assert "> something evil" in screen
        terminal.paste("x" * 200_000)
        terminal.wait_for("[pasted 1: 200,000 characters]")
        terminal.keys("Enter")
        terminal.wait_for("more characters", "That was long.", "ready")
        terminal.say("something huge")
        terminal.wait_for("Allow? shell")
        terminal.answer("y", "5,100,000 bytes in all")
        terminal.wait_for("ready")
        terminal.say("/help")
        terminal.wait_for("/quit")


def test_without_a_key_it_says_what_to_set_and_offers_the_simulator(place: Path) -> None:
    with Terminal(place, "chat", "--model", "anthropic:claude-haiku-4-5") as terminal:
        terminal.wait_for("ANTHROPIC_API_KEY", "simulated model", "[Y/n]")
        terminal.say("y")
        terminal.wait_for("ready", "claude-simulated")
        terminal.say("hello")
        terminal.wait_for("You said: hello")

"""Draws the picture of `ullage top` that the documentation shows.

    uv run python -m scripts.screenshot_top [PICTURE]

It runs in tmux, in a home of its own with the tests' logs of several programs, one of which grows while it runs.
PICTURE is ``docs/images/top.svg`` unless named.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from rich.ansi import AnsiDecoder

from scripts.terminal_pictures import svg, write
from scripts.tmux_pane import TmuxPane

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "packages" / "ullage" / "tests" / "importers" / "fixtures"
WIDTH, HEIGHT = 132, 14
PANE = TmuxPane("ullage-top-picture", "ullage top", patience_s=30)
BEFORE, GROWN = "32,207", "+3,257"
"""What the first log comes to before it grows, and by how much it grows then."""

DATE: Final = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


class Log(NamedTuple):
    """A log, where its program keeps it, and how long ago it was written to."""

    source: Path
    place: str
    age: timedelta
    directory: str
    """What its directory is called in the picture."""


LOGS: Final = (
    Log(
        ROOT / "examples" / "session.jsonl",
        ".claude/projects/kettle/3d2b6c1e.jsonl",
        timedelta(seconds=2),
        "kettle",
    ),
    Log(
        FIXTURES / "codex" / "session.jsonl",
        ".codex/sessions/2026/01/02/rollout-2026-01-02T08-00-00-5b1d.jsonl",
        timedelta(seconds=40),
        "teapot",
    ),
    Log(
        FIXTURES / "pi" / "session.jsonl",
        ".pi/agent/sessions/cellar/7a90.jsonl",
        timedelta(minutes=3),
        "cellar",
    ),
    Log(
        FIXTURES / "qwen_code" / "session.jsonl",
        ".qwen/projects/herbs/chats/c41f.jsonl",
        timedelta(minutes=12),
        "herbs",
    ),
    Log(
        FIXTURES / "gemini_cli" / "session.jsonl",
        ".gemini/tmp/cups/chats/session-2026-01-02.jsonl",
        timedelta(minutes=31),
        "cups",
    ),
)


def as_of_today(text: str, age: timedelta) -> str:
    """The log with its times moved, so that its last line was written a while ago."""
    found = DATE.findall(text)
    if not found:
        return text
    last = max(_time(each) for each in found)
    shift = datetime.now(UTC) - age - last

    def moved(match: re.Match[str]) -> str:
        when = _time(match.group()) + shift
        return when.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    return DATE.sub(moved, text)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def place(log: Log, home: Path) -> Path:
    path = home / log.place
    path.parent.mkdir(parents=True, exist_ok=True)
    text = as_of_today(log.source.read_text(), log.age)
    text = re.sub(r'"cwd": ?"[^"]*"', f'"cwd":"/home/ann/{log.directory}"', text)
    path.write_text(text)
    at = time.time() - log.age.total_seconds()
    os.utime(path, (at, at))
    return path


def pane(home: Path) -> str:
    """What the terminal shows after a log has grown, with its colours."""
    growing = place(LOGS[0], home)
    whole = growing.read_bytes().splitlines(keepends=True)
    growing.write_bytes(b"".join(whole[:-6]))
    for log in LOGS[1:]:
        place(log, home)
    size = ("-x", str(WIDTH), "-y", str(HEIGHT))
    command = ("env", f"HOME={home}", sys.executable, "-m", "ullage", "top")
    PANE.tmux("new-session", "-d", *size, *command)
    PANE.wait_for(BEFORE)
    growing.write_bytes(b"".join(whole))
    PANE.wait_for(GROWN)
    shown = PANE.tmux("capture-pane", "-p", "-e")
    PANE.tmux("send-keys", "q")
    PANE.tmux("kill-server")
    return shown


def drawn(shown: str) -> str:
    """The screen as an SVG picture."""
    lines = AnsiDecoder().decode(shown.rstrip())
    return svg(lines, "ullage top", WIDTH, "ullage-top", "truecolor")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tea") as home:
        write("top.svg", drawn(pane(Path(home))), sys.argv[1:])

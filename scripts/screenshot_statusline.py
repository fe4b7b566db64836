"""Draws the picture of the status line in Claude Code that the documentation shows.

    uv run python -m scripts.screenshot_statusline CLAUDE [PICTURE]

CLAUDE is the program (npm install @anthropic-ai/claude-code). It runs in tmux, in a home of its own, against a
simulated provider; `ullage install claude-code` puts the status line there. PICTURE is
``docs/images/statusline.svg`` unless named.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.text import Text

from scripts.terminal_pictures import svg, write
from scripts.tmux_pane import TmuxPane
from ullage_simulators import read, running

WIDTH, HEIGHT = 100, 31
PANE = TmuxPane("ullage-picture", "Claude Code", patience_s=60)
MODEL = "claude-opus-4-6"
NOTICE = ("▎", "│", "┃", "▌", "▏", "▍", "❘")
"""How a line of Claude Code's own announcements begins; they are not in the picture."""

NOTES = "The pot is warmed, the leaves are weighed, and the water is poured over them at once.\n"
ANSWER = "Green tea steeps for two minutes at 75 °C; black tea for four at 98 °C. The notes say it for 41 kinds."


def scenario(notes: Path) -> dict[str, object]:
    """What the simulated model does: it reads the notes, then answers."""
    look = {"name": "Read", "arguments": {"file_path": str(notes)}}
    return {
        "answers": [
            {"when": {"after": "user"}, "text": "I read the notes.", "calls": [look]},
            {"when": {"after": "tool"}, "text": ANSWER},
        ],
        "drawn": {"factor": 1.0},
    }


def prepared(home: Path, project: Path) -> None:
    """A home in which Claude Code asks nothing, and the status line is installed."""
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    configuration = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["any"], "rejected": []},
        "projects": {str(project): trusted},
    }
    (home / ".claude").mkdir()
    (home / ".claude.json").write_text(json.dumps(configuration))
    settings = {"permissions": {"allow": ["Read"]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    ullage = [sys.executable, "-m", "ullage", "install", "claude-code", "--yes"]
    subprocess.run(ullage, check=True, env={"HOME": str(home)})


def pane(claude: str, place: Path, url: str) -> str:
    """What the terminal shows after one prompt, with its colours."""
    home, project = place, place / "kettle"
    prepared(home, project)
    variables = {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "any",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    words = [f"{name}={value}" for name, value in variables.items()]
    size = ("-x", str(WIDTH), "-y", str(HEIGHT))
    program = ("env", *words, claude, "--model", MODEL)
    PANE.tmux("new-session", "-d", *size, "-c", str(project), *program)
    PANE.wait_for("size known at the first answer")
    PANE.tmux("send-keys", "-l", "how long does each tea steep? see notes.md")
    PANE.wait_for("see notes.md")
    PANE.tmux("send-keys", "Enter")
    PANE.wait_for("largest Read notes.md")
    PANE.wait_for("of what was left")
    PANE.wait_for("done")
    shown = PANE.tmux("capture-pane", "-p", "-e")
    PANE.tmux("kill-server")
    return shown


def drawn(shown: str) -> str:
    """The screen as an SVG picture."""
    found = map(Text.from_ansi, shown.rstrip().split("\n")[:-1])  # the last: its own mode
    lines = (text for text in found if text.plain[:1] not in NOTICE)
    return svg(lines, "claude", WIDTH, "ullage-statusline", "truecolor")


def run(make: Callable[[str, Path, str], str], claude: str) -> str:
    """Claude Code's screen, with everything it needs around it."""
    with tempfile.TemporaryDirectory(prefix="tea", ignore_cleanup_errors=True) as place:
        root = Path(place)
        (root / "kettle").mkdir()
        notes = root / "kettle" / "notes.md"
        notes.write_text(NOTES * 700)
        with running(read(scenario(notes)), seed=1) as server:
            return make(claude, root, server.url("anthropic"))


def main(arguments: list[str]) -> None:
    if not arguments:
        raise SystemExit(
            "Name the program: scripts.screenshot_statusline CLAUDE [PICTURE]"
        )
    write("statusline.svg", drawn(run(pane, arguments[0])), arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])

"""The first picture of the README: the sample session, and below it the status line of Claude Code at that moment.

    uv run python -m scripts.first_window_picture [PICTURE]

PICTURE is ``docs/images/first-window.svg`` unless named; it follows its reader's light or dark. The line is what
``ullage install claude-code`` puts there, for the same log.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Final

from scripts.terminal_pictures import write
from ullage.measure import picture_of_log
from ullage_programs.claude_code.status import status_line
from ullage_programs.line.settings import LineSettings

LOG: Final = Path(__file__).parents[1] / "examples" / "session.jsonl"
STATUS: Final = {
    "transcript_path": str(LOG),
    "cwd": "/home/ann/teashop",
    "model": {"id": "claude-opus-4-6"},
    "version": "2.1.332",
    "context_window": {"context_window_size": 200_000},
    "cost": {"total_cost_usd": 9.13},
}
"""What Claude Code tells a status line of this session."""

WIDTH, CARD, STRIP = 1000, 620, 100
MARGIN, LETTER = 28, 8.1
STYLES: Final = {"31": "bad", "33": "warn", "32": "s4", "0": "ink", "": "ink"}
"""Classes of the picture, by the colours of the line."""


def line_of(text: str, y: int) -> str:
    """A line of a terminal with its colours."""
    drawn: list[str] = []
    x = MARGIN + 16.0
    for colour, piece in re.findall(r"(?:\x1b\[(\d+)m)?([^\x1b]+)", text):
        room = LETTER * len(piece)
        drawn.append(
            f'<text x="{x:.1f}" y="{y}" class="{STYLES[colour]}" textLength="{room:.1f}"'
            f' lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(piece)}</text>'
        )
        x += room
    return "".join(drawn)


def picture() -> str:
    """The sample session's picture with the status line below."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        told = status_line(dict(STATUS), LineSettings({}))
        card = picture_of_log(LOG).svg()
    plain = re.sub(r"\x1b\[\d+m", "", told)
    rules = "".join(
        f'<rect class="line" x="{MARGIN}" y="{y}" width="{WIDTH - 2 * MARGIN}" height="1"/>'
        for y in (8, 44)
    )
    strip = (
        f'<svg y="{CARD}" width="{WIDTH}" height="{STRIP}" font-size="13.5" font-family="ui-monospace, \'SF Mono\','
        f" Menlo, Consolas, 'DejaVu Sans Mono', monospace\">{rules}{line_of('> ', 31)}"
        f'<rect x="{MARGIN + 36}" y="18" width="8" height="17" class="dim"/>{line_of(told, 68)}</svg>'
    )
    about = re.findall(r"<desc>(.*?)</desc>", card)[0]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ullage" role="img" viewBox="0 0 {WIDTH} {CARD + STRIP}">'
        f"<title>The window of a session, and the status line in Claude Code</title>"
        f"<desc>{about}. {escape(plain)}</desc>"
        f'<rect width="{WIDTH}" height="{CARD + STRIP}" class="paper"/>{card}{strip}</svg>\n'
    )


if __name__ == "__main__":
    write("first-window.svg", picture(), sys.argv[1:])

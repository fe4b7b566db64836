"""The first picture of the README: the sample session, and below it the status line of Claude Code at that moment.

    uv run python -m scripts.first_window_picture

It writes ``docs/images/first-window.svg``, and for telephones ``first-window-narrow.svg``; both follow their reader's
light or dark. The line is what ``ullage install claude-code`` puts there, for the same log.
"""

from __future__ import annotations

import os
import re
import tempfile
from html import escape
from pathlib import Path
from typing import Final

from scripts.terminal_pictures import write
from ullage.advice.sentences import heading_of
from ullage.importers import read
from ullage.picture.model import SessionPicture, groups_of, picture_of
from ullage.picture.shapes import flowed, words
from ullage.picture.style import style
from ullage.picture.svg import advised, figure, gauge, growth, head, key, svg, treemap
from ullage.watching.running import log_meter
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
PHONE, ROOM, TALL = 400, 368, 996
"""The narrow picture: its width, the width of what is drawn in it, and its height."""

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


def told(*items: str) -> str:
    """Claude Code's status line of the session, with all or some of its items."""
    return status_line(
        dict(STATUS), LineSettings({"items": list(items)} if items else {})
    )


def narrow(picture: SessionPicture) -> str:
    """The same in one column, with text that can be read on a telephone."""
    groups = groups_of(picture)
    title, about, share, used = head(picture)
    legend = "".join(
        f'<text class="ink" x="16" y="{190 + 9 * place}">{key(groups[place : place + 2])}</text>'
        for place in (0, 2, 4)
    )
    advice = flowed([(heading_of(picture.advice), "dim", 2)], ROOM)
    for place, (name, saving, *_) in enumerate(advised(picture, 3)[:3]):
        parts = [(name.replace("`", ""), "ink strong", 1), (saving, "accent", 2)]
        advice += f'<svg y="{42 + 56 * place}">{flowed(parts, ROOM)}</svg>'
    line = re.sub(r"\x1b\[\d+m", "", told("bar", "next", "left"))
    return figure(
        f"""\
<style>{style("auto")}</style><rect class="paper" width="{PHONE}" height="{TALL}"/>
<text class="serif ink" x="16" y="36" font-size="17">{words(title)}</text>
<text class="dim" x="16" y="58">{words(about)}</text>
<text class="serif accent" x="16" y="98" font-size="34">{share}</text>
<text class="ink end" x="384" y="96">{used.partition(" (")[0]}{used.partition(")")[2]}</text>
<svg x="16" y="110" width="{ROOM}" height="60">{gauge(picture, groups, ROOM)}</svg>{legend}
<svg x="16" y="240" width="{ROOM}" height="240">{treemap(groups, ROOM, 240)}</svg>
<svg x="16" y="494" width="{PHONE - 16}" height="250">{growth(picture, ROOM)}</svg>
<svg x="10" y="752" width="{ROOM}" height="210">{advice}</svg>
<text class="bad" x="16" y="{TALL - 14}" font-size="11" textLength="{ROOM}" font-family="monospace">\
{escape(line)}</text>""",
        PHONE,
        TALL,
        title,
        f"{share}: {used}",
    )


def wide(card: str) -> str:
    """The sample session's picture with the status line below."""
    line = told()
    plain = re.sub(r"\x1b\[\d+m", "", line)
    rules = "".join(
        f'<rect class="line" x="{MARGIN}" y="{y}" width="{WIDTH - 2 * MARGIN}" height="1"/>'
        for y in (8, 44)
    )
    strip = (
        f'<svg y="{CARD}" width="{WIDTH}" height="{STRIP}" font-size="13.5" font-family="ui-monospace, \'SF Mono\','
        f" Menlo, Consolas, 'DejaVu Sans Mono', monospace\">{rules}{line_of('> ', 31)}"
        f'<rect x="{MARGIN + 36}" y="18" width="8" height="17" class="dim"/>{line_of(line, 68)}</svg>'
    )
    about = re.findall(r"<desc>(.*?)</desc>", card)[0]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ullage" role="img" viewBox="0 0 {WIDTH} {CARD + STRIP}">'
        f"<title>The window of a session, and the status line in Claude Code</title>"
        f"<desc>{about}. {escape(plain)}</desc>"
        f'<rect width="{WIDTH}" height="{CARD + STRIP}" class="paper"/>{card}{strip}</svg>\n'
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        log = read(LOG)
        picture = picture_of(
            log.events, log_meter(log), title=log.title, program=log.program
        )
        write("first-window.svg", wide(svg(picture)))
        write("first-window-narrow.svg", narrow(picture) + "\n")


if __name__ == "__main__":
    main()

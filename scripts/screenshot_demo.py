"""Draws the picture of ``ullage demo`` that the documentation shows: the end of a real run.

    uv run python -m scripts.screenshot_demo [PICTURE]

PICTURE is ``docs/images/demo.svg`` unless said otherwise. The demonstration is played without its pauses, as a process
of its own on a terminal of 80 columns; the picture holds the last lines that it left there.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from rich.text import Text

from scripts.terminal_pictures import svg, write

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT = 80, 50
SHOWN = 62
"""Lines of the end that are shown: the last step, the summary being made, the table, and the window."""

_SEQUENCE = re.compile(r"\x1b\[([\d;]*)([A-Za-z])")
_PIECES = re.compile(r"\x1b\[[\d;]*[A-Za-z]|.", re.DOTALL)


def played(command: Sequence[str], width: int = WIDTH, **variables: str) -> str:
    """All that a command writes to a terminal of this width, with these variables too. Ends the script if it fails."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, width, 0, 0))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "COLUMNS", "LINES")
    }
    environment |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **variables}
    process = subprocess.Popen(
        command, stdin=far, stdout=far, stderr=far, env=environment, cwd=ROOT
    )
    os.close(far)
    written = b""
    while True:
        try:
            more = os.read(near, 65_536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        written += more
    os.close(near)
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}.")
    return written.decode("utf-8")


class Grid:
    """What a terminal shows after what was written to it. Knows the moves that ``ullage`` makes, and colours."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[str, str]]] = [[]]
        self._row = self._column = 0
        self._style = ""

    def write(self, written: str) -> None:
        """Take in more, in whole sequences."""
        for piece in _PIECES.findall(written):
            if (sequence := _SEQUENCE.fullmatch(piece)) is None:
                self._put(piece)
            elif sequence[2] == "m":
                self._style = "" if sequence[1] in ("", "0") else self._style + piece
            else:
                self._move(sequence[2], int(sequence[1] or 1))

    @property
    def lines(self) -> list[str]:
        return [
            "".join(
                _coloured(style, cells)
                for style, cells in groupby(row, key=itemgetter(1))
            )
            for row in self.rows
        ]

    @property
    def texts(self) -> list[str]:
        """The lines without them."""
        return ["".join(char for char, _ in row).rstrip() for row in self.rows]

    def _put(self, char: str) -> None:
        if char == "\r":
            self._column = 0
        elif char == "\n":
            self._row, self._column = self._row + 1, 0
            self.rows += [[] for _ in range(self._row + 1 - len(self.rows))]
        else:
            row = self.rows[self._row]
            row += [(" ", "")] * (self._column + 1 - len(row))
            row[self._column] = (char, self._style)
            self._column += 1

    def _move(self, what: str, count: int) -> None:
        match what:
            case "A":
                self._row = max(0, self._row - count)
            case "C":
                self._column += count
            case "J":
                del self.rows[self._row + 1 :]
                del self.rows[self._row][self._column :]
            case _:
                raise ValueError(f"A terminal sequence that is not known here: {what!r}.")


def _coloured(style: str, cells: Iterable[tuple[str, str]]) -> str:
    text = "".join(char for char, _ in cells)
    return f"{style}{text}\x1b[0m" if style else text


def drawn(written: str, title: str, width: int = WIDTH, shown: int = SHOWN) -> str:
    """The last lines of what was written to a terminal, as an SVG picture."""
    grid = Grid()
    grid.write(written)
    last = max(place for place, text in enumerate(grid.texts) if text)
    lines = map(Text.from_ansi, grid.lines[: last + 1][-shown:])
    return svg(lines, title, width)


def picture() -> str:
    """The end of a run as an SVG picture, without anything of the machine it was drawn on."""
    return drawn(
        played([sys.executable, "-m", "ullage", "demo", "--fast"]), "ullage demo"
    )


if __name__ == "__main__":
    write("demo.svg", picture(), sys.argv[1:])

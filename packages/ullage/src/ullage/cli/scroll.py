"""Lines and text that grow downwards on a terminal, above one line that stays at the bottom.

On a pipe, and on a terminal that can't move its cursor, the lines and texts come alone. Text is broken between words.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from typing import Final

from ullage.cli.screen import PIPE_WIDTH, Screen
from ullage.display.text import Line, cells, cut, safe

WIDEST: Final = 120
"""Columns that text is filled to at most; longer lines are harder to read."""

TAB: Final = "    "

_PIECES: Final = re.compile(r"\n|[ \t]+|[^ \t\n]+")

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Scroll:
    """Writes to one screen. After ``end`` the cursor is at the begin of a line and nothing is left to put right."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.moves = screen.moves
        self._standing: Callable[[int], Line] | None = None
        self._rendered = ""
        self._rendered_width = 0
        self._column = 0
        self._spaces = 0
        self._word = ""
        self._indent = ""
        self._style = ""
        self._is_open = False

    @property
    def width(self) -> int:
        """Columns there are now: a terminal may change its size."""
        return (
            shutil.get_terminal_size().columns if self.screen.is_terminal else PIPE_WIDTH
        )

    @property
    def is_open(self) -> bool:
        """Whether a text stands unfinished on the last line."""
        return self._is_open

    # -- lines --

    def line(self, line: Line) -> None:
        """A line of its own."""
        self.end_text()
        self._put(self.screen.rendered(line) + "\n", column=0)

    def stay(self, standing: Callable[[int], Line]) -> None:
        """What stands at the bottom from now on, drawn for a width. A pipe gets none."""
        self._standing, self._rendered_width = standing, 0
        if self.moves:
            self._put("", column=self._column)

    def end(self) -> None:
        """Finish what is open; the last line stays where it is, and the cursor goes below it."""
        self.end_text()
        if self.moves and self._standing is not None:
            self._put("", column=0)
            self._send("\n")
        self._standing = None

    # -- text that comes in pieces --

    def text(self, piece: str, *, style: str = "", indent: str = "") -> None:
        """More of a text; another style begins a new one. Controls in it are left out."""
        if self._is_open and (style, indent) != (self._style, self._indent):
            self.end_text()
        self._is_open, self._style, self._indent = True, style, indent
        pieces = _PIECES.findall(self._word + safe(piece))
        self._word = pieces.pop() if pieces and not pieces[-1].isspace() else ""
        self._flow(pieces)

    def end_text(self) -> None:
        """The text is whole: the next thing begins on a new line."""
        if not self._is_open:
            return
        word, self._word = self._word, ""
        self._flow([word] if word else [])
        self._is_open, self._spaces = False, 0
        if self._column:
            self._put("\n", column=0)

    def _flow(self, pieces: list[str]) -> None:
        """Lay the pieces out behind what stands there, and write them."""
        width, column, out = min(self.width, WIDEST) - 1, self._column, ""
        for piece in pieces:
            if piece == "\n":
                out, column, self._spaces = out + "\n", 0, 0
            elif piece.isspace():
                self._spaces += len(piece.replace("\t", TAB))
            else:
                for word in _cut(piece, max(8, width - len(self._indent))):
                    if column and column + self._spaces + cells(word) > width:
                        out, column, self._spaces = out + "\n", 0, 0
                    space = self._indent * (not column) + " " * self._spaces
                    out, column, self._spaces = (
                        out + space + word,
                        column + len(space) + cells(word),
                        0,
                    )
        if out:
            is_dim = self._style == "dim" and self.screen.has_colour
            self._put(f"{_DIM}{out}{_PLAIN}" if is_dim else out, column=column)

    # -- the terminal --

    def _put(self, out: str, *, column: int) -> None:
        """Write above the standing line, in one go; ``column`` is where the cursor is then."""
        if not self.moves:
            self._column = column
            self._send(out)
            return
        erased = "\x1b[J" if self._column else "\r\x1b[J"
        self._column = column
        self._send(erased + out + self._standing_line(column))

    def _standing_line(self, column: int) -> str:
        if self._standing is None:
            return ""
        width = self.width
        if width != self._rendered_width:
            line = cut(self._standing(width), width - 1, "")
            self._rendered, self._rendered_width = self.screen.rendered(line), width
        if column:
            return f"\n{self._rendered}\x1b[1A\r\x1b[{column}C"
        return f"{self._rendered}\r"

    def _send(self, out: str) -> None:
        stream, encoding = self.screen.stream, self.screen.encoding
        stream.write(out.encode(encoding, "replace").decode(encoding))
        stream.flush()


def _cut(word: str, width: int) -> list[str]:
    """A word in pieces that fit a line."""
    if cells(word) <= width:
        return [word]
    step = max(1, width // 2)  # as wide as characters get
    return [word[at : at + step] for at in range(0, len(word), step)]

"""Where lines go: a terminal with its colours and width, or a pipe with neither.

A pipe gets the same drawing at a fixed width, so that its content does not depend on the size of a terminal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import TextIO

from ullage.display.glyphs import Glyphs, glyphs_for
from ullage.display.styles import ansi
from ullage.display.text import Line, json_text, plain

PIPE_WIDTH = 100


def size_of(stream: TextIO) -> os.terminal_size:
    """Columns and lines of the terminal that the stream writes to, unless the variables ``COLUMNS`` and ``LINES`` say.

    80 and 24 where neither does.
    """
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    said = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    columns, lines = (int(one) if one.isascii() and one.isdigit() else 0 for one in said)
    return os.terminal_size((columns or size.columns or 80, lines or size.lines or 24))


class Screen:
    """One output stream. Colour needs a terminal that is not ``dumb`` and no ``NO_COLOR`` (https://no-color.org)."""

    def __init__(
        self, stream: TextIO | None = None, environment: Mapping[str, str] = os.environ
    ) -> None:
        self.stream = sys.stdout if stream is None else stream
        self.is_terminal = self.stream.isatty()
        self.moves = self.is_terminal and environment.get("TERM", "").lower() != "dumb"
        """Whether the cursor can be moved."""
        self.has_colour = self.moves and not environment.get("NO_COLOR")
        self.width = size_of(self.stream).columns if self.is_terminal else PIPE_WIDTH
        self.encoding = self.stream.encoding or "ascii"
        self.glyphs: Glyphs = glyphs_for(self.encoding)

    def show(self, lines: Iterable[Line]) -> None:
        """Print the lines; what the stream's encoding lacks becomes ``?``."""
        for line in lines:
            self.stream.write(self.rendered(line) + "\n")

    def rendered(self, line: Line) -> str:
        """The line as ``show`` prints it, without its end: for who moves the cursor themselves."""
        text = ansi(line) if self.has_colour else plain(line)
        return text.encode(self.encoding, "replace").decode(self.encoding)

    def show_json(self, data: bytes) -> None:
        """Print one JSON value in UTF-8 whatever the stream's encoding, indented where a person reads it."""
        if self.is_terminal:
            import msgspec

            data = msgspec.json.format(data, indent=2)
        self.stream.flush()
        raw = getattr(self.stream, "buffer", None)
        if raw is None:
            self.stream.write(json_text(data) + "\n")
        else:
            raw.write(json_text(data).encode() + b"\n")
            raw.flush()


PATIENCE_S = 2.0
BEAT_S = 0.5


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say ``what`` is being done, and for how long, while the block runs. Nothing is printed into a pipe."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    done = Event()

    def beat() -> None:
        started = time.monotonic()
        drawn = ""
        while not done.wait(BEAT_S if drawn else PATIENCE_S):
            drawn = f"{what} ... {time.monotonic() - started:.0f} s"
            stream.write("\r" + drawn)
            stream.flush()
        if drawn:
            stream.write("\r" + " " * len(drawn) + "\r")
            stream.flush()

    beating = Thread(target=beat, daemon=True)
    beating.start()
    try:
        yield
    finally:
        done.set()
        beating.join()

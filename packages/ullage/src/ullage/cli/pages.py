"""Shows a person a long text page by page on a terminal, and asks for a line."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable
from typing import Final

from ullage.cli.screen import Screen, size_of
from ullage.display.text import Line, Span, cells, counted

ESCAPE: Final = "bad"
"""The style of an escape in a text, which is never broken."""

LINES_BESIDE: Final = 4
"""Lines of a screen that a page of a long call leaves free."""


def wrapped_spans(spans: Iterable[Span], width: int, indent: str) -> list[Line]:
    """One line as lines of at most ``width`` cells, those after the first behind ``indent``. No escape is broken."""
    lines: list[list[Span]] = [[]]
    used = 0
    for span in spans:
        held: list[str] = []
        for char in [span.text] if span.style == ESCAPE else span.text:
            size = cells(char)
            if used + size > width and used > len(indent):
                lines[-1].append(Span("".join(held), span.style))
                held = []
                lines.append([Span(indent)])
                used = len(indent)
            held.append(char)
            used += size
        lines[-1].append(Span("".join(held), span.style))
    return [tuple(span for span in line if span.text) for line in lines]


async def show_pages(screen: Screen, lines: list[Line]) -> bool:
    """Print the lines, a screen of them at a time; False when the person said no before the end."""
    size = max(4, size_of(screen.stream).lines - LINES_BESIDE)
    for top in range(0, len(lines), size):
        screen.show(lines[top : top + size])
        left = counted(len(lines) - top - size, "more line")
        while top + size < len(lines):
            asked = f"-- {left}: Enter shows them, n refuses -- "
            answer = (await typed(screen, asked)).strip().lower()
            if answer in ("n", "no", "q"):
                return False
            if not answer:
                break
    return True


async def typed(screen: Screen, asked: str) -> str:
    """A line from the terminal, while everything else goes on. At its end it is a no."""
    question = screen.rendered((Span(asked, "warn"),))
    print(question, end=" ", file=sys.stderr, flush=True)
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)
    try:
        await ready.wait()
    except asyncio.CancelledError:
        print(file=sys.stderr)
        raise
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline() or "n"


def forget_typed_ahead() -> None:
    """Drop what was typed before the question stood there: it was meant for something else."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import termios

        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

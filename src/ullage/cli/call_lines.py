"""A tool call that needs approval, as lines of a terminal: whole, wrapped where the screen ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ullage.display.text import Line, Span, cells
from ullage.tools.call_text import CallLine

STYLES: Final = {"name": "strong", "label": "title", "text": "", "escape": "bad", "gutter": "dim", "note": "warn"}
"""What each kind of piece looks like. An escape has a look of its own: text can't pass for it."""

_FURTHER: Final = "  "
_FURTHER_IN_A_BLOCK: Final = "    "
"""What stands before the rest of a line that was wrapped: a label begins further left, a gutter is missing."""


def drawn_call(lines: Iterable[CallLine], width: int, encoding: str = "utf-8") -> list[Line]:
    """The lines of a call, none of them cut; ``encoding`` is what the terminal can show, the rest is spelled."""
    drawn: list[Line] = []
    for line in lines:
        spans = [Span(_encodable(piece.text, encoding), STYLES[piece.kind]) for piece in line]
        is_block = bool(line) and line[0].kind == "gutter"
        drawn += wrapped_spans(spans, width, _FURTHER_IN_A_BLOCK if is_block else _FURTHER)
    return drawn


def wrapped_spans(spans: Iterable[Span], width: int, indent: str) -> list[Line]:
    """One line as lines of at most ``width`` cells, those after the first behind ``indent``. No escape is broken."""
    lines: list[list[Span]] = [[]]
    used = 0
    for span in spans:
        held: list[str] = []
        for char in [span.text] if span.style == STYLES["escape"] else span.text:
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


def _encodable(text: str, encoding: str) -> str:
    return text.encode(encoding, "backslashreplace").decode(encoding)

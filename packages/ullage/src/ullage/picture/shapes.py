"""Pieces of SVG: escaped text that is cut to its room, rectangles that tell more, and a treemap's blocks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ullage.display.text import printable, shortened, wrapped
from ullage.picture.policy import LETTER, LONGEST


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


def words(text: str, most: int = LONGEST) -> str:
    """Text from anywhere as markup: on one line of at most ``most`` cells, without control characters, escaped."""
    return escape(shortened(printable(text[: 4 * most]), most))


def rectangle(box: Box, style: str, title: str = "") -> str:
    """A filled rectangle; ``title`` shows when it is pointed at."""
    x, y, width, height = box
    told = f"<title>{words(title, 400)}</title>" if title else ""
    size = f'width="{max(0, width):.1f}" height="{max(0, height):.1f}"'
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" {size}>{told}</rect>'


def text(x: float, y: float, shown: str, style: str = "", room: float = 1_000) -> str:
    """A line of text, cut to ``room`` pixels. With ``end`` or ``mid`` in its style, ``x`` is where it ends or its middle."""
    cut = words(shown, max(1, int(room / LETTER / 12)))
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style or "ink"}">{cut}</text>'


def paragraph(y: float, shown: str, room: float, most: int, style: str = "dim") -> str:
    """At most ``most`` lines of text of 16 pixels, the last one cut."""
    lines = wrapped(printable(shown[: LONGEST * 4]), int(room / LETTER / 12))
    if len(lines) > most:
        lines[most - 1 :] = [" ".join(lines[most - 1 :])]
    return "".join(
        text(6, y + 16 * place, line, style, room) for place, line in enumerate(lines)
    )


def placed(box: Box, content: str) -> str:
    """A drawing at its place in another; what goes beyond its box is not shown."""
    x, y, width, height = box
    return f'<svg x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">{content}</svg>'


def blocks(weights: Sequence[float], box: Box) -> list[Box]:
    """The box in as many parts as there are weights, each in proportion: halves of about equal weight, again and again.

    Weights from the largest to the smallest make the squarest parts.
    """
    if len(weights) < 2:
        return [box][: len(weights)]
    total = sum(weights)
    passed, split = weights[0], 1
    while split < len(weights) - 1 and 2 * passed + weights[split] <= total:
        passed += weights[split]
        split += 1
    x, y, width, height = box
    if width >= height:
        at = width * passed / total
        first, second = Box(x, y, at, height), Box(x + at, y, width - at, height)
    else:
        at = height * passed / total
        first, second = Box(x, y, width, at), Box(x, y + at, width, height - at)
    return blocks(weights[:split], first) + blocks(weights[split:], second)

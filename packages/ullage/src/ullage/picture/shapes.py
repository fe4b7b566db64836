"""Pieces of SVG: text that is cut to its room and escaped, boxes, and a treemap's blocks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ullage.display.text import cells, wrapped
from ullage.picture.model import words
from ullage.picture.policy import LETTER


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


def rectangle(box: Box, style: str, *, more: str = "") -> str:
    """A filled rectangle. ``more`` are attributes as they are written."""
    x, y, width, height = (f"{each:.1f}".removesuffix(".0") for each in box)
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{style}"{more}/>'
    )


def label(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 12,
    style: str = "ink",
    room: float = 2_000,
    anchor: str = "start",
) -> str:
    """A line of text, cut to ``room`` pixels. ``anchor`` is which end of it stands at ``x``."""
    shown = escape(words(text, max(1, int(room / (LETTER * size)))))
    at = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" class="{style}"'
    if anchor != "start":
        at += f' text-anchor="{anchor}"'
    return f"<text {at}>{shown}</text>"


def paragraph(
    x: float, y: float, text: str, room: float, most: int, style: str = "dim"
) -> list[str]:
    """At most ``most`` lines of text, the last one cut."""
    lines = wrapped(words(text, 1_000), int(room / (LETTER * 12)))
    if len(lines) > most:
        lines[most - 1 :] = [" ".join(lines[most - 1 :])]
    return [
        label(x, y + 16 * place, line, style=style, room=room)
        for place, line in enumerate(lines)
    ]


def width_of(text: str, size: float = 12) -> float:
    """About how many pixels a text takes."""
    return LETTER * size * cells(text)


def hover(title: str, content: str) -> str:
    """Shapes that tell more when they are pointed at."""
    return f"<g><title>{escape(words(title, 400))}</title>{content}</g>"


def placed(x: float, y: float, width: float, height: float, content: str) -> str:
    """A drawing at its place in another; what goes beyond its box is not shown."""
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<svg x="{x:.1f}" y="{y:.1f}" {size}>{content}</svg>'


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
    share = passed / total
    x, y, width, height = box
    if width >= height:
        first = Box(x, y, share * width, height)
        second = Box(x + first.width, y, width - first.width, height)
    else:
        first = Box(x, y, width, share * height)
        second = Box(x, y + first.height, width, height - first.height)
    return blocks(weights[:split], first) + blocks(weights[split:], second)

"""Text that is cut to its room and escaped, and the blocks of a treemap."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate

from ullage.display.text import printable, shortened, wrapped
from ullage.picture.policy import LETTER, LONGEST

Box = tuple[float, float, float, float]
"""Of a rectangle the left end, the top, the width and the height."""


def words(text: str, most: int = LONGEST) -> str:
    """Text from anywhere as markup: on one line of at most ``most`` cells, without control characters, escaped."""
    return escape(shortened(printable(text[: 4 * most]), most))


def flowed(texts: Iterable[tuple[str, str, int]], room: float) -> str:
    """Texts under each other in lines of 16 pixels. Each has its class, and is cut after so many lines, at the end of
    a sentence where there is one."""
    drawn, y = "", 14
    for text, look, most in texts:
        wide = LETTER + ("strong" in look)  # bold letters are a pixel wider
        letters = max(1, int(room / wide))
        lines = wrapped(printable(text[: 4 * LONGEST]), letters)
        whole = " ".join(lines[:most]).rpartition(". ")[0]
        if len(lines) > most and whole:
            lines = wrapped(f"{whole}.", letters)
        lines[most - 1 :] = [" ".join(lines[most - 1 :])]
        for line in filter(None, lines):
            drawn += f'<text class="{look}" x="6" y="{y}">{words(line, letters)}</text>'
            y += 16
    return drawn


def blocks(weights: Sequence[float], box: Box) -> list[Box]:
    """The box in as many parts as there are weights, each in proportion: halves of about equal weight, again and again.

    Weights from the largest to the smallest make the squarest parts.
    """
    if len(weights) < 2:
        return [box][: len(weights)]
    sums = list(accumulate(weights))
    split = max(1, bisect(sums, sums[-1] / 2))
    share = sums[split - 1] / sums[-1]
    x, y, width, height = box
    if width >= height:
        at = width * share
        parts = (x, y, at, height), (x + at, y, width - at, height)
    else:
        at = height * share
        parts = (x, y, width, at), (x, y + at, width, height - at)
    return blocks(weights[:split], parts[0]) + blocks(weights[split:], parts[1])

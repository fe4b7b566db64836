"""The table of ``ullage usage`` as lines: rows with a bar each, the subagents' part, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.cli.sessions import ID_LENGTH
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    SMALLEST_USD,
    Line,
    Span,
    cells,
    dollars,
    padded,
    printable,
    shortened,
)
from ullage.meter.usage_table import (
    SpentSum,
    UsageRow,
    UsageTable,
)

WIDE: Final = 98
MEDIUM: Final = 72
"""From so many columns on all kinds of tokens are told apart, or input, cache and output."""

SHORTEST_BAR: Final = 6
LONGEST_BAR: Final = 24
LONGEST_LABEL: Final = 34
GAP: Final = "  "

_UNITS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def compact(tokens: int) -> str:
    """Tokens in at most six characters: ``950``, ``12.3k``, ``1.24M``."""
    for unit, letter in _UNITS:
        # what would be rounded to a thousand of one unit is one of the next
        if tokens >= 0.9995 * unit:
            value = tokens / unit
            decimals = 1
            if value < 9.995:
                decimals = 2
            elif value >= 99.95:
                decimals = 0
            return f"{value:.{decimals}f}{letter}"
    return str(tokens)


def cost_of_row(sums: SpentSum) -> str:
    """Money; a ``+`` stands for calls whose price is unknown."""
    if not sums.has_price:
        return "unknown"
    more = "+" if sums.unpriced else ""
    if 0 < sums.usd < SMALLEST_USD:
        return f"<${SMALLEST_USD}{more}"
    return f"{dollars(sums.usd)}{more}"


def figures(sums: SpentSum, width: int) -> dict[str, str]:
    """The columns that a display of this width has room for, by their headings."""
    cached = sums.cache_write + sums.cache_read
    shown: dict[str, str] = {}
    if width >= MEDIUM:
        shown["Input"] = compact(sums.input)
    if width >= WIDE:
        shown["Cache write"] = compact(sums.cache_write)
        shown["Cache read"] = compact(sums.cache_read)
    elif width >= MEDIUM:
        shown["Cache"] = compact(cached)
    if width >= MEDIUM:
        shown["Output"] = compact(sums.output)
    if width >= WIDE:
        shown["Reasoning"] = compact(sums.reasoning)
    shown["Total"] = compact(sums.total)
    shown["Calls"] = f"{sums.calls:,}"
    shown["Cost"] = cost_of_row(sums)
    return shown


class _TableRow(NamedTuple):
    label: str
    figures: Sequence[str]
    style: str = ""
    share: float = 0.0


def usage_lines(
    table: UsageTable, width: int, glyphs: Glyphs, home: str = ""
) -> list[Line]:
    """The rows and their sum, and below them the same calls by model. A path below ``home`` begins with ~."""
    total = table.total
    sums = [_TableRow("Total", _texts(total.all, width), "strong")]
    if total.subagents.calls:
        sums.append(_TableRow("of it subagents", _texts(total.subagents, width), "dim"))
    rows = _rows(table.by.capitalize(), table.rows, width, home)
    lines = _drawn([*rows, *sums], width, glyphs)
    if table.by != "model" and table.models:
        lines += [(), *_drawn(_rows("Model", table.models, width), width, glyphs)]
    return lines


def _texts(sums: SpentSum, width: int) -> list[str]:
    return list(figures(sums, width).values())


def _rows(
    heading: str, rows: Sequence[UsageRow], width: int, home: str = ""
) -> list[_TableRow]:
    """The headings, and a row for each. Bars show money, or tokens where any price is unknown."""
    has_prices = not any(row.all.unpriced for row in rows)
    weights = [row.all.usd if has_prices else float(row.all.total) for row in rows]
    most = max(weights, default=0.0) or 1.0
    found = [_TableRow(heading, list(figures(SpentSum(), width)), "dim")]
    for row, weight in zip(rows, weights, strict=True):
        texts = _texts(row.all, width)
        found.append(_TableRow(_label(row, home), texts, share=weight / most))
    return found


def _label(row: UsageRow, home: str) -> str:
    """What a row is called: a session by the end of its id, which ``ullage context`` takes; ``home`` is ~."""
    if row.about:
        return printable(f"{row.key[-ID_LENGTH:]} {row.about}")
    if home and row.key.startswith((f"{home}/", f"{home}\\")):
        return printable(f"~{row.key[len(home) :]}")
    return printable(row.key)


def _drawn(table: Sequence[_TableRow], width: int, glyphs: Glyphs) -> list[Line]:
    widths = [
        max(cells(text) for text in column)
        for column in zip(*(row.figures for row in table), strict=True)
    ]
    taken = sum(widths) + len(GAP) * len(widths)
    longest = max(cells(row.label) for row in table)
    label_width = max(8, min(longest, LONGEST_LABEL, width - taken))
    room = min(LONGEST_BAR, width - label_width - taken - len(GAP))
    lines: list[Line] = []
    for row in table:
        pieces = [padded(_fitted(row.label, label_width, glyphs), label_width)]
        for text, size in zip(row.figures, widths, strict=True):
            pieces.append(padded(text, size, right=True))
        line: Line = (Span(GAP.join(pieces), row.style),)
        if row.share and room >= SHORTEST_BAR:
            line = (*line, Span(GAP), Span(_bar(row.share, room, glyphs), "spark"))
        lines.append(line)
    return lines


def _fitted(label: str, width: int, glyphs: Glyphs) -> str:
    """A label that is too long: of a path its end tells more than its beginning."""
    if cells(label) <= width or {"/", "\\"}.isdisjoint(label):
        return shortened(label, width, glyphs.ellipsis)
    return shortened(label[::-1], width, glyphs.ellipsis[::-1])[::-1]


def _bar(share: float, width: int, glyphs: Glyphs) -> str:
    """A bar of at least one mark."""
    fine = len(glyphs.parts) + 1
    whole, rest = divmod(max(1, round(share * width * fine)), fine)
    return glyphs.used * whole + (glyphs.parts[rest - 1] if rest else "")

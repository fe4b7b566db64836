"""The table of ``ullage usage`` as lines: rows with a bar each, the subagents' part, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.cli.footing import dollars
from ullage.cli.sessions import ID_LENGTH
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Line,
    Span,
    cells,
    padded,
    percent,
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

SMALLEST_USD: Final = 0.0001
"""What is less is only said to be so."""

_UNITS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


class UsageColumn(NamedTuple):
    """A heading, and the figure under it."""

    heading: str
    figure: str


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
    if not sums.calls:
        return ""
    if not sums.has_price:
        return "unknown"
    more = "+" if sums.unpriced else ""
    if 0 < sums.usd < SMALLEST_USD:
        return f"<${SMALLEST_USD}{more}"
    return f"{dollars(sums.usd)}{more}"


def figures(
    sums: SpentSum,
    width: int,
) -> list[UsageColumn]:
    """The columns that a display of this width has room for."""
    shown: list[UsageColumn] = []
    if width >= WIDE:
        shown.append(UsageColumn("Input", compact(sums.input)))
        shown.append(UsageColumn("Cache write", compact(sums.cache_write)))
        shown.append(UsageColumn("Cache read", compact(sums.cache_read)))
        shown.append(UsageColumn("Output", compact(sums.output)))
        shown.append(UsageColumn("Reasoning", compact(sums.reasoning)))
    elif width >= MEDIUM:
        cached = sums.cache_write + sums.cache_read
        shown.append(UsageColumn("Input", compact(sums.input)))
        shown.append(UsageColumn("Cache", compact(cached)))
        shown.append(UsageColumn("Output", compact(sums.output)))
    shown.append(UsageColumn("Total", compact(sums.total)))
    shown.append(UsageColumn("Calls", f"{sums.calls:,}"))
    shown.append(UsageColumn("Cost", cost_of_row(sums)))
    if sums.calls:
        return shown
    return [UsageColumn(column.heading, "") for column in shown]


def usage_lines(
    table: UsageTable,
    width: int,
    glyphs: Glyphs,
    home: str = "",
) -> list[Line]:
    """The rows and their sum, and below them the same calls by model. A path below ``home`` begins with ~."""
    lines = _section(
        table.by.capitalize(),
        table.rows,
        width,
        glyphs,
        table.total,
        home,
    )
    if table.by != "model" and table.models:
        lines.append(())
        lines += _section(
            "Model",
            table.models,
            width,
            glyphs,
        )
    return lines


class _TableRow(NamedTuple):
    label: str
    sums: SpentSum
    style: str
    share: float | None = None


def _section(
    heading: str,
    rows: Sequence[UsageRow],
    width: int,
    glyphs: Glyphs,
    total: UsageRow | None = None,
    home: str = "",
) -> list[Line]:
    most = max((_weight(row, rows) for row in rows), default=0.0)
    table: list[_TableRow] = []
    for row in rows:
        share = _weight(row, rows) / most if most else 0.0
        label = _label(row, home)
        table.append(
            _TableRow(
                label,
                row.all,
                "",
                share,
            )
        )
    if total is not None:
        table.append(
            _TableRow(
                "Total",
                total.all,
                "strong",
            )
        )
        if total.subagents.calls:
            table.append(
                _TableRow(
                    "of it subagents",
                    total.subagents,
                    "dim",
                )
            )
    return _drawn(
        heading,
        table,
        width,
        glyphs,
    )


def _label(row: UsageRow, home: str) -> str:
    """What a row is called: a session by the end of its id, which ``ullage context`` takes; ``home`` is ~."""
    if row.about:
        return printable(f"{row.key[-ID_LENGTH:]} {row.about}")
    if home and row.key.startswith(f"{home}/"):
        return printable(f"~{row.key[len(home) :]}")
    return printable(row.key)


def _weight(
    row: UsageRow,
    rows: Sequence[UsageRow],
) -> float:
    """What the bar shows: money, or tokens where any price is unknown."""
    if any(each.all.unpriced for each in rows):
        return float(row.all.total)
    return row.all.usd


def _drawn(
    heading: str, table: Sequence[_TableRow], width: int, glyphs: Glyphs
) -> list[Line]:
    columns: list[list[UsageColumn]] = []
    for row in table:
        columns.append(figures(row.sums, width))
    headings = [column.heading for column in figures(SpentSum(), width)]
    widths = [len(each) for each in headings]
    for shown in columns:
        for place, column in enumerate(shown):
            widths[place] = max(widths[place], cells(column.figure))
    taken = sum(widths) + len(GAP) * len(widths)
    labels = [len(heading), *(cells(row.label) for row in table)]
    label_width = max(
        8,
        min(
            max(labels),
            LONGEST_LABEL,
            width - taken,
        ),
    )
    room = min(LONGEST_BAR, width - label_width - taken - len(GAP))
    lines = [
        _line(
            heading,
            headings,
            label_width,
            widths,
            "dim",
        )
    ]
    for row, shown in zip(
        table,
        columns,
        strict=True,
    ):
        texts = [column.figure for column in shown]
        label = _fitted(
            row.label,
            label_width,
            glyphs,
        )
        line = _line(
            label,
            texts,
            label_width,
            widths,
            row.style,
        )
        if row.share and room >= SHORTEST_BAR:
            bar = _bar(
                row.share,
                room,
                glyphs,
            )
            line = (*line, Span(GAP), Span(bar, "spark"))
        lines.append(line)
    return lines


def _line(
    label: str, texts: Sequence[str], label_width: int, widths: Sequence[int], style: str
) -> Line:
    pieces = [padded(label, label_width)]
    for text, width in zip(
        texts,
        widths,
        strict=True,
    ):
        pieces.append(
            padded(
                text,
                width,
                right=True,
            )
        )
    return (Span(GAP.join(pieces), style),)


def _fitted(
    label: str,
    width: int,
    glyphs: Glyphs,
) -> str:
    """A label that is too long: of a path its end tells more than its beginning."""
    if cells(label) <= width or "/" not in label:
        return shortened(
            label,
            width,
            glyphs.ellipsis,
        )
    backwards = shortened(
        label[::-1],
        width,
        glyphs.ellipsis[::-1],
    )
    return backwards[::-1]


def _bar(
    share: float,
    width: int,
    glyphs: Glyphs,
) -> str:
    """A bar of at least one mark."""
    fine = len(glyphs.parts) + 1
    eighths = max(1, round(share * width * fine))
    whole, rest = divmod(eighths, fine)
    bar = glyphs.used * whole
    if rest:
        bar += glyphs.parts[rest - 1]
    return bar


def subagents_note(total: UsageRow) -> str:
    """What part of everything the subagents spent."""
    tokens = percent(total.subagents.total, total.all.total)
    said = f"Subagents: {tokens} of all tokens"
    if total.all.usd:
        said += f", {percent(total.subagents.usd, total.all.usd)} of the cost"
    return f"{said}."

"""The rows of a reading as an aligned table: name, tokens, share of the window, source, and a note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ullage.display.gauge_line import interval
from ullage.display.text import (
    Line,
    Span,
    cells,
    flowed,
    number,
    padded,
    percent,
    printable,
    shortened,
)
from ullage.meter.cost import SUMMARY
from ullage.meter.reading import Basis, Reading, Row, Used
from ullage.meter.rows import PartEstimate

SOURCES = {
    "reported": "reported",
    "counted": "counted",
    "estimated": "estimated",
    "by_difference": "by difference",
}

LARGEST = "largest: "
LARGEST_NAMED = 3
"""How many of the largest things a note names, where there is room."""

ROWS_SHOWN = 8
"""Children of a row that get a line of their own, unless every row is asked for."""

ROWS_HINT = "--rows lists them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One line of a table before it is aligned.

    ``note`` is in pieces with ``joint`` between them; with ``note_may_shrink`` those that don't fit may go.
    """

    name: str
    tokens: str
    share: str = ""
    source: str = ""
    note: tuple[str, ...] = ()
    joint: str = " · "
    note_may_shrink: bool = False
    style: str = ""
    name_style: str = ""


def table_of(
    reading: Reading,
    width: int,
    *,
    largest: Sequence[PartEstimate] = (),
    every_row: bool = False,
    rows_hint: str = ROWS_HINT,
) -> list[Line]:
    """Rows, Total and Free. Shares are of the window, or of ``used`` while the window is unknown."""
    whole = reading.window.tokens or reading.used.tokens
    table: list[Cells] = []
    place = 0
    for row in reading.rows:
        style = f"row{place}" if row.summed else "dim"
        place += row.summed
        table.append(_row(row, whole, name_style=style, largest=largest))
        table += _children(row, whole, 1, rows_hint, every=every_row)
    table.append(
        Cells(
            name="Total",
            tokens=number(reading.used.tokens),
            share=percent(reading.used.tokens, whole),
            note=basis_terms(reading.basis),
            joint=" ",
            name_style="strong",
        )
    )
    table += _free(reading, whole)
    return aligned(table, width)


def _row(
    row: Row,
    whole: int,
    *,
    depth: int = 0,
    name_style: str = "dim",
    largest: Sequence[PartEstimate] = (),
    above: Row | None = None,
) -> Cells:
    note = tuple(printable(piece) for piece in row.note.split(" · ") if piece)
    note = note or _largest(row, largest)
    shrinks = bool(note) and note[0].startswith(LARGEST)
    if not row.summed:
        note, shrinks = ("not in the total", *note), False
    return Cells(
        name="  " * depth + printable(row.name),
        tokens=number(row.tokens),
        share=percent(row.tokens, whole) if row.summed else "",
        source=source_of(row, above),
        note=note,
        note_may_shrink=shrinks,
        style="" if depth == 0 and row.summed else "dim",
        name_style=name_style,
    )


def source_of(row: Row, above: Row | None = None) -> str:
    """Where a row's number comes from, and its interval: ``estimated ± 91``, ``estimated, 14 to 286``.

    The interval alone where the source is that of the row ``above``, which this one is part of.
    """
    said, ends = SOURCES[row.source], ""
    if row.low is not None and row.high is not None:
        ends = interval(Used(tokens=row.tokens, low=row.low, high=row.high))
    if not ends:
        return said
    if above is not None and above.source == row.source:
        return ends
    return f"{said} {ends}" if ends.startswith("±") else f"{said}, {ends}"


def _children(
    row: Row, whole: int, depth: int, rows_hint: str, *, every: bool
) -> Iterable[Cells]:
    """Sub-rows, largest first, *unattributed* last. Single tools stand in the note unless every row is asked for."""
    shown = sorted(
        (child for child in row.children if child.tokens or every),
        key=lambda child: (child.name == "Unattributed", -child.tokens),
    )
    if (
        not every
        and row.name.startswith("Tools")
        and not any(child.children for child in shown)
    ):
        return
    hidden = [] if every or len(shown) <= ROWS_SHOWN else shown[ROWS_SHOWN - 1 :]
    for child in shown[: len(shown) - len(hidden)]:
        yield _row(child, whole, depth=depth, above=row)
        if every:
            yield from _children(child, whole, depth + 1, rows_hint, every=True)
    if hidden:
        tokens = sum(child.tokens for child in hidden)
        yield Cells(
            name="  " * depth + f"{len(hidden)} more",
            tokens=number(tokens),
            share=percent(tokens, whole),
            note=(rows_hint,),
            style="dim",
            name_style="dim",
        )


def _largest(row: Row, items: Sequence[PartEstimate]) -> tuple[str, ...]:
    """The largest things inside a row: single items of the messages where they are known, else its children."""
    if not row.tokens:
        return ()
    if row.name == "Messages":
        own = [item for item in items if item.tokens and item.row != SUMMARY]
        named = [
            f"#{item.position} {what_of(item)} {number(item.tokens)}" for item in own
        ]
    else:
        children = sorted(
            (child for child in row.children if child.tokens),
            key=lambda child: -child.tokens,
        )
        named = [f"{printable(child.name)} {number(child.tokens)}" for child in children]
    named = named[:LARGEST_NAMED]
    return (LARGEST + named[0], *named[1:]) if named else ()


def what_of(item: PartEstimate) -> str:
    """What an item is: the call that it comes from, else the tool's name, else the row it is in."""
    return printable(item.label or item.name or item.row.lower())


def basis_terms(basis: Basis) -> tuple[str, ...]:
    """The formula in figures (``50,000 last input``, ``+ 2,000 last output`` …), then why it is weaker than usual."""
    if basis.last_input is None:
        return (
            printable(basis.label) or "estimated: no call has reported its input yet",
        )
    output = f"+ {number(basis.last_output)} last output"
    if basis.reported_output is not None:
        output += f" ({number(basis.reported_output)} reported)"
    terms = [f"{number(basis.last_input)} last input", output]
    for tokens, what in (
        (basis.new, "new"),
        (basis.changed, "changed"),
        (basis.removed, "removed"),
    ):
        if tokens:
            terms.append(
                f"{'+' if tokens > 0 else '-'} {number(abs(tokens))} {what} (estimated)"
            )
    return (*terms, f"({printable(basis.label)})") if basis.label else tuple(terms)


def _free(reading: Reading, whole: int) -> Iterable[Cells]:
    """Free, and what of it lies before and after the compaction threshold."""
    if reading.free is None:
        return
    kept = f"after {number(reading.reserve)} kept for the answer"
    if reading.free < 0:
        over = f"over by {number(-reading.free)} {kept}"
        yield Cells(
            name="Free",
            tokens="0",
            share="0 %",
            note=(over,),
            name_style="strong",
            style="bad",
        )
        return
    yield Cells(
        name="Free",
        tokens=number(reading.free),
        share=percent(reading.free, whole),
        note=(kept,) if reading.reserve else (),
        name_style="strong",
    )
    limit, point, until = (
        reading.input_limit,
        reading.compaction_point,
        reading.until_compaction,
    )
    if limit is None or point is None or until is None:
        return
    end = (
        "the interval's upper end, " if reading.proven_high > reading.used.tokens else ""
    )
    from_end = f"from {end}{number(reading.proven_high)}"
    beyond = min(limit - point, reading.free)
    is_known = bool(reading.threshold.by)
    parts = [("until compaction", until, from_end)]
    if is_known:
        to_limit = f"from {number(point)} to {number(limit)}"
        parts.append(("auto-compact buffer", beyond, to_limit))
    else:
        parts = [("until Ullage would compact", until, from_end)]
    for name, tokens, note in parts:
        if tokens > 0:
            share = percent(tokens, whole)
            yield Cells(
                name=f"  {name}",
                tokens=number(tokens),
                share=share,
                note=(note,),
                style="dim",
                name_style="dim",
            )


def aligned(table: Sequence[Cells], width: int) -> list[Line]:
    """The table with its columns aligned; a note that does not fit beside its row stands under it."""
    tokens, share, source = (
        max((cells(getattr(row, column)) for row in table), default=0)
        for column in ("tokens", "share", "source")
    )
    widest = max((cells(row.name) for row in table), default=0)
    name = min(widest, max(16, width - tokens - share - source - 6))
    lines: list[Line] = []
    for row in table:
        spans = [
            Span(padded(shortened(row.name, name), name), row.name_style or row.style),
            Span("  " + padded(row.tokens, tokens, right=True), row.style or "number"),
        ]
        start = name + tokens + 2
        if share:
            spans.append(Span("  " + padded(row.share, share, right=True), "dim"))
            start += share + 2
        if row.source:
            spans.append(Span("  " + padded(row.source, source), "dim"))
            start += source + 2
        lines += _noted(spans, start + 2, row, width)
    return lines


def _noted(spans: list[Span], start: int, row: Cells, width: int) -> list[Line]:
    """The row with its note: beside it where it fits (shrunk, if it may be), else wrapped under it."""
    style = "bad" if row.style == "bad" else "dim"
    pieces = list(row.note)
    while pieces:
        note = row.joint.join(pieces)
        if start + cells(note) <= width:
            return [(*spans, Span("  " + note, style))]
        if not row.note_may_shrink:
            break
        pieces.pop()
    if not pieces:
        return [tuple(spans)]
    indent = " " * 4
    items = [(Span(piece, style),) for piece in pieces]
    return [
        tuple(spans),
        *flowed(items, width, separator=row.joint, first=indent, indent=indent),
    ]

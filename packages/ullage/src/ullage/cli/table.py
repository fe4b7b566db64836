"""The rows of a reading as an aligned table: name, tokens, share of the window, source, and a note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
from ullage.meter.reading import Basis, Reading, Row
from ullage.meter.rows import PartEstimate
from ullage_programs.line.drawing import interval

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


INDENT = " " * 4


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


def _dim(name: str, tokens: int, whole: int, note: str) -> Cells:
    """A line below another, of tokens that are no row."""
    return Cells(
        name=name,
        tokens=number(tokens),
        share=percent(tokens, whole),
        note=(note,),
        style="dim",
        name_style="dim",
    )


def source_of(row: Row, above: Row | None = None) -> str:
    """Where a row's number comes from, and its interval: ``estimated ± 91``, ``estimated, 14 to 286``.

    The interval alone where the source is that of the row ``above``, which this one is part of.
    """
    said, ends = SOURCES[row.source], ""
    if row.low is not None and row.high is not None:
        ends = interval(row.tokens, row.low, row.high)
    if not ends:
        return said
    if above is not None and above.source == row.source:
        return ends
    return f"{said} {ends}" if ends.startswith("±") else f"{said}, {ends}"


def _children(
    row: Row, whole: int, depth: int, rows_hint: str, *, every: bool
) -> Iterable[Cells]:
    """Sub-rows, largest first, *unattributed* last. Single tools stand in the note unless every row is asked for."""
    shown = [child for child in row.children if child.tokens or every]
    shown.sort(key=lambda child: (child.name == "Unattributed", -child.tokens))
    is_tools = row.name.startswith("Tools")
    if is_tools and not every and not any(child.children for child in shown):
        return
    hidden: list[Row] = []
    if len(shown) > ROWS_SHOWN and not every:
        shown, hidden = shown[: ROWS_SHOWN - 1], shown[ROWS_SHOWN - 1 :]
    for child in shown:
        yield _row(child, whole, depth=depth, above=row)
        if every:
            yield from _children(child, whole, depth + 1, rows_hint, every=True)
    if hidden:
        tokens = sum(child.tokens for child in hidden)
        name = "  " * depth + f"{len(hidden)} more"
        yield _dim(name, tokens, whole, rows_hint)


def _largest(row: Row, items: Sequence[PartEstimate]) -> tuple[str, ...]:
    """The largest things inside a row: single items of the messages where they are known, else its children."""
    named: list[str] = []
    if row.tokens and row.name == "Messages":
        for item in items:
            if item.tokens and item.row != SUMMARY:
                what = f"#{item.position} {what_of(item)}"
                named.append(f"{what} {number(item.tokens)}")
    elif row.tokens:
        for child in sorted(row.children, key=lambda child: -child.tokens):
            if child.tokens:
                named.append(f"{printable(child.name)} {number(child.tokens)}")
    if named:
        named[0] = LARGEST + named[0]
    return tuple(named[:LARGEST_NAMED])


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
    free = reading.free
    if free is None:
        return
    kept = f"after {number(reading.reserve)} kept for the answer"
    note = (kept,) if reading.reserve else ()
    if free < 0:
        note = (f"over by {number(-free)} {kept}",)
    yield Cells(
        name="Free",
        tokens=number(max(0, free)),
        share=percent(max(0, free), whole),
        note=note,
        name_style="strong",
        style="bad" if free < 0 else "",
    )
    limit, point = reading.input_limit, reading.compaction_point
    until = reading.until_compaction
    if free < 0 or limit is None or point is None or until is None:
        return
    end = ""
    if reading.proven_high > reading.used.tokens:
        end = "the interval's upper end, "
    from_end = f"from {end}{number(reading.proven_high)}"
    if not reading.threshold.by:
        parts = [("  until Ullage would compact", until, from_end)]
    else:
        to_limit = f"from {number(point)} to {number(limit)}"
        parts = [
            ("  until compaction", until, from_end),
            ("  auto-compact buffer", min(limit - point, free), to_limit),
        ]
    for name, tokens, from_to in parts:
        if tokens > 0:
            yield _dim(name, tokens, whole, from_to)


def aligned(table: Sequence[Cells], width: int) -> list[Line]:
    """The table with its columns aligned; a note that does not fit beside its row stands under it."""
    tokens, share, source, widest = (
        max((cells(getattr(row, column)) for row in table), default=0)
        for column in ("tokens", "share", "source", "name")
    )
    name = min(widest, max(16, width - tokens - share - source - 6))
    lines: list[Line] = []
    for row in table:
        spans = [
            Span(padded(shortened(row.name, name), name), row.name_style or row.style),
            Span("  " + padded(row.tokens, tokens, right=True), row.style or "number"),
        ]
        if share:
            spans.append(Span("  " + padded(row.share, share, right=True), "dim"))
        if row.source:
            spans.append(Span("  " + padded(row.source, source), "dim"))
        lines += _noted(spans, row, width)
    return lines


def _noted(spans: list[Span], row: Cells, width: int) -> list[Line]:
    """The row with its note: beside it where it fits (shrunk, if it may be), else wrapped under it."""
    style = "bad" if row.style == "bad" else "dim"
    pieces = list(row.note)
    room = width - sum(cells(span.text) for span in spans) - 2
    while pieces:
        note = row.joint.join(pieces)
        if cells(note) <= room:
            return [(*spans, Span("  " + note, style))]
        if not row.note_may_shrink:
            break
        pieces.pop()
    if not pieces:
        return [tuple(spans)]
    items = [(Span(piece, style),) for piece in pieces]
    below = flowed(items, width, separator=row.joint, first=INDENT, indent=INDENT)
    return [tuple(spans), *below]

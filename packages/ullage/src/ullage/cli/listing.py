"""Two lists that stand under a reading when they are asked for: the largest single items, and all calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.cli.table import what_of
from ullage.display.text import (
    Line,
    Span,
    cells,
    number,
    padded,
    percent,
    printable,
    shortened,
)
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.reading import Reading, Row
from ullage.meter.rows import PartEstimate
from ullage.meter.shares import SYSTEM_ROWS
from ullage.meter.track import MARKS, Step

PREVIEW_CHARACTERS = 200
"""Of an item's text, before it is cut to the line."""


NARROWEST: Final = 15
"""Cells of a last column: ``100 % of 258,400``, or ``compacted``."""


def without_content(reading: Reading, no_content: bool) -> Reading:
    """The reading, with ``no_content`` without what the user's instruction files, skills and agents are called."""
    rows: list[Row] = []
    for row in reading.rows:
        is_named = no_content and row.name.startswith(tuple(SYSTEM_ROWS.values()))
        rows.append(replace(row, children=()) if is_named else row)
    return replace(reading, rows=tuple(rows))


class Column(NamedTuple):
    """A table's column: its heading, whether it is aligned to the right, and left out where there is no room."""

    heading: str
    right: bool = False
    spare: bool = False


def columns(
    table: Sequence[Column], rows: Iterable[Sequence[str]], width: int
) -> list[Line]:
    """Rows under headings, in columns as wide as needed. Where the line would get too long, the last one is cut.

    Before it has less than ``NARROWEST`` cells, spare ones are left out, the last of them first.
    """
    cut = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max([cells(column.heading), *(cells(row[place]) for row in cut)])
        for place, column in enumerate(table)
    ]
    room = width - sum(widths[:-1]) - 2 * (len(table) - 1)
    for place in reversed(range(len(table))):
        if table[place].spare and room < min(widths[-1], NARROWEST):
            less = [[*row[:place], *row[place + 1 :]] for row in cut]
            return columns([*table[:place], *table[place + 1 :]], less, width)
    widths[-1] = max(8, min(widths[-1], room))

    def line(row: Sequence[str], style: str) -> Line:
        pieces = [
            padded(
                shortened(cell, widths[place]), widths[place], right=table[place].right
            )
            for place, cell in enumerate(row)
        ]
        return (Span("  ".join(pieces).rstrip(), style),)

    return [
        line([column.heading for column in table], "dim"),
        *(line(row, "") for row in cut),
    ]


def largest_items(
    items: Sequence[PartEstimate], whole: int, texts: Mapping[str, str], width: int
) -> list[Line]:
    """The items with their ids and, where ``texts`` has it, how their text begins."""
    table = [
        Column("Largest", right=True),
        Column("share", right=True),
        Column("what"),
        Column("id"),
    ]
    rows = [
        [
            number(item.tokens),
            percent(item.tokens, whole),
            f"#{item.position} {what_of(item)}"
            + ("" if not item.name else f" ({item.row.lower()})"),
            item.part,
        ]
        for item in items
    ]
    if texts:
        table.append(Column("begins"))
        rows = [
            [*row, texts.get(item.part, "")]
            for row, item in zip(rows, items, strict=True)
        ]
    return columns(table, rows, width)


def previews(
    messages: Iterable[Message], items: Sequence[PartEstimate]
) -> dict[str, str]:
    """How the text of each item begins, as it is, by the id of its part."""
    wanted = {item.part for item in items}
    return {
        part.id: preview(part)
        for message in messages
        for part in message.parts
        if part.id in wanted
    }


def preview(part: Part) -> str:
    """The beginning of a part's text, or what kind of thing it is."""
    match part:
        case TextPart() | ReasoningPart() | ProviderItem() | ToolResultPart():
            return part.text[:PREVIEW_CHARACTERS]
        case ToolCallPart():
            return part.arguments[:PREVIEW_CHARACTERS]
        case ImagePart():
            return f"{part.mime or 'image'} {part.width or '?'} x {part.height or '?'}"
        case FilePart():
            return part.name or part.mime
        case _:
            return ""


def _actual(step: Step) -> str:
    if step.actual is not None:
        return number(step.actual)
    return "none usable" if step.refused is None else f"not {number(step.refused)}"


def step_table(steps: Sequence[Step], width: int) -> list[Line]:
    """All calls: what was expected, what was reported, and what happened before.

    A narrow display leaves out the growth and the error in tokens.
    """
    table = [
        Column("Call", right=True),
        Column("estimate", right=True),
        Column("actual", right=True),
        Column("error", right=True, spare=True),
        Column("", right=True),
        Column("grew by", right=True, spare=True),
        Column("before it"),
    ]
    rows: list[list[str]] = []
    before: Step | None = None
    for step in steps:
        grown = "" if before is None else f"{step.tokens - before.tokens:+,}"
        outside = step.actual is not None and not step.is_inside and not step.first
        happened = [MARKS.get(mark, mark) for mark in dict.fromkeys(step.marks)]
        happened += (
            ["first estimate"]
            if step.first
            else ["outside the interval"]
            if outside
            else []
        )
        rows.append(
            [
                number(step.number),
                number(step.estimated),
                _actual(step),
                "" if step.error is None else f"{step.error:+,}",
                "" if step.error_percent is None else f"{step.error_percent:+.2f} %",
                grown,
                ", ".join(happened),
            ]
        )
        before = step
    return columns(table, rows, width)

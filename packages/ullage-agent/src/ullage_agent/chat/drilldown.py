"""``/context`` as levels of lists: the window's rows, their tools or messages, a single message. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.cli.drawing import Subject, draw
from ullage.cli.listing import preview
from ullage.cli.table import Cells, aligned, source_of
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Span,
    number,
    padded,
    percent,
    printable,
    shortened,
    wrapped,
)
from ullage.messages import (
    Message,
    ReasoningPart,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.reading import Reading, Row
from ullage.meter.rows import PartEstimate
from ullage_agent.chat.choices import Choice
from ullage_agent.chat.rendering import cut, plain_rows, visible

LONGEST_TEXT: Final = 200_000
"""Characters of one part that the last level shows."""


OWN_ESTIMATES: Final = (
    "Each is an estimate of its own; together they need not be the row's number."
)


class DrilldownData(NamedTuple):
    """All that the levels are made of."""

    reading: Reading
    subject: Subject
    messages: tuple[Message, ...]
    items: tuple[PartEstimate, ...]
    """Every part in view with its tokens."""
    tools: tuple[Tool, ...]
    system: tuple[SystemBlock, ...]
    pinned: frozenset[str] = frozenset()


class Level(NamedTuple):
    """One list. ``path`` says where one is."""

    path: str
    choices: tuple[Choice, ...]


def level(
    window: DrilldownData,
    target: str,
    width: int,
    glyphs: Glyphs,
    *,
    by_size: bool = True,
) -> Level:
    """The list behind a target: empty is the window, then ``row:N``, ``tool:NAME``, ``system:N``, ``message:ID``."""
    kind, _, name = target.partition(":")
    match kind:
        case "row":
            return _row_level(window, int(name), width, by_size=by_size)
        case "tool":
            return _tool_level(window, name, width)
        case "message":
            return _message_level(window, name, width)
        case _:
            return Level("Context", tuple(_window_level(window, width, glyphs)))


def first_target(reading: Reading) -> str:
    """Where the cursor begins: on the messages, which are what grows."""
    return next(
        (
            f"row:{place}"
            for place, row in enumerate(reading.rows)
            if row.name == "Messages"
        ),
        "",
    )


# -- the window --


def _window_level(window: DrilldownData, width: int, glyphs: Glyphs) -> Iterable[Choice]:
    """The drawing of ``ullage context``; the line of each of its rows leads to what the row is made of."""
    names = [glyphs.spell(printable(row.name)) for row in window.reading.rows]
    place = 0
    for line in draw(window.subject, width, glyphs):
        begins = line[0].text.rstrip().removesuffix(glyphs.ellipsis) if line else ""
        is_row = place < len(names) and bool(begins) and names[place].startswith(begins)
        yield Choice(line, f"row:{place}" if is_row else "")
        place += is_row


# -- what a row is made of --


def _row_level(window: DrilldownData, place: int, width: int, *, by_size: bool) -> Level:
    row = window.reading.rows[place] if place < len(window.reading.rows) else None
    if row is None:
        return Level("Context", ())
    path = f"Context › {printable(row.name)}  {number(row.tokens)} {source_of(row)}"
    if row.name == "Messages":
        own = [Choice((Span(line, "dim"),)) for line in wrapped(OWN_ESTIMATES, width)]
        return Level(path, (*_messages(window, width, by_size=by_size), Choice(()), *own))
    if row.name.startswith(("Tools", "Deferred")):
        whole = window.reading.window.tokens or window.reading.used.tokens
        return Level(path, tuple(_tools(row.children, whole, width, window.tools)))
    if row.name.startswith("Compaction") or row.name == "Summary":
        summary = [message for message in window.messages if message.origin == "summary"]
        return Level(path, tuple(_text_of(summary[0], window, width)) if summary else ())
    blocks = [block for block in window.system if _is_in(block, row)]
    lines: list[Choice] = []
    for child in row.children:
        lines.append(
            Choice(
                (Span(f"{printable(child.name)}  "), Span(number(child.tokens), "dim"))
            )
        )
    for block in blocks:
        lines += [
            Choice(()),
            *(Choice((Span(block.name, "strong"),)) for _ in (1,) if block.name),
        ]
        lines += _lines(block.text, width)
    return Level(
        path, tuple(lines) or (Choice((Span("Nothing more is known of it.", "dim"),)),)
    )


def _is_in(block: SystemBlock, row: Row) -> bool:
    words = {
        "prompt": "System",
        "instructions": "Instruction",
        "memory": "Memory",
        "skills": "Skills",
        "agents": "Agents",
    }
    return row.name.startswith(words.get(block.kind, block.kind))


def _tools(
    rows: Sequence[Row], whole: int, width: int, known: Sequence[Tool]
) -> Iterable[Choice]:
    names = {tool.name for tool in known}
    table: list[Cells] = []
    targets: list[str] = []

    def add(row: Row, indent: str, above: Row | None = None) -> None:
        table.append(
            Cells(
                name=indent + printable(row.name),
                tokens=number(row.tokens),
                share=percent(row.tokens, whole),
                source=source_of(row, above),
            )
        )
        targets.append(f"tool:{row.name}" if row.name in names else "")
        for child in row.children:
            add(child, indent + "  ", row)

    for row in rows:
        add(row, "")
    for line, target in zip(aligned(table, width), targets, strict=True):
        yield Choice(line, target)


def _messages(window: DrilldownData, width: int, *, by_size: bool) -> Iterable[Choice]:
    whole = window.reading.window.tokens or window.reading.used.tokens
    tokens, names = _sums(window.items)
    order = list(enumerate(window.messages, 1))
    if by_size:
        order.sort(key=lambda pair: -tokens.get(pair[1].id, 0))
    for place, message in order:
        size = tokens.get(message.id, 0)
        role = "summary" if message.origin == "summary" else message.role
        what = names.get(message.id, "") if message.role == "tool" else ""
        pin = "*" if message.id in window.pinned else " "
        head = (
            f"{pin}#{place:<5}{padded(role, 10)}{padded(number(size), 9, right=True)}"
            f"{padded(percent(size, whole), 7, right=True)}  "
        )
        begins = " · ".join(
            filter(None, (printable(what), *(preview(part) for part in message.parts)))
        )
        yield Choice(
            (Span(head), Span(shortened(begins, max(10, width - len(head))), "dim")),
            f"message:{message.id}",
        )


def _sums(items: Iterable[PartEstimate]) -> tuple[Mapping[str, int], Mapping[str, str]]:
    tokens: dict[str, int] = {}
    names: dict[str, str] = {}
    for item in items:
        tokens[item.message] = tokens.get(item.message, 0) + item.tokens
        names.setdefault(item.message, item.name)
    return tokens, names


# -- single things --


def _tool_level(window: DrilldownData, name: str, width: int) -> Level:
    tool = next((tool for tool in window.tools if tool.name == name), None)
    if tool is None:
        return Level(f"Context › {printable(name)}", ())
    lines = [
        *_lines(tool.description, width),
        Choice(()),
        *_lines(bytes(tool.schema).decode("utf-8", "replace"), width),
    ]
    return Level(f"Context › Tools › {printable(name)}", tuple(lines))


def _message_level(window: DrilldownData, name: str, width: int) -> Level:
    place, message = next(
        (
            (place, message)
            for place, message in enumerate(window.messages, 1)
            if message.id == name
        ),
        (0, None),
    )
    if message is None:
        return Level("Context › Messages", ())
    tokens, _ = _sums(window.items)
    pin = " · pinned" if name in window.pinned else ""
    path = f"Context › Messages › #{place} {message.role}  {number(tokens.get(name, 0))} estimated{pin}"
    return Level(path, tuple(_text_of(message, window, width)))


def _text_of(message: Message, window: DrilldownData, width: int) -> Iterable[Choice]:
    sizes = {
        item.part: item.tokens for item in window.items if item.message == message.id
    }
    yield Choice((Span(f"id {printable(message.id)}", "dim"),))
    for part in message.parts:
        match part:
            case TextPart():
                what, text = "text", part.text
            case ReasoningPart():
                what, text = (
                    "reasoning",
                    part.text
                    or f"({number(part.opaque_size)} characters only the provider reads)",
                )
            case ToolCallPart():
                what, text = f"call of {part.name}", part.arguments
            case ToolResultPart():
                what, text = f"result of {part.name}", part.text
            case _:
                what, text = (
                    type(part).__name__.removesuffix("Part").lower(),
                    preview(part),
                )
        size = sizes.get(part.id)
        known = (
            f"  {number(size)} tokens"
            if size is not None
            else "  in the sum of its message"
        )
        yield Choice(())
        yield Choice((Span(printable(what), "strong"), Span(known, "dim")))
        yield from _lines(text, width)


def _lines(text: str, width: int) -> Iterable[Choice]:
    shown, missing = cut(text, LONGEST_TEXT)
    for row in plain_rows(visible(shown), width, ""):
        yield Choice(tuple(Span(segment.text) for segment in row))
    if missing:
        yield Choice(
            (Span(f"… {number(missing)} more characters; /export writes them", "warn"),)
        )

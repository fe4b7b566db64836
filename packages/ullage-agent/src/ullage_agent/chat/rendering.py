"""Entries as lines of a terminal, each cut to the width: what they look like. Needs rich, and no terminal.

Whatever a model, a tool or a file says is text: control characters are shown as a sign or left out, markup of ours is
not read in it, links show their address, and what is very long is cut with a note that says so.
"""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from ullage.cli.screenplay import (
    OUTCOMES,
    AnswerEntry,
    ChatEntry,
    MessageEntry,
    Notice,
    ReasoningEntry,
    ToolCallEntry,
    arguments_of,
    described,
)
from ullage.display.styles import STYLES, style_name
from ullage.display.text import Line, Span, number, printable, shortened

ScreenRow = list[Segment]
"""One line of the terminal."""

LONGEST_SHOWN: Final = 60_000
"""Characters of one entry that are drawn; a screen of 200 x 60 shows 12,000."""

LONGEST_MARKDOWN: Final = 20_000
"""Characters that are read as Markdown at once: 20,000 take 70 ms here, and pathological ones grow faster."""

LONGEST_LINE: Final = 4_000
"""A line longer than this is no prose: what holds one is shown as it is, not as Markdown."""

FOLDED_LINES: Final = 4
"""Lines of a tool's result that are shown folded."""

SAID_LINES: Final = 20
"""Lines of what a person said that are shown folded."""

_THEME: Final = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold",
        "markdown.h1.border": "dim",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold dim",
        "markdown.link": "cyan",
        "markdown.link_url": "underline cyan",
        "markdown.item.bullet": "cyan",
        "markdown.item.number": "cyan",
        "markdown.block_quote": "dim",
        "markdown.hr": "dim",
    }
)
"""The sixteen colours of the user's own theme, so that it can be read on light and dark."""


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would act on: line ends are kept, tabs are spaces.

    Escape is shown as ␛ and the other C0 controls as their signs; format, private and unassigned characters that could
    reorder or hide text are left out, but not the joiners that emoji and scripts need.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return "".join(
        char if char == "\n" or char.isprintable() else _shown(char) for char in text
    )


def _shown(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if char in "\u200c\u200d" or unicodedata.category(char) == "Zs":
        return char if char in "\u200c\u200d" else " "
    return ""


def cut(text: str, most: int = LONGEST_SHOWN) -> tuple[str, int]:
    """The text, or its beginning where it is longer than ``most``; and how many characters are missing."""
    if len(text) <= most:
        return text, 0
    return text[:most], len(text) - most


def rows_of(entry: ChatEntry, width: int, *, unfolded: bool = False) -> list[ScreenRow]:
    """The lines of an entry, an empty one before it where it begins something new; none is wider than ``width``."""
    match entry:
        case MessageEntry():
            rows = [[], *_said(entry, width, unfolded)]
        case AnswerEntry():
            rows = [[], *_answer(entry, width)]
        case ReasoningEntry():
            rows = [[], *_thought(entry, width, unfolded)]
        case ToolCallEntry():
            rows = [[], *_called(entry, width, unfolded)]
        case Notice():
            rows = wrapped_line(entry.hinted_line, width, indent=2)
    return [
        row if _width_of(row) <= width else Segment.adjust_line_length(row, width)
        for row in rows
    ]


def _width_of(row: ScreenRow) -> int:
    return sum(segment.cell_length for segment in row)


# -- people and the model --


def _said(entry: MessageEntry, width: int, unfolded: bool) -> list[ScreenRow]:
    is_own = entry.origin == "said"
    text, missing = cut(entry.text, LONGEST_SHOWN if unfolded else 8_000)
    rows = plain_rows(visible(text), width - 2, "bold" if is_own else "dim")
    most = len(rows) if unfolded else SAID_LINES if is_own else FOLDED_LINES
    if missing and not unfolded:
        rows = rows[:most] + _missing(
            len(entry.text) - sum(map(_length, rows[:most])), "Ctrl+O unfolds"
        )
    else:
        rows = rows[:most] + _more(len(rows) - most) + _missing(missing)
    if entry.attached:
        rows.append([Segment(f"with {entry.attached} attached", Style.parse("dim"))])
    return _behind("> " if is_own else "= ", "bold cyan", rows)


def _length(row: ScreenRow) -> int:
    return sum(len(segment.text) for segment in row)


def _answer(entry: AnswerEntry, width: int) -> list[ScreenRow]:
    text, missing = cut(entry.text)
    rows: list[ScreenRow] = []
    for block in blocks(visible(text)):
        rows += _markdown(block, width - 2)
    if rows and not rows[0]:
        rows = rows[1:]
    rows += _missing(missing)
    if entry.interrupted:
        rows.append(
            [
                Segment(
                    f"(interrupted: {printable(entry.interrupted)})",
                    Style.parse("yellow"),
                )
            ]
        )
    return _behind("", "", rows, indent=2)


def _thought(entry: ReasoningEntry, width: int, unfolded: bool) -> list[ScreenRow]:
    dim = Style.parse("dim")
    if unfolded and entry.text:
        text, missing = cut(entry.text)
        rows = [[Segment("thinking" if entry.is_open else "thought", dim)]]
        return _behind(
            "∴ ",
            "dim",
            rows + plain_rows(visible(text), width - 4, "dim italic") + _missing(missing),
        )
    size = (
        f"{number(len(entry.text))} characters"
        if entry.text
        else "not shown by the provider"
    )
    if entry.is_open:
        tail = printable(entry.text[-2 * width :])
        room = width - 14
        shown = tail if cell_len(tail) <= room else "…" + tail[-(room - 1) :]
        return _behind(
            "∴ ", "dim", [[Segment(shortened(f"thinking  {shown}", width - 2), dim)]]
        )
    first = printable(entry.text[: 2 * width])
    said = f"thought, {size}" + (f": {first}" if first else "")
    return _behind("∴ ", "dim", [[Segment(shortened(said, width - 2), dim)]])


# -- tools --


def _called(entry: ToolCallEntry, width: int, unfolded: bool) -> list[ScreenRow]:
    title = described(entry.name, entry.arguments[:LONGEST_SHOWN])
    said, style = _state(entry)
    spans = [
        Segment(
            shortened(title, max(10, width - 4 - cell_len(said))), Style.parse("bold")
        )
    ]
    if said:
        spans.append(Segment(f"  {said}", Style.parse(style)))
    rows: list[ScreenRow] = [spans]
    if unfolded or entry.name in ("edit", "write"):
        details = [
            row for line in details_of(entry) for row in wrapped_line(line, width - 4)
        ]
        most = len(details) if unfolded else 2 * FOLDED_LINES
        rows += details[:most] + _more(len(details) - most)
    if entry.result is not None and entry.outcome != "not_started":
        rows += _result(entry, width - 4, unfolded)
    mark = (
        "bold red"
        if entry.is_error
        else "green"
        if entry.result is not None
        else "yellow"
    )
    return _behind("● ", mark, rows)


def _state(entry: ToolCallEntry) -> tuple[str, str]:
    if entry.asks:
        return "needs your approval", "yellow"
    if entry.is_running:
        return "running", "yellow"
    if entry.is_open:
        return f"being written, {number(len(entry.arguments))} characters", "dim"
    if entry.outcome is not None and OUTCOMES[entry.outcome]:
        return OUTCOMES[entry.outcome], "yellow"
    return ("not asked: /permissions allows it", "dim") if entry.is_granted else ("", "")


def _result(entry: ToolCallEntry, width: int, unfolded: bool) -> list[ScreenRow]:
    text, missing = cut(entry.result or "", LONGEST_SHOWN if unfolded else 4_000)
    rows = plain_rows(visible(text.rstrip()), width, "red" if entry.is_error else "dim")
    lines = len(rows)
    if not unfolded:
        rows = rows[:FOLDED_LINES]
        if missing:
            rows += _missing(
                missing + sum(map(len, text.splitlines()[FOLDED_LINES:])),
                "Ctrl+O unfolds",
            )
        else:
            rows += _more(lines - FOLDED_LINES)
    else:
        rows += _missing(missing)
    if entry.size_bytes:
        note = f"{number(entry.size_bytes)} bytes in all: the model got both ends and a handle to read the rest"
        rows += plain_rows(note, width, "dim italic")
    return rows


def details_of(entry: ToolCallEntry) -> list[Line]:
    """What a call would do, line by line: the change an ``edit`` makes, the text a ``write`` puts, else arguments."""
    arguments = arguments_of(entry.arguments)
    if arguments is None:
        return [
            (Span(line, "dim"),)
            for line in visible(entry.arguments[:LONGEST_SHOWN]).splitlines()
        ]
    shown = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in arguments.items()
    }
    if entry.name == "edit" and {"old", "new"} <= shown.keys():
        return [
            *_marked("- ", shown["old"], "removed"),
            *_marked("+ ", shown["new"], "added"),
        ]
    if entry.name == "write" and "content" in shown:
        return _marked("+ ", shown["content"], "added")
    lines: list[Line] = []
    for name, value in shown.items():
        first, *rest = visible(cut(value)[0]).splitlines() or [""]
        lines.append((Span(f"{printable(name)}: ", "dim"), Span(first)))
        lines += [(Span(f"  {line}"),) for line in rest]
    return lines


def _marked(mark: str, text: str, style: str) -> list[Line]:
    shown, missing = cut(text)
    lines: list[Line] = [
        (Span(mark + line, style),) for line in visible(shown).splitlines()
    ]
    return lines + (
        [(Span(f"… {number(missing)} more characters", "dim"),)] if missing else []
    )


def _more(count: int) -> list[ScreenRow]:
    if count <= 0:
        return []
    return [
        [
            Segment(
                f"… {number(count)} more line{'s' if count > 1 else ''}, Ctrl+O unfolds",
                Style.parse("dim"),
            )
        ]
    ]


def _missing(
    characters: int, hint: str = "/context shows it in pieces, /export writes it"
) -> list[ScreenRow]:
    if not characters:
        return []
    return [
        [
            Segment(
                f"… {number(characters)} more characters; {hint}", Style.parse("yellow")
            )
        ]
    ]


# -- Markdown --


def blocks(text: str) -> list[str]:
    """Markdown in pieces of bounded length, split between paragraphs and never inside a fence."""
    if len(text) <= LONGEST_MARKDOWN // 4:
        return [text] if text else []
    pieces: list[str] = []
    current: list[str] = []
    size, fence = 0, ""
    for line in text.split("\n"):
        stripped = line.lstrip()
        if fence:
            fence = "" if stripped.startswith(fence) else fence
        elif stripped.startswith(("```", "~~~")):
            fence = stripped[:3]
        current.append(line)
        size += len(line) + 1
        is_break = not stripped and not fence and size > LONGEST_MARKDOWN // 8
        if is_break or size > LONGEST_MARKDOWN:
            pieces.append("\n".join(current))
            current, size = [], 0
    if current:
        pieces.append("\n".join(current))
    return pieces


class _Heading(Heading):
    """A heading at the left, where it is read."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Code(CodeBlock):
    """Code without a frame of empty lines."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Padding(
            Syntax(
                code,
                self.lexer_name,
                theme=self.theme,
                word_wrap=True,
                background_color="default",
            ),
            (0, 0, 0, 2),
        )


class _Markdown(Markdown):
    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }


@lru_cache(maxsize=512)
def _drawn(block: str, width: int) -> tuple[tuple[Segment, ...], ...]:
    if len(block) > 2 * LONGEST_MARKDOWN or any(
        len(line) > LONGEST_LINE for line in block.split("\n")
    ):
        return tuple(tuple(row) for row in plain_rows(block, width, ""))
    drawn = _Markdown(block, code_theme="ansi_dark", hyperlinks=False)
    console = _console(width)
    lines = console.render_lines(drawn, console.options.update(width=width), pad=False)
    rows: list[ScreenRow] = []
    for line in lines:
        row = _without_blanks(line)
        if row or (rows and rows[-1]):
            rows.append(row)
    while rows and not rows[-1]:
        rows.pop()
    return tuple(tuple(row) for row in rows)


def _markdown(block: str, width: int) -> list[ScreenRow]:
    return [[], *([list(row) for row in _drawn(block, max(width, 10))])]


def _console(width: int) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system="standard",
        theme=_THEME,
        emoji=False,
    )


def _without_blanks(line: Iterable[Segment]) -> ScreenRow:
    """The segments of a line without spaces at its end that nobody sees."""
    row = [segment for segment in line if segment.text and not segment.control]
    while (
        row and not row[-1].text.strip() and not (row[-1].style and row[-1].style.bgcolor)
    ):
        row.pop()
    if row and not (row[-1].style and row[-1].style.bgcolor):
        row[-1] = Segment(row[-1].text.rstrip(), row[-1].style)
    return row


# -- plain lines --


def plain_rows(text: str, width: int, style: str) -> list[ScreenRow]:
    """Text that is already ``visible`` as lines of at most ``width`` cells, broken between words where it can be."""
    look, width = Style.parse(style), max(width, 4)
    rows: list[ScreenRow] = []
    for line in text.split("\n"):
        rows += [
            [Segment(piece, look)] if piece else [] for piece in _broken(line, width)
        ]
    return rows


def _broken(line: str, width: int) -> list[str]:
    if line.isascii():
        return _broken_ascii(line, width)
    pieces: list[str] = []
    start, used, space = 0, 0, -1
    for place, char in enumerate(line):
        size = cell_len(char)
        if used + size > width and place > start:
            end = space + 1 if space - start > width // 3 else place
            pieces.append(line[start:end])
            start, used = end, cell_len(line[end:place])
        if char == " ":
            space = place
        used += size
    return [*pieces, line[start:]]


def _broken_ascii(line: str, width: int) -> list[str]:
    pieces: list[str] = []
    start = 0
    while len(line) - start > width:
        space = line.rfind(" ", start + width // 3, start + width)
        end = start + width if space < 0 else space + 1
        pieces.append(line[start:end])
        start = end
    return [*pieces, line[start:]]


def wrapped_line(line: Line, width: int, indent: int = 0) -> list[ScreenRow]:
    """A styled line of ours as rows, broken where it is too long."""
    text = Text()
    for span in line:
        text.append(span.text, look(span.style))
    console = _console(max(width, 10))
    rows = text.wrap(console, max(width - indent, 8))
    pad = [Segment(" " * indent)] if indent else []
    return [[*pad, *_without_blanks(row.render(console, end=""))] for row in rows]


def look(style: str) -> Style:
    """What a style of a span looks like."""
    more = {"added": "green", "removed": "red"}
    return Style.parse(more.get(style) or (STYLES[style_name(style)] if style else ""))


def _behind(
    mark: str, style: str, rows: Sequence[ScreenRow], indent: int = 0
) -> list[ScreenRow]:
    """Rows behind a mark, those after the first under it."""
    width = indent or cell_len(mark)
    first = Segment(mark or " " * width, Style.parse(style) if style else None)
    pad = Segment(" " * width)
    return [
        ([first] if place == 0 else [pad]) + row if row or place == 0 else []
        for place, row in enumerate(rows)
    ]

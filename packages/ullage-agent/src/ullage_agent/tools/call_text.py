"""Shows a tool call to a person before it runs: all of it, from the same parse that runs. Settings likewise.

Every interface shows these lines. Characters that are invisible, move the cursor or change the direction of writing
become escapes, a separate kind of piece, so that no interface can mistake them for text. Text of several lines has a
gutter, so that no line of it looks like another argument.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from ullage.display.spelling import escaped, is_hidden
from ullage_agent.tools.running import parse_arguments
from ullage_agent.tools.tool import BadArguments

PieceKind = Literal["name", "label", "text", "escape", "gutter", "note"]


class CallPiece(NamedTuple):
    """A piece of a line. ``escape`` is an escaped character, ``note`` is from Ullage; all others are from the call."""

    text: str
    kind: PieceKind


CallLine = tuple[CallPiece, ...]

_GUTTERS: Final = {
    ("edit", "old"): "- ",
    ("edit", "new"): "+ ",
    ("write", "content"): "+ ",
}
_GUTTER: Final = "| "
_TAB: Final = "    "

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LOOKS_LIKE_JSON: Final = re.compile(
    r"""\s*([\[{"]|(-?[0-9.]+(e[+-]?[0-9]+)?|true|false|null|nan|-?infinity)\s*$)""", re.I
)
"""Text that looks like another JSON value, and is shown in quotes."""


def call_lines(name: str, arguments: str) -> tuple[CallLine, ...]:
    """The whole call: the tool's name, each argument as it will run, and a note on escaped characters."""
    try:
        parsed = parse_arguments(arguments)
    except BadArguments:
        lines = _unparsed(name, arguments)
    else:
        lines = [(CallPiece("", "name"), *_spelled(name, "name"))]
        for key, value in parsed.items():
            lines += _argument(name, key, value)
    return _finished(lines)


def _finished(lines: list[CallLine]) -> tuple[CallLine, ...]:
    """The lines and the note on escapes, without empty pieces."""
    finished = []
    for line in [*lines, *_escape_note(lines)]:
        finished.append(tuple(piece for piece in line if piece.text))
    return tuple(finished)


def _unparsed(name: str, arguments: str) -> list[CallLine]:
    note = "The arguments are no JSON object: this call gives the model an error. The model wrote:"
    lines: list[CallLine] = [tuple(_spelled(name, "name")), (CallPiece(note, "note"),)]
    return lines + _block(arguments, _GUTTER)


def _argument(tool: str, key: str, value: Any) -> list[CallLine]:
    label = key if _NAME.fullmatch(key) else json.dumps(key, ensure_ascii=False)
    head = [*_spelled(label, "label"), CallPiece(":", "label")]
    gutter = _GUTTERS.get((tool, key), "")
    written = _written(value)
    if "\n" not in written and not gutter:
        return [(*head, CallPiece(" ", "label"), *_spelled(written, "text"))]
    text = value if isinstance(value, str) else written
    return [tuple(head), *_block(text, gutter or _GUTTER)]


def _written(value: Any) -> str:
    """Text as it is if it can't be mistaken for another value; everything else as JSON."""
    if isinstance(value, str):
        is_plain = (
            value and value == value.strip(" ") and not _LOOKS_LIKE_JSON.match(value)
        )
        if is_plain or "\n" in value:
            return value
    indent = 2 if isinstance(value, Mapping | list) and value else None
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _block(text: str, gutter: str) -> list[CallLine]:
    """Lines with a gutter. A line end at the end of the text adds an empty line, as an editor shows it."""
    return [
        (CallPiece("  ", "gutter"), CallPiece(gutter, "gutter"), *_spelled_line(line))
        for line in text.split("\n")
    ]


def _spelled_line(line: str) -> Iterable[CallPiece]:
    """One line of a text; tabs that indent it become spaces, other tabs become escapes."""
    rest = line.lstrip("\t")
    indent = _TAB * (len(line) - len(rest))
    kept = rest.rstrip(" ")
    return (
        CallPiece(indent, "text"),
        *_spelled(kept, "text"),
        *(CallPiece("\\x20", "escape") for _ in rest[len(kept) :]),
    )


def _spelled(text: str, kind: PieceKind) -> list[CallPiece]:
    pieces: list[CallPiece] = []
    for is_escape, chars in itertools.groupby(text, is_hidden):
        if is_escape:
            pieces += [CallPiece(escaped(char), "escape") for char in chars]
        else:
            pieces.append(CallPiece("".join(chars), kind))
    return pieces


def _escape_note(lines: Iterable[CallLine]) -> list[CallLine]:
    """Lists the escaped characters, which look like text without colours."""
    escapes: set[str] = set()
    for line in lines:
        escapes.update(piece.text for piece in line if piece.kind == "escape")
    found = sorted(escapes - {"\\x20"})
    if not found:
        return []
    listed = ", ".join(found[:8])
    if len(found) > 8:
        listed += f" and {len(found) - 8} more"
    return [
        (
            CallPiece(
                f"Holds characters that can't be seen, spelled here as {listed}.", "note"
            ),
        )
    ]

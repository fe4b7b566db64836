"""A tool call as a person reads it before it runs: whole, and made from the very parse that runs. Settings likewise.

Every interface shows these lines. Nothing is left out. A character that is invisible, moves the cursor or turns the
direction of writing is spelled as an escape of a kind of its own, so that no interface can mistake it for text. A text
of several lines stands behind a gutter, so that no line of it can pass for another argument.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from ullage.tools.running import parse_arguments
from ullage.tools.tool import BadArguments

PieceKind = Literal["name", "label", "text", "escape", "gutter", "note"]


class CallPiece(NamedTuple):
    """A piece of a line. ``escape`` is a spelled character, ``note`` is said by Ullage; the rest is the call's own."""

    text: str
    kind: PieceKind


CallLine = tuple[CallPiece, ...]

_GUTTERS: Final = {("edit", "old"): "- ", ("edit", "new"): "+ ", ("write", "content"): "+ "}
_GUTTER: Final = "| "
_TAB: Final = "    "

_IGNORED: Final = frozenset(
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0)
)
"""Characters drawn as nothing although their category is that of letters, marks or symbols
(DerivedCoreProperties.txt of Unicode 16, Default_Ignorable_Code_Point; and the empty Braille pattern)."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LOOKS_LIKE_JSON: Final = re.compile(
    r"""\s*([\[{"]|(-?[0-9.]+(e[+-]?[0-9]+)?|true|false|null|nan|-?infinity)\s*$)""", re.I
)
"""A text that would look like another value: it is shown in quotes."""


def call_lines(name: str, arguments: str) -> tuple[CallLine, ...]:
    """The whole call: its tool's name, then each argument as it will be run, then notes on what can't be seen."""
    try:
        parsed = parse_arguments(arguments)
    except BadArguments:
        lines = _unparsed(name, arguments)
    else:
        lines = [(CallPiece("", "name"), *_spelled(name, "name"))]
        for key, value in parsed.items():
            lines += _argument(name, key, value)
    note = _escape_note(lines)
    return tuple(tuple(piece for piece in line if piece.text) for line in [*lines, *note])


def setting_lines(key: str, value: Any) -> tuple[CallLine, ...]:
    """A setting that a project's file asks for, shown as an argument of a call is: whole, with nothing hidden."""
    lines = _argument("", key, value)
    return tuple(tuple(piece for piece in line if piece.text) for line in [*lines, *_escape_note(lines)])


def as_text(lines: Iterable[CallLine]) -> str:
    """The lines as plain text."""
    return "\n".join("".join(piece.text for piece in line) for line in lines)


def spelled(text: str) -> str:
    """Text on one line with every character visible: line ends and invisible characters as escapes."""
    return "".join(piece.text for piece in _spelled(text, "text"))


def is_hidden(char: str) -> bool:
    """Whether a character is invisible, moves the cursor, or changes how its neighbours are drawn."""
    if char == " ":
        return False
    if unicodedata.category(char)[0] in "CZ":
        return True
    code = ord(char)
    return code in _IGNORED or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


def _unparsed(name: str, arguments: str) -> list[CallLine]:
    said = "The arguments are no JSON object: this call gives the model an error. They are, as they came:"
    lines: list[CallLine] = [tuple(_spelled(name, "name")), (CallPiece(said, "note"),)]
    return lines + _block(arguments, _GUTTER)


def _argument(tool: str, key: str, value: Any) -> list[CallLine]:
    label = key if _NAME.fullmatch(key) else json.dumps(key, ensure_ascii=False)
    head = [*_spelled(label, "label"), CallPiece(":", "label")]
    gutter = _GUTTERS.get((tool, key), "")
    is_plain = isinstance(value, str) and not _LOOKS_LIKE_JSON.match(value) and value == value.strip(" ") and value
    written = value if isinstance(value, str) and (is_plain or "\n" in value) else _as_json(value)
    if "\n" not in written and not gutter:
        return [(*head, CallPiece(" ", "label"), *_spelled(written, "text"))]
    return [tuple(head), *_block(value if isinstance(value, str) else written, gutter or _GUTTER)]


def _as_json(value: Any) -> str:
    if isinstance(value, Mapping | list) and value:
        return json.dumps(value, ensure_ascii=False, indent=2)
    return json.dumps(value, ensure_ascii=False)


def _block(text: str, gutter: str) -> list[CallLine]:
    """Lines behind a gutter. A line end before the end of the text is a line of its own, as an editor shows it."""
    return [(CallPiece("  ", "gutter"), CallPiece(gutter, "gutter"), *_spelled_line(line)) for line in text.split("\n")]


def _spelled_line(line: str) -> Iterable[CallPiece]:
    """One line of a text; tabs that indent it are spaces, others are spelled."""
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
    plain: list[str] = []
    for char in text:
        if not is_hidden(char):
            plain.append(char)
            continue
        if plain:
            pieces.append(CallPiece("".join(plain), kind))
            plain.clear()
        pieces.append(CallPiece(_escape(char), "escape"))
    if plain:
        pieces.append(CallPiece("".join(plain), kind))
    return pieces


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()  # \n, \x1b, \u202e


def _escape_note(lines: Iterable[CallLine]) -> list[CallLine]:
    """Says which spelled characters there are: without colours they look like text."""
    found = sorted({piece.text for line in lines for piece in line if piece.kind == "escape"} - {"\\x20"})
    if not found:
        return []
    listed = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
    return [(CallPiece(f"Holds characters that can't be seen, spelled here as {listed}.", "note"),)]

"""Text for a terminal: measured in cells, free of control characters, wrapped between items.

Names and titles come from foreign logs and could hold anything, escape sequences included; ``printable`` makes them
safe to print, and every piece that is drawn goes through it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_STEERING: Final = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that JSON allows in a text as they are and that a terminal obeys: DEL, the C1 controls (``\\x9b`` begins
an escape sequence), line separators, and what changes the direction of writing."""

LONGEST_QUOTED: Final = 60
"""Characters of a value that its error repeats."""

SMALLEST_USD: Final = 0.0001
"""What is less is only said to be so."""


class Span(NamedTuple):
    """A piece of a line, and what it stands for. What that looks like is decided where it is printed."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def plain(line: Iterable[Span]) -> str:
    """The line without its styles and without spaces at its end."""
    return "".join(span.text for span in line).rstrip()


def printable(text: str) -> str:
    """The text on one line: each control or unassigned character, and each run of spaces, as one space."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text
    return " ".join(
        "".join(
            " " if unicodedata.category(char)[0] in "CZ" else char for char in text
        ).split()
    )


def json_text(data: bytes) -> str:
    """The same JSON value with every character escaped that would steer a terminal."""
    return _STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", data.decode())


def safe(text: str) -> str:
    """Text that moves no cursor and changes no colour: line ends and tabs are kept, other controls left out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char
        for char in text
        if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cs")
    )


def quoted(value: object) -> str:
    """A value as an error repeats it: quoted, on one line, with what can't be printed escaped, and cut."""
    written = repr(value[:LONGEST_QUOTED] if isinstance(value, str) else value)
    if len(written) <= LONGEST_QUOTED:
        return written
    return f"{written[: LONGEST_QUOTED - 3]}..."


def cells(text: str) -> int:
    """Terminal cells the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(char) for char in text)


def _cells_of(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """The text cut to ``width`` cells, its end replaced by an ellipsis where it was longer."""
    if cells(text) <= width:
        return text
    room = width - cells(ellipsis)
    kept = []
    for char in text:
        room -= _cells_of(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ellipsis


def cut(line: Line, width: int, ellipsis: str = "…") -> Line:
    """The line without what does not fit."""
    kept: list[Span] = []
    for span in line:
        text = shortened(span.text, width, ellipsis)
        kept.append(Span(text, span.style))
        width -= cells(text)
        if width <= 0:
            break
    return tuple(kept)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """The text filled with spaces to ``width`` cells; ``right`` aligns it to the right."""
    space = " " * max(0, width - cells(text))
    return space + text if right else text + space


def flowed(
    items: Sequence[Line],
    width: int,
    *,
    separator: str = " · ",
    first: str = "",
    indent: str = "",
) -> list[Line]:
    """Items side by side, a new line wherever the next would not fit. An item alone too long is left to run over."""
    lines: list[Line] = []
    current: list[Span] = [Span(first)] if first else []
    used, empty = cells(first), True
    for item in items:
        length = sum(cells(span.text) for span in item)
        if not empty and used + cells(separator) + length > width:
            lines.append(tuple(current))
            current, used, empty = ([Span(indent)] if indent else []), cells(indent), True
        if not empty:
            current.append(Span(separator, "dim"))
            used += cells(separator)
        current.extend(item)
        used += length
        empty = False
    if current:
        lines.append(tuple(current))
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """The text broken between words into lines of at most ``width`` cells; a longer word stays whole."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and cells(lines[-1]) + 1 + cells(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def number(value: int) -> str:
    """A whole number with its thousands set apart."""
    return f"{value:,}"


def percent(part: float, whole: float) -> str:
    """``part`` of ``whole`` in whole percent; a share too small for that is ``<1 %``, never 0."""
    if whole <= 0 or part == 0:
        return "0 %"
    share = 100 * part / whole
    if 0 < share < 1:
        return "<1 %"
    return f"{share:.0f} %"


def counted(n: int, one: str, many: str = "") -> str:
    """A number and its noun: ``1 call``, ``38 calls``."""
    return f"{number(n)} {one if n == 1 else many or one + 's'}"


def kind_in_words(kind: str) -> str:
    """The name of an error's type as words: ``RateLimited`` is ``rate limited``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()


def fine_percent(value: float) -> str:
    """A percentage with one decimal, or two where one would say nothing: ``4.2 %``, ``0.03 %``."""
    if abs(value) < 0.005:
        return "0.0 %"
    return f"{value:.2f} %" if abs(value) < 0.1 else f"{value:,.1f} %"


def signed_percent(value: float) -> str:
    """The same with its sign: ``+0.1 %``."""
    return f"{'+' if value >= 0.005 else ''}{fine_percent(value)}"


def dollars(usd: float) -> str:
    """Money in cents, or finer where cents would say nothing."""
    if 0 < usd < SMALLEST_USD:
        return f"less than ${SMALLEST_USD}"
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"

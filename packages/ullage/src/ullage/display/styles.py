"""How each style of a span looks on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ullage.display.text import Line, Span

if TYPE_CHECKING:
    from rich.text import Text

STYLES: Final = {
    "title": "bold",
    "strong": "bold",
    "model": "bold",
    "number": "",
    "dim": "dim",
    "warn": "yellow",
    "bad": "bold red",
    "row0": "blue",
    "row1": "cyan",
    "row2": "green",
    "row3": "magenta",
    "row4": "bright_blue",
    "row5": "bright_cyan",
    "row6": "bright_green",
    "row7": "bright_magenta",
    "interval": "yellow",
    "mark": "yellow",
    "reserve": "dim",
    "free": "dim",
    "spark": "green",
}
"""What each style of a span looks like, in the sixteen colours that the user's own theme defines."""

ROW_STYLES: Final = 8


def rich_text(line: Line) -> Text:
    """The line with its styles, as rich prints it."""
    from rich.text import Text

    text = Text(no_wrap=True)
    for span in stripped(line):
        text.append(span.text, STYLES[style_name(span.style)] if span.style else "")
    return text


_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "bright_green": "92",
    "bright_blue": "94",
    "bright_magenta": "95",
    "bright_cyan": "96",
}
"""Select Graphic Rendition, ECMA-48 8.3.117."""


def ansi(line: Line) -> str:
    """The line with its styles, as a terminal of sixteen colours takes it, without loading rich."""
    pieces: list[str] = []
    for span in stripped(line):
        words = STYLES[style_name(span.style)].split() if span.style else []
        codes = ";".join(_CODES[word] for word in words)
        if codes:
            pieces.append(f"\x1b[{codes}m{span.text}\x1b[0m")
        else:
            pieces.append(span.text)
    return "".join(pieces)


def style_name(style: str) -> str:
    """The name in ``STYLES``; rows beyond the last colour begin again at the first."""
    return f"row{int(style[3:]) % ROW_STYLES}" if style.startswith("row") else style


def stripped(line: Line) -> Line:
    """The line without spaces at its end, which a terminal would wrap."""
    spans = list(line)
    while spans:
        text = spans[-1].text.rstrip()
        if text:
            spans[-1] = Span(text, spans[-1].style)
            break
        spans.pop()
    return tuple(spans)

"""Text from outside with its invisible characters spelled out, so that a person sees all of it."""

from __future__ import annotations

import unicodedata
from typing import Final

_IGNORED: Final = frozenset(
    (
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x180B,
        0x180C,
        0x180D,
        0x180F,
        0x2800,
        0x3164,
        0xFFA0,
    )
)
"""Characters drawn as nothing although their category is that of letters, marks or symbols
(DerivedCoreProperties.txt of Unicode 16, Default_Ignorable_Code_Point; and the empty Braille pattern)."""


def spelled(text: str) -> str:
    """Text on one line, with line ends and invisible characters as escapes."""
    return "".join(escaped(char) if is_hidden(char) else char for char in text)


def is_hidden(char: str) -> bool:
    """Whether a character is invisible, moves the cursor, or changes how its neighbours are drawn."""
    if char == " ":
        return False
    if unicodedata.category(char)[0] in "CZ":
        return True
    code = ord(char)
    return code in _IGNORED or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


def escaped(char: str) -> str:
    """A character as an escape of Python."""
    return char.encode("unicode_escape").decode()  # \n, \x1b, \u202e

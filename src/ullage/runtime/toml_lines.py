"""Which line of a TOML text says a key, for messages: tomllib itself keeps no places."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from ullage.envelope import TOML_DEPTH

LONGEST: Final = 2_000
LARGEST: Final = 16_000
"""Lines and characters beyond which nothing is looked for: the text is parsed once a line."""

_NOT_STRUCTURE: Final = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*",
    re.DOTALL,
)
"""Strings and comments; one without an end reaches to the end, so that a text is gone through once."""
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def is_too_deep(text: str, most: int = TOML_DEPTH) -> bool:
    """Whether a TOML text nests brackets deeper than ``most``, strings and comments aside. Does not recurse."""
    steps = (
        _STEPS[letter] for letter in _NOT_STRUCTURE.sub("", text) if letter in _STEPS
    )
    return max(accumulate(steps), default=0) > most


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line, from 1, on which ``path`` begins (``["mcp", "github", "url"]``); ``None`` if it is not found.

    Parses ever longer beginnings of the text: the line follows the last readable beginning without the path. Exact for
    all TOML, also for multi-line values and quoted or dotted keys.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > LONGEST or len(text) > LARGEST:
        return None
    begins = 0
    for end in range(1, len(lines) + 1):
        try:
            table = tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if _holds(table, path):
            return begins + 1
        begins = end
    return None


def _holds(table: object, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(table, dict) or key not in table:
            return False
        table = table[key]
    return True

"""Which line of a TOML text says a key, for messages: tomllib itself keeps no places."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Final

LONGEST: Final = 2_000
"""Lines beyond which nothing is looked for: the text is parsed once a line."""


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line, from 1, on which ``path`` begins (``["mcp", "github", "url"]``); ``None`` where it is not found.

    The path is said by the first run of lines after a readable beginning that makes another readable beginning with
    the path in it. Exact for whatever tomllib reads, multi-line values and quoted or dotted keys included.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > LONGEST:
        return None
    begins = 0
    for end in range(1, len(lines) + 1):
        try:
            said = tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if _holds(said, path):
            return begins + 1
        begins = end
    return None


def _holds(said: object, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(said, dict) or key not in said:
            return False
        said = said[key]
    return True

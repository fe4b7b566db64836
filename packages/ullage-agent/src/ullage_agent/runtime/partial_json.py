"""A JSON object while it is written, as whole JSON: what a typed answer is read from before its end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ullage_agent.runtime.policy import PARTIAL_LEVELS

_TOKEN: Final = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]++|\\.)*+")|(?P<opening>[{\[])|(?P<closing>[}\]])|(?P<mark>[,:])'
    r'|(?P<scalar>[^\s{}\[\],:"]++)(?=[\s{}\[\],:"]))',
    re.DOTALL,
)
"""A whole token. A number or word is whole where something follows it."""

_OPEN_TEXT: Final = re.compile(
    r'\s*"(?:[^"\\]++|\\["\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*+"
)
"""The beginning of a text, up to an escape that is not whole."""


class PartialJson:
    """The object that begins at the first brace of a text. ``add`` takes more of the text."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        """Where the next token begins."""
        self._end = 0
        """Where the last whole value ends, or the last object or list begins that is open."""
        self._open: list[tuple[str, int]] = []
        """Of each object or list that is open: what closes it, and ``_end`` before it."""
        self._is_key = False

    def add(self, piece: str) -> None:
        """Take more of the text."""
        if not self._text:
            _, brace, piece = piece.partition("{")
            piece = brace + piece
        self._text += piece

    def completions(self) -> Iterator[str]:
        """Whole objects that agree with what has come so far, the most complete first.

        The first holds a text that is not at its end, the second ends before such a value, and the others leave out
        whole elements that are not at their end, from the inside out. Each call costs what is new.
        """
        self._scan()
        closers = "".join(closer for closer, _ in reversed(self._open))
        unfinished = _OPEN_TEXT.match(self._text, self._at)
        if unfinished and closers and not self._is_key:
            yield f'{self._text[: unfinished.end()]}"{closers}'
        if self._end:
            yield self._text[: self._end] + closers
        for _, before in self._open[: -PARTIAL_LEVELS - 1 : -1]:
            closers = closers[1:]
            if closers:
                yield self._text[:before] + closers

    def _scan(self) -> None:
        while self._open or not self._at:
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                return
            self._at = token.end()
            match token.lastgroup:
                case "opening":
                    is_object = token["opening"] == "{"
                    self._open.append(("}" if is_object else "]", self._end))
                    self._is_key = is_object
                    self._end = self._at
                case "closing":
                    self._open.pop()
                    self._is_key = False
                    self._end = self._at
                case "mark":
                    is_comma = token["mark"] == ","
                    self._is_key = is_comma and self._open[-1][0] == "}"
                case _ if not self._is_key:
                    self._end = self._at

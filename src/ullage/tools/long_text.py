"""Text of any length worked through in pieces, so that no step of it holds the interpreter for long.

A thread alone does not help: one call on 100 MB of text keeps every other thread waiting until it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ullage.messages import CleanText, clean_text

PIECE: Final = 1 << 18
"""Characters worked on at a time: about a millisecond."""


def clean_pieces(text: str) -> CleanText:
    """The same as ``clean_text``."""
    pieces = list(map(clean_text, _pieces(text)))
    if all(piece.raw is None for piece in pieces):
        return CleanText(text, None)
    raw = b"".join([piece.text.encode() if piece.raw is None else piece.raw for piece in pieces])
    text = ""
    for piece in pieces:
        text += piece.text  # grows in place, a piece at a time; one join would copy all of it in a single step
    return CleanText(text, raw)


def encode_pieces(text: str) -> bytes:
    """The same as ``text.encode()``, for valid Unicode."""
    return b"".join([piece.encode() for piece in _pieces(text)])


def _pieces(text: str) -> Iterator[str]:
    """The text in order, never cut between the two halves of a surrogate pair."""
    at = 0
    while at < len(text):
        end = at + PIECE
        if end < len(text) and "\ud800" <= text[end - 1] <= "\udbff":
            end += 1
        yield text[at:end]
        at = end

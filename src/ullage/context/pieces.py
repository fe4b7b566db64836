"""Splits a history into pieces that each fit into one summary call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.context.rendering import line_of, rendered, text_length
from ullage.context.situation import Situation
from ullage.messages import Message

CHARACTERS_PER_TOKEN: Final = 3.0
"""The first guess; each piece is counted and made smaller if it is too large."""

FRAME: Final = 60
"""Characters around each message, its tags and id."""

ATTEMPTS: Final = 6


class HistoryPiece(NamedTuple):
    """Text of part of a history, and the ids of the messages it shows."""

    text: str
    ids: tuple[str, ...]


def pieces_of(situation: Situation, messages: Sequence[Message], *, room: int, most: int) -> tuple[HistoryPiece, ...]:
    """The messages, earlier summaries aside, in at most ``most`` pieces of at most ``room`` tokens by estimate.

    In a longer history, long messages become excerpts under one cap; if that is still too much, each message is one
    line. Every message is in one of the pieces.
    """
    shown = [message for message in messages if message.origin != "summary"]
    if not shown:
        return ()
    if 2 * FRAME * len(shown) > CHARACTERS_PER_TOKEN * room * most:
        return _lines(situation, shown, room=room, most=most)
    density = CHARACTERS_PER_TOKEN
    for _ in range(ATTEMPTS):
        pieces = _packed(shown, characters=max(200, int(room * density)), most=most)
        worst = max(situation.count(piece.text) for piece in pieces)
        if worst <= room and len(pieces) <= most:
            return pieces
        density *= min(0.9, 0.95 * room / worst) if worst > room else 0.9
    return _lines(situation, shown, room=room, most=most)


def _packed(messages: Sequence[Message], *, characters: int, most: int) -> tuple[HistoryPiece, ...]:
    lengths = [text_length(message) for message in messages]
    # A message may leave the rest of a piece empty, so the pieces together hold less than their sum.
    total = characters * most if most == 1 else int(0.8 * characters * most)
    cap = _cap(lengths, min(total, 10**15) - FRAME * len(lengths))
    cap = min(cap, max(200, characters - FRAME))
    pieces: list[HistoryPiece] = []
    texts: list[str] = []
    ids: list[str] = []
    size = 0
    for message in messages:
        text = rendered(message, cap)
        if texts and size + len(text) > characters:
            pieces.append(HistoryPiece("\n".join(texts), tuple(ids)))
            texts, ids, size = [], [], 0
        texts.append(text)
        ids.append(message.id)
        size += len(text) + 1
    return (*pieces, HistoryPiece("\n".join(texts), tuple(ids)))


def _cap(lengths: Sequence[int], total: int) -> int:
    """The largest length to cut to so that all together are at most ``total``."""
    left = total
    ordered = sorted(lengths)
    for index, length in enumerate(ordered):
        share = left // (len(ordered) - index)
        if length > share:
            return max(0, share)
        left -= length
    return ordered[-1] if ordered else 0


def _lines(situation: Situation, messages: Sequence[Message], *, room: int, most: int) -> tuple[HistoryPiece, ...]:
    """One line per message, as short as necessary."""
    per_piece = -(-len(messages) // most)
    pieces: list[HistoryPiece] = []
    for start in range(0, len(messages), per_piece):
        part = messages[start : start + per_piece]
        ids = tuple(message.id for message in part)
        text = "\n".join(line_of(message) for message in part)
        characters = 160
        while situation.count(text) > room and characters > 8:
            characters //= 2
            text = "\n".join(line_of(message, characters) for message in part)
        while situation.count(text) > room and len(text) > 1:
            text = text[: len(text) * 3 // 4]
        pieces.append(HistoryPiece(text, ids))
    return tuple(pieces)

"""Pieces of streaming answers: stored before they are shown, removed when the answer is in the ledger."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ullage.errors import LedgerError
from ullage.events import DraftPiece
from ullage.store.rows import pack, unpack

log = logging.getLogger("ullage.store")

_PieceRow = tuple[str, str, str, str, str]
"""Of each piece: kind, part, text, call_id, name. The call and the offsets are the row's."""

_decode = msgspec.json.Decoder(list[_PieceRow]).decode


class DraftRow(NamedTuple):
    """Pieces that were stored together, when the session's last event was ``seq``."""

    id: int
    seq: int
    pieces: tuple[DraftPiece, ...]


class PieceGroup(NamedTuple):
    """The row that holds the pieces ``first`` to ``last`` of a call."""

    call: str
    first: int
    last: int
    body: bytes


def group_of(pieces: Sequence[DraftPiece], words: bytes = b"") -> PieceGroup:
    """The row of these pieces, at least one; see ``pack``.

    Raises ``LedgerError`` for pieces of several calls, or with gaps.
    """
    call, first = pieces[0].call, pieces[0].offset
    if any(each[:2] != (call, offset) for offset, each in enumerate(pieces, first)):
        raise LedgerError(f"The pieces of call {call!r} have gaps between their offsets.")
    body = msgspec.json.encode(
        [(each.kind, each.part, each.text, each.call_id, each.name) for each in pieces]
    )
    return PieceGroup(call, first, first + len(pieces) - 1, pack(body, words))


def to_row(
    session: str, row: int, call: str, first: int, seq: int, body: bytes
) -> DraftRow | None:
    """The pieces of a stored row; ``None`` where it is damaged, since the whole answer follows."""
    try:
        stored = _decode(unpack(body))
    except (zlib.error, msgspec.MsgspecError, TypeError, ValueError):
        log.warning(
            "Pieces of an answer in the session %s can't be read and are left out",
            session,
        )
        return None
    pieces = (
        DraftPiece(call, offset, *piece)  # type: ignore[arg-type]
        for offset, piece in enumerate(stored, first)
    )
    return DraftRow(row, seq, tuple(pieces))

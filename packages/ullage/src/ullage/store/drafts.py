"""Pieces of streaming answers: stored before they are shown, removed when the answer is in the ledger."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
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


def grouped(pieces: Sequence[DraftPiece], words: bytes = b"") -> Iterator[PieceGroup]:
    """The rows of these pieces, see ``pack``. Raises ``LedgerError`` for offsets of a call that are not in a row."""
    for call, group in groupby(pieces, key=lambda piece: piece.call):
        together = tuple(group)
        first, last = together[0].offset, together[-1].offset
        if [piece.offset for piece in together] != list(range(first, last + 1)):
            raise LedgerError(
                f"The pieces of call {call!r} have gaps between their offsets."
            )
        body = msgspec.json.encode(
            [
                (each.kind, each.part, each.text, each.call_id, each.name)
                for each in together
            ]
        )
        yield PieceGroup(call, first, last, pack(body, words))


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

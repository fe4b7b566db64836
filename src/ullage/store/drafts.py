"""Pieces of streaming answers: stored before they are shown, removed when the answer is in the ledger."""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from ullage.errors import LedgerError
from ullage.store.rows import pack, unpack
from ullage.store.store import DraftPiece
from ullage.store.transaction import Change, SessionHead, Transaction, statements

log = logging.getLogger("ullage.store")

_PieceRow = tuple[str, str, str, str, str]
"""Of each piece: kind, part, text, call_id, name. The call and the offsets are the row's."""

_decode = msgspec.json.Decoder(list[_PieceRow]).decode


class DraftRow(NamedTuple):
    """Pieces that were stored together, when the session's last event was ``seq``."""

    id: int
    seq: int
    pieces: tuple[DraftPiece, ...]


def draft(work: Transaction, where: SessionHead, pieces: Sequence[DraftPiece]) -> None:
    """Store pieces. Raises ``LedgerError`` for an offset that was stored before, or offsets that are not in a row."""
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
        work.run("add_draft", where.key, call, first, last, where.seq, pack(body))
    if pieces:
        work.changes.append(Change(where.session, where.seq, tuple(pieces)))


def read_drafts(
    database: sqlite3.Connection, where: SessionHead, after_row: int = 0
) -> Iterator[DraftRow]:
    """The stored pieces of streaming answers, in the order of storing."""
    rows = database.execute(statements()["read_drafts"], (where.key, after_row))
    for row, call, first, seq, body in rows:
        try:
            stored = _decode(unpack(body))
        except (zlib.error, msgspec.MsgspecError, TypeError, ValueError):
            log.warning(
                "Pieces of an answer in the session %s can't be read and are left out",
                where.session,
            )
            continue
        pieces = (
            DraftPiece(call, offset, *piece)  # type: ignore[arg-type]
            for offset, piece in enumerate(stored, first)
        )
        yield DraftRow(row, seq, tuple(pieces))

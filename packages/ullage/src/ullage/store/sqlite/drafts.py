"""Pieces of streaming answers as rows of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from ullage.event_words import EVENT_WORDS
from ullage.events import DraftPiece
from ullage.store.changes import Change
from ullage.store.drafts import DraftRow, grouped, to_row
from ullage.store.refusals import offset_used
from ullage.store.sqlite.transaction import SessionHead, Transaction, statements


def draft(work: Transaction, where: SessionHead, pieces: Sequence[DraftPiece]) -> None:
    """Store pieces. Raises ``LedgerError`` for an offset that was stored before, or offsets that are not in a row."""
    for group in grouped(pieces, EVENT_WORDS):
        last = work.run("last_piece", where.key, group.call).fetchone()
        if last is not None and group.first <= last[0]:
            raise offset_used(where.session)
        work.run(
            "add_draft",
            where.key,
            group.call,
            group.first,
            group.last,
            where.seq,
            group.body,
        )
    if pieces:
        work.changes.append(Change(where.session, where.seq, tuple(pieces)))


def end_draft(work: Transaction, where: SessionHead, call: str) -> None:
    """Remove the pieces of a call."""
    work.run("end_draft", where.key, call)
    work.run("empty_last_draft", where.key, call)


def read_drafts(
    database: sqlite3.Connection, where: SessionHead, after_row: int = 0
) -> Iterator[DraftRow]:
    """The stored pieces of streaming answers, in the order of storing."""
    rows = database.execute(statements()["read_drafts"], (where.key, after_row))
    for row, call, first, seq, body in rows:
        found = to_row(where.session, row, call, first, seq, body)
        if found is not None:
            yield found

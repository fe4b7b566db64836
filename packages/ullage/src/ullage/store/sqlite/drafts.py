"""Pieces of streaming answers as rows of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from ullage.event_words import EVENT_WORDS
from ullage.events import DraftPiece
from ullage.store.changes import Change
from ullage.store.drafts import DraftRow, group_of, to_row
from ullage.store.following import is_same_event
from ullage.store.refusals import history_lost
from ullage.store.sqlite.transaction import (
    SessionHead,
    Transaction,
    statements,
    time_of,
)


def draft(
    work: Transaction,
    where: SessionHead,
    pieces: Sequence[DraftPiece],
    *,
    after: int,
    at: float,
) -> int:
    """See ``SessionStore.draft``."""
    group = group_of(pieces, EVENT_WORDS)
    found: int = work.run("next_piece", where.key, group.call).fetchone()[0]
    if at and not found and not is_same_event(at, time_of(work.database, where, after)):
        raise history_lost(where.session, after)
    if group.first != found:
        return found
    work.run("add_draft", where.key, *group, where.seq)
    work.changes.append(Change(where.session, where.seq, tuple(pieces)))
    return group.last + 1


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

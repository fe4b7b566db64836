"""Reading and writing a session's ledger within one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from ullage.errors import CommandRefused, LedgerError
from ullage.events import (
    Event,
    Forked,
    MessageAdded,
    ModelChanged,
    Queued,
    QueueLeft,
    RowDamaged,
    SessionStarted,
)
from ullage.messages import Message, TextPart
from ullage.store.queue import follow_queue
from ullage.store.rows import EventRow, number, to_event, to_row
from ullage.store.store import SessionRow
from ullage.store.transaction import Change, SessionHead, Transaction, session_head, statements

TITLE_LENGTH = 80


def create(work: Transaction, session: str, origin: str, events: Sequence[Event] = ()) -> SessionHead:
    """A new, empty session, as old as the first of the events it is made for.

    Raises ``CommandRefused`` when the id is taken or is none.
    """
    if not session:
        raise CommandRefused("A session needs an id that is not empty.")
    if work.run("head", session).fetchone() is not None:
        raise CommandRefused(f"There is a session {session!r} already. Choose another id, or continue that session.")
    now = work.run("now").fetchone()[0]
    created = events[0].at if events and events[0].at else now
    work.run("add_session", session, round(created, 3), round(now, 3), origin)
    return session_head(work.database, session)


def write(work: Transaction, where: SessionHead, events: Sequence[Event], *, strict: bool = True) -> tuple[Event, ...]:
    """Append the events to the session's ledger; returns them with their envelopes.

    Raises ``CommandRefused`` if an event concerns a queued message that does not wait. With ``strict=False``, for
    events of another session, such an event is stored and does not change the queue.
    """
    if not events:
        return ()
    now = round(where.now, 3)
    numbered = number(events, where.session, where.seq, now)
    rows = [(where.key, *to_row(event)) for event in numbered]
    work.database.executemany(statements()["add_event"], rows)
    for event in numbered:
        follow_queue(work, where.key, event, strict=strict)
    title, model = _naming(where, numbered)
    last = numbered[-1].seq
    work.run("change_session", last, now, title, model, where.key)
    for event in numbered:
        if isinstance(event, Forked):
            work.run("set_origin", event.origin, where.key)
    work.changes.append(Change(where.session, last, numbered))
    return numbered


def append(
    work: Transaction, where: SessionHead, events: Sequence[Event], *, after: int, exact: bool, ends_draft: str
) -> tuple[Event, ...]:
    """See ``Store.append``. Raises ``LedgerError`` when ``after`` is ahead of the ledger."""
    if after > where.seq:
        raise LedgerError(f"Session {where.session!r} ends at event {where.seq}: none can follow event {after}.")
    others = tuple(read(work.database, where, after=after)) if after < where.seq else ()
    if exact and others:
        return others
    written = write(work, where, events)
    if ends_draft:
        work.run("end_draft", where.key, ends_draft)
    return others + written


def read(database: sqlite3.Connection, where: SessionHead, *, after: int, limit: int | None = None) -> Iterator[Event]:
    """Events with a higher number than ``after``, in order."""
    for row in rows(database, where, after=after, limit=limit):
        yield _event(database, where, row)


def read_these(database: sqlite3.Connection, where: SessionHead, seqs: Sequence[int]) -> list[Event]:
    """The events of these numbers, in order."""
    found = database.execute(statements()["read_these_events"], (where.key, json.dumps(list(seqs))))
    return [_event(database, where, EventRow(*row)) for row in found]


def _event(database: sqlite3.Connection, where: SessionHead, row: EventRow) -> Event:
    """The event of a row. For a damaged row that ended a message's wait, the queue still has the content."""
    event = to_event(where.session, row)
    if not isinstance(event, RowDamaged):
        return event
    left = database.execute(statements()["left_queue_at"], (where.key, row.seq)).fetchone()
    if left is None:
        return event
    return QueueLeft(session=where.session, seq=event.seq, id=event.id, at=event.at, message_id=left[0], how=left[1])


def rows(
    database: sqlite3.Connection, where: SessionHead, *, after: int = 0, limit: int | None = None
) -> Iterator[EventRow]:
    """The stored rows of these events."""
    most = -1 if limit is None else limit
    for row in database.execute(statements()["read_events"], (where.key, after, most)):
        yield EventRow(*row)


def sessions(database: sqlite3.Connection, limit: int, before: float | None) -> list[SessionRow]:
    """See ``Store.sessions``."""
    found = database.execute(statements()["list_sessions"], (before, before, limit))
    return [SessionRow(*row) for row in found]


def about(database: sqlite3.Connection, session: str) -> SessionRow:
    """Raises ``SessionNotFound``."""
    session_head(database, session)
    return SessionRow(*database.execute(statements()["about_session"], (session,)).fetchone())


def _naming(where: SessionHead, events: Sequence[Event]) -> tuple[str, str]:
    """Title and model after these events: a given title, or else the first message of a person."""
    title, model = where.title, where.model
    for event in events:
        match event:
            case SessionStarted():
                title, model = event.title or title, event.model or model
            case ModelChanged():
                model = event.model
            case MessageAdded(message=message) | Queued(message=message) if not title:
                title = _first_words(message)
            case _:
                pass
    return title, model


def _first_words(message: Message) -> str:
    if message.role != "user" or message.origin != "said":
        return ""
    text = next((part.text for part in message.of_type(TextPart) if part.text.strip()), "")
    return " ".join(text[: 20 * TITLE_LENGTH].split())[:TITLE_LENGTH]

"""Reads, writes, copies and deletes a session's ledger within one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from ullage.events import (
    Event,
    Forked,
    QueueLeft,
    RowDamaged,
)
from ullage.store.changes import Change
from ullage.store.leases import busy
from ullage.store.naming import naming
from ullage.store.policy import INDEXED_EVENTS, LISTED_S
from ullage.store.refusals import history_lost, id_taken, no_id
from ullage.store.rows import (
    EventRow,
    number,
    sized_event,
    to_row,
)
from ullage.store.sqlite import words
from ullage.store.sqlite.drafts import end_draft
from ullage.store.sqlite.leases import holder
from ullage.store.sqlite.queue import follow_queue
from ullage.store.sqlite.transaction import (
    SessionHead,
    Transaction,
    session_head,
    statements,
)
from ullage.store.store import DEFAULT_TENANT, SPENT_BY
from ullage.turns.standing import counted, standing_of, stood, text_of_standing

CHANGED_S = 1.0
"""Seconds by which the time of a driver's event may differ from that of its append, to stand for when its session last
changed: then the session's row need not be written (``current_sessions`` of ``schema.sql``)."""

_OF_A_SESSION = (
    "delete_due",
    "delete_queue",
    "delete_drafts",
    "delete_checkpoint",
    "delete_kept",
    "delete_events",
    "delete_session",
)


def create(
    work: Transaction,
    session: str,
    origin: str,
    events: Sequence[Event] = (),
    *,
    tenant: str = DEFAULT_TENANT,
    place: str = "",
) -> SessionHead:
    """A new, empty session, as old as the first of the events it is made for.

    Raises ``CommandRefused`` when the id is taken or is none.
    """
    if not session:
        raise no_id()
    if work.run("head", session).fetchone() is not None:
        raise id_taken(session)
    now = work.run("now").fetchone()[0]
    created = events[0].at if events and events[0].at else now
    times = (round(created, 3), round(now, 3))
    work.run("add_session", session, *times, origin, tenant, place)
    return session_head(work.database, session)


def write(
    work: Transaction,
    where: SessionHead,
    events: Sequence[Event],
    *,
    strict: bool = True,
    lists: bool = True,
) -> tuple[Event, ...]:
    """Append the events to the session's ledger; returns them with their envelopes.

    The session moves to the front of lists with ``lists``, when it needs a person, and after ``LISTED_S``.

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
    last = numbered[-1]
    title, model = naming(where.title, where.model, numbered)
    before = standing_of(where.standing)
    standing = stood(before, numbered)
    lists |= counted(standing) != counted(before) or now - where.listed > LISTED_S
    is_same = (title, model, standing) == (where.title, where.model, before)
    if lists or not is_same or not where.owner or abs(last.at - now) > CHANGED_S:
        listed = now if lists else where.listed
        text = text_of_standing(standing)
        shown = (listed, text, counted(standing))
        work.run("change_session", now, title, model, *shown, where.key)
    for event in numbered:
        if isinstance(event, Forked):
            work.run("set_origin", event.origin, where.key)
    if where.seq == 0 or where.seq // INDEXED_EVENTS < last.seq // INDEXED_EVENTS:
        words.index(work, where)
    work.changes.append(Change(where.session, last.seq, numbered))
    return numbered


def append(
    work: Transaction,
    where: SessionHead,
    events: Sequence[Event],
    *,
    after: int,
    exact: bool,
    ends_draft: str,
) -> tuple[Event, ...]:
    """See ``SessionStore.append``. Raises ``HistoryLost`` when ``after`` is ahead of the ledger."""
    if after > where.seq:
        raise history_lost(where.session, after)
    others = tuple(read(work.database, where, after=after)) if after < where.seq else ()
    if exact and others:
        return others
    written = write(work, where, events, lists=False)
    if ends_draft:
        end_draft(work, where, ends_draft)
    return others + written


def read(
    database: sqlite3.Connection,
    where: SessionHead,
    *,
    after: int,
    limit: int | None = None,
) -> Iterator[Event]:
    """Events with a higher number than ``after``, in order."""
    for event, _ in read_sized(database, where, after=after, limit=limit):
        yield event


def read_sized(
    database: sqlite3.Connection,
    where: SessionHead,
    *,
    after: int,
    limit: int | None = None,
) -> Iterator[tuple[Event, int]]:
    """The same, each with the bytes of its JSON."""
    most = -1 if limit is None else limit
    for row in database.execute(statements()["read_events"], (where.key, after, most)):
        yield _event(database, where, EventRow(*row))


def read_these(
    database: sqlite3.Connection, where: SessionHead, seqs: Sequence[int]
) -> list[Event]:
    """The events of these numbers, in order."""
    found = database.execute(
        statements()["read_these_events"], (where.key, json.dumps(list(seqs)))
    )
    return [_event(database, where, EventRow(*row))[0] for row in found]


def _event(
    database: sqlite3.Connection, where: SessionHead, row: EventRow
) -> tuple[Event, int]:
    """The event of a row, with the bytes of its JSON.

    For a damaged row that ended a message's wait, the queue still has the content.
    """
    event, size = sized_event(where.session, row)
    if not isinstance(event, RowDamaged):
        return event, size
    left = database.execute(
        statements()["left_queue_at"], (where.key, row.seq)
    ).fetchone()
    if left is None:
        return event, size
    left_queue = QueueLeft(
        session=where.session,
        seq=event.seq,
        id=event.id,
        at=event.at,
        message_id=left[0],
        how=left[1],
    )
    return left_queue, size


def delete(work: Transaction, where: SessionHead) -> None:
    """Delete a session and the kept bytes that no other session has. Raises ``SessionBusy``."""
    if holder(where):
        raise busy(where.session, where.owner, where.expires)
    orphans = work.run("orphans_of", where.key).fetchall()
    words.forget(work, where)
    for name in _OF_A_SESSION:
        work.run(name, where.key)
    work.database.executemany(statements()["delete_blob"], orphans)
    work.run("unset_record", SPENT_BY, where.session)
    work.changes.append(Change(where.session))

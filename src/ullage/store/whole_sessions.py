"""Copies and deletes whole sessions.

A fork is a copy, not a reference: either session can be deleted without the other.
"""

from __future__ import annotations

import sqlite3

from ullage.agent.copies import CopiedSession, CopyClosure, Keep
from ullage.errors import LedgerError
from ullage.events import Event, Forked, QueueLeft
from ullage.store.leases import busy, holder
from ullage.store.ledger import create, read, write
from ullage.store.transaction import Change, SessionHead, Transaction, session_head, statements

_OF_A_SESSION = ("delete_queue", "delete_drafts", "delete_checkpoint", "delete_kept", "delete_events", "delete_session")


def resting_of(database: sqlite3.Connection, origin: str, through: int, keep: Keep) -> CopyClosure:
    """The events that close a copy of the origin's events up to ``through``. Raises ``SessionNotFound``."""
    events = read(database, session_head(database, origin), after=0, limit=through)
    return CopiedSession().add_all(events).resting(keep)


def copy_session(work: Transaction, origin: str, session: str, through: int, resting: CopyClosure) -> tuple[Event, ...]:
    """See ``SqliteStore.fork``."""
    source = session_head(work.database, origin)
    if not 0 <= through <= source.seq:
        raise LedgerError(f"Session {origin!r} has no event {through}: its last one is {source.seq}.")
    first = list(read(work.database, source, after=0, limit=1))
    target = create(work, session, origin, first)
    work.run("copy_events", target.key, source.key, through)
    work.run("copy_kept", target.key, source.key)
    values = {"source": source.key, "target": target.key, "through": through}
    work.database.execute(statements()["copy_queue"], values)
    left = {event.message_id for event in resting.events if isinstance(event, QueueLeft)}
    waiting = [row[0] for row in work.run("pending", target.key) if row[0] not in left]
    added: list[Event] = [QueueLeft(message_id=message, how="returned") for message in waiting]
    added += [*resting.events, Forked(origin=origin, through=through, dropped=resting.dropped)]
    place = target._replace(seq=through, title=source.title, model=source.model)
    return write(work, place, added, strict=False)


def delete(work: Transaction, where: SessionHead) -> None:
    """Delete a session and the kept bytes that no other session has. Raises ``SessionBusy``."""
    if holder(where):
        raise busy(where)
    orphans = work.run("orphans_of", where.key).fetchall()
    for name in _OF_A_SESSION:
        work.run(name, where.key)
    work.database.executemany("DELETE FROM blobs WHERE key = ?", orphans)
    work.changes.append(Change(where.session))


def delete_unchanged(work: Transaction, age_s: float, most: int) -> list[str]:
    """Delete at most ``most`` sessions without a driver that did not change for ``age_s``; returns their ids."""
    before = work.run("now").fetchone()[0] - age_s
    gone = []
    for (session,) in work.run("unchanged_since", before).fetchall():
        where = session_head(work.database, session)
        if not holder(where):
            delete(work, where)
            gone.append(session)
        if len(gone) >= most:
            break
    return gone

"""Takes over a database that another user made, or that was moved."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ullage.agent.copies import CopiedSession, Keep
from ullage.errors import StoreUnavailable
from ullage.events import Imported, QueueLeft
from ullage.store.failures import failure
from ullage.store.ledger import read, write
from ullage.store.opening import bring_up_to_date, connect, schema_of, set_mark, tables_of, version_of
from ullage.store.ownership import mark_of
from ullage.store.transaction import Transaction, session_head


class AdoptedSession(NamedTuple):
    """A session of the store. ``dropped`` lists for a person what was removed from it."""

    session: str
    dropped: tuple[str, ...]


def adopt(path: Path, data: Path, *, keep: Keep | None) -> list[AdoptedSession]:
    """Mark the database as the user's own, in one transaction; gives its sessions.

    With ``keep``, each session is closed like an import: unfinished work ends, grants are revoked, and only the
    settings that ``keep`` returns remain. Without it the sessions stay as they are: for the user's own store that was
    moved. Stored folds are removed in both cases, since only the ledger is trusted.

    Raises ``StoreUnavailable``, also for a database with tables, triggers or views of its own.
    """
    if not path.is_file():
        raise StoreUnavailable(f"There is no store {path}. Name the database file.")
    try:
        with closing(connect(path, "mode=rw")) as database:
            return _adopt(database, path, mark_of(path, data), keep)
    except sqlite3.Error as problem:
        raise failure(problem, path) from problem


def _adopt(database: sqlite3.Connection, path: Path, mark: bytes, keep: Keep | None) -> list[AdoptedSession]:
    if tables_of(database) != schema_of(version_of(database)):
        raise StoreUnavailable(
            f"{path} is no store as Ullage makes them: it lacks tables, or has tables, triggers or views of its own. "
            "Nothing was changed. Ask for its sessions as exported files and import those."
        )
    bring_up_to_date(database, path, b"")
    database.execute("BEGIN IMMEDIATE")
    try:
        adopted = _sessions(Transaction(database), keep)
        set_mark(database, mark)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    return adopted


def _sessions(work: Transaction, keep: Keep | None) -> list[AdoptedSession]:
    work.run("delete_all_checkpoints")
    names = [row[0] for row in work.run("session_ids")]
    if keep is None:
        return [AdoptedSession(name, ()) for name in names]
    work.run("delete_all_drafts")
    work.run("forget_drivers")
    return [AdoptedSession(name, _rest(work, name, keep)) for name in names]


def _rest(work: Transaction, session: str, keep: Keep) -> tuple[str, ...]:
    """Close one session; returns what was removed from it."""
    where = session_head(work.database, session)
    resting = CopiedSession().add_all(read(work.database, where, after=0)).resting(keep)
    named = {event.message_id for event in resting.events if isinstance(event, QueueLeft)}
    waiting = [row[0] for row in work.run("pending", where.key) if row[0] not in named]
    unnamed = [QueueLeft(message_id=message, how="returned") for message in waiting]
    imported = Imported(origin=session, dropped=resting.dropped)
    write(work, where, [*unnamed, *resting.events, imported], strict=False)
    return resting.dropped

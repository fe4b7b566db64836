"""The right to drive a session, in SQLite: its owner, its generation, and its end by the database's clock."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from ullage.store.changes import Change
from ullage.store.leases import busy, is_dead, lost
from ullage.store.sqlite import words
from ullage.store.sqlite.transaction import (
    SessionHead,
    Transaction,
    session_head,
    statements,
)
from ullage.store.store import ASKED_S, Lease, Unattended


def acquire(work: Transaction, where: SessionHead, owner: str, ttl_s: float) -> Lease:
    """See ``SessionStore.acquire``. Raises ``SessionBusy``."""
    if holder(where) not in ("", owner):
        raise busy(where.session, where.owner, where.expires)
    work.run("take_lease", owner, ttl_s, where.key)
    return Lease(where.session, owner, where.generation + 1)


def held(work: Transaction, lease: Lease) -> SessionHead:
    """The head of the lease's session. Raises ``LeaseLost`` if another driver took the session over.

    An expired lease is still valid while the session has no other driver.
    """
    where = session_head(work.database, lease.session)
    if (where.owner, where.generation) != (lease.owner, lease.generation):
        raise lost(lease, where.owner)
    return where


def renew(work: Transaction, lease: Lease, ttl_s: float) -> None:
    """See ``SessionStore.renew``. Raises ``LeaseLost``."""
    work.run("renew_lease", ttl_s, held(work, lease).key)


def release(
    work: Transaction, lease: Lease, rests_at: int | None, due_at: float | None
) -> None:
    """See ``SessionStore.release``."""
    if due_at is not None:
        work.run("postpone", *lease, rests_at, due_at)
    elif rests_at is not None:
        work.run("end_due", *lease, rests_at)
    if work.run("release_lease", *lease).rowcount:
        words.index(work, session_head(work.database, lease.session))
        work.changes.append(Change(lease.session))


def make_due(work: Transaction, where: SessionHead) -> None:
    """Mark the session as due, and leave it to this process for ``ASKED_S``."""
    work.run("make_due", where.key, ASKED_S)


def unattended(
    database: sqlite3.Connection, limit: int, places: Sequence[str] | None
) -> list[Unattended]:
    """See ``SessionStore.unattended``. Drivers of this machine count as dead as soon as their process has ended."""
    of = None if places is None else json.dumps(list(places))
    values = (_dead_owners(database), of, limit)
    rows = database.execute(statements()["unattended"], values)
    return [Unattended(*row) for row in rows]


def _dead_owners(database: sqlite3.Connection) -> str:
    """The drivers of due sessions whose process has ended, as a list in JSON."""
    owners = database.execute(statements()["living_owners"])
    return json.dumps([owner for (owner,) in owners if is_dead(owner)])


def holder(where: SessionHead) -> str:
    """The living driver of a session; empty when it has none."""
    return (
        where.owner
        if where.owner and where.expires > where.now and not is_dead(where.owner)
        else ""
    )

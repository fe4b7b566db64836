"""Deletes sessions."""

from __future__ import annotations

from ullage.store.head import SessionHead, session_head
from ullage.store.leases import busy, holder
from ullage.store.transaction import Change, Transaction

_OF_A_SESSION = ("delete_queue", "delete_drafts", "delete_checkpoint", "delete_kept", "delete_events", "delete_session")


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

"""``ullage`` with a log of the lease that each write of a driver to an SQLite file showed, in that file.

A row is stored in the write's own transaction, so the rows have the order of the commits.
"""

from __future__ import annotations

import sys

from ullage.cli import main
from ullage.store.sqlite import leases
from ullage.store.sqlite.transaction import SessionHead, Transaction
from ullage.store.store import Lease

LOG = "CREATE TABLE IF NOT EXISTS claims (session, owner, generation, first)"

_held = leases.held


def logged(work: Transaction, lease: Lease) -> SessionHead:
    """``leases.held``, which checks the lease of a write. What it refuses is not stored, and so not logged."""
    where = _held(work, lease)
    work.database.execute(LOG)
    claim = (*lease, where.seq + 1)
    work.database.execute("INSERT INTO claims VALUES (?, ?, ?, ?)", claim)
    return where


if __name__ == "__main__":
    leases.held = logged
    sys.exit(main())

"""Begins a session as another store has it, within one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from ullage.events import DraftPiece, Event
from ullage.store.sqlite import ledger
from ullage.store.sqlite.drafts import draft
from ullage.store.sqlite.leases import make_due
from ullage.store.sqlite.transaction import Transaction, session_head
from ullage.store.store import SessionRow


def bring(
    work: Transaction,
    row: SessionRow,
    events: Sequence[Event],
    pieces: Sequence[DraftPiece],
) -> None:
    """See ``Store.create_copy``. Raises ``CommandRefused``, ``LedgerError``."""
    empty = ledger.create(
        work, row.id, row.origin, events, tenant=row.tenant, place=row.place
    )
    ledger.write(work, empty, events, strict=False)
    where = session_head(work.database, row.id)
    draft(work, where, pieces)
    work.run("describe_copy", row.title, row.model, row.created, row.changed, where.key)
    if row.is_due:
        make_due(work, where)

"""A new session that begins as a copy of another.

A copy, not a reference: either can be deleted without the other, and no reader has to know that there are two.
"""

from __future__ import annotations

from ullage.errors import LedgerError
from ullage.events import Event, Forked, QueueLeft
from ullage.store.head import head
from ullage.store.ledger import create, read, write
from ullage.store.statements import statements
from ullage.store.transaction import Transaction


def copy_session(work: Transaction, origin: str, session: str, through: int) -> tuple[Event, ...]:
    """See ``SqliteStore.fork``."""
    source = head(work.database, origin)
    if not 0 <= through <= source.seq:
        raise LedgerError(f"Session {origin!r} has no event {through}: its last one is {source.seq}.")
    first = list(read(work.database, source, after=0, limit=1))
    target = create(work, session, origin, first)
    work.run("copy_events", target.key, source.key, through)
    work.run("copy_kept", target.key, source.key)
    values = {"source": source.key, "target": target.key, "through": through}
    work.database.execute(statements()["copy_queue"], values)
    waiting = [row[0] for row in work.run("pending", target.key)]
    added: list[Event] = [QueueLeft(message_id=message, how="returned") for message in waiting]
    added.append(Forked(origin=origin, through=through))
    place = target._replace(seq=through, title=source.title, model=source.model)
    return write(work, place, added)

"""The waiting messages, kept beside the ledger in the transactions that write it."""

from __future__ import annotations

import sqlite3

from ullage.errors import CommandRefused
from ullage.events import Event, Queued, QueueEdited, QueueLeft
from ullage.messages import Message
from ullage.store.rows import EventRow, to_event
from ullage.store.sqlite.transaction import SessionHead, Transaction, statements
from ullage.store.store import QueueKind, Receipt
from ullage.store.waiting import Queueing, check_message, not_waiting, queued_before


def follow_queue(work: Transaction, key: int, event: Event, *, strict: bool) -> None:
    """Apply an event of the ledger to the queue. Raises ``CommandRefused`` if the message is not in the right state."""
    match event:
        case Queued(message=message, kind=kind):
            if queued(work.database, key, message.id) is None:
                work.run("enqueue", key, message.id, kind, event.seq, event.seq, event.at)
                return
            refusal = queued_before(message.id)
        case QueueEdited(message=message):
            if work.run("requeue", event.seq, key, message.id).rowcount:
                return
            refusal = no_longer_waits(work.database, key, message.id)
        case QueueLeft():
            if work.run(
                "leave_queue", event.how, event.seq, key, event.message_id
            ).rowcount:
                return
            refusal = no_longer_waits(work.database, key, event.message_id)
        case _:
            return
    if strict:
        raise CommandRefused(refusal)


def no_longer_waits(database: sqlite3.Connection, key: int, message: str) -> str:
    """The reason why a message can't be edited or withdrawn."""
    row = queued(database, key, message)
    return not_waiting(message, "" if row is None else row.state)


def queued(database: sqlite3.Connection, key: int, message: str) -> Queueing | None:
    """A message's row, also when it left the queue."""
    row = database.execute(statements()["queued"], (key, message)).fetchone()
    return None if row is None else Queueing(*row)


def send(
    work: Transaction, where: SessionHead, message: Message, kind: QueueKind, trace: str
) -> tuple[Receipt, Queued | None]:
    """What ``SessionStore.send`` answers, and the event to write for it: none where the message was sent before."""
    check_message(message)
    row = queued(work.database, where.key, message.id)
    if row is not None:
        return receipt(work.database, where.key, message.id, row), None
    place = 1 + _ahead(work.database, where.key, kind, where.seq + 1)
    at = round(where.now, 3)
    return Receipt(message.id, place, at), Queued(
        message=message, kind=kind, position=place, trace=trace, at=at
    )


def receipt(
    database: sqlite3.Connection, key: int, message: str, row: Queueing
) -> Receipt:
    """The receipt of a message that was sent before."""
    place = (
        1 + _ahead(database, key, row.kind, row.queued) if row.state == "pending" else 0
    )
    return Receipt(message, place, row.at, row.state, is_new=False)


def pending(
    database: sqlite3.Connection, where: SessionHead
) -> list[tuple[Receipt, Message, QueueKind]]:
    """The waiting messages in the order of delivery: steers, then follow-ups."""
    waiting = []
    for place, (message, kind, seq, at) in enumerate(
        database.execute(statements()["pending"], (where.key,)), 1
    ):
        queued_message = content(database, where, seq)
        if queued_message is not None:
            waiting.append(
                (Receipt(message, place, at, is_new=False), queued_message, kind)
            )
    return waiting


def content(database: sqlite3.Connection, where: SessionHead, seq: int) -> Message | None:
    """The message that an event of the queue holds; ``None`` where its row is damaged."""
    row = database.execute(statements()["read_event"], (where.key, seq)).fetchone()
    event = None if row is None else to_event(where.session, EventRow(*row))
    return event.message if isinstance(event, Queued | QueueEdited) else None


def _ahead(database: sqlite3.Connection, key: int, kind: QueueKind, queued: int) -> int:
    return int(
        database.execute(
            statements()["place_in_queue"], (key, kind, kind, queued)
        ).fetchone()[0]
    )

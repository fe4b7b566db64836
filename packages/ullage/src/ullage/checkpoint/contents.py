"""The contents that the entries of a checkpoint lack: which events of the ledger hold them, and putting them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ullage.errors import LedgerError
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pruned,
    RowDamaged,
)
from ullage.messages import Message, TextPart
from ullage.meter.fold import Fold
from ullage.meter.view import ContentLocation, Entry, cleared

DAMAGED: Final = "[A message here is damaged in the store and can't be read.]"
"""The text of a message whose row in the ledger can't be read any more."""


def removed_entries(fold: Fold) -> list[Entry]:
    """The entries that an undo of a compaction or a prune may bring back."""
    entries: list[Entry] = []
    for record in fold.undo_records.values():
        entries += record.left
        for change in record.changed:
            entries += change
    return entries


def events_of(entries: Iterable[Entry]) -> list[int]:
    """The numbers of the events that hold these entries' contents, in order."""
    numbers: set[int] = set()
    for entry in entries:
        numbers.add(entry.facts.origin.seq)
        numbers.update(entry.facts.origin.pruned)
    return sorted(numbers)


def put_contents(entries: Iterable[Entry], events: Sequence[Event]) -> None:
    """Give these entries their contents. Raises ``LedgerError`` where the events are not those of ``events_of``."""
    by_number = {event.seq: event for event in events}
    for entry in entries:
        entry.content = read_message(entry.facts.origin, by_number)


def read_message(origin: ContentLocation, events: Mapping[int, Event]) -> Message:
    """The message at that place. Raises ``LedgerError`` where the events hold no such message."""
    message = _brought_by(events.get(origin.seq), origin.place)
    if message is None:
        raise LedgerError(
            f"Event {origin.seq} holds no message {origin.place}: this is not the checkpoint's ledger."
        )
    for seq in origin.pruned:
        event = events.get(seq)
        if isinstance(event, RowDamaged):
            continue
        if not isinstance(event, Pruned):
            raise LedgerError(
                f"Event {seq} clears nothing: this is not the checkpoint's ledger."
            )
        message = cleared(message, event.parts, event.notice)
    return message


def _brought_by(event: Event | None, place: int) -> Message | None:
    match event:
        case MessageAdded() | MessageReplaced() if place == 0:
            return event.message
        case CompactionCommitted() if place == 0:
            return event.summary
        case CompactionCommitted() if 0 < place <= len(event.replaced + event.added):
            return (*event.replaced, *event.added)[place - 1]
        case RowDamaged():
            part = TextPart(id=f"damaged-{event.seq}.{place}.text", text=DAMAGED)
            return Message(
                id=f"damaged-{event.seq}.{place}",
                role="user",
                origin="injected",
                parts=(part,),
            )
        case _:
            return None

"""Where in the ledger a message stands, so that it need not be kept or copied to be had again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.errors import LedgerError
from ullage.events import CompactionCommitted, Event, MessageAdded, MessageReplaced, Pruned, RowDamaged
from ullage.messages import Message, TextPart
from ullage.meter.clearing import cleared

DAMAGED: Final = "[A message here is damaged in the store and can't be read.]"
"""What stands for a message of a checkpoint whose row can't be read any more."""

Ledger = Callable[[Sequence[int]], Sequence[Event]]
"""Reads events by their ``seq``, ascending and without repeats: all of them, in that order. Called synchronously; what
it raises goes to whoever touched the message."""


class Origin(NamedTuple):
    """The address of a message's present content.

    ``seq`` is the event that brought it. ``place`` is which of that event's messages it is: 0 the one there is (or the
    summary), n the n-th of a compaction's ``replaced``. ``pruned`` are the events that cleared parts of it since.
    """

    seq: int
    place: int = 0
    pruned: tuple[int, ...] = ()

    def after_pruning(self, seq: int) -> Origin:
        """The address once the event ``seq`` has cleared parts of it."""
        return self._replace(pruned=(*self.pruned, seq))

    def read(self, events: Mapping[int, Event]) -> Message:
        """The message, from the events that it names. Raises ``LedgerError`` where they hold no such message."""
        message = _brought(events.get(self.seq), self.place)
        if message is None:
            raise LedgerError(f"Event {self.seq} holds no message {self.place}: this is not the checkpoint's ledger.")
        for seq in self.pruned:
            event = events.get(seq)
            if isinstance(event, RowDamaged):
                continue
            if not isinstance(event, Pruned):
                raise LedgerError(f"Event {seq} clears nothing: this is not the checkpoint's ledger.")
            message = cleared(message, event.parts, event.notice)
        return message


def read_all(origins: Iterable[Origin], ledger: Ledger) -> list[Message]:
    """The messages of these addresses, in their order, with one call of ``ledger``."""
    wanted = list(origins)
    seqs = sorted({seq for origin in wanted for seq in (origin.seq, *origin.pruned)})
    events = {event.seq: event for event in ledger(seqs)} if seqs else {}
    return [origin.read(events) for origin in wanted]


def _brought(event: Event | None, place: int) -> Message | None:
    match event:
        case MessageAdded() | MessageReplaced() if place == 0:
            return event.message
        case CompactionCommitted() if place == 0:
            return event.summary
        case RowDamaged():
            part = TextPart(id=f"damaged-{event.seq}.{place}.text", text=DAMAGED)
            return Message(id=f"damaged-{event.seq}.{place}", role="user", origin="injected", parts=(part,))
        case CompactionCommitted() if 0 < place <= len(event.replaced):
            return event.replaced[place - 1]
        case _:
            return None

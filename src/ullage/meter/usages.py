"""What was reported for each main call, by the call: at hand, or in the ledger and read when somebody asks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from ullage.errors import LedgerError
from ullage.events import CallEnded, Event
from ullage.meter.origin import Ledger
from ullage.usage import Usage


def no_ledger(seqs: Sequence[int]) -> Sequence[Event]:
    """The ledger of whoever has everything at hand."""
    raise LedgerError(f"Events {list(seqs)[:3]} are asked for where no ledger was given.")


BLOCK = 512
"""Events that are read at a time: who asks for one usage of long ago asks for its neighbours too."""


class Usages:
    """Usages by call, and the event each stands in.

    ``stored`` are known by their events alone, but for those that are ``at_hand``.
    """

    def __init__(
        self,
        stored: Mapping[str, int] | None = None,
        ledger: Ledger = no_ledger,
        at_hand: Mapping[str, Usage] | None = None,
    ) -> None:
        self.seqs: dict[str, int] = dict(stored or {})
        self._stored = sorted(self.seqs.values())
        self._ledger = ledger
        self._held: dict[str, Usage] = dict(at_hand or {})

    def put(self, call: str, usage: Usage, *, seq: int) -> None:
        """What the event ``seq`` reported."""
        self.seqs[call] = seq
        self._held[call] = usage

    def at_hand(self, call: str) -> dict[str, Usage]:
        """The usage of a call under its name, where it need not be read."""
        return {call: self._held[call]} if call in self._held else {}

    def get(self, call: str) -> Usage | None:
        """What was reported for a call; ``None`` when nothing was. Raises what reading the ledger raises."""
        if call not in self._held and call in self.seqs:
            self._read(self.seqs[call])
        return self._held.get(call)

    def _read(self, seq: int) -> None:
        start = bisect_left(self._stored, seq) // BLOCK * BLOCK
        for event in self._ledger(self._stored[start : start + BLOCK]):
            if not isinstance(event, CallEnded) or event.usage is None:
                raise LedgerError(f"Event {event.seq} reports no usage: this is not the checkpoint's ledger.")
            if self.seqs.get(event.call) == event.seq:
                self._held.setdefault(event.call, event.usage)

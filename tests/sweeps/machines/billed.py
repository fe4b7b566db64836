"""What the provider billed for answers that no ledger kept: tokens that a kill had it bill again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ullage.events import CallEnded, CallStarted, Event
from ullage_simulators.server import Exchange


class Billed(NamedTuple):
    """Tokens, input and output together: those of all calls, and those of calls whose answer was asked for again."""

    all: int = 0
    again: int = 0

    @property
    def share(self) -> float:
        return self.again / self.all if self.all else 0.0

    def __add__(self, other: object) -> Billed:
        assert isinstance(other, Billed)
        return Billed(self.all + other.all, self.again + other.again)


def billed(
    exchanges: Sequence[Exchange], ledgers: Mapping[str, Sequence[Event]]
) -> Billed:
    """What was billed for these sessions, whose messages name them.

    A call that was sent twice is kept once. One that a person cancelled was not asked for again. The whole answer
    counts as billed, though a provider may end one that nobody reads any more: so ``again`` is the most it can be.
    """
    sums = Billed()
    for name, ledger in ledgers.items():
        sent: dict[str, list[int]] = {}
        for exchange in exchanges:
            is_of_session = f"({name}-m" in json.dumps(exchange.body)
            if exchange.bill is None or not is_of_session:
                continue
            call = _call_at(ledger, exchange.at)
            sent.setdefault(call, []).append(exchange.bill.input + exchange.bill.output)
        ends = [event for event in ledger if isinstance(event, CallEnded)]
        kept = {event.call for event in ends if _is_kept(event)}
        for call, tokens in sent.items():
            again = tokens[:-1] if call in kept else tokens
            sums += Billed(sum(tokens), sum(again))
    return sums


def _is_kept(event: CallEnded) -> bool:
    """The end of a call whose answer is kept, or that a person cancelled."""
    is_cancelled = event.outcome == "cancelled" and not event.error
    return event.outcome == "finished" or is_cancelled


def _call_at(ledger: Sequence[Event], at: float) -> str:
    """The call that was under way at this time; empty where the database lost its start."""
    call = ""
    for event in ledger:
        if isinstance(event, CallStarted) and event.at <= at:
            call = event.call
    return call

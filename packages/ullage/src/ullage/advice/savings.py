"""What an item has cost, and what would be saved without it: tokens a call, tokens over the session, money."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

import msgspec

from ullage.advice.history import WindowHistory
from ullage.advice.lives import CallRow, ItemLife
from ullage.advice.policy import DENSITY_DOUBT
from ullage.meter.spend import MILLION


class SavedShare(NamedTuple):
    """How much of an item would not be there: ``place`` is its place in ``WindowHistory.items``."""

    place: int
    share: float = 1.0


class TokenSaving(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What would be saved. ``tokens`` of the next request, from ``low`` to ``high``; the others of all so far.

    ``usd`` is at list prices: what was read from the provider's cache at its price, the rest at the full price. It is
    ``None`` where no price is known.
    """

    tokens: int = 0
    low: int = 0
    high: int = 0
    so_far: int = 0
    """Tokens times the calls that held them."""
    usd: float | None = None


class SessionCosts:
    """What the items of a session have cost so far. Each answer is O(1)."""

    def __init__(self, history: WindowHistory) -> None:
        self.history = history
        size = history.next_call + 1
        paid = [0] * size
        old = [0.0] * size
        self._rows: dict[int, CallRow] = {}
        self._is_priced = False
        for row in history.main_calls:
            if row.outcome == "failed" or row.number >= size:
                continue
            self._rows[row.number] = row
            paid[row.number] = 1
            if row.old_price is not None:
                self._is_priced = True
                old[row.number] = row.old_price
        self._paid = list(accumulate(paid))
        self._old = list(accumulate(old))

    def calls_of(self, item: ItemLife) -> int:
        """How many requests held the item and were paid."""
        last = self._last_of(item)
        if last < item.first_call:
            return 0
        return self._paid[last] - self._paid[item.first_call - 1]

    def so_far(self, item: ItemLife) -> int:
        """Its tokens times its calls."""
        return item.tokens * self.calls_of(item)

    def usd_of(self, item: ItemLife) -> float | None:
        """What it has cost; ``None`` where no price is known."""
        if not self._is_priced:
            return None
        last = self._last_of(item)
        first = item.first_call
        if last < first:
            return 0.0
        price = self._old[last] - self._old[first]
        row = self._rows.get(first)
        if row is not None and row.new_price is not None:
            price += row.new_price
        return item.tokens * price / MILLION

    def _last_of(self, item: ItemLife) -> int:
        if item.last_call is None:
            return self.history.next_call - 1
        return item.last_call

    def saving(self, shares: Iterable[SavedShare]) -> TokenSaving:
        """What is saved without these shares, each of another item.

        A part of an item is measured by its characters, and some of them have more tokens than others.
        """
        tokens = low = high = so_far = usd = 0.0
        for place, share in shares:
            item = self.history.items[place]
            if item.last_call is None and item.is_summed:
                doubt = DENSITY_DOUBT * share * (1 - share)
                tokens += share * item.tokens
                low += (share - doubt) * item.low
                high += (share + doubt) * item.high
            so_far += share * self.so_far(item)
            usd += share * (self.usd_of(item) or 0.0)
        return TokenSaving(
            tokens=round(tokens),
            low=int(low),
            high=round(high + 0.5) if high else 0,
            so_far=round(so_far),
            usd=usd if self._is_priced else None,
        )

"""What the provider's cache costs: a token that is written again, and one that is read."""

from __future__ import annotations

from typing import Final, NamedTuple

from ullage.context.proof import ProofResult
from ullage.context.situation import Situation
from ullage.meter.spend import MILLION

WRITE_PRICE: Final = 1.25
READ_PRICE: Final = 0.1
"""Prices of a cache write and a cache read relative to a fresh token, if the model's own prices are unknown
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching)."""


class CachePrices(NamedTuple):
    """Of a model, relative to a fresh token. ``token`` is that one's price in US dollars, ``None`` where unknown."""

    write: float
    read: float
    token: float | None

    @property
    def again(self) -> float:
        """What a token costs more that is written again and not read."""
        return max(0.0, self.write - self.read)


class ChangePrice(NamedTuple):
    """What a change of the view costs once, and saves in each later call, in US dollars."""

    usd: float | None
    saves_usd: float | None


def cache_prices(situation: Situation) -> CachePrices:
    """Those of the session's model for a request of this size."""
    known = situation.fold.known
    if known is None or known.prices is None:
        return CachePrices(WRITE_PRICE, READ_PRICE, None)
    rate = known.prices.at(situation.sizes.used)
    if not rate.input:
        return CachePrices(WRITE_PRICE, READ_PRICE, 0.0)
    write = rate.input if rate.cache_write is None else rate.cache_write
    read = rate.input if rate.cache_read is None else rate.cache_read
    return CachePrices(write / rate.input, read / rate.input, rate.input / MILLION)


def price_of(situation: Situation, verdict: ProofResult) -> ChangePrice:
    """The price of a proved change: the cache that is written again, and what the smaller requests save.

    It holds while the provider's cache does: after a long pause everything is written again in any case.
    """
    prices = cache_prices(situation)
    if prices.token is None:
        return ChangePrice(None, None)
    freed = verdict.before - verdict.after
    return ChangePrice(
        verdict.rewritten * prices.again * prices.token,
        freed * prices.read * prices.token,
    )

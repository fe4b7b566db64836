"""What the provider's cache costs: a token that is written again, and one that is read."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

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


class ChangePrice(msgspec.Struct, frozen=True, kw_only=True):
    """What a change of the view does, in tokens and US dollars.

    ``freed`` is what the next request is smaller by. ``cache_lost`` is what the provider's cache has to store again for
    it, which costs ``usd`` once; each later call saves ``saves_usd``. Both are ``None`` where the model's prices are
    unknown.
    """

    before: int = 0
    after: int = 0
    freed: int = 0
    cache_lost: int = 0
    usd: float | None = None
    saves_usd: float | None = None
    reasoning_lost: int = 0
    """Reasoning behind the change that the model would no longer accept."""


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
    price = ChangePrice(
        before=verdict.before,
        after=verdict.after,
        freed=verdict.before - verdict.after,
        cache_lost=verdict.rewritten,
        reasoning_lost=verdict.lost,
    )
    if prices.token is None:
        return price
    return replace(
        price,
        usd=price.cache_lost * prices.again * prices.token,
        saves_usd=price.freed * prices.read * prices.token,
    )

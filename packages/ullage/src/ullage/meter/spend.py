"""What a session has cost: tokens summed by kind and purpose, and money where prices are known.

A ``Spend`` is billing. It is another type than a ``Reading`` on purpose: the two can't be added or compared, and
neither has a bare number of tokens to mistake for the other's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.codec.dialects import hour_writes as hour_writes_of
from ullage.codec.dialects import passes_of
from ullage.events import CallEnded
from ullage.meter.limits import ModelLimits, Prices, lookup
from ullage.usage import KINDS, Usage, UsageSum

SpendCategory = Literal[
    "main",
    "summary",
    "title",
    "count",
    "child",
    "other",
    "compaction",
    "advisor",
    "failed",
    "cancelled",
    "dropped",
]
"""What a call was for; a call that did not finish is listed under its outcome instead, whatever it was for.

``compaction`` and ``advisor`` are passes that the provider made inside a call and bills beside it.
"""

BESIDE: Final[Mapping[str, SpendCategory]] = {
    "compaction": "compaction",
    "advisor_message": "advisor",
}
"""Kinds of passes that are not in a call's own sums: a summary that the provider wrote
(https://platform.claude.com/docs/en/build-with-claude/compaction), and another model that was asked
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool)."""

MILLION = 1_000_000

HOUR_WRITE: Final = 2.0
"""What a cache write that is kept for an hour costs, as a multiple of fresh input
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching, "Pricing")."""


class Cost(NamedTuple):
    """Money for one call. ``exact`` is False when a count or a price had to be left out or taken at the full rate."""

    usd: float
    exact: bool


class Money(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars by list price. ``unpriced`` calls are not in it; ``inexact`` ones are in it as a bound or a part."""

    usd: float = 0.0
    priced: int = 0
    unpriced: int = 0
    inexact: int = 0

    def plus(self, cost: Cost | None) -> Money:
        """This sum and one more call.

        Args:
            cost: What the call cost; ``None``: it has no known price.
        """
        if cost is None:
            return replace(self, unpriced=self.unpriced + 1)
        return replace(
            self,
            usd=self.usd + cost.usd,
            priced=self.priced + 1,
            inexact=self.inexact + (not cost.exact),
        )


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of a session, its summaries, titles, children and failures included, summed by kind per purpose.

    A sum counts what was reported; ``UsageSum.unsaid`` says how many calls did not report a kind. Server-side passes
    that a provider bills beside a call (compaction, an advisor) have their own purpose, and count as calls of it.
    """

    by_purpose: dict[SpendCategory, UsageSum] = {}
    money: Money = Money()

    def plus(
        self,
        usage: Usage | None,
        *,
        purpose: SpendCategory = "main",
        prices: Prices | None = None,
        estimated: int | None = None,
    ) -> Spend:
        """This spend and one more call.

        Args:
            usage: What was reported; ``None``: nothing, and the call is counted all the same.
            purpose: What the call was for.
            prices: Those of its model; ``None``: unknown.
            estimated: The input in tokens of a call whose report can't be used.
        """
        sums = dict(self.by_purpose)
        sums[purpose] = sums.get(purpose, UsageSum()).plus(usage, estimated or 0)
        cost: Cost | None = None
        if usage is not None and prices is not None:
            priced = replace(usage, input=usage.input or estimated)
            cost = cost_of(priced, prices, hour_writes=hour_writes_of(usage))
        if cost is not None and estimated is not None:
            cost = cost._replace(exact=False)
        return Spend(by_purpose=sums, money=self.money.plus(cost))

    @property
    def all(self) -> UsageSum:
        """The sums of all purposes together."""
        return merge_sums(self.by_purpose.values())


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What several calls came to, of any sessions: money, and tokens as budgets count them."""

    money: Money = Money()
    tokens: int = 0
    calls: int = 0


NOTHING_SPENT: Final = Spent()


def cost_of(usage: Usage, prices: Prices, *, hour_writes: int = 0) -> Cost | None:
    """What one call costs at list prices; ``None`` when it reported neither input nor output.

    Cached input whose price is unknown is charged as fresh input, which is the upper bound. ``hour_writes`` of the
    cache writes are kept for an hour; the others are charged at the shorter lifetime's price. A kind that was not
    reported is left out, and the cost is then not exact.
    """
    if usage.input is None and usage.output is None:
        return None
    rate = prices.at(usage.context or 0)
    exact = usage.input is not None and usage.output is not None
    read, write = usage.cache_read or 0, usage.cache_write or 0
    fresh = max(0, (usage.input or 0) - read - write)
    total = fresh * rate.input + (usage.output or 0) * rate.output
    for tokens, price in ((read, rate.cache_read), (write, rate.cache_write)):
        total += tokens * (rate.input if price is None else price)
        exact = exact and (price is not None or not tokens)
    if rate.cache_write is not None:
        longer = HOUR_WRITE * rate.input - rate.cache_write
        total += min(hour_writes, write) * longer
    if usage.cache_read is None and rate.cache_read is not None:
        exact = False
    return Cost(total / MILLION, exact)


def with_call(
    spend: Spend,
    event: CallEnded,
    usage: Usage | None,
    limits: ModelLimits | None,
    provider: str,
    estimated: int | None = None,
) -> Spend:
    """The spend and a call that ended, with the passes that its provider bills beside it.

    Args:
        event: The end of the call.
        usage: What it is counted as, where a provider's sums are not those of the call alone.
        limits: What is known of the session's model.
        provider: The session's own.
        estimated: As in ``Spend.plus``.
    """
    purpose: SpendCategory = (
        event.purpose if event.outcome == "finished" else event.outcome
    )
    provider = event.provider or provider
    if event.model and event.purpose != "main":
        limits = lookup(provider, event.model)
    spend = spend.plus(
        usage, purpose=purpose, prices=_prices(limits), estimated=estimated
    )
    for one in passes_of(event.usage):
        if one.kind in BESIDE:
            own = lookup(provider, one.model) if one.model else limits
            spend = spend.plus(one.usage, purpose=BESIDE[one.kind], prices=_prices(own))
    return spend


def money_of(event: CallEnded, provider: str, model: str) -> Money:
    """What one call of a session with this provider and model cost."""
    known = lookup(provider, model) if model else None
    return with_call(Spend(), event, event.usage, known, provider).money


def _prices(limits: ModelLimits | None) -> Prices | None:
    return limits.prices if limits else None


def merge_sums(sums: Iterable[UsageSum]) -> UsageSum:
    """Several sums as one."""
    total = UsageSum()
    for one in sums:
        unsaid = {
            kind: total.unsaid.get(kind, 0) + one.unsaid.get(kind, 0) for kind in KINDS
        }
        total = UsageSum(
            calls=total.calls + one.calls,
            estimated=total.estimated + one.estimated,
            unsaid={kind: count for kind, count in unsaid.items() if count},
            **{kind: getattr(total, kind) + getattr(one, kind) for kind in KINDS},
        )
    return total

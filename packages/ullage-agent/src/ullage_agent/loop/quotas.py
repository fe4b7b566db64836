"""What a tenant may use in a day, and what it has used. Pure. A day is one of UTC, so it is the same at all servers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage_agent.loop.budgets import BudgetUse

DAY_S: Final = 86_400

QUOTA_KINDS: Final = ("sessions", "tokens", "usd")
"""What a quota limits, by the names of its fields."""


class Quota(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The most a tenant may use in a day; ``None`` is no limit. ``tokens`` are input and output together."""

    sessions: int | None = None
    tokens: int | None = None
    usd: float | None = None


class QuotaUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was used of a day. A call of a model without a known price costs 0 here."""

    sessions: int = 0
    tokens: int = 0
    usd: float = 0.0


class TenantQuota(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant's quota, and what it has used on the ``day``, counted from 1970."""

    quota: Quota = Quota()
    day: int = 0
    used: QuotaUse = QuotaUse()

    @property
    def ends(self) -> float:
        """When the day is over, in seconds since 1970."""
        return float((self.day + 1) * DAY_S)

    @property
    def date(self) -> str:
        """The day, as 2026-11-24."""
        return datetime.fromtimestamp(self.day * DAY_S, UTC).strftime("%Y-%m-%d")


class SpentBy(msgspec.Struct, frozen=True, kw_only=True):
    """What a session had spent in all when it was last counted."""

    tokens: int = 0
    usd: float = 0.0


class QuotaPause(NamedTuple):
    """Why no further model call is made, and when that changes, in seconds since 1970."""

    note: str
    until: float


def on_day_of(kept: TenantQuota, now: float) -> TenantQuota:
    """The same quota on today's day: a new one begins with nothing used."""
    day = int(now // DAY_S)
    if day <= kept.day:  # a clock that is behind takes nothing back
        return kept
    return TenantQuota(quota=kept.quota, day=day)


def counted(kept: TenantQuota, before: SpentBy | None, spent: SpentBy) -> TenantQuota:
    """The quota with what a session has spent since it was last counted; the first count of a session only begins.

    Money alone doesn't count: it changes without a call where prices are corrected.
    """
    if before is None or spent.tokens <= before.tokens:
        return kept
    used = replace(
        kept.used,
        tokens=kept.used.tokens + spent.tokens - before.tokens,
        usd=kept.used.usd + max(0.0, spent.usd - before.usd),
    )
    return replace(kept, used=used)


def spent_by(used: BudgetUse) -> SpentBy:
    """What a session has spent, as quotas count it."""
    return SpentBy(tokens=used.tokens, usd=used.usd)


def calls_refused(kept: TenantQuota) -> QuotaPause | None:
    """Why the tenant may make no further model call today."""
    quota, used = kept.quota, kept.used
    if quota.tokens is not None and used.tokens >= quota.tokens:
        return _reached(kept, f"{used.tokens:,} of {quota.tokens:,} tokens are used.")
    if quota.usd is not None and used.usd >= quota.usd:
        return _reached(kept, f"${used.usd:.2f} of ${quota.usd:.2f} are spent.")
    return None


def sessions_refused(kept: TenantQuota) -> QuotaPause | None:
    """Why the tenant may begin no further session today."""
    quota, used = kept.quota, kept.used
    if quota.sessions is None or used.sessions < quota.sessions:
        return None
    return _reached(kept, f"{used.sessions:,} of {quota.sessions:,} sessions are begun.")


def _reached(kept: TenantQuota, what: str) -> QuotaPause:
    end = datetime.fromtimestamp(kept.ends, UTC).strftime("%Y-%m-%d %H:%M")
    note = (
        f"The quota of {kept.date} is reached: {what} The next day begins at {end} UTC."
    )
    return QuotaPause(note, kept.ends)

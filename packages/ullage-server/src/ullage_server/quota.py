"""What the caller's tenant may use today, and what is left."""

from __future__ import annotations

from litestar import get

from ullage_agent.loop.quotas import TenantQuota
from ullage_server.api_types import CountLeft, MoneyLeft, QuotaView
from ullage_server.requests import TheHost


@get(
    "/v1/quota",
    summary="What your tenant may use today, and what is left",
)
async def get_quota(host: TheHost) -> QuotaView:
    """The tenant is that of the request's token."""
    return quota_view(host.tenant, await host.quota())


def quota_view(tenant: str, kept: TenantQuota | None) -> QuotaView:
    """The answer for a tenant with this quota, or without one."""
    if kept is None:
        return QuotaView(
            tenant=tenant, day="", ends=None, sessions=None, tokens=None, usd=None
        )
    quota, used = kept.quota, kept.used
    usd = None
    if quota.usd is not None:
        left = max(0.0, quota.usd - used.usd)
        usd = MoneyLeft(limit=quota.usd, used=used.usd, left=left)
    return QuotaView(
        tenant=tenant,
        day=kept.date,
        ends=kept.ends,
        sessions=_left(quota.sessions, used.sessions),
        tokens=_left(quota.tokens, used.tokens),
        usd=usd,
    )


def _left(limit: int | None, used: int) -> CountLeft | None:
    if limit is None:
        return None
    return CountLeft(limit=limit, used=used, left=max(0, limit - used))

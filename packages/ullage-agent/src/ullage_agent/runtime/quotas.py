"""The quotas of tenants: read, counted and changed in the store, so that they hold at all its servers and workers.

What a session spends is in its ledger. Before each model call, and when it comes to rest, its driver adds to the
tenant's day what the session has spent since it was last counted, so nothing is counted twice and a crash loses no
count. A call is not begun once the quota is reached: what goes beyond it are the calls that were under way.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.errors import QuotaReached, SessionNotFound
from ullage.store.store import (
    DEFAULT_TENANT,
    QUOTA,
    SPENT_BY,
    Revision,
    SessionStore,
    SharedKey,
    every_session,
)
from ullage.store.tenants import TenantStore
from ullage_agent.loop.budgets import BudgetUse
from ullage_agent.loop.quotas import (
    Quota,
    QuotaPause,
    SpentBy,
    TenantQuota,
    calls_refused,
    counted,
    on_day_of,
    sessions_refused,
    spent_by,
)
from ullage_agent.runtime.policy import QUOTA_DAY_S, QUOTA_KNOWN_S

Clock = Callable[[], float]

_quota: Final = msgspec.json.Decoder(TenantQuota)
_spent_by: Final = msgspec.json.Decoder(SpentBy)


class Quotas:
    """The quota of one tenant: that of the ``store``, if it is a tenant's, and otherwise the operator's own."""

    def __init__(self, store: SessionStore, *, clock: Clock = time.monotonic) -> None:
        self.tenant = store.tenant if isinstance(store, TenantStore) else DEFAULT_TENANT
        self.clock = clock
        self._store = store
        self._none_until = 0.0
        """Until when it is known that the tenant has no quota, by the clock."""

    async def today(self) -> TenantQuota | None:
        """The quota, with what was used of it today. Raises ``StoreUnavailable``."""
        return await self._revise(lambda kept: kept)

    async def check_calls(self) -> None:
        """Raises ``QuotaReached`` where the tenant may make no further model call today."""
        kept = await self._known()
        if kept is not None and (reached := calls_refused(kept)):
            raise _refusal(reached)

    async def begin_session(self) -> None:
        """Count one session more. Raises ``QuotaReached`` where the tenant may begin none today."""

        def begun(kept: TenantQuota) -> TenantQuota:
            if reached := sessions_refused(kept):
                raise _refusal(reached)
            return _with_sessions(kept, 1)

        await self._revise(begun)

    async def take_back_session(self) -> None:
        """A session that was counted could not be begun."""
        await self._revise(partial(_with_sessions, more=-1))

    async def count(self, session: str, spent: SpentBy) -> TenantQuota | None:
        """Add what the session has spent since it was last counted. Raises ``StoreUnavailable``."""

        def change(kept: TenantQuota, before: str) -> TenantQuota:
            known = _spent_by.decode(before) if before else None
            return counted(kept, known, spent)

        return await self._revise(change, {SharedKey(SPENT_BY, session): _text(spent)})

    async def _known(self) -> TenantQuota | None:
        """The quota as it is stored: it may be of a day that is over."""
        if self.clock() < self._none_until:
            return None
        values = await self._store.shared(QUOTA, [self.tenant])
        return self._noted(_read(values.get(self.tenant, ""), time.time()))

    async def _revise(
        self,
        change: Callable[..., TenantQuota],
        beside: Mapping[SharedKey, str] = {},
    ) -> TenantQuota | None:
        """The quota after a ``change``, which gets it and the values of the keys ``beside`` it, and sets those."""
        if await self._known() is None:
            return None

        def revised(before: tuple[str, ...], now: float) -> Revision[TenantQuota | None]:
            kept = _read(before[0], now)
            if kept is None:
                return Revision(before, None)
            after = change(kept, *before[1:])
            return Revision((_text(after), *beside.values()), after)

        keys = [SharedKey(QUOTA, self.tenant), *beside]
        return self._noted(await self._store.revise(keys, revised))

    def _noted(self, kept: TenantQuota | None) -> TenantQuota | None:
        if kept is None:
            self._none_until = self.clock() + QUOTA_KNOWN_S
        return kept


class SessionQuota:
    """What a session's driver knows of its tenant's quota. The session of a tool call is counted in its parent's."""

    def __init__(self, quotas: Quotas, session: str) -> None:
        self.reached: QuotaPause | None = None
        self._quotas = quotas
        self._session = session
        self._is_child = "/" in session
        self._spent: SpentBy | None = None
        self._looked_at = float("-inf")

    async def look(self, used: BudgetUse, *, has_turn: bool) -> None:
        """Count what the session has spent, and see whether more calls are allowed. Raises ``StoreUnavailable``."""
        spent = spent_by(used)
        is_old = self._quotas.clock() - self._looked_at >= QUOTA_KNOWN_S
        is_waiting = self.reached is not None
        if spent == self._spent and not (has_turn and (is_old or is_waiting)):
            return
        if self._is_child:
            kept = await self._quotas.today()
        else:
            kept = await self._quotas.count(self._session, spent)
        self.reached = None if kept is None else calls_refused(kept)
        self._spent = spent
        self._looked_at = self._quotas.clock()


def new_session_id() -> str:
    """A random id that sorts by day: ``20261121-5f2a9c1e``."""
    return f"{time.strftime('%Y%m%d')}-{secrets.token_hex(4)}"


@asynccontextmanager
async def new_session(store: SessionStore, session: str) -> AsyncIterator[None]:
    """Begin a session of this id inside the block: it counts for the tenant of the store, unless the block raises.

    Raises ``QuotaReached`` before the block, unless there is such a session: then the block says so. The session of a
    tool call does not count.
    """
    quotas = Quotas(store)
    counts = "/" not in session
    try:
        if counts:
            await quotas.begin_session()
    except QuotaReached:
        if not session or not await _has(store, session):
            raise
        counts = False
    try:
        yield
    except BaseException:
        if counts:
            await quotas.take_back_session()
        raise


async def _has(store: SessionStore, session: str) -> bool:
    try:
        await store.about(session)
    except SessionNotFound:
        return False
    return True


async def all_quotas(store: SessionStore) -> Mapping[str, TenantQuota]:
    """The quotas of all tenants, by their names. Raises ``StoreUnavailable``."""
    found: dict[str, TenantQuota] = {}
    for tenant, text in sorted((await store.shared(QUOTA)).items()):
        kept = _read(text, time.time())
        if kept is not None:
            found[tenant] = kept
    return found


async def change_quota(
    store: SessionStore, tenant: str, change: Callable[[Quota], Quota | None]
) -> TenantQuota | None:
    """Give a tenant another quota, or none; sessions that wait for it are looked at again at once.

    Raises ``StoreUnavailable``.
    """

    def changed(before: tuple[str, ...], now: float) -> Revision[TenantQuota | None]:
        kept = _read(before[0], now) or on_day_of(TenantQuota(), now)
        quota = change(kept.quota)
        if quota is None:
            return Revision(("",), None)
        after = replace(kept, quota=quota)
        return Revision((_text(after),), after)

    result = await store.revise([SharedKey(QUOTA, tenant)], changed)
    today = time.time() - QUOTA_DAY_S
    async for row in every_session(store, tenant=tenant):
        if row.listed < today:
            break
        if row.is_due and not row.held_by:
            await store.command(row.id, [])
    return result


def _with_sessions(kept: TenantQuota, more: int) -> TenantQuota:
    sessions = max(0, kept.used.sessions + more)
    return replace(kept, used=replace(kept.used, sessions=sessions))


def _refusal(reached: QuotaPause) -> QuotaReached:
    return QuotaReached(
        f"{reached.note} Nothing was stored. Send it again then, or ask the operator for more.",
        until=reached.until,
    )


def _read(text: str, now: float) -> TenantQuota | None:
    """The quota of a value, on today's day; ``None`` for an empty one."""
    if not text:
        return None
    return on_day_of(_quota.decode(text), now)


def _text(value: TenantQuota | SpentBy) -> str:
    return msgspec.json.encode(value).decode()

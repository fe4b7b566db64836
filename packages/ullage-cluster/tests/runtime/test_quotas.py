"""Quotas of tenants: counted in the store, and heeded by every driver of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.agents import haiku
from tests.store.fixtures import new_database, new_place, place, store
from tests.store.test_due import listed
from ullage.errors import CommandRefused, QuotaReached
from ullage.events import CallEnded, SettingsChanged, TurnPaused, TurnResumed
from ullage.messages import Message, TextPart
from ullage.store.leases import new_owner
from ullage.store.store import Lease, Revise, SessionStore, SharedKey
from ullage.store.tenants import TenantStore
from ullage_agent.loop.quotas import DAY_S, Quota, SpentBy
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.copying import fork
from ullage_agent.runtime.hosting import Host, TenantHost
from ullage_agent.runtime.policy import QUOTA_KNOWN_S
from ullage_agent.runtime.quotas import Quotas, all_quotas, change_quota, new_session
from ullage_agent.runtime.subagent import subagent
from ullage_simulators import running
from ullage_simulators.scenario import read

__all__ = ["new_database", "new_place", "place", "store"]

T = TypeVar("T")


class FakeLaterStore:
    """A store whose clock is ahead, where quotas are concerned. What is due later is looked at after a second."""

    def __init__(self, inner: SessionStore) -> None:
        self._inner = inner
        self.ahead_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def limited_to(self, tenant: str) -> Any:
        return self

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        return await self._inner.revise(
            keys, lambda before, now: change(before, now + self.ahead_s)
        )

    async def release(
        self, lease: Lease, *, rests_at: int | None = None, due_at: float | None = None
    ) -> None:
        at = None if due_at is None else min(due_at - self.ahead_s, time.time() + 1)
        await self._inner.release(lease, rests_at=rests_at, due_at=at)


async def set_quota(store: SessionStore, tenant: str = "acme", **limits: Any) -> None:
    await change_quota(store, tenant, lambda quota: Quota(**limits))


def of(store: SessionStore, tenant: str = "acme") -> Quotas:
    return Quotas(TenantStore(store, tenant))


async def test_a_session_that_could_not_be_begun_does_not_count(
    store: SessionStore,
) -> None:
    await set_quota(store, sessions=1)
    for _ in range(3):
        with pytest.raises(CommandRefused):
            async with new_session(TenantStore(store, "acme"), "acme:s"):
                raise CommandRefused("The id is taken.")
    assert (await all_quotas(store))["acme"].used.sessions == 0


async def test_a_changed_quota_has_its_tenants_waiting_sessions_looked_at(
    store: SessionStore,
) -> None:
    await store.create("s", [SettingsChanged(settings={})])
    message = Message(id="m", role="user", parts=(TextPart(id="m.text", text="hi"),))
    await store.send("s", message, "steer")
    lease = await store.acquire("s", new_owner(), ttl_s=60)
    await store.release(lease, rests_at=2, due_at=time.time() + 3_600)
    await asyncio.sleep(1.2)
    await change_quota(store, "another", lambda quota: quota)
    assert await store.unattended(10) == []
    await change_quota(store, "default", lambda quota: quota)
    assert [row.id for row in await listed(store)] == ["s"]


async def test_what_sessions_spend_is_counted_and_refused_at_it(
    store: SessionStore,
) -> None:
    await set_quota(store, tokens=1_000)
    quotas = of(store)
    await quotas.count("acme:s", SpentBy(tokens=500))
    await quotas.count("acme:s", SpentBy(tokens=900, usd=0.1))
    await of(store).count("acme:t", SpentBy())
    await quotas.check_calls()
    kept = await of(store).count("acme:t", SpentBy(tokens=700))
    assert kept is not None and kept.used.tokens == 1_100
    with pytest.raises(QuotaReached, match=r"1,100 of 1,000 tokens.*00:00 UTC") as caught:
        await quotas.check_calls()
    assert 0 < caught.value.until - time.time() <= DAY_S
    await of(store, "other").check_calls()


async def test_a_tenant_without_quota_is_asked_about_sometimes(
    store: SessionStore,
) -> None:
    now = 100.0
    quotas = Quotas(TenantStore(store, "acme"), clock=lambda: now)
    assert await quotas.count("acme:s", SpentBy(tokens=5)) is None
    await set_quota(store, tokens=0)
    await quotas.check_calls()
    now += QUOTA_KNOWN_S
    with pytest.raises(QuotaReached):
        await quotas.check_calls()


# -- with a driver --


@pytest.fixture
def provider() -> Iterator[str]:
    answers: list[dict[str, Any]] = [
        {
            "when": {"contains": "Ask somebody", "after": "user"},
            "calls": [{"name": "research", "arguments": {"task": "Look."}}],
        },
        {
            "when": {"contains": "Look twice", "after": "user"},
            "calls": [{"name": "look", "arguments": {}}],
        },
        {"text": "Done."},
    ]
    with running(read({"answers": answers})) as server:
        yield server.url("anthropic")


def look() -> str:
    """Looks."""
    return "Seen."


@pytest.fixture
async def host(
    store: SessionStore, provider: str, tmp_path: Path
) -> AsyncIterator[tuple[Host, FakeLaterStore]]:
    later = FakeLaterStore(store)
    given: dict[str, Any] = {"environment": {"ANTHROPIC_API_KEY": "x"}, "yields": True}
    given |= {"base_url": provider, "root": str(tmp_path), "store": later}
    child = Agent("anthropic:claude-haiku-4-5", config=False, **given)
    asks = subagent(child, name="research", description="Asks.")
    agent = Agent("anthropic:claude-haiku-4-5", config=False, tools=[look, asks], **given)
    async with Host(agent, attends=True) as opened:
        yield opened, later


async def events_of(host: Host, session: str, kind: type) -> list[Any]:
    return [each for each in await host.store.read(session) if isinstance(each, kind)]


async def until(host: Host, session: str, kind: type) -> Any:
    """The first event of this kind."""
    async with asyncio.timeout(60):
        while not (found := await events_of(host, session, kind)):
            await asyncio.sleep(0.05)
    return found[0]


async def test_a_turn_pauses_in_the_middle_and_resumes_after_a_raise(
    host: tuple[Host, FakeLaterStore], store: SessionStore
) -> None:
    opened, _ = host
    await set_quota(store, tokens=1)
    session = await TenantHost(opened, "acme").begin("s", {})
    await session.send("Look twice.")
    paused = await until(opened, "acme:s", TurnPaused)
    assert paused.reason == "budget"
    assert "tokens are used" in paused.note and paused.until > time.time()
    assert len(await events_of(opened, "acme:s", CallEnded)) == 1
    for refused in (session.send("More."), session.resume(), session.compact()):
        with pytest.raises(QuotaReached):
            await refused
    assert (await opened.store.about("acme:s")).is_due
    await asyncio.sleep(1.5)
    assert not await events_of(opened, "acme:s", TurnResumed)
    await set_quota(store, tokens=1_000_000)
    await until(opened, "acme:s", TurnResumed)
    result = await session.wait()
    assert (result.reason, result.text) == ("finished", "Done.")
    sums = (await session.context()).spend.all
    left = await TenantHost(opened, "acme").quota()
    assert left is not None and left.used.tokens == sums.in_budget


async def test_a_turn_resumes_by_itself_on_the_next_day(
    host: tuple[Host, FakeLaterStore], store: SessionStore
) -> None:
    opened, later = host
    await set_quota(store, tokens=1)
    session = await TenantHost(opened, "acme").begin("s", {})
    half = DAY_S / 2
    later.ahead_s = half + DAY_S - time.time() % DAY_S  # at noon
    await session.send("Look twice.")
    paused = await until(opened, "acme:s", TurnPaused)
    assert abs(paused.until - time.time() - later.ahead_s - half) < 600
    later.ahead_s += half + 600
    await until(opened, "acme:s", TurnResumed)


async def test_the_session_of_a_tool_call_counts_in_its_parent_s_tenant_once(
    host: tuple[Host, FakeLaterStore], store: SessionStore
) -> None:
    opened, _ = host
    await set_quota(store, sessions=1, tokens=1_000_000)
    acme = TenantHost(opened, "acme")
    session = await acme.begin("s", {})
    await session.send("Ask somebody.")
    await session.wait()
    sums = (await session.context()).spend.all
    left = await acme.quota()
    assert left is not None
    assert (left.used.sessions, left.used.tokens) == (1, sums.in_budget)
    with pytest.raises(QuotaReached):
        await acme.begin("t", {})
    with pytest.raises(QuotaReached):
        await fork(acme.store, "acme:s", "acme:t")


async def test_the_operator_s_own_programs_heed_the_quota_of_the_default_tenant(
    store: SessionStore, provider: str, tmp_path: Path
) -> None:
    await set_quota(store, "default", sessions=1, tokens=1)
    agent = haiku(store, base_url=provider)
    assert (await agent.ask("Hi.", session="s")).text == "Done."
    with pytest.raises(QuotaReached):
        await agent.ask("Again.", session="s")
    with pytest.raises(QuotaReached):
        await agent.ask("Hi.", session="t")

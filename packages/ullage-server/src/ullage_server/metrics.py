"""Counts and durations for a monitoring system, in Prometheus's text format.

Each process counts the events that it writes, so that two servers on one store count each event once.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
)

from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    ToolEnded,
    TurnEnded,
    TurnPaused,
)
from ullage.store.store import (
    Lease,
    Receipt,
    SessionStore,
    StoreObserver,
    WaitingPlace,
)
from ullage.usage import KINDS
from ullage_agent.loop.quotas import QUOTA_KINDS, TenantQuota
from ullage_server.live_types import REMEMBERED

T = TypeVar("T")

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SHARES: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Of the actual input; the error of an estimate has these buckets on both sides of 0."""

MOST_PLACES: Final = 50
"""Values of the label ``place``: callers name places, and each value is a series for good."""

OTHER_PLACES: Final = "(other places)"


class Metrics(StoreObserver):
    """Every metric of one server or worker, in a separate registry. Names follow
    https://prometheus.io/docs/practices/naming/.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        named: dict[str, Any] = {"namespace": "ullage", "registry": self.registry}
        self.open = Gauge(
            "sessions_open", "Sessions that are open in this process", **named
        )
        self.driving = Gauge(
            "sessions_driving", "Sessions that this process works for", **named
        )
        self.streams = Gauge("event_streams", "Clients that follow a session", **named)
        self.turns = Counter("turns", "Turns that ended, by reason", ["reason"], **named)
        self.calls = Counter(
            "model_calls",
            "Model calls that ended",
            ["purpose", "outcome", "error"],
            **named,
        )
        self.tokens = Counter(
            "tokens", "Tokens that providers reported, by kind", ["kind"], **named
        )
        self.tools = Counter(
            "tool_calls", "Tool calls that ended, by outcome", ["outcome"], **named
        )
        self.error = Histogram(
            "estimate_error_ratio",
            "Estimated minus actual input of main calls, as a share of the actual",
            buckets=[*(-share for share in reversed(SHARES)), 0.0, *SHARES],
            **named,
        )
        self.enqueue = Histogram(
            "enqueue_seconds", "Until a message is stored", buckets=SECONDS, **named
        )
        self.write = Histogram(
            "store_write_seconds",
            "Until a write is stored",
            ["what"],
            buckets=SECONDS,
            **named,
        )
        self.lane_wait = Histogram(
            "store_lane_wait_seconds",
            "Until the transaction of a write begins",
            buckets=SECONDS,
            **named,
        )
        self.waiting = Gauge(
            "longest_wait_seconds",
            "For how long the oldest due session of each place has had no driver",
            ["place"],
            **named,
        )
        self.waiting_sessions = Gauge(
            "sessions_waiting",
            "Due sessions of each place that have no driver",
            ["place"],
            **named,
        )
        self.takeovers = Counter(
            "takeovers", "Sessions taken over from a driver that had not let go", **named
        )
        self.lost = Counter(
            "lost_notifications", "Changes that no notification told of", **named
        )
        self.swept = Counter(
            "swept_sessions", "Sessions that the search for lost work woke", **named
        )
        self.ready = Gauge("ready", "Whether this process is ready: 1 or 0", **named)
        self.quota_pauses = Counter(
            "quota_pauses", "Turns that paused because of their tenant's quota", **named
        )
        self.quota_refusals = Counter(
            "quota_refusals", "Requests that a tenant's quota refused", **named
        )
        of_quota = ["tenant", "what"]
        self.quota_limit = Gauge(
            "quota_limit",
            "A tenant's quota of a day, as the store has it",
            of_quota,
            **named,
        )
        self.quota_used = Gauge(
            "quota_used", "What all processes used of it today", of_quota, **named
        )
        self._swept = 0
        self._estimates: dict[tuple[str, str], int] = {}

    def waited(self, seconds: float) -> None:
        """See ``StoreObserver.waited``."""
        self.lane_wait.observe(seconds)

    def took_over(self) -> None:
        """See ``StoreObserver.took_over``."""
        self.takeovers.inc()

    def lost_notifications(self, count: int) -> None:
        """See ``StoreObserver.lost_notifications``."""
        self.lost.inc(count)

    def count_swept(self, sessions: int) -> None:
        """So many sessions were woken by the search since the process began."""
        self.swept.inc(sessions - self._swept)
        self._swept = sessions

    def note(self, event: Event) -> None:
        """Count one event that this process has written."""
        match event:
            case TurnEnded():
                self.turns.labels(event.reason).inc()
            case TurnPaused(until=until) if until:
                self.quota_pauses.inc()
            case ToolEnded():
                self.tools.labels(event.outcome).inc()
            case CallStarted(purpose="main", estimate=estimate) if estimate is not None:
                if len(self._estimates) >= REMEMBERED:
                    self._estimates.pop(next(iter(self._estimates)))
                self._estimates[event.session, event.call] = estimate.tokens
            case CallEnded():
                self._note_call(event)
            case _:
                pass

    def note_waiting(self, places: Iterable[WaitingPlace]) -> None:
        """Show how many sessions of each place wait for a driver, and for how long; the longest for ``MOST_PLACES``."""
        self.waiting.clear()
        self.waiting_sessions.clear()
        self.waiting.labels("").set(0)
        self.waiting_sessions.labels("").set(0)
        longest_first = sorted(places, key=lambda each: -each.oldest_s)
        for each in longest_first[:MOST_PLACES]:
            self.waiting.labels(each.place).set(each.oldest_s)
            self.waiting_sessions.labels(each.place).set(each.sessions)
        if others := longest_first[MOST_PLACES:]:
            self.waiting.labels(OTHER_PLACES).set(others[0].oldest_s)
            waiting = sum(each.sessions for each in others)
            self.waiting_sessions.labels(OTHER_PLACES).set(waiting)

    def note_quotas(self, quotas: Mapping[str, TenantQuota]) -> None:
        """Show the quotas of all tenants, by their names."""
        self.quota_limit.clear()
        self.quota_used.clear()
        for tenant, kept in quotas.items():
            for what in QUOTA_KINDS:
                limit = getattr(kept.quota, what)
                if limit is not None:
                    self.quota_limit.labels(tenant, what).set(limit)
                    self.quota_used.labels(tenant, what).set(getattr(kept.used, what))

    def _note_call(self, event: CallEnded) -> None:
        self.calls.labels(event.purpose, event.outcome, event.error_kind).inc()
        estimate = self._estimates.pop((event.session, event.call), None)
        usage = event.usage
        if usage is None:
            return
        for kind in KINDS:
            self.tokens.labels(kind).inc(getattr(usage, kind) or 0)
        if usage.cleared:
            return  # what the provider newly cleared is no error of the estimate
        if estimate is not None and usage.context and event.outcome == "finished":
            self.error.observe((estimate - usage.context) / usage.context)


class MeasuredStore:
    """Another store with its writes measured and their events counted; what is not named here is the other's own."""

    def __init__(self, inner: SessionStore, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def limited_to(self, tenant: str) -> SessionStore:
        """See ``SessionStore.limited_to``: measured too."""
        return measured(self._inner.limited_to(tenant), self._metrics)

    async def append(
        self, lease: Lease, events: Sequence[Event], **how: Any
    ) -> tuple[Event, ...]:
        """See ``SessionStore.append``."""
        stored = await self._timed("append", self._inner.append(lease, events, **how))
        if events and (not how.get("exact") or len(stored) == len(events)):
            for event in stored[-len(events) :]:
                self._metrics.note(event)
        return stored

    async def draft(self, *values: Any, **more: Any) -> int:
        """See ``SessionStore.draft``."""
        return await self._timed("draft", self._inner.draft(*values, **more))

    async def command(self, *values: Any) -> tuple[Event, ...]:
        """See ``SessionStore.command``."""
        return await self._timed("command", self._inner.command(*values))

    async def send(self, *values: Any, **more: Any) -> Receipt:
        """See ``SessionStore.send``."""
        with self._metrics.enqueue.time():
            return await self._timed("send", self._inner.send(*values, **more))

    async def _timed(self, what: str, writing: Awaitable[T]) -> T:
        begun = time.perf_counter()
        try:
            return await writing
        finally:
            self._metrics.write.labels(what).observe(time.perf_counter() - begun)


def measured(store: SessionStore, metrics: Metrics) -> SessionStore:
    """The store with its writes measured, and what happens inside it counted."""
    store.observe(metrics)
    return cast(SessionStore, MeasuredStore(store, metrics))

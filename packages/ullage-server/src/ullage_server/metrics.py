"""Counts and durations for a monitoring system, in Prometheus's text format.

Each process counts the events of the sessions that it drives, so that two servers on one store count each event once.
Calls of models and requests have the names of OpenTelemetry's conventions (``runtime/traced_names.py`` and
https://opentelemetry.io/docs/specs/semconv/http/http-metrics/) in Prometheus's spelling
(https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from ullage.errors import ProviderError
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    ToolEnded,
    TurnEnded,
    TurnPaused,
)
from ullage.meter.limits import lookup
from ullage.meter.spend import Money, money_of
from ullage.store.store import (
    SessionStore,
    StandingCount,
    StoreObserver,
    WaitingPlace,
)
from ullage.turns.standing import AT_REST, COUNTED, Standing, StandingState, stand
from ullage_agent.loop.quotas import QUOTA_KINDS, TenantQuota
from ullage_agent.runtime.agent import program_name
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.label_values import OTHER, LabelValues
from ullage_agent.runtime.policy import TRACED_SECONDS
from ullage_agent.runtime.session_view import SessionView, Viewed
from ullage_agent.runtime.traced_names import (
    CALL_SECONDS,
    FIRST_CHUNK,
    SPENT_TOKENS,
    USAGE,
    served,
    usage_of,
)
from ullage_server.live_types import REMEMBERED
from ullage_server.policy import HTTP_SECONDS, MOST_PLACES, SECONDS, SHARES

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

WRITES: Final = frozenset({"append", "draft", "command", "send"})
"""Methods of a store that are measured."""

MODEL: Final = ("gen_ai_provider_name", "gen_ai_request_model")


class Metrics(StoreObserver, Hook):
    """Every metric of one server or worker, in a separate registry. Names follow
    https://prometheus.io/docs/practices/naming/.

    It is a hook of the agent whose sessions it counts, and an observer of their store.
    """

    is_inherited = True

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # for the process: a second series for each one, which Prometheus does not use
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        named: dict[str, Any] = {"namespace": "ullage", "registry": self.registry}
        gauge = partial(Gauge, namespace="ullage", registry=self.registry)
        counter = partial(Counter, namespace="ullage", registry=self.registry)
        version = program_name().removeprefix("ullage ")
        Info("build", "The version that runs", **named).info({"version": version})
        self.open = gauge("sessions_open", "Sessions that are open in this process")
        self.driving = gauge("sessions_driving", "Sessions that this process works for")
        self.standing = gauge(
            "sessions", "Sessions of the store that wait, by what for", ["state"]
        )
        self.oldest = gauge(
            "sessions_oldest_seconds",
            "For how long a session has been left in each of these states, the longest",
            ["state"],
        )
        self.streams = gauge("event_streams", "Clients that follow a session")
        self.requests = Histogram(
            "http_server_request_duration_seconds",
            "Until the answer to a request begins",
            ["http_request_method", "http_route", "http_response_status_code"],
            buckets=HTTP_SECONDS,
            registry=self.registry,
        )
        self.turns = counter(
            "turns",
            "Turns that ended or paused, by reason; error is the last call's, or quota",
            ["reason", "error"],
        )
        for error in _kinds(ProviderError):  # a first one is no increase for Prometheus
            self.turns.labels("failed", error)
        self.calls = Histogram(
            f"{_spelt(CALL_SECONDS)}_seconds",
            "Model calls that ended",
            [*MODEL, "error_type"],
            buckets=TRACED_SECONDS,
            registry=self.registry,
        )
        self.first_chunk = Histogram(
            f"{_spelt(FIRST_CHUNK)}_seconds",
            "Until the first piece of an answer that streams",
            MODEL,
            buckets=TRACED_SECONDS,
            registry=self.registry,
        )
        self.tokens = {
            kind: Counter(
                _spelt(f"{SPENT_TOKENS}.{kind}"),
                "Tokens that providers reported",
                MODEL,
                registry=self.registry,
            )
            for kind in USAGE
        }
        self.cost = counter(
            "cost_usd", "What calls cost by list price, in US dollars", MODEL
        )
        self.unpriced = counter("unpriced_calls", "Calls whose cost is not known", MODEL)
        self.tenant_tokens = counter(
            "tenant_tokens", "Input and output of each tenant", ["tenant"]
        )
        self.tenant_cost = counter(
            "tenant_cost_usd",
            "What the calls of each tenant cost by list price, in US dollars",
            ["tenant"],
        )
        self.tools = counter(
            "tool_calls", "Tool calls that ended, by outcome", ["outcome"]
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
        self.waiting = gauge(
            "longest_wait_seconds",
            "For how long the oldest due session of each place has had no driver",
            ["place"],
        )
        self.waiting_sessions = gauge(
            "sessions_waiting",
            "Due sessions of each place that have no driver",
            ["place"],
        )
        self.takeovers = counter(
            "takeovers", "Sessions taken over from a driver that had not let go"
        )
        self.lost = counter("lost_notifications", "Changes that no notification told of")
        self.swept = counter(
            "swept_sessions", "Sessions that the search for lost work woke"
        )
        self.lacks = gauge(
            "lacks", "Whether this process lacks it, 1 or 0: see /readyz", ["what"]
        )
        self.quota_refusals = counter(
            "quota_refusals", "Requests that a tenant's quota refused"
        )
        of_quota = ["tenant", "what"]
        self.quota_limit = gauge(
            "quota_limit", "A tenant's quota of a day, as the store has it", of_quota
        )
        self.quota_used = gauge(
            "quota_used", "What all processes used of it today", of_quota
        )
        self._swept = 0
        self._begun: dict[tuple[str, str], CallStarted] = {}
        self._standings: dict[str, Standing] = {}
        self._driven: WeakValueDictionary[str, Viewed] = WeakValueDictionary()
        self._values = LabelValues()

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

    def on_driven(self, session: str, trace: str, driven: Viewed) -> None:
        """See ``Hook.on_driven``."""
        self._driven[session] = driven

    def on_event(self, event: Event) -> None:
        """See ``Hook.on_event``: counts what a session of this process did."""
        before = self._standings.get(event.session, AT_REST)
        standing = stand(before, event)
        match event:
            case TurnEnded() | TurnPaused():
                is_error = standing.state == "failed" or standing.kind == "quota"
                error = standing.kind if is_error else ""
                self.turns.labels(event.reason, self._label("error_type", error)).inc()
                self._standings.pop(event.session, None)
                return
            case ToolEnded():
                self.tools.labels(event.outcome).inc()
            case CallStarted():
                _remember(self._begun, (event.session, event.call), event)
            case CallEnded() if event.purpose != "child":  # counted in its own session
                self._note_call(event)
            case _:
                pass
        if standing is not before:
            _remember(self._standings, event.session, standing)

    def note_standings(self, counts: Mapping[StandingState, StandingCount]) -> None:
        """Show how many sessions of the store are in each state that is counted, and since when the oldest is."""
        now = time.time()
        for state in COUNTED:
            sessions, since = counts.get(state, (0, now))
            self.standing.labels(state).set(sessions)
            self.oldest.labels(state).set(max(now - since, 0.0))  # NaN stays NaN

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
            self.waiting.labels(OTHER).set(others[0].oldest_s)
            waiting = sum(each.sessions for each in others)
            self.waiting_sessions.labels(OTHER).set(waiting)

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
        begun = self._begun.pop((event.session, event.call), None)
        driven = self._driven.get(event.session)
        view = SessionView() if driven is None else driven.view()
        provider, model = view.provider, view.model
        if event.purpose != "main":
            provider, model = event.provider or provider, event.model or model
        called = self._called(provider, model, is_sure=event.outcome == "finished")
        wrong = "" if event.outcome == "finished" else event.error_kind or event.outcome
        if begun is not None:
            took = max(0.0, event.at - begun.at)
            self.calls.labels(*called, self._label("error_type", wrong)).observe(took)
            if event.purpose == "main" and view.first_chunk_at:
                first = max(0.0, view.first_chunk_at - begun.at)
                self.first_chunk.labels(*called).observe(first)
        tenant = self._label("tenant", view.tenant)
        self._note_spent(event, called, tenant, money_of(event, provider, model))
        usage = event.usage
        estimate = begun.estimate if begun and begun.purpose == "main" else None
        if usage is None or usage.cleared:
            return  # what the provider newly cleared is no error of the estimate
        if estimate is not None and usage.context and event.outcome == "finished":
            self.error.observe((estimate.tokens - usage.context) / usage.context)

    def _note_spent(
        self, event: CallEnded, called: tuple[str, str], tenant: str, money: Money
    ) -> None:
        used = usage_of(event)
        for kind, tokens in used.items():
            self.tokens[kind].labels(*called).inc(tokens)
        total = used.get("input_tokens", 0) + used.get("output_tokens", 0)
        self.tenant_tokens.labels(tenant).inc(total)
        self.cost.labels(*called).inc(money.usd)
        self.tenant_cost.labels(tenant).inc(money.usd)
        self.unpriced.labels(*called).inc(money.unpriced)

    def _called(self, provider: str, model: str, *, is_sure: bool) -> tuple[str, str]:
        """The labels of a call. A name that no catalogue and no answer confirms is a caller's own."""
        is_known = is_sure or lookup(provider, model) is not None
        labels = served(provider, model)
        server = str(labels.get("gen_ai.provider.name", ""))
        admitted = self._values.bounded(MODEL[1], model, is_admitted=is_known)
        return self._label(MODEL[0], server), admitted

    def _label(self, label: str, value: str) -> str:
        return self._values.bounded(label, value)


def _kinds(error: type[Exception]) -> Iterator[str]:
    """The names of the error and of all kinds of it."""
    yield error.__name__
    for kind in error.__subclasses__():
        yield from _kinds(kind)


def _spelt(name: str) -> str:
    """A name of the conventions as Prometheus has it."""
    return name.replace(".", "_")


def _remember(remembered: dict[K, V], key: K, value: V) -> None:
    """Put it there, and forget the oldest one beyond ``REMEMBERED``."""
    if key not in remembered and len(remembered) >= REMEMBERED:
        remembered.pop(next(iter(remembered)))
    remembered[key] = value


class MeasuredStore:
    """Another store with its writes measured; what is not named here is the other's own."""

    def __init__(self, inner: SessionStore, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._timed(name, found) if name in WRITES else found

    def limited_to(self, tenant: str) -> SessionStore:
        """See ``SessionStore.limited_to``: measured too."""
        return measured(self._inner.limited_to(tenant), self._metrics)

    def _timed(
        self, what: str, write: Callable[..., Awaitable[T]]
    ) -> Callable[..., Awaitable[T]]:
        async def timed(*values: Any, **how: Any) -> T:
            begun = time.perf_counter()
            try:
                return await write(*values, **how)
            finally:
                took_s = time.perf_counter() - begun
                self._metrics.write.labels(what).observe(took_s)
                if what == "send":
                    self._metrics.enqueue.observe(took_s)

        return timed


def measured(store: SessionStore, metrics: Metrics) -> SessionStore:
    """The store with its writes measured, and what happens inside it counted."""
    store.observe(metrics)
    return cast(SessionStore, MeasuredStore(store, metrics))

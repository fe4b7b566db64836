"""Whether a server or worker lives, is ready, and takes new work: for load balancers, container engines and Prometheus.

The answers hold nothing of a session, and no address: what is wrong in detail is logged.
"""

from __future__ import annotations

import asyncio
import logging
import math

from litestar import Response, get
from litestar.datastructures import State as AppState
from prometheus_client import generate_latest

from ullage.errors import StoreUnavailable
from ullage.store.store import SessionStore, StandingCount, waiting_places
from ullage.turns.standing import COUNTED
from ullage_agent.runtime.agent import program_name
from ullage_agent.runtime.hosting import Host
from ullage_agent.runtime.policy import ANSWERS_IN_S
from ullage_agent.runtime.quotas import all_quotas
from ullage_server.api_types import Health, Readiness
from ullage_server.metrics import Metrics

log = logging.getLogger("ullage.server")


@get("/healthz", summary="Whether the process answers")
async def get_health(state: AppState) -> Health:
    """Asks for nothing but the process itself, so that a database that is away restarts no server."""
    host: Host = state.host
    return Health(
        status="ok",
        version=program_name().removeprefix("ullage "),
        open_sessions=host.open_sessions,
    )


@get("/readyz", summary="Whether requests belong here")
async def get_readiness(state: AppState) -> Response[Readiness]:
    """503 while it drains, and while the store does not answer or has tables of another version.

    Without its dispatch messages are stored, and found by the workers: it lacks something, and is ready all the same.
    """
    problems = await state.host.problems()
    for lack, problem in problems.items():
        log.warning("It lacks its %s: %s", lack, problem)
    is_ready = not ("store" in problems or "draining" in problems)
    return Response(
        Readiness(ready=is_ready, lacks=tuple(problems)),
        status_code=200 if is_ready else 503,
    )


@get("/drainz", summary="Whether it takes new work")
async def get_drain(state: AppState) -> Response[None]:
    """404 once it drains: HAProxy (``http-check disable-on-404``) then keeps its connections and makes no new ones."""
    return Response(None, status_code=404 if state.host.is_draining else 200)


@get(
    "/metrics",
    summary="Metrics in Prometheus's text format",
    media_type="text/plain",
)
async def get_metrics(state: AppState) -> Response[bytes]:
    """Turns, calls, tokens, tools, the error of estimates, how long storing takes, and what waits for a driver."""
    metrics: Metrics = state.metrics
    await _look(metrics, state.host)
    return Response(
        generate_latest(metrics.registry), media_type="text/plain; version=0.0.4"
    )


async def _look(metrics: Metrics, host: Host) -> None:
    """Set what is known at the moment alone."""
    metrics.open.set(host.open_sessions)
    metrics.driving.set(host.busy_sessions)
    metrics.count_swept(host.swept_sessions)
    problems = await host.problems()
    for what in ("store", "dispatch", "draining"):
        metrics.lacks.labels(what).set(what in problems)
    try:
        if "store" in problems:
            raise StoreUnavailable(problems["store"])
        async with asyncio.timeout(ANSWERS_IN_S):  # Prometheus gives a scrape 10 s
            await _look_into(host.store, metrics)
    except (StoreUnavailable, TimeoutError):
        unknown = StandingCount(math.nan, math.nan)
        metrics.note_standings(dict.fromkeys(COUNTED, unknown))
        metrics.note_waiting([])
        metrics.waiting.labels("").set(math.nan)
        metrics.waiting_sessions.labels("").set(math.nan)


async def _look_into(store: SessionStore, metrics: Metrics) -> None:
    metrics.note_standings(await store.standing_counts())
    metrics.note_waiting(await waiting_places(store))
    metrics.note_quotas(await all_quotas(store))

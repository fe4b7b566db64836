"""The HTTP application: handlers, errors, guard, and a host that lives as long as it does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from ullage.errors import UllageError
from ullage.masking import Secrets
from ullage.tasks import start, stop
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.dispatch import Dispatch
from ullage_agent.runtime.hosting import ANY_NUMBER, Host
from ullage_server import (
    approvals,
    conversation,
    event_stream,
    health,
    live,
    page,
    quota,
    scopes,
    sessions,
    steering,
    window,
)
from ullage_server.connections import ConnectionLimits, StreamSlots, process_limits
from ullage_server.guard import Guard
from ullage_server.metrics import Metrics
from ullage_server.notices import Notifier
from ullage_server.observed import Observed, note_route
from ullage_server.openapi import SchemaPlugin, described
from ullage_server.policy import LARGEST_BODY, LOGS_AT_ONCE
from ullage_server.problems import handle_error, handle_http_error, handle_mistake
from ullage_server.requests import check_body, host_of, session_named
from ullage_server.tokens import NamedTokens, Tokens
from ullage_server.traces import RequestTraces
from ullage_server.ui import routes

log = logging.getLogger("ullage.server")

ROUTES = (
    sessions,
    conversation,
    steering,
    window,
    event_stream,
    routes,
    live,
    page,
    health,
    quota,
    approvals,
    scopes,
)
"""The modules whose handlers are served."""

HANDLERS = tuple(
    found
    for module in ROUTES
    for found in vars(module).values()
    if isinstance(found, HTTPRouteHandler)
)


class Application(NamedTuple):
    """A server's application. ``closing`` ends clients' streams and begins the drain, ``hurry`` ends the drain."""

    asgi: ASGIApp
    closing: asyncio.Event
    hurry: asyncio.Event
    metrics: Metrics
    limits: ConnectionLimits
    streams: StreamSlots
    tokens: Tokens


def application(
    agent: Agent,
    *,
    metrics: Metrics | None = None,
    token: str = "",
    tokens: Iterable[NamedTokens] = (),
    names: Iterable[str] = (),
    origins: Iterable[str] = (),
    proxies: Sequence[str] = (),
    hidden: Iterable[str] = (),
    shows: live.LiveSessions | None = None,
    drain_s: float = 0.0,
    dispatch: Dispatch | None = None,
    drives: int = ANY_NUMBER,
    traces: RequestTraces | None = None,
    notifiers: Sequence[Notifier] = (),
) -> Application:
    """The application for an agent's sessions. Its lifespan is the host's.

    ``token`` allows everything, ``tokens`` are named. ``names`` are the accepted hosts (empty: any), ``origins``
    further addresses of its page, ``proxies`` the addresses and networks of those that name their client in
    ``X-Forwarded-For`` and ``X-Forwarded-Proto`` (nobody else is believed), ``hidden`` values that no error may show,
    ``shows`` what runs on this machine; by default nothing of it is shown. ``dispatch`` says where sessions are driven,
    ``drives`` how many of them here, ``traces`` where spans of requests go, ``notifiers`` who is told of sessions that
    need a person. As long as it runs, it takes over the
    sessions of its store whose driver ended; at its end the current steps of sessions get ``drain_s`` seconds.
    Raises ``SettingError`` for tokens that can't be read, and for a ``token`` that can be guessed.
    """
    scopes.check_table(HANDLERS)
    limits = process_limits()
    streams = StreamSlots(limits.streams, limits.streams_of_one)
    measures, accepted = metrics or Metrics(), Tokens(token, *tokens)
    closing, hurry = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def hosting(app: Litestar) -> AsyncIterator[None]:
        readers = ThreadPoolExecutor(LOGS_AT_ONCE, "ullage: reads a log")
        hosted = Host(agent, attends=True, dispatch=dispatch, drives=drives)
        async with hosted as host:
            app.state.host = host
            app.state.readers = readers
            draining = start(
                _drain(host, closing, hurry, drain_s), name="host: lets steps end"
            )
            telling = [start(each.run(host.store)) for each in notifiers]
            try:
                yield
            finally:
                closing.set()
                await stop(*telling)
                readers.shutdown(wait=False, cancel_futures=True)
                await draining

    app = Litestar(
        route_handlers=HANDLERS,
        dependencies={
            "host": Provide(host_of, sync_to_thread=False),
            "opened": Provide(session_named),
        },
        exception_handlers={
            UllageError: handle_error,
            HTTPException: handle_http_error,
            Exception: handle_mistake,
        },
        lifespan=[hosting],
        guards=[note_route, scopes.require_scope],
        before_request=check_body,
        state=State(
            {
                "closing": closing,
                "metrics": measures,
                "traces": traces or RequestTraces(),
                "idempotency": conversation.IdempotencyKeys(),
                "tokens": accepted,
                "live": shows,
                "streams": streams,
                "secrets": Secrets([token, *hidden]),
            }
        ),
        openapi_config=described(),
        plugins=[SchemaPlugin()],
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )
    guard: Any = Guard(app, tokens=accepted, names=names, origins=origins)
    if proxies:
        guard = ProxyHeadersMiddleware(guard, list(proxies))
    return Application(
        Observed(guard, measures), closing, hurry, measures, limits, streams, accepted
    )


async def _drain(
    host: Host, closing: asyncio.Event, hurry: asyncio.Event, drain_s: float
) -> None:
    """Once the server ends, give the steps of its sessions so many seconds, or until there is a hurry."""
    await closing.wait()
    if hurry.is_set() or not drain_s:
        return
    if host.busy_sessions:
        log.info("Ending the current steps of %d sessions", host.busy_sessions)
    draining, hurrying = start(host.drain()), start(hurry.wait())
    try:
        await asyncio.wait(
            (draining, hurrying), timeout=drain_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        await stop(draining, hurrying)

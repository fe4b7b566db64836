"""The HTTP application: handlers, errors, guard, and a host that lives as long as it does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp

from ullage.errors import UllageError
from ullage.runtime.agent import Agent
from ullage.runtime.hosting import Host
from ullage.server import conversation, following, looking, metrics, page, sessions, steering, window
from ullage.server.access import host_of, session_named
from ullage.server.guard import Guard
from ullage.server.metrics import Metrics
from ullage.server.problems import handle_error, handle_http_error, handle_mistake
from ullage.server.schema import WordsPlugin, described

log = logging.getLogger("ullage.server")

LARGEST_BODY = 1_000_000
"""Bytes of a request that is no message and no file."""

HANDLERS = (
    sessions.import_session,
    sessions.begin_session,
    sessions.list_sessions,
    sessions.get_session,
    sessions.delete_session,
    sessions.fork_session,
    sessions.export_session,
    conversation.send_message,
    conversation.list_messages,
    conversation.list_queue,
    conversation.edit_queued,
    conversation.withdraw_queued,
    conversation.get_kept,
    steering.cancel,
    steering.resume,
    steering.approve,
    steering.get_settings,
    steering.change_settings,
    steering.compact,
    steering.uncompact,
    steering.pin,
    steering.rewind,
    steering.explain,
    window.get_context,
    window.list_steps,
    window.list_largest,
    window.get_spend,
    following.follow_events,
    looking.look_at_log,
    page.index,
    page.asset,
    page.health,
    metrics.get_metrics,
)


class Application(NamedTuple):
    """What a server serves. Once ``closing`` is set, clients that follow a session are let go."""

    asgi: ASGIApp
    closing: asyncio.Event
    metrics: Metrics


def application(
    agent: Agent, *, metrics: Metrics | None = None, token: str = "", names: Iterable[str] = ()
) -> Application:
    """The application for an agent's sessions. With it the host begins and ends.

    ``names`` are the hosts that it may be asked for (empty: any). What a crash left unfinished is gone on with as soon
    as it begins.
    """
    measures = metrics or Metrics()
    closing = asyncio.Event()

    @asynccontextmanager
    async def hosting(app: Litestar) -> AsyncIterator[None]:
        async with Host(agent) as host:
            app.state.host = host
            recovering = asyncio.create_task(_recover(host), name="host: going on with unfinished sessions")
            try:
                yield
            finally:
                closing.set()
                recovering.cancel()
                await asyncio.wait([recovering])

    app = Litestar(
        route_handlers=HANDLERS,
        dependencies={
            "host": Provide(host_of, sync_to_thread=False),
            "opened": Provide(session_named),
        },
        exception_handlers={UllageError: handle_error, HTTPException: handle_http_error, Exception: handle_mistake},
        lifespan=[hosting],
        state=State({"closing": closing, "metrics": measures, "idempotency": conversation.Keys()}),
        openapi_config=described(),
        plugins=[WordsPlugin()],
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )
    return Application(Guard(app, token=token, names=names), closing, measures)


async def _recover(host: Host) -> None:
    try:
        found = await host.recover()
    except UllageError as problem:
        log.error("Unfinished sessions can't be looked for: %s", problem)
        return
    if found:
        log.info("Going on with %d sessions: %s", len(found), ", ".join(found))

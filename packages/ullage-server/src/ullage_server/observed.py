"""Each request as an operator sees it: its id, its line in the log, and its duration by route and status.

A request's id is that of the proxy in front (``X-Request-Id``), or a new one; the answer has it too.
"""

from __future__ import annotations

import logging
import re
import time
from typing import Any, Final
from uuid import uuid4

from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from ullage.log_lines import log_fields, trace_fields
from ullage_server.guard import HEALTH, unescaped
from ullage_server.metrics import Metrics
from ullage_server.scopes import bearer_of
from ullage_server.traces import checked_trace

log = logging.getLogger("ullage.access")

REQUEST_ID: Final = b"x-request-id"

_SANE: Final = re.compile(r"[\w.:+/=@-]{1,128}", re.ASCII)

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

NO_ROUTE: Final = "(none)"
"""Of a request that was refused before a route was looked for, or that has none."""

_ABOUT: Final = "log_fields"
"""Where the fields of a request's log lines are in its scope."""


class Observed:
    """An ASGI application in front of all others."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        about = {
            "request_id": _request_id(headers),
            **trace_fields(
                checked_trace(headers.get(b"traceparent", b"").decode("latin-1"))
            ),
        }
        begun = time.perf_counter()

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = (REQUEST_ID, str(about["request_id"]).encode())
                message["headers"] = [*message["headers"], own]
                self._note(scope, about, message["status"], time.perf_counter() - begun)
            await send(message)

        with log_fields(about.copy):
            await self._app({**scope, _ABOUT: about}, receive, answered)  # type: ignore[arg-type]

    def _note(
        self, scope: HTTPScope, about: dict[str, object], status: int, took_s: float
    ) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        route = str(about.get("route", NO_ROUTE))
        self._metrics.requests.labels(method, route, str(status)).observe(took_s)
        answer = {"method": method, "status": status, "duration_s": round(took_s, 6)}
        level = logging.DEBUG if scope["path"] in HEALTH else logging.INFO
        log.log(level, "%s %s %d", method, route, status, extra=answer)


def note_route(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """Notes which route a request has, and of whom and which session it is, for its log lines and its duration."""
    about: dict[str, object] = connection.scope.get(_ABOUT, {})  # type: ignore[assignment]
    about["route"] = connection.scope["path_template"]
    about["tenant"] = bearer_of(connection).tenant
    session = connection.path_params.get("session")
    if session is not None:
        about["session"] = unescaped(str(session))


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(REQUEST_ID, b"").decode("latin-1")
    return given if _SANE.fullmatch(given) else uuid4().hex

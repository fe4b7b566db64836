"""The address of a worker at which it is looked at: health, readiness and, with a token, metrics. Nothing of a
session is told."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Generator

from litestar import Litestar
from litestar.datastructures import State

from ullage_agent.runtime.hosting import Host
from ullage_server import health
from ullage_server.connections import process_limits
from ullage_server.guard import HEALTH
from ullage_server.guarded import guarded
from ullage_server.metrics import Metrics
from ullage_server.serving import LimitedServer
from ullage_server.tokens import Tokens

HANDLERS = (
    health.get_health,
    health.get_readiness,
    health.get_drain,
    health.get_metrics,
)


class _LookedAt(LimitedServer):
    """A server that leaves signals to the worker."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def serve_monitoring(
    host: Host, metrics: Metrics, listening: socket.socket, tokens: Tokens
) -> None:
    """Answer until cancelled, also while the host drains."""
    app = Litestar(
        route_handlers=HANDLERS,
        state=State({"host": host, "metrics": metrics}),
        openapi_config=None,
        logging_config=None,
    )
    checked = guarded(app, tokens, "read", is_open=HEALTH)
    server = _LookedAt(checked, process_limits(), lifespan="off")
    await server.serve(sockets=[listening])

"""Runs the server: one socket, one process, and a shutdown that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Generator
from ipaddress import ip_address
from types import FrameType
from typing import Final, Literal

import uvicorn
from litestar.types import ASGIApp

from ullage.errors import SettingError
from ullage_server.admission import HEAD_BYTES
from ullage_server.app import Application
from ullage_server.connections import (
    IDLE_S,
    QUEUED,
    ConnectionLimits,
    TimeLimits,
    protocol,
)
from ullage_server.guard import LOOPBACK

GRACE_S: Final = 10
"""Seconds that running requests get when the server ends: writes take milliseconds, exports longer."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host.lower() in LOOPBACK or host == "::1":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listener(host: str, port: int, *, has_token: bool = False) -> socket.socket:
    """A listening socket. Raises ``SettingError`` for another address than loopback without a token."""
    if not is_loopback(host) and not has_token:
        raise SettingError(
            f"Anyone who reaches {host} could run this agent's tools: make a token with `ullage admin token add NAME`, "
            "set ULLAGE_TOKEN or --token, or listen on 127.0.0.1."
        )
    if not 0 <= port <= 65_535:
        raise SettingError(
            f"There is no port {port}: they go from 0 to 65535. --port 0 takes a free one."
        )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SettingError(
            f"{host}:{port} can't be listened on: {reason}. --port 0 takes a free port."
        ) from problem
    listening.setblocking(False)
    return listening


def url_of(listening: socket.socket) -> str:
    """The address for a browser."""
    host, port = listening.getsockname()[:2]
    bracketed = f"[{host}]" if ":" in host else host
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, bracketed)
    return f"http://{shown}:{port}"


class LimitedServer(uvicorn.Server):
    """Serves clients that may be slow, silent, many or malformed. ``lifespan`` is uvicorn's."""

    def __init__(
        self,
        app: ASGIApp,
        connections: ConnectionLimits,
        times: TimeLimits | None = None,
        *,
        lifespan: Literal["on", "off"] = "on",
    ) -> None:
        config = uvicorn.Config(
            app,
            http=protocol(times or TimeLimits(), connections.connections),
            h11_max_incomplete_event_size=HEAD_BYTES,
            backlog=connections.at_once,  # asyncio accepts as many in one round
            proxy_headers=False,  # any client could claim another address and another scheme
            lifespan=lifespan,
            ws="none",
            access_log=False,
            server_header=False,
            log_config=None,
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=IDLE_S,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See ``uvicorn.Server.startup``."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(QUEUED)


class HttpServer(LimitedServer):
    """Ends by closing event streams, finishing requests, and then stopping the sessions' drivers."""

    def __init__(
        self, application: Application, limits: TimeLimits | None = None
    ) -> None:
        super().__init__(application.asgi, application.limits, limits)
        self._closing = application.closing
        self._hurry = application.hurry

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See ``uvicorn.Server.shutdown``."""
        self._closing.set()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM lets the sessions end their current step; Ctrl-C, or a second signal, does not."""
        if sig == signal.SIGINT or self.should_exit:
            self._hurry.set()
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """SIGTERM and Ctrl-C end only the server: its caller continues, and closes the store."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        caught = (signal.SIGINT, signal.SIGTERM)
        for each in caught:
            loop.add_signal_handler(each, self.handle_exit, each, None)
        try:
            yield
        finally:
            for each in caught:
                loop.remove_signal_handler(each)


async def serve(application: Application, listening: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT. Cancelling ends it like a crash, which loses nothing either.

    Raises ``StoreUnavailable`` if the store can't be opened.
    """
    await HttpServer(application).serve(sockets=[listening])

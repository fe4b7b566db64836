"""The clients' connections together: how many there may be, how long they may wait, and which clients have left."""

from __future__ import annotations

import asyncio
import resource
import select
from contextlib import suppress
from typing import Final, Protocol

MOST: Final = 512
"""Connections of clients. A client opens one for each call that runs at the same time."""

FILES: Final = 4_096
"""Open files that the relay asks the system for. macOS gives a program 256, most of Linux 1024."""

OWN_FILES: Final = 64
"""Open files for all but connections."""

LOOKS_EVERY_S: Final = 1.0

_LEFT: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class KeptConnection(Protocol):
    """A connection of a client."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""

    def look_after(self, now: float) -> None:
        """End the connection if its client has left, or has let it wait too long."""

    def stop(self) -> None:
        """Take no other request; what runs may end."""

    def abort(self) -> None:
        """Close at once."""


class ClientConnections:
    """The open connections, the oldest first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._open: dict[KeptConnection, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def all(self) -> list[KeptConnection]:
        return list(self._open)

    def add(self, connection: KeptConnection) -> bool:
        """Whether there is room for one more. The oldest without a request makes room."""
        if len(self._open) >= self._most and not self._make_room():
            return False
        self._open[connection] = None
        return True

    def discard(self, connection: KeptConnection) -> None:
        self._open.pop(connection, None)

    def _make_room(self) -> bool:
        for connection in self._open:
            if connection.is_idle:
                del self._open[connection]
                connection.abort()
                return True
        return False

    async def look_after(self) -> None:
        """Look at each connection from time to time, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            for connection in self.all():
                connection.look_after(loop.time())


def has_left(transport: asyncio.BaseTransport) -> bool:
    """Whether the other side has closed the connection, also when nothing is read from it."""
    found = transport.get_extra_info("socket")
    if found is None or found.fileno() < 0:
        return True
    asked = select.poll()
    asked.register(found.fileno(), _LEFT)
    return bool(asked.poll(0))


def most_connections() -> int:
    """How many connections the open files of this process allow. Each may need one to an upstream."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft == resource.RLIM_INFINITY:
        return MOST
    return max(1, min(MOST, (soft - OWN_FILES) // 2))

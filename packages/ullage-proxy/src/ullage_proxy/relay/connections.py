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
    def address(self) -> str:
        """Where the client is; empty for one of this machine, whose programs have the same address."""

    @property
    def waits_since(self) -> float | None:
        """Since when it waits for its client to send or read something; ``None`` where it waits for an upstream."""

    def look_after(self) -> None:
        """End the connection if its client has left while nothing is read from it."""

    def stop(self) -> None:
        """Take no other request; what runs may end."""

    def abort(self) -> None:
        """Close at once."""


class ClientConnections:
    """The open connections, the oldest first. A client of another machine has at most half of them."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._open: dict[KeptConnection, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def all(self) -> list[KeptConnection]:
        return list(self._open)

    def add(self, connection: KeptConnection) -> bool:
        """Whether there is room for one more. That which waits longest for its own client makes room."""
        own: list[KeptConnection] = []
        if connection.address:
            own = [each for each in self._open if each.address == connection.address]
        if len(own) >= max(1, self._most // 2):
            if not self._make_room(own):
                return False
        elif len(self._open) >= self._most and not self._make_room(self.all()):
            return False
        self._open[connection] = None
        return True

    def discard(self, connection: KeptConnection) -> None:
        self._open.pop(connection, None)

    def _make_room(self, among: list[KeptConnection]) -> bool:
        waiting = [each for each in among if each.waits_since is not None]
        if not waiting:
            return False
        longest = min(waiting, key=lambda each: each.waits_since or 0.0)
        del self._open[longest]
        longest.abort()
        return True

    async def look_after(self) -> None:
        """Look at each connection from time to time, for ever."""
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            for connection in self.all():
                connection.look_after()


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

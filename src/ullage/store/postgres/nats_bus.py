"""Live news over NATS, for processes that drive and show many streams: one subject for each session.

NATS keeps nothing (https://docs.nats.io/nats-concepts/core-nats): what nobody hears is gone. The database stays the
truth, and the looks of ``news.py`` find what was lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from ullage.errors import StoreUnavailable

log = logging.getLogger("ullage.store")

CONNECT_S: Final = 10
"""How long the first connection may take; a lost one is made again without end."""

AGAIN_S: Final = 1
"""The pause between attempts to connect again."""

PING_S: Final = 5
"""The interval of pings; two without an answer are a lost connection."""

FLUSH_S: Final = 2
"""How long NATS may take to confirm a subscription; without the confirmation a watcher starts all the same."""

MOST_UNREAD_BYTES: Final = 8_000_000
"""Of messages of one session that wait to be read; more are dropped, and the next look finds them."""

PREFIX: Final = "ullage"


class NatsBus:
    """Messages between the processes of one store. Its methods are called in the event loop of ``begin``.

    ``address`` is ``nats://HOST:PORT`` or ``tls://HOST:PORT``, several with commas between. ``hear`` gets each
    message of another process. ``came_back`` is called after a connection was lost and made again.
    """

    def __init__(
        self,
        address: str,
        hear: Callable[[bytes], object],
        came_back: Callable[[], object],
    ) -> None:
        self._servers = address.split(",")
        self._shown = shown_bus(address)
        self._hear = hear
        self._came_back = came_back
        self._client = Client()
        self._store = ""
        self._followed: dict[str, Subscription] = {}
        self._last_problem = ""

    @property
    def is_connected(self) -> bool:
        return bool(self._client.is_connected)

    @property
    def largest_bytes(self) -> int:
        """Of one message, as the server says it."""
        return int(self._client.max_payload)

    async def begin(self, store: str) -> None:
        """Connect. ``store`` tells the messages of this database from those of others on the same servers.

        Raises ``StoreUnavailable`` where no server answers or none lets us in.
        """
        self._store = store
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._client.connect(
                    self._servers,
                    name="ullage",
                    no_echo=True,
                    connect_timeout=CONNECT_S,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=AGAIN_S,
                    ping_interval=PING_S,
                    error_cb=self._note,
                    disconnected_cb=self._lost,
                    reconnected_cb=self._reconnected,
                )
        except (NatsError, OSError, TimeoutError, ValueError) as problem:
            await self.end()
            why = str(problem) or self._last_problem or "no answer"
            raise StoreUnavailable(
                f"The bus {self._shown} can't be used: {why}. Check its address, its user and password, "
                "and that a NATS server runs there."
            ) from problem

    async def follow(self, session: str) -> None:
        """Hear of a session from here on. Does nothing for one that is followed."""
        if session in self._followed:
            return
        try:
            subscription = await self._client.subscribe(
                self._subject(session),
                cb=self._take,
                pending_bytes_limit=MOST_UNREAD_BYTES,
            )
            self._followed[session] = subscription
            if self.is_connected:
                await self._client.flush(FLUSH_S)
        except (NatsError, OSError, TimeoutError) as problem:
            log.debug("The bus did not confirm a subscription: %s", problem)

    async def keep(self, sessions: Iterable[str]) -> None:
        """Stop to hear of all other sessions."""
        for session in self._followed.keys() - set(sessions):
            subscription = self._followed.pop(session)
            with suppress(NatsError, OSError):
                await subscription.unsubscribe()

    async def send(self, session: str, message: bytes) -> None:
        """Give a message to the server, without waiting for it. Raises ``NatsError`` or ``OSError``."""
        await self._client.publish(self._subject(session), message)

    async def end(self) -> None:
        """Send what is left, and close the connection."""
        with suppress(NatsError, OSError, TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await self._client.close()

    def _subject(self, session: str) -> str:
        # An id may hold what a subject may not: dots, blanks, wildcards.
        digest = hashlib.blake2b(session.encode(), digest_size=16).hexdigest()
        return f"{PREFIX}.{self._store}.{digest}"

    async def _take(self, message: Msg) -> None:
        self._hear(message.data)

    async def _note(self, problem: Exception) -> None:
        self._last_problem = str(problem) or type(problem).__name__
        log.debug("The bus %s: %s", self._shown, self._last_problem)

    async def _lost(self, *_: Any) -> None:
        if not self._client.is_closed:
            log.warning(
                "The bus %s is away; PostgreSQL carries the news until it is back.",
                self._shown,
            )

    async def _reconnected(self, *_: Any) -> None:
        log.warning("The bus %s is back.", self._shown)
        self._came_back()


def shown_bus(address: str) -> str:
    """The address without users, passwords and tokens."""
    shown = []
    for each in address.split(","):
        parts = urlsplit(each)
        shown.append(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
    return ",".join(shown)

"""A worker of a Restate server: an HTTP endpoint that it calls to have a session driven.

Restate holds the call open while the session is driven, and repeats it at another worker as soon as the connection
breaks. It keeps nothing of a session but the fact that it was woken, and decides nothing: the store's lease does.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import MutableMapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from restate.exceptions import RetryableError, TerminalError

from ullage.display.text import quoted
from ullage.errors import SettingError
from ullage.tasks import background, start, to_completion
from ullage_agent.runtime.dispatch import Drive, Embedded, ListenAddress
from ullage_agent.runtime.hosting import is_child
from ullage_agent.runtime.policy import RESTATE_SWEEP_S
from ullage_cluster.restate.admin import keep_registered
from ullage_cluster.restate.names import HANDLER, object_of

DAY: Final = timedelta(days=1)
"""A drive lasts as long as a turn. Restate's own limit of 10 minutes would call another worker in vain."""

AT_ONCE: Final = timedelta(0)
"""A finished wake is forgotten at once, so that a session can be woken again for the same event."""

RETRIES: Final = restate.InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=50),
    exponentiation_factor=2.0,
    max_interval=timedelta(milliseconds=100),
    max_attempts=1200,
    on_max_attempts="kill",
)
"""Some two minutes of attempts. The pause grows with each attempt of a drive, also with the seventh worker that is
killed under it: the longest takeover in ten kills (``bench.takeover``) was 1.27 s with pauses of up to 0.5 s, and
0.90 s with 0.1 s. Where no worker is there, Restate tries in vain so often: 300 waiting sessions cost it 21 to 32 % of
a core, instead of 15 %. After the last attempt the workers' sweep finds the session."""

errors = logging.getLogger("hypercorn.error")

AsgiMessage = MutableMapping[str, Any]


class RestateWorker(Embedded):
    """Drives the sessions of a place that Restate calls it for, and those that its own sweep finds without a driver.

    The end of a call ends no drive, so an answer outlives Restate: whoever is called instead finds the session's lease
    taken, as long as this process lives. ``admin`` is Restate's admin API, where the worker has itself registered under
    the URL ``advertised``, by default that of ``listen``; empty: somebody else registers it. It refuses requests that
    the owner of the public ``key`` has not signed; without a key it takes all. Workers of one machine may share an
    address: the system spreads connections over them, and Restate makes one for each call. Raises ``SettingError`` for
    an address that can't be listened on.
    """

    sweep_s = RESTATE_SWEEP_S

    def __init__(
        self,
        listen: ListenAddress,
        *,
        place: str = "",
        key: str = "",
        admin: str = "",
        advertised: str = "",
    ) -> None:
        super().__init__(place)
        self._keys = [key] if key else []
        self._listening: socket.socket | None = _bound(listen)
        self.address = ListenAddress(*self._listening.getsockname()[:2])
        self._admin = admin
        self._advertised = advertised or f"http://{listen.host}:{self.address.port}"

    async def serve(self, drive: Drive) -> None:
        """See ``Dispatch.serve``. Raises ``SettingError`` where the address was taken meanwhile."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(background(self._answer()))
            if self._admin:
                registered = keep_registered(
                    self._admin, object_of(self.place), self._advertised
                )
                await stack.enter_async_context(background(registered))
            await super().serve(drive)

    async def _answer(self) -> None:
        """Take Restate's calls until cancelled, which lets those end that were taken: the drives have ended then."""
        listening, self._listening = self._listening, None
        listening = listening or _bound(self.address)
        app = restate.app([self._sessions()], identity_keys=self._keys)
        # With the first request the SDK takes over SIGTERM of its loop. In another thread it can't.
        await asyncio.to_thread(asyncio.run, app(_HEALTH, _nothing, _ignored))
        config = Config()
        config.bind = [f"fd://{listening.detach()}"]
        config.errorlog = (
            errors  # by its name it would get a handler and a form of its own
        )
        errors.setLevel(logging.ERROR)
        # A kept connection would bring the next attempt here again, past a balancer that knows that this worker drains.
        config.keep_alive_max_requests = 1
        ending = asyncio.Event()
        serving = start(serve(app, config, shutdown_trigger=ending.wait))
        try:
            await asyncio.wait({serving})
        finally:
            ending.set()
            await to_completion(serving)

    def _sessions(self) -> restate.VirtualObject:
        """The Virtual Object of the place, with sessions as its keys."""
        sessions = restate.VirtualObject(
            object_of(self.place),
            inactivity_timeout=DAY,
            abort_timeout=DAY,
            idempotency_retention=AT_ONCE,
            journal_retention=AT_ONCE,
            invocation_retry_policy=RETRIES,
        )

        # Shared: one call at a time would keep a session from all workers as long as one of them hangs.
        @sessions.handler(HANDLER, kind="shared")
        async def drive_session(context: restate.ObjectSharedContext, why: int) -> None:
            """Drive the session of this key; ``why`` is the event that asks for it."""
            session = context.key()
            if is_child(session) or not session.isprintable():
                raise TerminalError(
                    f"{quoted(session)} is no session that a worker drives. Wake the session of its tool call."
                )
            if not await self._driven(session):
                raise RetryableError(f"{session} could not be driven to its rest here.")

        return sessions

    async def _driven(self, session: str) -> bool:
        """Have it driven here, and wait for the end; see ``Drive``."""
        self._wake_here(session)
        last: asyncio.Task[bool] | None = None
        while (running := self._running.get(session)) is not None:
            last = running
            await asyncio.wait({running})
        return last is not None and not last.cancelled() and last.result()


_HEALTH: Final = {"type": "http", "path": "/health"}


async def _nothing() -> AsgiMessage:
    return {"type": "http.disconnect"}


async def _ignored(message: AsgiMessage) -> None:
    """Drop a part of an answer."""


def _bound(address: ListenAddress) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(place)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SettingError(
            f"{address.host}:{address.port} can't be listened on for Restate: {reason}. Give another --listen."
        ) from problem
    return listening

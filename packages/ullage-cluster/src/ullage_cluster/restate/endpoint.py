"""The HTTP endpoint of a worker that Restate calls to have a session driven.

Each session is a key of a Virtual Object, so Restate calls one worker for it at a time, and calls the next one as soon
as the connection to the first breaks. Restate keeps nothing of a session but the fact that it was woken.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from restate.exceptions import RetryableError, TerminalError

from ullage.display.text import quoted
from ullage.tasks import start, stop, to_completion
from ullage_agent.runtime.dispatch import Drive
from ullage_agent.runtime.hosting import is_child
from ullage_cluster.restate.names import HANDLER, object_of

DAY: Final = timedelta(days=1)
"""A drive lasts as long as a turn. Restate's own limit of 10 minutes would cut a long answer, and pay for it again."""

AT_ONCE: Final = timedelta(0)
"""A finished wake is forgotten at once, so that the sweep can wake a session again for the same event."""

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
a core, instead of 15 %. After the last attempt the sweep wakes again; the other choice, a pause, would hold the
session's key until an operator resumes it."""

errors = logging.getLogger("hypercorn.error")

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
Asgi = Callable[[AsgiMessage, Receive, Send], Awaitable[None]]

_given_up: ContextVar[asyncio.Event] = ContextVar("_given_up")
"""Set when Restate's connection for this request ends. The SDK's ``attempt_finished_event`` is set only after the
handler has returned or awaited the SDK (restate-sdk 0.18.1 and 1.3.0: not set 0.1 s after Restate was killed)."""


async def serve_restate(
    listening: socket.socket, drive: Drive, place: str, keys: Sequence[str] = ()
) -> None:
    """Serve Restate's calls for sessions of a place until cancelled, then end the drives. Closes the socket.

    With ``keys``, requests that none of them has signed get 401 before anything of them is read.
    """
    driving = _Driving(drive)
    app = restate.app([driving.sessions(place)], identity_keys=list(keys))
    # With the first request the SDK takes over SIGTERM of its loop. Here it can't: signals belong to the main thread.
    await asyncio.to_thread(asyncio.run, app(_HEALTH, _nothing, _ignored))
    config = Config()
    config.bind = [f"fd://{listening.detach()}"]
    config.errorlog = errors  # by its name it would get a handler and a form of its own
    errors.setLevel(logging.ERROR)
    # A kept connection would bring the next attempt here again, past a balancer that knows that this worker drains.
    config.keep_alive_max_requests = 1
    serving = start(
        serve(_watched(app), config, shutdown_trigger=driving.ending.wait)  # type: ignore[arg-type]
    )
    try:
        await asyncio.wait({serving})
    finally:
        await driving.end()
        await to_completion(_ended(serving))


async def _ended(serving: asyncio.Task[None]) -> None:
    await serving


class _Driving:
    """The drives that Restate asked this process for."""

    def __init__(self, drive: Drive) -> None:
        self.ending = asyncio.Event()
        self._drive = drive
        self._drives: set[asyncio.Task[bool]] = set()

    def sessions(self, place: str) -> restate.VirtualObject:
        """The Virtual Object of a place, with sessions as its keys."""
        sessions = restate.VirtualObject(
            object_of(place),
            inactivity_timeout=DAY,
            abort_timeout=DAY,
            idempotency_retention=AT_ONCE,
            journal_retention=AT_ONCE,
            invocation_retry_policy=RETRIES,
        )

        @sessions.handler(HANDLER)
        async def drive_session(context: restate.ObjectContext, why: int) -> None:
            """Drive the session of this key; ``why`` is the event that asks for it."""
            session = context.key()
            if is_child(session) or not session.isprintable():
                raise TerminalError(
                    f"{quoted(session)} is no session that a worker drives. Wake the session of its tool call."
                )
            if self.ending.is_set() or not await self._driven(session):
                raise RetryableError(f"{session} could not be driven to its rest here.")

        return sessions

    async def _driven(self, session: str) -> bool:
        """Drive until it ends, this process ends, or Restate gives the attempt up."""
        driving = start(self._drive(session), name=f"drives {session}")
        self._drives.add(driving)
        driving.add_done_callback(self._drives.discard)
        given_up = start(_given_up.get().wait())
        try:
            await asyncio.wait({driving, given_up}, return_when=asyncio.FIRST_COMPLETED)
            return driving.done() and not driving.cancelled() and driving.result()
        finally:
            await stop(driving, given_up)

    async def end(self) -> None:
        """Take no more drives, and end those that there are. The connections end after them."""
        self.ending.set()
        if self._drives:
            await stop(*self._drives)


def _watched(app: Asgi) -> Asgi:
    """The SDK's application, with an event for each request that says when its connection ended."""

    async def watched(scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        ended = asyncio.Event()
        _given_up.set(ended)

        async def observed() -> AsgiMessage:
            message = await receive()
            if message["type"] == "http.disconnect":
                ended.set()
            return message

        await app(scope, observed, send)

    return watched


_HEALTH: Final = {"type": "http", "path": "/health"}


async def _nothing() -> AsgiMessage:
    return {"type": "http.disconnect"}


async def _ignored(message: AsgiMessage) -> None:
    """Drop a part of an answer."""

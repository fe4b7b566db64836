"""Connections of clients that are slow, silent, many or malformed, on top of uvicorn's HTTP/1.1 protocol.

uvicorn has a time limit for idle connections only. Here a request's head and body have limits too, a client that stops
reading is disconnected, and idle connections are closed to make room for a new one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from ullage_server.admission import HEAD_BYTES
from ullage_server.guard import HEADERS
from ullage_server.problems import MEDIA_TYPE, problem

log = logging.getLogger("ullage.server")

HEAD_S: Final = 10.0
"""Seconds for the head to arrive, counted from the connection or from the head's first byte."""

BODY_S: Final = 20.0
"""Seconds a body may take; each ``BODY_RATE`` received bytes add one."""
BODY_RATE: Final = 10_000

IDLE_S: Final = 30
"""Seconds that a connection may be idle between two requests."""

GRACE_S: Final = 0.5
"""Seconds that a connection may be idle even if there is no room for others."""

LAST_S: Final = 2.0
"""Seconds for a body to arrive while the server ends."""

UNREAD_S: Final = 60.0
"""Seconds in which a client may read nothing of its answer."""

MOST_CONNECTIONS: Final = 10_000

FEWEST_CONNECTIONS: Final = 8

RESERVED: Final = 32
"""File descriptors reserved for the store, the providers and the tools; at most half of those left."""

QUEUED: Final = 1_024
"""Connections that the system holds until they are accepted."""

PENDING_ROUNDS: Final = 4
"""Rounds of accepted connections, or one more, that the event loop opens before it handles the first of them."""


class ConnectionLimits(NamedTuple):
    """The limits of connections, of streams among them, of one client's streams, and of those accepted in one round."""

    connections: int
    streams: int
    streams_of_one: int
    at_once: int


def connection_limits(descriptors: int, used: int) -> ConnectionLimits:
    """The limits for so many file descriptors, ``used`` of which are open already.

    Streams take at most three quarters of the connections, and one client at most half of the streams: requests that
    with a short answer always find room.
    """
    left = max(descriptors - used, 2 * FEWEST_CONNECTIONS)
    reserved = min(RESERVED, left // 2)
    connections = min(left - reserved, MOST_CONNECTIONS)
    streams = connections * 3 // 4
    return ConnectionLimits(
        connections,
        streams,
        max(streams // 2, 1),
        max(reserved // (2 * PENDING_ROUNDS), 1),
    )


def process_limits() -> ConnectionLimits:
    """The limits of this process, after raising its descriptor limit as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * MOST_CONNECTIONS
    if hard != resource.RLIM_INFINITY:
        wanted = min(hard, wanted)
    if soft == resource.RLIM_INFINITY:
        return connection_limits(4 * MOST_CONNECTIONS, _open_descriptors())
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return connection_limits(max(soft, wanted), _open_descriptors())


def _open_descriptors() -> int:
    try:
        return len(os.listdir("/dev/fd"))
    except OSError:
        return 64


class TimeLimits(NamedTuple):
    """In seconds. Tests have shorter ones."""

    head_s: float = HEAD_S
    body_s: float = BODY_S
    unread_s: float = UNREAD_S


def protocol(limits: TimeLimits, most: int) -> type[H11Protocol]:
    """The protocol class for a server with these time limits and so many connections at most."""

    class Limited(Connection):
        time_limits = limits
        most_connections = most

    return Limited


class Connection(H11Protocol):
    """One client's connection."""

    time_limits: TimeLimits = TimeLimits()
    most_connections: int = MOST_CONNECTIONS

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._awaited = ""
        self._since = 0.0
        self._received = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    # -- what asyncio calls --

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See ``asyncio.Protocol``."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections and not self._make_room():
            self._answer(
                503,
                "busy",
                "The server has as many connections as it can hold.",
                "Try again in a moment.",
            )
            return
        self._await("head")

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol``."""
        self._await("")
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``."""
        if self.transport.is_closing():
            return
        self._received += len(data)
        super().data_received(data)
        self._look()

    def pause_writing(self) -> None:
        """See ``asyncio.Protocol``."""
        super().pause_writing()
        self._stop_waiting_for_reader()
        self._unread = self.loop.call_later(
            self.time_limits.unread_s, self.transport.abort
        )

    def resume_writing(self) -> None:
        """See ``asyncio.Protocol``."""
        super().resume_writing()
        self._stop_waiting_for_reader()

    def on_response_complete(self) -> None:
        """See ``H11Protocol``."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._look()

    def shutdown(self) -> None:
        """The server ends: complete requests are answered, and incomplete bodies have ``LAST_S``."""
        super().shutdown()
        if (
            self._awaited == "body"
            and self._timer is not None
            and not self.transport.is_closing()
        ):
            self._timer.cancel()
            self._timer = self.loop.call_later(LAST_S, self._too_late)

    def send_400_response(self, msg: str) -> None:
        """Answers a request that is no HTTP, if an answer can still be sent. See ``H11Protocol``."""
        error = sys.exc_info()[1]
        status = (
            error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        )
        if status == 431:
            self._answer(
                431,
                "headers",
                f"The request's head has more than {HEAD_BYTES:,} bytes.",
                "Send less.",
            )
        else:
            what = str(error).partition(":")[0][
                :100
            ]  # behind the colon h11 quotes what was sent, a token among it
            self._answer(
                400,
                "bad-request",
                f"This is no HTTP/1.1 request: {what}.",
                "Check the client.",
            )

    # -- time --

    def _look(self) -> None:
        """Await the part of a request that the state machine expects next."""
        if self.transport.is_closing():
            self._await("")
        elif self.conn.their_state is h11.SEND_BODY:
            self._await("body")
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._await("head")
        elif self.conn.their_state is not h11.IDLE or self.cycle is not None:
            self._await(
                ""
            )  # the request is complete, or uvicorn's own limit for idle connections applies

    def _await(self, part: str) -> None:
        if part == self._awaited:
            return
        self._awaited, self._since, self._received = part, self.loop.time(), 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if part:
            limit = self.time_limits.head_s if part == "head" else self.time_limits.body_s
            self._timer = self.loop.call_later(limit, self._late)

    def _late(self) -> None:
        """The time is up, unless a body arrived fast enough, or waits for the handler to read it."""
        limits = self.time_limits
        if self._awaited == "body":
            if self.flow.read_paused:
                self._since, self._received = self.loop.time(), 0
            left = (
                self._since
                + limits.body_s
                + self._received / BODY_RATE
                - self.loop.time()
            )
            if left > 0.01:
                self._timer = self.loop.call_later(left, self._late)
                return
        self._too_late()

    def _too_late(self) -> None:
        part = self._awaited
        self._answer(
            408,
            "timeout",
            f"The request's {part} did not come in time.",
            "Send it in one go.",
        )

    def _stop_waiting_for_reader(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    # -- limits --

    @property
    def is_idle(self) -> bool:
        """Whether there is no request here, or only the beginning of one."""
        return self.cycle is None or (
            self.cycle.response_complete and self.conn.their_state is not h11.SEND_BODY
        )

    def _make_room(self) -> bool:
        """Close the connection that is idle longest, or waits longest for the rest of a body. False: all are busy."""
        count = 0
        waiting: list[Connection] = []
        for other in self.connections:
            if (
                not isinstance(other, Connection)
                or other is self
                or other.transport.is_closing()
            ):
                continue
            count += 1
            is_waiting = other.is_idle or other._awaited == "body"
            if is_waiting and other._since < self.loop.time() - GRACE_S:
                waiting.append(other)
        if count < self.most_connections:
            return True
        if not waiting:
            return False
        oldest = min(waiting, key=lambda other: (not other.is_idle, other._since))
        oldest.transport.close()
        return True

    # -- answers without the application --

    def _answer(self, status: int, name: str, detail: str, next_: str) -> None:
        """Answer, unless another answer has begun, and close. The application sees a disconnected client."""
        self._await("")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = msgspec.json.encode(problem(status, name, detail, next_))
            headers = [
                (b"content-type", MEDIA_TYPE.encode()),
                (b"content-length", str(len(body)).encode()),
                *HEADERS,
            ]
            headers.append((b"connection", b"close"))
            if status == 503:
                headers.append((b"retry-after", b"1"))
            response = h11.Response(status_code=status, headers=headers)
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                sent = self.conn.send(event)
                self.transport.write(sent or b"")
        self.transport.close()


class StreamSlots:
    """Slots for clients that follow a session: so many in total, and so many for one client."""

    def __init__(self, total: int, of_one: int) -> None:
        self.total = total
        self.of_one = of_one
        self._held: dict[str, int] = {}

    def take(self, client: str) -> Callable[[], None] | str:
        """Take a slot: a function that gives it back, or whose limit is reached: ``client`` or ``server``."""
        if self._held.get(client, 0) >= self.of_one:
            return "client"
        if sum(self._held.values()) >= self.total:
            return "server"
        self._held[client] = self._held.get(client, 0) + 1

        def give_back() -> None:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]

        return give_back

"""What happens in a session, as server-sent events that can be gone on with after any break.

Each frame's id is ``seq.pieces``: the newest event, and how many pieces of the answer under way came with it or before.
Both are stored before they are sent, so that a client that comes back with the last id it saw gets all that is missing
and nothing twice, from this process or another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from litestar import Request, get
from litestar.background_tasks import BackgroundTask
from litestar.datastructures import State as AppState
from litestar.exceptions import ClientException, TooManyRequestsException
from litestar.params import FromPath, HeaderParameter, QueryParameter
from litestar.response import Stream

from ullage.errors import SessionNotFound, StoreUnavailable
from ullage.events import CallEnded, CallStarted, Event, ReadingTaken, UnknownEvent
from ullage.runtime.hosting import Host
from ullage.runtime.status import status_of
from ullage.server.access import TheHost
from ullage.server.connections import StreamSlots
from ullage.server.guard import unescaped
from ullage.server.metrics import Metrics
from ullage.server.problems import TooManyStreams
from ullage.server.scopes import bearer_of
from ullage.store.export import one_line
from ullage.store.store import DraftPiece

HEARTBEAT_S: Final = 15.0
"""Seconds of silence after which a comment is sent: proxies close what is silent for 30 to 60 s."""

HEARTBEAT: Final = b": still here\n\n"

RETRY_MS: Final = 1_000
"""Milliseconds that a browser waits before it comes back."""

MOST_HELD: Final = 256 * 1024
"""Bytes of frames that are made before the client has taken the ones before."""

PLACE: Final = r"^[0-9]{1,15}(\.[0-9]{1,9})?$"

EVENT_STREAM: Final = "text/event-stream"

HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""No proxy may keep or gather the frames (nginx: X-Accel-Buffering)."""


class StreamPosition(NamedTuple):
    """Where a client is: it has the event ``seq``, and ``pieces`` pieces of the answer that is under way there."""

    seq: int
    pieces: int = 0

    def __str__(self) -> str:
        return f"{self.seq}.{self.pieces}"


def place_of(text: str) -> StreamPosition:
    """The place that an id names. Raises ``ValueError``."""
    seq, _, pieces = text.partition(".")
    return StreamPosition(int(seq), int(pieces or 0))


@get(
    "/v1/sessions/{session:str}/events",
    operation_id="follow_events",
    summary="What happens, as server-sent events",
    media_type=EVENT_STREAM,
)
async def follow_events(
    request: Request[Any, Any, Any],
    host: TheHost,
    state: AppState,
    session: FromPath[str],
    last: Annotated[str | None, HeaderParameter(name="Last-Event-ID", pattern=PLACE)] = None,
    after: Annotated[str | None, QueryParameter(pattern=PLACE)] = None,
) -> Stream:
    """Goes on behind ``Last-Event-ID`` or ``after``; ``after=0`` begins with the first event, neither with what comes.

    ``event`` is the ledger event's type and ``data`` its JSON; ``draft`` is a piece of an answer that streams;
    ``status`` is the short status, before the reading it is of. Leaving changes nothing for the session.
    """
    name = unescaped(session)
    newest = (await host.store.about(name)).seq
    said = last if last is not None else after
    place = StreamPosition(newest) if said is None else place_of(said)
    if place.seq > newest:
        raise ClientException(f"The session has no event {place.seq} yet: its newest one is {newest}.")
    give_back = _place_for(request, state.streams)
    bearer, tokens = bearer_of(request), state.tokens
    made = frames(host, name, place, state.closing)
    chunks = counted(made, state.metrics, lambda: tokens.is_valid(bearer), give_back)
    # A stream whose client has gone is cancelled between two chunks: without this its end would wait for the collector.
    return Stream(chunks, media_type=EVENT_STREAM, headers=HEADERS, background=BackgroundTask(chunks.aclose))


def _place_for(request: Request[Any, Any, Any], streams: StreamSlots) -> Callable[[], None]:
    """A place among the streams, and what gives it back. Raises ``TooManyRequestsException``, 503."""
    address = request.client.host if request.client else ""
    found = streams.take(bearer_of(request).name or address)
    if found == "client":
        raise TooManyRequestsException(f"This client follows {streams.of_one} sessions already.")
    if isinstance(found, str):
        raise TooManyStreams(f"All {streams.total} places for clients that follow a session are taken.")
    return found


async def counted(
    chunks: AsyncGenerator[bytes, None],
    metrics: Metrics,
    may_go_on: Callable[[], bool] = lambda: True,
    give_back: Callable[[], None] = lambda: None,
) -> AsyncGenerator[bytes, None]:
    """The same chunks, while one more client is counted and its token is valid."""
    try:
        with metrics.streams.track_inprogress():
            async with aclosing(chunks):
                async for chunk in chunks:
                    if not may_go_on():
                        return
                    yield chunk
    finally:
        give_back()


async def frames(
    host: Host, session: str, place: StreamPosition, closing: asyncio.Event, *, heartbeat_s: float = HEARTBEAT_S
) -> AsyncGenerator[bytes, None]:
    """The frames behind a place, as many at a time as there are, until the session is deleted or the server closes.

    A client that reads slowly holds up nobody: what it has not taken is read from the store once it has.
    """
    yield f"retry: {RETRY_MS}\nid: {place}\n\n".encode()
    held = _FrameBuffer()
    closing_seen = asyncio.create_task(closing.wait())
    reading = asyncio.create_task(_read(host, session, place, held))
    for task in (closing_seen, reading):
        task.add_done_callback(held.end)
    try:
        while not closing_seen.done() and (chunk := await held.take(heartbeat_s)):
            yield chunk
        if reading.done():
            reading.result()
    finally:
        for task in (closing_seen, reading):
            task.cancel()
        await asyncio.wait([closing_seen, reading])


async def _read(host: Host, session: str, place: StreamPosition, held: _FrameBuffer) -> None:
    """Everything behind a place, made into frames. Ends with the session, or with the store."""
    with suppress(SessionNotFound, StoreUnavailable):
        async with aclosing(host.store.follow(session, after=place.seq, offset=place.pieces - 1)) as items:  # type: ignore[type-var]
            async for item in items:
                place = moved(place, item)
                await held.put(frame(place, item))


class _FrameBuffer:
    """Frames between the one who reads them and the one who sends them: no more than ``MOST_HELD`` bytes, or one."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._size = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._is_over = False

    async def put(self, made: bytes) -> None:
        while self._size > MOST_HELD:
            self._room.clear()
            await self._room.wait()
        self._frames.append(made)
        self._size += len(made)
        self._news.set()

    async def take(self, heartbeat_s: float) -> bytes:
        """All there is, a comment when there was nothing for so long, or nothing once it is over."""
        if not (self._frames or self._is_over):
            self._news.clear()
            try:
                async with asyncio.timeout(heartbeat_s):
                    await self._news.wait()
            except TimeoutError:
                return HEARTBEAT
        taken = b"".join(self._frames)
        self._frames.clear()
        self._size = 0
        self._room.set()
        return taken

    def end(self, _: object) -> None:
        """What is held is the last."""
        self._is_over = True
        self._news.set()


def moved(place: StreamPosition, item: Event | DraftPiece) -> StreamPosition:
    """Where a client is once it has this too."""
    if isinstance(item, DraftPiece):
        return StreamPosition(place.seq, item.offset + 1)
    begins_or_ends = isinstance(item, CallStarted | CallEnded) and item.purpose == "main"
    return StreamPosition(item.seq, 0 if begins_or_ends else place.pieces)


def frame(place: StreamPosition, item: Event | DraftPiece) -> bytes:
    """One frame, or for a reading, two: the status has no id, so that both come again when either was missed."""
    if isinstance(item, DraftPiece):
        return _frame("draft", msgspec.json.encode(item._asdict()), place)
    if isinstance(item, ReadingTaken):
        status = msgspec.json.encode(status_of(item))
        return b"event: status\ndata: %b\n\n" % status + _frame("reading_taken", one_line(item), place)
    return _frame(type_of(item), one_line(item), place)


def type_of(event: Event) -> str:
    """The event's type as its JSON says it."""
    if isinstance(event, UnknownEvent):
        with suppress(msgspec.MsgspecError):
            return str(_tagged.decode(event.raw).type)
    return str(event.__struct_config__.tag)


class _Tagged(msgspec.Struct):
    type: str


_tagged: Final = msgspec.json.Decoder(_Tagged)


def _frame(name: str, data: bytes, place: StreamPosition) -> bytes:
    return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), str(place).encode(), data)

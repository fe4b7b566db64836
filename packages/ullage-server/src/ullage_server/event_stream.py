"""A session's events as server-sent events, which a client can resume after any interruption.

Each frame's id is ``seq.pieces.at``: the newest event, how many pieces of the current answer were sent so far, and when
that event was stored, in milliseconds since 1970. All is stored before it is sent, so a client that returns with the
last id it saw gets every missing frame and none twice, from this process or another.

A crash or a failover of the database may lose the last events that were sent. Others may have their numbers then, but
not their times: a client with such an id, or one that still follows, is sent ``reset``, and the frames after it go on
from the newest event.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Mapping,
)
from contextlib import aclosing, suppress
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from litestar import get
from litestar.background_tasks import BackgroundTask
from litestar.datastructures import State as AppState
from litestar.exceptions import TooManyRequestsException
from litestar.params import FromPath, HeaderParameter, QueryParameter
from litestar.response import Stream

from ullage.cli.screenplay import notice
from ullage.display.text import plain
from ullage.errors import HistoryLost, SessionNotFound, StoreUnavailable
from ullage.events import (
    CallEnded,
    CallStarted,
    DraftPiece,
    Event,
    ReadingTaken,
    SessionEvent,
    UnknownEvent,
)
from ullage.store.export import one_line
from ullage.store.store import SessionStore
from ullage.tasks import start, stop
from ullage.watching.status import status_of
from ullage_server.connections import StreamSlots
from ullage_server.guard import unescaped
from ullage_server.metrics import Metrics
from ullage_server.problems import AnyRequest, TooManyStreams
from ullage_server.requests import TheHost
from ullage_server.scopes import bearer_of

HEARTBEAT_S: Final = 15.0
"""Seconds of silence after which a comment is sent: proxies close silent connections after 30 to 60 s."""

HEARTBEAT: Final = b": still here\n\n"

RETRY_MS: Final = 1_000
"""Milliseconds that a browser waits before it reconnects."""

MOST_HELD: Final = 256 * 1024
"""Bytes of frames that are held until the client has read the previous ones."""

SLOW_S: Final = 1.0
"""Seconds between two looks at whether the token of a stream is still valid; and without room for frames after which a
client counts as slow: the store's events are let go, and read again once there is room. 400 clients that read nothing
of a session of 27 MB held 4 GB."""

POSITION: Final = r"^[0-9]{1,15}(\.[0-9]{1,9}(\.[0-9]{1,15})?)?$"

EVENT_STREAM: Final = "text/event-stream"

HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""No proxy may store or buffer the frames (nginx: X-Accel-Buffering)."""


class StreamPosition(NamedTuple):
    """The position of a client: it has the event ``seq``, and ``pieces`` pieces of the current answer.

    ``at_ms`` is when the event was stored; 0 where that is not known.
    """

    seq: int
    pieces: int = 0
    at_ms: int = 0

    def __str__(self) -> str:
        return f"{self.seq}.{self.pieces}.{self.at_ms}"

    @classmethod
    def behind(cls, event: Event, pieces: int = 0) -> StreamPosition:
        """The position of a client that has this event."""
        return cls(event.seq, pieces, round(event.at * 1_000))


def position_of(text: str) -> StreamPosition:
    """The position that an id names. Raises ``ValueError``."""
    return StreamPosition(*map(int, text.split(".")))


@get(
    "/v1/sessions/{session:str}/events",
    summary="The session's events, as server-sent events",
    media_type=EVENT_STREAM,
)
async def follow_events(
    request: AnyRequest,
    host: TheHost,
    state: AppState,
    session: FromPath[str],
    last: Annotated[
        str | None, HeaderParameter(name="Last-Event-ID", pattern=POSITION)
    ] = None,
    after: Annotated[str | None, QueryParameter(pattern=POSITION)] = None,
) -> Stream:
    """Continues after ``Last-Event-ID`` or ``after``; ``after=0`` begins with the first event, neither with new events.

    ``reset`` says that the database has lost events which the client may have: it reads the session again, and the
    stream goes on from the newest event.

    ``event`` is the ledger event's type and ``data`` its JSON; ``draft`` is a piece of a streaming answer; ``status``
    is the short status, sent before its reading, and ``line`` a sentence for a person, before the event of its ``seq``.
    Disconnecting changes nothing for the session.
    """
    name = unescaped(session)
    given = last if last is not None else after
    if given is None:
        position = await newest_position(host.store, name)
    else:
        await host.store.about(name)
        position = position_of(given)
    head = f"retry: {RETRY_MS}\nid: {position}\n\n".encode()
    give_back = slot_for(request, state.streams)
    return streamed(
        request, state, partial(read_events, host.store, name, position), head, give_back
    )


def streamed(
    request: AnyRequest,
    state: AppState,
    read: FrameSource,
    head: bytes,
    give_back: Callable[[], None],
    headers: Mapping[str, str] = HEADERS,
) -> Stream:
    """A response of server-sent events, ``head`` first, in a slot that is given back at its end."""
    bearer, tokens = bearer_of(request), state.tokens
    made = frames(
        read, state.closing, head=head, may_go_on=lambda: tokens.is_valid(bearer)
    )
    chunks = counted(made, state.metrics, give_back)

    # A disconnected client's stream is cancelled between two chunks: without this only the collector would end it.
    # Litestar calls what is no coroutine function, as ``chunks.aclose``, in a thread, and awaits nothing.
    async def close() -> None:
        await chunks.aclose()

    end = BackgroundTask(close)
    return Stream(chunks, media_type=EVENT_STREAM, headers=headers, background=end)


async def newest_position(store: SessionStore, session: str) -> StreamPosition:
    """The position of a client that has all there is. Raises ``SessionNotFound``."""
    seq = (await store.about(session)).seq
    found = await store.read(session, after=seq - 1)
    return StreamPosition.behind(found[-1]) if found else StreamPosition(seq)


def slot_for(request: AnyRequest, streams: StreamSlots) -> Callable[[], None]:
    """Takes a slot for a stream; returns a function that gives it back. Raises ``TooManyRequestsException``, 503.

    The answer ends the connection too: a refused client must not hold the room that others need.
    """
    address = request.client.host if request.client else ""
    found = streams.take(bearer_of(request).name or address)
    if found == "client":
        raise TooManyRequestsException(
            f"This client follows {streams.of_one} sessions already.",
            headers={"connection": "close"},
        )
    if isinstance(found, str):
        raise TooManyStreams(
            f"All {streams.total} slots for clients that follow a session are taken. Close one, or try again later."
        )
    return found


async def counted(
    chunks: AsyncGenerator[bytes, None],
    metrics: Metrics,
    give_back: Callable[[], None],
) -> AsyncGenerator[bytes, None]:
    """The same chunks, while the client is counted."""
    try:
        with metrics.streams.track_inprogress():
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
    finally:
        give_back()


async def frames(
    read: FrameSource,
    closing: asyncio.Event,
    *,
    head: bytes,
    heartbeat_s: float = HEARTBEAT_S,
    may_go_on: Callable[[], bool] = lambda: True,
) -> AsyncGenerator[bytes, None]:
    """The frames that ``read`` puts into a buffer, all available ones at a time, until it or the server ends, or
    they may not go on, which is asked before each event and every ``SLOW_S`` seconds: not before each piece.

    A slow client delays no other: frames it has not read stay in the store until it does.
    """
    yield head
    held = FrameBuffer(heartbeat_s)
    # no task group: an async generator may be closed by another task, which a group does not allow
    ends = (start(closing.wait()), start(_until_refused(may_go_on)))
    reading = start(read(held))
    for task in (*ends, reading):
        task.add_done_callback(held.end)
    try:
        while not any(end.done() for end in ends) and (chunk := await held.take()):
            if held.had_event and not may_go_on():
                return
            yield chunk
        if reading.done():
            reading.result()
    finally:
        held.close()
        await stop(*ends, reading)


async def _until_refused(may_go_on: Callable[[], bool]) -> None:
    while may_go_on():
        await asyncio.sleep(SLOW_S)


async def read_events(
    store: SessionStore, session: str, position: StreamPosition, held: FrameBuffer
) -> None:
    """Puts all frames after a position into the buffer. Ends with the session, or with the store."""
    with suppress(SessionNotFound, StoreUnavailable):
        while True:
            try:
                return await _read_on(store, session, position, held)
            except HistoryLost:
                position = await newest_position(store, session)
                data = msgspec.json.encode({"seq": position.seq})
                held.put(_frame("reset", data, position))


async def _read_on(
    store: SessionStore, session: str, position: StreamPosition, held: FrameBuffer
) -> None:
    """The same until the ledger lacks what was sent: raises ``HistoryLost`` then."""

    def follow(after: StreamPosition) -> AsyncIterator[SessionEvent]:
        at = after.at_ms / 1_000
        return store.follow(session, after=after.seq, offset=after.pieces - 1, at=at)

    def put(reached: StreamPosition, item: SessionEvent) -> bool:
        held.put(frame(reached, item), is_event=not isinstance(item, DraftPiece))
        return False

    await read_into(held, follow, position, put)


async def read_into(
    held: FrameBuffer,
    follow: Callable[[StreamPosition], AsyncIterator[SessionEvent]],
    position: StreamPosition,
    put: Callable[[StreamPosition, SessionEvent], bool],
) -> None:
    """Puts what follows a position into the buffer, until ``put`` says that it was the last or nothing follows.

    A client that does not read lets the store's events go: they are followed again from its position.
    """
    while True:
        async with aclosing(follow(position)) as items:  # type: ignore[type-var]
            async for item in items:
                position = moved(position, item)
                if put(position, item):
                    return
                if not await held.has_room(SLOW_S):
                    break
            else:
                return
        await held.until_room()


class FrameBuffer:
    """Frames between the reading and the sending task: at most ``MOST_HELD`` bytes and one more.

    After ``heartbeat_s`` without a frame it holds a comment.
    """

    def __init__(self, heartbeat_s: float) -> None:
        self._heartbeat_s = heartbeat_s
        self._clock = asyncio.get_running_loop().time
        self._put_at = self._clock()
        self._heartbeat = self._beat_in(heartbeat_s)
        self._frames: list[bytes] = []
        self._size = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._is_over = False
        self._has_event = False
        self.had_event = False
        """Whether an event was among the frames that were taken last."""

    def put(self, made: bytes, *, is_event: bool = False) -> None:
        self._frames.append(made)
        self._has_event |= is_event
        self._size += len(made)
        self._put_at = self._clock()
        self._news.set()

    def _beat_in(self, seconds: float) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self._beat)

    def _beat(self) -> None:
        """Hold a comment if nothing came for long; a timer for each frame would cost more than the frame."""
        silent_s = self._clock() - self._put_at
        left_s = self._heartbeat_s - silent_s
        if left_s <= 0:
            left_s = self._heartbeat_s
            if not self._frames:
                self.put(HEARTBEAT)
        self._heartbeat = self._beat_in(left_s)

    async def has_room(self, wait_s: float) -> bool:
        """Whether another frame may be put, at once or within so many seconds."""
        if self._size <= MOST_HELD:
            return True
        try:
            async with asyncio.timeout(wait_s):
                await self.until_room()
        except TimeoutError:
            return False
        return True

    async def until_room(self) -> None:
        while self._size > MOST_HELD:
            self._room.clear()
            await self._room.wait()

    async def take(self) -> bytes:
        """All held frames; empty after the end."""
        if not (self._frames or self._is_over):
            self._news.clear()
            await self._news.wait()
        taken = b"".join(self._frames)
        self._frames.clear()
        self._size = 0
        self.had_event, self._has_event = self._has_event, False
        self._room.set()
        return taken

    def end(self, _: object) -> None:
        """No more frames follow."""
        self._is_over = True
        self._news.set()

    def close(self) -> None:
        """End the heartbeat."""
        self._heartbeat.cancel()


FrameSource = Callable[[FrameBuffer], Coroutine[Any, Any, None]]
"""Puts frames into a buffer, and ends after the last."""


def moved(position: StreamPosition, item: Event | DraftPiece) -> StreamPosition:
    """The position after this item."""
    if isinstance(item, DraftPiece):
        return position._replace(pieces=item.offset + 1)
    if isinstance(item, CallStarted | CallEnded) and item.purpose == "main":
        return StreamPosition.behind(item)
    return StreamPosition.behind(item, position.pieces)


def frame(position: StreamPosition, item: Event | DraftPiece) -> bytes:
    """One frame, or two: what comes before an event has no id, so that both are repeated if either was missed."""
    if isinstance(item, DraftPiece):
        return _frame("draft", msgspec.json.encode(item._asdict()), position)
    before = b""
    if isinstance(item, ReadingTaken):
        before = b"event: status\ndata: %b\n\n" % msgspec.json.encode(status_of(item))
    elif told := notice(item):
        line = {"seq": item.seq, "text": plain(told.line), "style": told.line[0].style}
        before = b"event: line\ndata: %b\n\n" % msgspec.json.encode(line)
    return before + _frame(type_of(item), one_line(item), position)


def type_of(event: Event) -> str:
    """The event's type in its JSON."""
    if isinstance(event, UnknownEvent):
        with suppress(msgspec.MsgspecError):
            return str(_tagged.decode(event.raw).type)
    return str(event.__struct_config__.tag)


class _Tagged(msgspec.Struct):
    type: str


_tagged: Final = msgspec.json.Decoder(_Tagged)


def _frame(name: str, data: bytes, position: StreamPosition) -> bytes:
    return b"event: %b\nid: %b\ndata: %b\n\n" % (
        name.encode(),
        str(position).encode(),
        data,
    )

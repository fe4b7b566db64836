"""What happens in a session, as server-sent events that can be gone on with after any break.

Each frame's id is ``seq.pieces``: the newest event, and how many pieces of the answer under way came with it or before.
Both are stored before they are sent, so that a client that comes back with the last id it saw gets all that is missing
and nothing twice, from this process or another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Final, NamedTuple

import msgspec
from litestar import get
from litestar.datastructures import State as AppState
from litestar.exceptions import ClientException
from litestar.params import FromPath, HeaderParameter, QueryParameter
from litestar.response import Stream

from ullage.errors import SessionNotFound, StoreUnavailable
from ullage.events import CallEnded, CallStarted, Event, ReadingTaken, UnknownEvent
from ullage.runtime.hosting import Host
from ullage.runtime.status import status_of
from ullage.server.guard import unescaped
from ullage.store.export import one_line
from ullage.store.store import DraftPiece

HEARTBEAT_S: Final = 15.0
"""Seconds of silence after which a comment is sent: proxies close what is silent for 30 to 60 s."""

PLACE: Final = r"^[0-9]{1,15}(\.[0-9]{1,9})?$"

EVENT_STREAM: Final = "text/event-stream"

HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""No proxy may keep or gather the frames (nginx: X-Accel-Buffering)."""


class Place(NamedTuple):
    """Where a client is: it has the event ``seq``, and ``pieces`` pieces of the answer that is under way there."""

    seq: int
    pieces: int = 0

    def __str__(self) -> str:
        return f"{self.seq}.{self.pieces}"


def place_of(text: str) -> Place:
    """The place that an id names. Raises ``ValueError``."""
    seq, _, pieces = text.partition(".")
    return Place(int(seq), int(pieces or 0))


@get(
    "/v1/sessions/{session:str}/events",
    operation_id="follow_events",
    summary="What happens, as server-sent events",
    media_type=EVENT_STREAM,
)
async def follow_events(
    host: Host,
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
    place = Place(newest) if said is None else place_of(said)
    if place.seq > newest:
        raise ClientException(f"The session has no event {place.seq} yet: its newest one is {newest}.")
    await host.session(name)
    return Stream(frames(host, name, place, state.closing), media_type=EVENT_STREAM, headers=HEADERS)


async def frames(
    host: Host, session: str, place: Place, closing: asyncio.Event, *, heartbeat_s: float = HEARTBEAT_S
) -> AsyncGenerator[bytes, None]:
    """The frames behind a place, until the session is deleted or the server closes."""
    yield f"retry: 1000\nid: {place}\n\n".encode()
    over = asyncio.create_task(closing.wait())
    async with aclosing(host.store.follow(session, after=place.seq, offset=place.pieces - 1)) as following:  # type: ignore[type-var]
        coming = asyncio.ensure_future(anext(following))
        try:
            while not over.done():
                await asyncio.wait([coming, over], timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    if not over.done():
                        yield b": still here\n\n"
                    continue
                try:
                    item = coming.result()
                except (SessionNotFound, StoreUnavailable):
                    return
                place = moved(place, item)
                yield frame(place, item)
                coming = asyncio.ensure_future(anext(following))
        finally:
            over.cancel()
            coming.cancel()
            await asyncio.wait([coming, over])


def moved(place: Place, item: Event | DraftPiece) -> Place:
    """Where a client is once it has this too."""
    if isinstance(item, DraftPiece):
        return Place(place.seq, item.offset + 1)
    begins_or_ends = isinstance(item, CallStarted | CallEnded) and item.purpose == "main"
    return Place(item.seq, 0 if begins_or_ends else place.pieces)


def frame(place: Place, item: Event | DraftPiece) -> bytes:
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
            return str(msgspec.json.decode(event.raw, type=_Tagged).type)
    return str(event.__struct_config__.tag)


class _Tagged(msgspec.Struct):
    type: str


def _frame(name: str, data: bytes, place: Place) -> bytes:
    return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), str(place).encode(), data)

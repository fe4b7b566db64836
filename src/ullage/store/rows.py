"""Events as rows and back: the envelope in columns, the rest as JSON, long ones compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from ullage.encoding import decode_event, encode
from ullage.events import Event, UnknownEvent

SMALLEST_PACKED = 1024
"""Bytes from which compressing is tried. From 512 on, 2,000 steps took 3 % less room and a third more time."""

LEVEL = 1
"""zlib's fastest. Of 3 KB of source code it leaves 42 % in 41 us, level 6 leaves 39 % in 58 us (``bench.store``)."""

_ENVELOPE = ("session", "seq", "id", "at")


class Row(NamedTuple):
    """One event as stored. ``name`` is its id where that is not the usual ``e<seq>``."""

    seq: int
    name: str | None
    at: float
    body: bytes


def number(events: Iterable[Event], session: str, after: int, now: float) -> tuple[Event, ...]:
    """The events with their envelopes filled: ``seq`` counts on from ``after``, a missing time is ``now``.

    ``session`` and ``seq`` are the store's to say, whatever an event brought.
    """
    filled: list[Event] = []
    for seq, event in enumerate(events, after + 1):
        name, at = event.id or f"e{seq}", event.at or now
        if isinstance(event, UnknownEvent):
            fields = {**_bare(event.raw), **_envelope(session, seq, name, at)}
            filled.append(_with(event, session, seq, name, at, msgspec.Raw(msgspec.json.encode(fields))))
        else:
            filled.append(msgspec.structs.replace(event, session=session, seq=seq, id=name, at=at))
    return tuple(filled)


def to_row(event: Event) -> Row:
    """What is stored of a numbered event."""
    name = None if event.id == f"e{event.seq}" else event.id
    if isinstance(event, UnknownEvent):
        bare = msgspec.json.encode(_bare(event.raw))
    else:
        bare = encode(msgspec.structs.replace(event, session="", seq=0, id="", at=0))
    return Row(event.seq, name, event.at, pack(bare))


def to_json(session: str, row: Row) -> bytes:
    """The event's whole JSON: what ``ullage.encoding.encode`` gives for it, with the envelope at the end."""
    body = unpack(row.body)
    envelope = msgspec.json.encode(_envelope(session, row.seq, row.name or f"e{row.seq}", row.at))
    return body.rstrip()[:-1] + b"," + envelope[1:]


def to_event(session: str, row: Row) -> Event:
    """The event of a row. Raises ``UndecodableRow`` for bytes that no event is written as."""
    return decode_event(to_json(session, row))


def pack(data: bytes) -> bytes:
    """Bytes of JSON, compressed where that saves a tenth."""
    if len(data) < SMALLEST_PACKED:
        return data
    packed = zlib.compress(data, LEVEL)
    return packed if len(packed) < 0.9 * len(data) else data


def unpack(data: bytes) -> bytes:
    """What ``pack`` was given; JSON of an object or a list never begins as zlib's streams do."""
    return zlib.decompress(data) if data[:1] == b"\x78" else data


def _bare(raw: msgspec.Raw) -> dict[str, object]:
    fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    return {name: value for name, value in fields.items() if name not in _ENVELOPE}


def _envelope(session: str, seq: int, name: str, at: float) -> dict[str, object]:
    return {"session": session, "seq": seq, "id": name, "at": at}


def _with(event: UnknownEvent, session: str, seq: int, name: str, at: float, raw: msgspec.Raw) -> UnknownEvent:
    return msgspec.structs.replace(event, session=session, seq=seq, id=name, at=at, raw=raw)

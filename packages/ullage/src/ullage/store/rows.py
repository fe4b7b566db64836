"""Events as rows and back: the envelope in columns, the rest as JSON, long ones compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.encoding import UndecodableRow, decode_event, encode
from ullage.envelope import STORED_ROW_BYTES
from ullage.errors import WrongType
from ullage.event_words import EVENT_WORDS
from ullage.events import Event, RowDamaged, UnknownEvent
from ullage.messages import Message, clean_text
from ullage.store.store import Checkpoint, SessionRow
from ullage.turns.standing import standing_of

SMALLEST_PACKED = 1024
"""Bytes from which compressing without words is tried: a shorter row hardly repeats itself."""

LEVEL = 1
"""zlib's fastest. Of 3 KB of source code it leaves 42 % in 41 us, level 6 leaves 39 % in 58 us."""

SHOWN = 200
"""Characters of a damaged row that are shown."""

_ENVELOPE = ("session", "seq", "id", "at")


class EventRow(NamedTuple):
    """One event as stored. ``name`` is its id where that is not the usual ``e<seq>``."""

    seq: int
    name: str | None
    at: float
    body: bytes


def number(
    events: Iterable[Event], session: str, after: int, now: float
) -> tuple[Event, ...]:
    """The events with their envelopes filled: ``seq`` counts on from ``after``, a missing time is ``now``.

    The store sets ``session`` and ``seq``, whatever an event brought.
    """
    filled: list[Event] = []
    for seq, event in enumerate(events, after + 1):
        name, at = event.id or f"e{seq}", event.at or now
        envelope = _envelope(session, seq, name, at)
        if isinstance(event, UnknownEvent):
            raw = msgspec.Raw(msgspec.json.encode({**_bare(event.raw), **envelope}))
            filled.append(replace(event, raw=raw, **envelope))
        else:
            filled.append(replace(event, **envelope))
    return tuple(filled)


def to_row(event: Event) -> EventRow:
    """What is stored of a numbered event, compressed against ``EVENT_WORDS``. Raises as ``json_of``."""
    name = None if event.id == f"e{event.seq}" else event.id
    return EventRow(event.seq, name, event.at, pack(json_of(event), EVENT_WORDS))


def json_of(event: Event) -> bytes:
    """The JSON of an event without its envelope. Raises ``WrongType`` for one that could not be read again."""
    if isinstance(event, UnknownEvent):
        return msgspec.json.encode(_bare(event.raw))
    kind = event.__struct_config__.tag
    message = getattr(event, "message", None)
    if message is not None and not is_message(message):
        raise WrongType(
            f"This {kind} was not stored: its message holds something that is no part of a message. "
            "Give TextPart, ImagePart and the other parts."
        )
    try:
        data = encode(replace(event, session="", seq=0, id="", at=0))
        again = decode_event(data)
    except (
        UndecodableRow,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as problem:
        raise WrongType(
            f"This {kind} was not stored, as it could not be read again: {problem}"
        ) from problem
    is_same = type(again) is type(event)
    if is_same and message is not None:
        read: Message = getattr(again, "message", message)
        is_same = (message.id, message.role, *message.parts) == (
            read.id,
            read.role,
            *read.parts,
        )
    if not is_same:
        raise WrongType(
            f"This {kind} was not stored, as it would be read as something else. Give a value of the declared type."
        )
    return data


def is_message(value: object) -> bool:
    """Whether a value really is a message of parts: a caller may ignore the type checker."""
    return isinstance(value, Message) and all(
        isinstance(part, msgspec.Struct) for part in value.parts
    )


def to_json(session: str, row: EventRow) -> bytes:
    """The event's whole JSON: what ``ullage.encoding.encode`` gives for it, with the envelope at the end.

    Raises one of ``DAMAGES`` for a row that is not what was written.
    """
    body = unpack(row.body).rstrip()
    if not body.endswith(b"}"):  # the envelope's end could complete it to another event
        raise UndecodableRow("The row's JSON has no end.")
    envelope = msgspec.json.encode(
        _envelope(session, row.seq, row.name or f"e{row.seq}", row.at)
    )
    return body[:-1] + b"," + envelope[1:]


def to_event(session: str, row: EventRow) -> Event:
    """The event of a row; ``RowDamaged`` for bytes that no event is written as."""
    return sized_event(session, row)[0]


def sized_event(session: str, row: EventRow) -> tuple[Event, int]:
    """The same, with the bytes of its JSON."""
    try:
        data = to_json(session, row)
        return decode_event(data), len(data)
    except DAMAGES as problem:
        found = damaged(session, row, problem)
        return found, found.size_bytes


DAMAGES: Final = (
    zlib.error,
    UndecodableRow,
    UnicodeError,
    TypeError,
    ValueError,
    AttributeError,
)
"""Errors of reading a row whose columns were changed after the write."""


def damaged(session: str, row: EventRow, problem: Exception) -> RowDamaged:
    """What is read in the place of a row that can't be."""
    body: object = row.body
    data = body if isinstance(body, bytes) else str(body).encode("utf-8", "replace")
    name, at = row.name, row.at
    return RowDamaged(
        session=session,
        seq=row.seq,
        id=name if isinstance(name, str) and name else f"e{row.seq}",
        at=at if isinstance(at, float) else 0.0,
        why=clean_text(str(problem)[:SHOWN]).text,
        size_bytes=len(data),
        start=clean_text(data[:SHOWN].decode("utf-8", "replace")).text,
    )


def pack(data: bytes, words: bytes = b"") -> bytes:
    """Bytes of JSON, compressed where that saves a tenth; against ``words``, also short ones."""
    if words:
        packing = zlib.compressobj(LEVEL, zdict=words)
        packed = packing.compress(data) + packing.flush()
    elif len(data) >= SMALLEST_PACKED:
        packed = zlib.compress(data, LEVEL)
    else:
        return data
    return packed if len(packed) < 0.9 * len(data) else data


def unpack(data: bytes) -> bytes:
    """What ``pack`` was given, without words or with ``EVENT_WORDS``.

    JSON of an object or a list never begins as zlib's streams do. Raises ``ValueError`` for data that is larger than
    any row that is written.
    """
    if data[:1] != b"\x78":
        return data
    unpacking = zlib.decompressobj(zdict=EVENT_WORDS)
    unpacked = unpacking.decompress(data, STORED_ROW_BYTES)
    if unpacking.unconsumed_tail:
        raise ValueError(f"unpacked it has more than {STORED_ROW_BYTES:,} bytes")
    if not unpacking.eof:
        raise ValueError("its end is missing")
    return unpacked


def _bare(raw: msgspec.Raw) -> dict[str, object]:
    fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    return {name: value for name, value in fields.items() if name not in _ENVELOPE}


def _envelope(session: str, seq: int, name: str, at: float) -> dict[str, object]:
    return {"session": session, "seq": seq, "id": name, "at": at}


def packed_checkpoint(data: bytes) -> tuple[bool, bytes]:
    """A checkpoint's data as it is stored, and whether that is compressed. Takes milliseconds a megabyte."""
    packed = zlib.compress(data, LEVEL)
    return (True, packed) if len(packed) < len(data) else (False, data)


def to_checkpoint(
    seq: int, made_by: str, is_packed: bool, data: bytes
) -> Checkpoint | None:
    """The checkpoint of a row; ``None`` for a damaged one: it only saves time, and the ledger is folded instead."""
    try:
        return Checkpoint(seq, made_by, zlib.decompress(data) if is_packed else data)
    except (zlib.error, TypeError):
        return None


def session_row(columns: Sequence[Any]) -> SessionRow:
    """The row of a session, of the columns of the view ``session_rows``."""
    row = SessionRow(*columns[: len(SessionRow._fields)])
    return row._replace(standing=standing_of(columns[13]))


def counting(tenant: str) -> tuple[str, ...]:
    """The statement that counts sessions by their state, with its values."""
    return ("standing_counts_of", tenant) if tenant else ("standing_counts",)

"""A call as the relay saw it: the bytes of its request and of its answer, read into our types."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from ullage.bounds import ANSWER_AT_MOST
from ullage.codec.decode import decoder_for
from ullage.codec.draft import shortened
from ullage.codec.foreign import is_dense, parse
from ullage.codec.problems import problem_in_body, read_problem
from ullage.codec.stream import Answer, ServerEvent
from ullage.envelope import BODY_BYTES, STREAM_EVENTS
from ullage.errors import LimitExceeded, ProviderError, ServerError
from ullage.events import Outcome
from ullage.messages import Request
from ullage.wire.sse import EventReader

_READ: Final = ("gzip", "x-gzip", "deflate")
_EITHER_HEADER: Final = 47
_NO_HEADER: Final = -15
"""zlib's window bits: gzip or zlib, and the bare deflate that some servers send."""

STREAM: Final = "text/event-stream"


class UnreadableTap(Exception):
    """A body that can't be read here; the message says why, for a person."""


class TappedAnswer(NamedTuple):
    """How a call ended. With a ``problem`` there is no answer; ``note`` says what could not be read of it."""

    outcome: Outcome
    answer: Answer | None = None
    problem: ProviderError | None = None
    note: str = ""


def read_request(payload: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """The body of a request. Raises ``UnreadableTap``."""
    encoding = headers.get("content-encoding", "")
    data = unpacked(payload, encoding, most=BODY_BYTES)
    value = None if is_dense(data) else parse(data)
    if not isinstance(value, dict):
        raise UnreadableTap("its body is no JSON object, or has too many values")
    return value


def read_answer(
    request: Request,
    call: str,
    *,
    status: int,
    headers: Mapping[str, str],
    payload: bytes,
    outcome: str,
    note: str = "",
) -> TappedAnswer:
    """What came in answer to ``request``. Never raises for what a server may send."""
    is_whole = outcome == "finished"
    try:
        encoding = headers.get("content-encoding", "")
        data = unpacked(
            payload,
            encoding,
            most=ANSWER_AT_MOST,
            is_whole=is_whole,
        )
    except UnreadableTap as why:
        return TappedAnswer(
            _outcome_of(outcome),
            note=f"The answer is not read: {why}.",
        )
    if status >= 400:
        who = {"provider": request.provider, "model": request.model}
        found = read_problem(request.wire, status, headers, data, **who)
        return TappedAnswer("failed", problem=found)
    if outcome == "failed" or not status:
        words = note or "The upstream gave no answer."
        return TappedAnswer("failed", problem=ServerError(words))
    try:
        answer = _decoded(
            request,
            call,
            headers,
            data,
            is_whole=is_whole,
        )
    except ProviderError as problem:
        return TappedAnswer("failed", problem=problem)
    if isinstance(answer.error, LimitExceeded):
        answer = answer._replace(message=shortened(answer.message))
    ended: Outcome = answer.outcome
    if outcome == "cancelled" and ended != "finished":
        ended = "cancelled"
    return TappedAnswer(ended, answer)


def unpacked(
    data: bytes,
    encoding: str,
    *,
    most: int,
    is_whole: bool = True,
) -> bytes:
    """The bytes without their content coding; ``is_whole``: a torn end is damage. Raises ``UnreadableTap``."""
    for name in reversed(encoding.lower().split(",")):
        coding = name.strip()
        if coding in ("", "identity"):
            continue
        if coding not in _READ:
            raise UnreadableTap(f"it is packed as {coding[:20]}, which is not read here")
        data = _inflated(data, most, is_whole=is_whole)
    if len(data) > most:
        raise UnreadableTap(f"it has more than {most:,} bytes")
    return data


def _inflated(
    data: bytes,
    most: int,
    *,
    is_whole: bool,
) -> bytes:
    for bits in (_EITHER_HEADER, _NO_HEADER):
        inflate = zlib.decompressobj(bits)
        try:
            found = inflate.decompress(data, most)
        except zlib.error:
            continue
        if inflate.unconsumed_tail:
            raise UnreadableTap(f"it unpacks to more than {most:,} bytes")
        if inflate.eof or not is_whole:
            return found
    raise UnreadableTap("its packed bytes are damaged")


def _outcome_of(outcome: str) -> Outcome:
    if outcome in ("finished", "cancelled", "dropped"):
        return outcome  # type: ignore[return-value]
    return "failed"


def _decoded(
    request: Request,
    call: str,
    headers: Mapping[str, str],
    data: bytes,
    *,
    is_whole: bool,
) -> Answer:
    """The answer in a stream or in a whole body. Raises ``ProviderError`` for what is neither."""
    decoder = decoder_for(
        request,
        message_id=f"{call}.answer",
        call=call,
    )
    kind = headers.get("content-type", "")
    start = data[:100].lstrip()[:1]
    if STREAM not in kind and start == b"{":
        return decoder.read(data)
    if STREAM in kind:
        reader = EventReader()
        events = _events(reader, data)
    elif start == b"[":  # Gemini streams so where no events are asked for
        reader = EventReader()
        events = _items(data)
    elif not data and not is_whole:
        return decoder.finish(False)
    else:
        raise problem_in_body(
            request.provider or request.wire,
            data,
            kind or "something",
        )
    for event in islice(events, STREAM_EVENTS):
        decoder.feed(event)
        if decoder.is_done:
            break
    return decoder.finish(decoder.is_done or (is_whole and reader.is_whole))


def _events(reader: EventReader, data: bytes) -> Iterator[ServerEvent]:
    yield from reader.feed(data)
    yield from reader.close()


def _items(data: bytes) -> Iterator[ServerEvent]:
    listed = parse(data)
    for item in listed if isinstance(listed, list) else ():
        yield ServerEvent(msgspec.json.encode(item))

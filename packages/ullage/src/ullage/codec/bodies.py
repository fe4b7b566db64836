"""What a loop sends and gets back, from provider JSON into our types: ``read_body`` and ``read_output``.

A loop's bodies mostly extend one another: ``BodyReader`` reads what is new. A body by itself is read by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec

from ullage.codec.foreign import as_plain
from ullage.codec.parts import Namer, PartMaker, as_text
from ullage.codec.wire import Wire
from ullage.codec.wires import WIRES, wire_named
from ullage.errors import InvalidRequest
from ullage.messages import Message, Request, Role

__all__ = [
    "BodyReader",
    "ReadBody",
    "detect_wire",
    "read_body",
    "read_body_items",
    "read_output",
]

_encoder: Final = msgspec.json.Encoder(enc_hook=as_plain)


def read_body(
    body: Mapping[str, Any],
    *,
    wire: str | None = None,
    provider: str | None = None,
    model: str = "",
) -> Request:
    """The request in a provider's JSON body, as a user's own loop sends it.

    ``body`` holds dicts or SDK objects. The wire is told from its fields unless given; ``provider`` defaults to the
    wire's own. ``model`` is for Gemini, whose body does not name it. Images and files are measured, not kept. Raises
    ``InvalidRequest`` for a body that fits no known wire.
    """
    return _read_whole(body, wire, provider, model).read_body.request


def read_body_items(
    body: Mapping[str, Any],
    *,
    wire: str | None = None,
    provider: str | None = None,
    model: str = "",
) -> ReadBody:
    """What ``read_body`` gives, and the items of the body that each message was read from. Raises as it does."""
    return _read_whole(body, wire, provider, model).read_body


def read_output(
    wire: str,
    content: object,
    *,
    provider: str = "",
    model: str = "",
    after: Request | None = None,
) -> Message:
    """The assistant's message in a provider's answer: a response object, or the content inside it.

    Dicts or SDK objects. Sent back unchanged in the next body, its parts get the same ids there, provided that
    ``after``, the request it answers, is given where a part may repeat an earlier one. Raises ``InvalidRequest`` for an
    unknown wire.
    """
    namer = Namer()
    if after is not None:
        namer.note(after.messages)
    return _read_answer(wire, content, provider, model, namer)


class ReadBody(NamedTuple):
    """A request, and the places of the items that each of its messages was read from.

    ``items`` has an entry for each of ``request.messages``: indices into the body's list (``messages``, ``input`` or
    ``contents``; a bare text is one item). Two messages may come from one item, and on the Responses wire one message
    from several. Items of the system prompt, and what is no item of the wire, belong to no message.
    """

    request: Request
    items: tuple[tuple[int, ...], ...]


class BodyReader:
    """Reads the bodies of one loop, in order: of a body that extends the last one, only what is new."""

    def __init__(self) -> None:
        self._last: _Read | None = None
        self._marks: list[bytes] | None = None
        self._names = Namer()
        self._noted: tuple[Message, ...] = ()

    def read(
        self,
        body: Mapping[str, Any],
        *,
        wire: str | None = None,
        provider: str | None = None,
        model: str = "",
    ) -> Request:
        """What ``read_body`` gives for this body, at the cost of comparing it with the last one and reading the rest.

        An edit anywhere, in place or not, is noticed: every item is compared by a digest of its JSON (1.5 µs each).
        Raises ``InvalidRequest`` as ``read_body`` does.
        """
        return self.read_items(body, wire=wire, provider=provider, model=model).request

    def read_items(
        self,
        body: Mapping[str, Any],
        *,
        wire: str | None = None,
        provider: str | None = None,
        model: str = "",
    ) -> ReadBody:
        """What ``read_body_items`` gives for this body, at the cost of ``read``. Raises as ``read`` does."""
        last, known = self._last, self._marks
        self._last, self._marks, self._noted = (
            None,
            None,
            (),
        )  # what fails on its way is not used again
        read, marks = None, None
        if last is not None and known is not None and isinstance(body, Mapping):
            marks = _marks(body.get(last.wire.field))
            if marks is not None and marks[: len(known)] == known:
                read = _read_extended(last, len(known), body, wire, provider, model)
        if read is None:
            read = _read_whole(body, wire, provider, model)
            marks = (
                _marks(body.get(read.wire.field)) if isinstance(body, Mapping) else None
            )
        self._last, self._marks, self._names = read, marks, read.names
        return read.read_body

    def note(self, request: Request) -> None:
        """Take note of a request that was not read from a body: its answer comes next."""
        noted = self._noted
        if not noted or request.messages[: len(noted)] != noted:
            noted, self._names = (), Namer()
        self._names.note(request.messages[len(noted) :])
        self._last, self._marks, self._noted = None, None, request.messages

    def read_answer(
        self, wire: str, content: object, *, provider: str, model: str
    ) -> Message:
        """What ``read_output`` gives for the answer to the last request, at the cost of the answer."""
        return _read_answer(wire, content, provider, model, Namer(self._names))


_Runs = list[list[int]]
"""The places of the items that are read together, in order."""

_JOINED: Final = ("assistant", "tool")
"""Whose items in a row are one message, on a wire that has an item for each piece of an answer."""


def _head_of(wire: Wire, items: list[Any]) -> int:
    """How many of the first items are the system prompt's."""
    if not wire.has_system_items:
        return 0
    for at, item in enumerate(items):
        if isinstance(item, dict) and item.get("role") not in ("system", "developer"):
            return at
    return len(items)


def _runs_of(wire: Wire, items: list[Any]) -> _Runs:
    """The items that are read together: each alone, or neighbours whose role is the same."""
    runs: _Runs = []
    before: Role | None = None
    if wire.role_of is None:
        return [[at] for at in range(len(items))]
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        role = wire.role_of(item)
        if role == before and role in _JOINED:
            runs[-1].append(at)
        else:
            runs.append([at])
        before = role
    return runs


class _ReadMessages(NamedTuple):
    """Messages in order, and the places of the items that each was read from."""

    messages: list[Message]
    places: list[tuple[int, ...]]

    def read(
        self, wire: Wire, make: PartMaker, items: list[Any], runs: _Runs, first: int
    ) -> None:
        """Add the messages of these runs of items; ``first`` is the place of the first item."""
        for run in runs:
            together = [items[at] for at in run]
            found = wire.reader.read_messages(make, together)
            place = tuple(first + at for at in run)
            self.messages.extend(found)
            self.places.extend([place] * len(found))


class _Read(NamedTuple):
    """A body that was read.

    ``head`` items are the system prompt's. Items before ``closed`` made the first ``final`` messages, which no later
    item alters; ``closed_names`` are the names given until there, ``names`` all.
    """

    wire: Wire
    read_body: ReadBody
    head: int
    closed: int
    final: int
    closed_names: Namer
    names: Namer


def _read_whole(
    body: Mapping[str, Any], wire: str | None, provider: str | None, model: str
) -> _Read:
    plain = as_plain(body)
    if not isinstance(plain, dict):
        raise InvalidRequest(
            f"A request body is a JSON object; this is a {type(body).__name__}."
        )
    named = wire_named(wire or detect_wire(plain))
    items = named.reader.items_of(plain.get(named.field))
    head = _head_of(named, items)
    make = PartMaker(
        namer=Namer(),
        wire=named.name,
        provider=named.maker if provider is None else provider,
        model=_model_named(named, plain, model),
    )
    nothing = _ReadMessages([], [])
    return _read_items(named, plain, items[:head], nothing, items[head:], make, head)


def _read_extended(
    last: _Read,
    known: int,
    body: Mapping[str, Any],
    wire: str | None,
    provider: str | None,
    model: str,
) -> _Read | None:
    """The body read from the first item on that is new or may be joined to a new one; ``None`` where it fits no more.

    ``known`` is how many items the last body had.
    """
    request, field = last.read_body.request, last.wire.field
    asked = (wire or request.wire, request.provider if provider is None else provider)
    if (
        asked != (request.wire, request.provider)
        or _model_named(last.wire, body, model) != request.model
    ):
        return None
    if known == last.head:
        return None  # what follows may still belong to the system prompt
    listed = body[field]
    beside = as_plain({name: value for name, value in body.items() if name != field})
    make = PartMaker(
        namer=last.closed_names,
        wire=request.wire,
        provider=request.provider,
        model=request.model,
    )
    return _read_items(
        last.wire,
        beside,
        as_plain(listed[: last.head]),
        _ReadMessages(
            list(request.messages[: last.final]),
            list(last.read_body.items[: last.final]),
        ),
        last.wire.reader.items_of(as_plain(listed[last.closed :])),
        make,
        last.closed,
    )


def _read_items(
    wire: Wire,
    beside: dict[str, Any],
    head: list[Any],
    earlier: _ReadMessages,
    items: list[Any],
    make: PartMaker,
    first: int,
) -> _Read:
    """The request of these items behind ``earlier``, which takes them up; ``first`` is the place of the first."""
    runs = _runs_of(wire, items)
    open_runs: _Runs = []
    if runs and wire.role_of is not None and wire.role_of(items[runs[-1][0]]) in _JOINED:
        open_runs = [runs.pop()]
    earlier.read(wire, make, items, runs, first)
    final = len(earlier.messages)
    closed = open_runs[0][0] if open_runs else len(items)
    names = Namer(make.namer)
    earlier.read(wire, replace(make, namer=names), items, open_runs, first)
    shell = wire.reader.read_request(beside, head, make)
    request = msgspec.structs.replace(shell, messages=tuple(earlier.messages))
    read = ReadBody(request, tuple(earlier.places))
    return _Read(wire, read, len(head), first + closed, final, make.namer, names)


def _read_answer(
    wire: str, content: object, provider: str, model: str, namer: Namer
) -> Message:
    make = PartMaker(namer=namer, wire=wire, provider=provider, model=model)
    return wire_named(wire).reader.read_answer(as_plain(content), make)


def _model_named(wire: Wire, body: Mapping[str, Any], model: str) -> str:
    return (as_text(body.get("model")) or model).removeprefix(wire.model_prefix)


def _marks(history: object) -> list[bytes] | None:
    """A digest of each item; ``None`` for what is no list, or where one can't be written as JSON."""
    if not isinstance(history, list):
        return None
    try:
        return [
            blake2b(_encoder.encode(item), digest_size=16).digest() for item in history
        ]
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


def detect_wire(body: Mapping[str, Any]) -> str:
    """The wire a plain body belongs to, from its fields. Raises ``InvalidRequest`` when it fits none."""
    for wire in WIRES.values():
        if wire.reader.claims(body):
            return wire.name
    raise InvalidRequest(
        "This body has none of `messages` (Anthropic, Chat), `input` (Responses) or `contents` (Gemini): "
        f"it has {', '.join(sorted(map(str, body))[:12]) or 'no fields'}. Pass wire=… if you know it."
    )

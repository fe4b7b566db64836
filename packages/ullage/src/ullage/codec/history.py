"""From a request in our types to the body that goes out: repaired and encoded, at the cost of what is new in it.

    history = History()
    made = history.prepare(request, options=options)

Most requests of a session extend the last one: each message is repaired and encoded once, and its bytes are kept. A
single request, and one that does not extend the last, is a new history fed at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from ullage.codec.blocks import PLAIN, Encoded, MessageWriter, Options, Sending
from ullage.codec.repair import EVERYTHING, Repaired, Repairing
from ullage.codec.rules import Target
from ullage.codec.wire import CountEndpoint
from ullage.codec.wires import target_of, wire_named
from ullage.errors import InvalidRequest
from ullage.messages import Message, Request
from ullage.reasoning import ReasoningPolicy

_encode: Final = msgspec.json.Encoder().encode
_items: Final = msgspec.json.Decoder(tuple[dict[str, Any], ...])
UNMARKED: Final = Options(cache=None)
"""The caller's own cache markers, and none of ours."""
_AFTER_MESSAGES: Final = "thinking_budget"
"""What encoders note as unsent behind the messages: an option. All else they note before."""


class Made(NamedTuple):
    """A request that can go out: what had to be repaired, its encoded form, and its body as JSON."""

    repaired: Repaired
    encoded: Encoded
    content: bytes


class Joined(NamedTuple):
    """An encoded request and its body as JSON, made at the cost of copying it once."""

    encoded: Encoded
    content: bytes


class History:
    """Prepares the requests of one session, in order. Keeps what it made for the last one, about twice its body.

    Not for sharing by sessions that alternate.
    """

    def __init__(self) -> None:
        self.last: Made | None = None
        """The last request that was made."""
        self._asked: tuple[Request, Options, ReasoningPolicy] | None = (
            None  # what the last request was made of
        )
        self._grown: _Grown | None = None
        self._frame: _Frame | None = None
        self._messages: tuple[
            Message, ...
        ] = ()  # those of the last request, as they were given

    @property
    def count(self) -> int:
        """How many messages the last request had."""
        return len(self._messages)

    def extended(self, added: Iterable[Message]) -> tuple[Message, ...]:
        """The messages of the last request and these behind them, to make the next one of; before the first, these."""
        return self._messages + tuple(added)

    def prepare(
        self,
        request: Request,
        *,
        policy: ReasoningPolicy = EVERYTHING,
        options: Options = PLAIN,
    ) -> Made:
        """The request as its wire accepts and wants it. Raises ``InvalidRequest`` for a wire that has no codec.

        A request that extends the last one, for the same model and policy, costs what was added and the copying of its
        body; any other costs the whole of it. The very same request again costs nothing. Messages are compared by
        identity first, then by value. The body of ``Encoded`` holds the list of messages as one ``msgspec.Raw``.
        """
        asked = (request, options, policy)
        if self.last is not None and self._asked is not None:
            last_request, last_options, last_policy = self._asked
            if (
                request is last_request
                and options is last_options
                and policy == last_policy
            ):
                return self.last
        request, options = wire_named(request.wire).settle(request, options)
        self._messages = request.messages
        marks = options.cache
        marks_all = marks is not None and marks.messages < 0
        target = target_of(request)
        if options.compaction is not None:
            # No answer follows, so the conversation may end with one.
            target = replace(target, user_last=False, space_at_end=True)
        kind = _Kind(
            target,
            policy,
            bool(request.chained),
            marks is not None,
            marks_all,
            frozenset(tool.name for tool in request.tools if tool.deferred),
            options.media,
        )
        grown = self._extended(kind, request, options)
        if grown is None:
            grown = _Grown(kind)
            grown.add(request, options)
        repaired = grown.repairing.repaired(request)
        bare = msgspec.structs.replace(repaired.request, messages=())
        if self._frame is None or not self._frame.fits(bare, options):
            self._frame = _framed(bare, options)
        self.last = Made(repaired, *_joined(self._frame, grown.writer, options))
        self._asked = asked
        self._grown = None if grown.repairing.is_closed else grown
        return self.last

    def _extended(self, kind: _Kind, request: Request, options: Options) -> _Grown | None:
        """The last history with what this request adds; ``None`` where it does not simply extend the last one."""
        grown, self._grown = self._grown, None  # what fails on its way is not used again
        if grown is None or grown.kind != kind:
            return None
        if request.messages[: len(grown.given)] != grown.given:
            return None
        return grown if grown.add(request, options) else None


def encode(request: Request, *, options: Options = PLAIN) -> Encoded:
    """A repaired request as its wire wants it. Raises ``InvalidRequest`` for a wire that has no codec."""
    wire = wire_named(request.wire)
    request, options = wire.settle(request, options)
    return _in_one_piece(request, options)


def encode_items(
    request: Request, messages: Iterable[Message], *, options: Options = UNMARKED
) -> tuple[dict[str, Any], ...]:
    """These messages of a repaired request as items of its wire, as they stand in the body that ``encode`` gives.

    Cache markers are those that the messages came with, unless the options place some. A result is written by what
    its call says, wherever in the request the call is. Messages that the wire joins (neighbours of one speaker) are
    one item where they are given together. Raises ``InvalidRequest`` for a wire that has no codec.
    """
    request, options = wire_named(request.wire).settle(request, options)
    bare = msgspec.structs.replace(request, messages=())
    sending = Sending(bare, target_of(bare), options)
    writer = wire_named(request.wire).writer()
    writer.know(sending, request.messages)
    writer.add(sending, tuple(messages))
    written = b"".join(writer.items(options.cache)).removesuffix(b",")
    return _items.decode(b"[" + written + b"]")


def encode_count(
    request: Request, *, way: CountEndpoint | None = None, options: Options = PLAIN
) -> Encoded | None:
    """The call that asks how many tokens a repaired request would be: in this way, or in the wire's most usual one.

    ``None`` where the wire has no such endpoint.
    """
    ways = wire_named(request.wire).counts
    if way is None and ways:
        way = ways[0]
    return None if way is None else way.encode(request, _in_one_piece(request, options))


def encode_compaction(request: Request, encoded: Encoded, instructions: str) -> Encoded:
    """The call for the provider's own compaction of an encoded request. Raises ``InvalidRequest`` without one."""
    offered = wire_named(request.wire).compaction
    if offered is None:
        raise InvalidRequest(
            f"The wire {request.wire!r} has no compaction of its own. Choose another strategy."
        )
    return offered.request(encoded, instructions)


def _in_one_piece(request: Request, options: Options) -> Encoded:
    bare = msgspec.structs.replace(request, messages=())
    writer = wire_named(request.wire).writer()
    writer.add(Sending(bare, target_of(bare), options), request.messages)
    return _joined(_framed(bare, options), writer, options).encoded


class _Kind(NamedTuple):
    """What all messages are made for: where it differs, they have to be made again."""

    target: Target
    policy: ReasoningPolicy
    is_chained: bool
    is_marked: bool
    marks_all: bool
    deferred: frozenset[str]
    """The names of tools that results may refer to."""
    media: Mapping[str, bytes]


class _Grown:
    """The messages that were made for one kind of request."""

    def __init__(self, kind: _Kind) -> None:
        self.kind = kind
        self.given: tuple[Message, ...] = ()
        self.repairing = Repairing(kind.target, kind.policy, is_chained=kind.is_chained)
        self.writer: MessageWriter = wire_named(kind.target.wire).writer()

    def add(self, request: Request, options: Options) -> bool:
        """Take the messages of a request that extends the last one; false where they alter what was made before."""
        made = self.repairing.add(request.messages[len(self.given) :])
        self.given = request.messages
        if made is None:
            return False
        bare = msgspec.structs.replace(request, messages=())
        return self.writer.add(Sending(bare, self.kind.target, options), made)


class _Frame(NamedTuple):
    """The body around the messages: the request without them, and the bytes on both sides.

    ``first`` are items before the messages in their list, each with a comma behind it. ``settings`` are the
    parameters and options as JSON, for 1, 1.0 and True are equal and not written alike.
    """

    bare: Request
    settings: bytes
    head: Encoded
    field: str
    opening: bytes
    first: list[bytes | bytearray]
    closing: bytes

    def fits(self, bare: Request, options: Options) -> bool:
        """Whether the frame is also that of this request."""
        known = self.bare
        return (
            known.system is bare.system
            and known.tools is bare.tools
            and (known.wire, known.provider, known.model)
            == (bare.wire, bare.provider, bare.model)
            and (known.stream, known.chained) == (bare.stream, bare.chained)
            and self.settings == _settings_json(bare, options)
        )


def _framed(bare: Request, options: Options) -> _Frame:
    wire = wire_named(bare.wire)
    head = wire.head(Sending(bare, target_of(bare), options))
    field = wire.field
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    side = before
    for name, value in head.body.items():
        if name == field:
            side = after
        else:
            side[name] = value
    listed = head.body[field]
    first: list[bytes | bytearray] = []
    for item in listed if isinstance(listed, list) else ():
        first += (bytes(item), b",")
    opening = (_encode(before)[:-1] + b"," if before else b"{") + f'"{field}":['.encode()
    closing = b"]" + (b"," + _encode(after)[1:] if after else b"}")
    return _Frame(
        bare, _settings_json(bare, options), head, field, opening, first, closing
    )


def _joined(frame: _Frame, writer: MessageWriter, options: Options) -> Joined:
    """The request with all messages of the writer."""
    head = frame.head
    pieces: list[bytes | bytearray | memoryview] = [
        *frame.first,
        *writer.items(options.cache),
    ]
    while pieces and not pieces[-1]:
        pieces.pop()
    if pieces:
        pieces[-1] = memoryview(pieces[-1])[:-1]  # no comma behind the last item
    content = b"".join([frame.opening, *pieces, frame.closing])
    listed = msgspec.Raw(
        memoryview(content)[
            len(frame.opening) - 1 : len(content) - len(frame.closing) + 1
        ]
    )
    unsent = [what for what in head.unsent if what != _AFTER_MESSAGES]
    for what in writer.blocks.unsent:
        if what not in unsent:
            unsent.append(what)
    if _AFTER_MESSAGES in head.unsent:
        unsent.append(_AFTER_MESSAGES)
    encoded = Encoded(
        head.path,
        writer.headers(head.headers),
        {**head.body, frame.field: listed},
        head.blocks + tuple(writer.blocks.made),
        tuple(unsent),
    )
    return Joined(encoded, content)


def _settings_json(bare: Request, options: Options) -> bytes:
    return _encode([bare.params, replace(options, media={})])

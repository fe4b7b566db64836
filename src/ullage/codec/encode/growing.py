"""The messages of a request that grows, encoded once each: what was written stays written.

Per wire one class that takes the next messages and gives the JSON of the whole list. What can still change (a wire
message that the next one may be joined to, the places of cache markers) is kept open; all before it is bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from ullage.codec.encode import anthropic, chat, encode, gemini, responses
from ullage.codec.encode.blocks import Blocks, CacheMarks, Encoded, Options, Sending
from ullage.codec.repair_targets import target_of
from ullage.messages import Message, ReasoningPart, Request, ToolResultPart

_encode: Final = msgspec.json.Encoder().encode
_AFTER_MESSAGES: Final = "thinking_budget"
"""What encoders note as unsent behind the messages: an option. All else they note before."""


class GrowingMessages(ABC):
    """The messages of one wire. ``field`` is where they stand in the body."""

    field: ClassVar[str]

    def __init__(self) -> None:
        self.blocks = Blocks()
        self._written = bytearray()  # the items that are final, with a comma behind each

    @abstractmethod
    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        """Encode the next messages; false where they alter how an earlier one is sent. Then nothing may be added."""

    def items(self, marks: CacheMarks | None) -> list[bytes | bytearray]:
        """All that was added, in pieces to be joined: JSON items, each with a comma behind it. To be copied at once."""
        return [self._written, *self._open_items(marks)]

    def _open_items(self, marks: CacheMarks | None) -> Iterator[bytes]:
        """The items that may still change."""
        yield from ()

    def _write(self, item: bytes | msgspec.Raw) -> None:
        self._written += memoryview(item)
        self._written += b","


class _Chat(GrowingMessages):
    field = "messages"

    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        for message in messages:
            for item in chat.items_of(sending, message, self.blocks):
                self._write(self.blocks.add("message", item))
        return True


class _Responses(GrowingMessages):
    field = "input"

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[str, str] = {}
        self._answered: set[str] = set()

    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        kinds = responses.call_kinds(sending, messages)
        if any(one in self._answered and one not in self._kinds for one in kinds):
            return False
        self._kinds |= kinds
        self._answered.update(_result_ids(messages))
        for message in messages:
            for item in responses.items_of(sending, message, self._kinds, self.blocks):
                self._write(self.blocks.add("item", item))
        return True


class _Turn(NamedTuple):
    """A wire message that may still grow: whose it is, its blocks, and these as they are written."""

    speaker: str
    content: list[Any]
    written: list[msgspec.Raw]


class _Gemini(GrowingMessages):
    field = "contents"

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, str] = {}
        self._asked: set[str] = set()  # ids whose names may have been looked up
        self._last: _Turn | None = None

    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        names = gemini.call_names(messages)
        if any(one in self._asked and self._names.get(one) != name for one, name in names.items()):
            return False
        self._names |= names
        self._asked.update(_result_ids(messages))
        for message in messages:
            turn = gemini.turn_of(message)
            if self._last is None or self._last.speaker != turn:
                for item in self._open_items(None):
                    self._written += item
                self._last = _Turn(turn, [], [])
            for part in gemini.parts_of(sending, message, self._names, self.blocks):
                self._last.written.append(self.blocks.add(turn, part))
        return True

    def _open_items(self, marks: CacheMarks | None) -> Iterator[bytes]:
        if self._last is not None and self._last.written:
            yield _joined(gemini.content_role(self._last.speaker), "parts", self._last.written)


class _Anthropic(GrowingMessages):
    field = "messages"

    def __init__(self) -> None:
        super().__init__()
        self._recent: list[_Turn] = []  # the last of them is the one that may grow

    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        recent = self._recent
        for message in messages:
            speaker = anthropic.speaker(message)
            if not recent or recent[-1].speaker != speaker:
                if recent and not recent[-1].content:
                    recent.pop()  # nothing of it is sent, but its neighbours were not joined
                self._close()
                recent.append(_Turn(speaker, [], []))
            turn = recent[-1]
            for block in anthropic.content_of(sending, message, self.blocks):
                turn.content.append(block)
                turn.written.append(self.blocks.add(speaker, block))
        return True

    def _close(self) -> None:
        """Write what no marker can reach any more."""
        recent = self._recent
        marked = sum(1 for turn in recent if _can_be_marked(turn))
        while recent:
            marked -= _can_be_marked(recent[0])
            if marked < anthropic.MOST_MARKS:
                return
            turn = recent.pop(0)
            self._written += _joined(turn.speaker, "content", turn.written)

    def _open_items(self, marks: CacheMarks | None) -> Iterator[bytes]:
        turns = [(turn.speaker, turn.content, list(turn.written)) for turn in self._recent if turn.content]
        if marks is not None:
            anthropic.mark_turns(marks, turns)
        for speaker, _, written in turns:
            yield _joined(speaker, "content", written)


def _can_be_marked(turn: _Turn) -> bool:
    return turn.speaker == "user" and any(anthropic.can_be_marked(block) for block in turn.content)


def _joined(role: str, field: str, written: Sequence[msgspec.Raw]) -> bytes:
    """A wire message out of its blocks, with a comma behind it."""
    return b'{"role":"%b","%b":[%b]},' % (role.encode(), field.encode(), b",".join(map(bytes, written)))


def _result_ids(messages: Sequence[Message]) -> Iterator[str]:
    return (part.call_id for message in messages for part in message.of_type(ToolResultPart))


_WIRES: Final[Mapping[str, type[GrowingMessages]]] = {
    "messages": _Anthropic,
    "chat": _Chat,
    "responses": _Responses,
    "generateContent": _Gemini,
}


def can_grow(request: Request, options: Options) -> bool:
    """Whether the messages of this request can be encoded one after the other, and stand where the wire has them."""
    if request.wire not in _WIRES:
        return False
    return options.cache is None or options.cache.messages >= 0  # below 0, all turns are marked


def messages_for(wire: str) -> GrowingMessages:
    """What holds the messages of a wire that ``can_grow``."""
    return _WIRES[wire]()


class SeenMedia(Mapping[str, bytes]):
    """The media of a call, and which of them were looked at: those that what was written depends on."""

    def __init__(self) -> None:
        self._media: Mapping[str, bytes] = {}
        self._seen: dict[str, bytes | None] = {}

    def holds(self, media: Mapping[str, bytes]) -> bool:
        """Whether what was looked at is the same in these; then the next messages see these."""
        self._media = media
        return all(media.get(source) == content for source, content in self._seen.items())

    def __getitem__(self, source: str) -> bytes:
        found = self._media.get(source)
        self._seen[source] = found
        if found is None:
            raise KeyError(source)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._media)

    def __len__(self) -> int:
        return len(self._media)


class Joined(NamedTuple):
    """An encoded request and its body as JSON, made at the cost of copying it once."""

    encoded: Encoded
    content: bytes


def sending_of(request: Request, messages: Sequence[Message], options: Options, media: SeenMedia) -> Sending:
    """What of these messages may be sent, all reasoning among it; ``request`` needs none itself.

    Encoders ask its target who made a part's data, which no parameter changes.
    """
    sent = frozenset(part.id for one in messages if one.role == "assistant" for part in one.of_type(ReasoningPart))
    return Sending(request, target_of(request), sent, replace(options, media=media))


class _Frame(NamedTuple):
    """What stands around the messages that grow: the request without them, and the bytes on both sides."""

    encoded: Encoded
    opening: bytes
    first: list[bytes | bytearray]
    """Items that stand before the messages in their list, each with a comma behind it."""
    closing: bytes


class Frames:
    """Makes whole bodies out of what was written. Keeps the last frame, for most requests have the one before's."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._bare: Request | None = None
        self._frame: _Frame | None = None

    def joined(self, bare: Request, messages: GrowingMessages, options: Options) -> Joined:
        """What ``encode`` makes of the request with all messages that were added; ``bare`` is the one without them.

        The body holds its list of messages as one piece of JSON.
        """
        frame = self._frame_of(bare, messages.field, options)
        head, opening, closing = frame.encoded, frame.opening, frame.closing
        content = _without_last_comma([opening, *frame.first, *messages.items(options.cache)], closing)
        listed = msgspec.Raw(memoryview(content)[len(opening) - 1 : len(content) - len(closing) + 1])
        body = {**head.body, messages.field: listed}
        blocks = head.blocks + tuple(messages.blocks.made)
        unsent = _unsent(head.unsent, messages.blocks.unsent)
        return Joined(Encoded(head.path, dict(head.headers), body, blocks, unsent), content)

    def _frame_of(self, bare: Request, field: str, options: Options) -> _Frame:
        # As JSON, for 1, 1.0 and True are equal and not written alike.
        said = _encode([bare.params, replace(options, media={})])
        key = (bare.wire, bare.provider, bare.model, bare.stream, said)
        before = self._bare
        known = before is not None and before.system is bare.system and before.tools is bare.tools and key == self._key
        if self._frame is None or not known:
            self._frame = _frame(encode(bare, options=options), field)
            self._bare, self._key = bare, key
        return self._frame


def _frame(encoded: Encoded, field: str) -> _Frame:
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    side = before
    for name, value in encoded.body.items():
        if name == field:
            side = after
        else:
            side[name] = value
    listed = encoded.body[field]
    first: list[bytes | bytearray] = []
    for one in listed if isinstance(listed, list) else ():
        first += (bytes(one), b",")
    opening = (_encode(before)[:-1] + b"," if before else b"{") + f'"{field}":['.encode()
    return _Frame(encoded, opening, first, b"]" + (b"," + _encode(after)[1:] if after else b"}"))


def _unsent(head: Sequence[str], messages: Sequence[str]) -> tuple[str, ...]:
    """What could not be sent, in the order in which an encoder goes through a request."""
    first = [what for what in head if what != _AFTER_MESSAGES]
    first += [what for what in messages if what not in first]
    return (*first, _AFTER_MESSAGES) if _AFTER_MESSAGES in head else tuple(first)


def _without_last_comma(pieces: list[bytes | bytearray], closing: bytes) -> bytes:
    """The pieces joined, the comma behind the last item left out."""
    last = next((at for at in range(len(pieces) - 1, 0, -1) if pieces[at]), 0)
    ends: list[bytes | bytearray | memoryview] = list(pieces)
    if last:
        ends[last] = memoryview(pieces[last])[:-1]
    return b"".join([*ends, closing])

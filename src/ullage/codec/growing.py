"""A session's requests, each of which mostly extends the last one: only what is new is repaired and encoded.

    growing = GrowingCodec()
    made = growing.prepare(request, options=options)

What comes out is, byte for byte, what ``repair`` and ``encode`` make of the whole. A request that extends the last one
costs what was added, and the copying of its body.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from ullage.codec.encode import Encoded, Options, encode, settle
from ullage.codec.encode.blocks import PLAIN
from ullage.codec.encode.growing import Frames, SeenMedia, can_grow, messages_for, sending_of
from ullage.codec.growing_reasoning import GrowingSelection
from ullage.codec.growing_repair import GrowingRepair, Head, repaired_head
from ullage.codec.repair import EVERYTHING, Repaired, repair
from ullage.codec.repair_targets import Target, target_of
from ullage.codec.repair_turns import may_end
from ullage.messages import Message, Request, SystemBlock, Tool
from ullage.reasoning import ReasoningPolicy


class Made(NamedTuple):
    """A request that can go out: what had to be repaired, its encoded form, and its body as JSON."""

    repaired: Repaired
    encoded: Encoded
    content: bytes


class _Kind(NamedTuple):
    """What all messages are made for: where it differs, they have to be made again."""

    target: Target
    policy: ReasoningPolicy
    is_marked: bool


class _Before(NamedTuple):
    """What the head of a request is made from."""

    system: tuple[SystemBlock, ...]
    tools: tuple[Tool, ...]
    target: Target


class _Offer(NamedTuple):
    """Messages that were handed out, and those of the last request that they begin with."""

    given: tuple[Message, ...]
    messages: tuple[Message, ...]


class _History:
    """The messages that were made for one kind of request."""

    def __init__(self, kind: _Kind) -> None:
        self.kind = kind
        self.given: tuple[Message, ...] = ()
        self.media = SeenMedia()
        self.encoded = messages_for(kind.target.wire)
        self.repair = GrowingRepair(kind.target)
        self.selection = GrowingSelection(kind.policy, kind.target)

    def add(self, request: Request, options: Options) -> bool:
        """Take the messages of a request that extends the last one; false where they alter what was made before."""
        added = request.messages[len(self.given) :]
        sent = self.selection.add(added)
        if sent is None:
            return False
        made = self.repair.add(added, sent.ids)
        if made is None or not self.encoded.add(sending_of(_bare(request), made, options, self.media), made):
            return False
        self.given = request.messages
        return self.repair.may_end


class GrowingCodec:
    """Prepares the requests of one session, in order. Keeps what it made for the last one, about twice its body."""

    def __init__(self) -> None:
        self._history: _History | None = None
        self._never_grows: _Kind | None = None
        self._head: tuple[_Before, Head] | None = None
        self._frames = Frames()
        self._offered: _Offer | None = None
        self._last: tuple[Message, ...] = ()

    def extended(self, added: Iterable[Message]) -> tuple[Message, ...]:
        """The messages of the last request and these behind them, to make the next one of.

        They need not be compared: this is known to extend the last request. Before the first, these alone.
        """
        self._offered = _Offer(self._last, self._last + tuple(added))
        return self._offered.messages

    def prepare(self, request: Request, *, policy: ReasoningPolicy = EVERYTHING, options: Options = PLAIN) -> Made:
        """What ``settle``, ``repair`` and ``encode`` make of the request. Raises ``InvalidRequest`` as they do.

        Any request may be given; one that does not extend the last, or is for another model, costs as much as it does
        there, and so does one that ends with an answer which is to be continued. Messages are compared by identity
        first, then by value. The body of ``Encoded`` holds the list of messages as one ``msgspec.Raw``.
        """
        request, options = settle(request, options)
        self._last = request.messages
        history = self._extended(request, policy, options) or self._anew(request, policy, options)
        if history is None:
            return _whole(request, policy, options)
        before = _Before(request.system, request.tools, history.kind.target)
        if self._head is None or self._head[0] != before:
            self._head = (before, repaired_head(request, history.kind.target))
        repaired = history.repair.repaired(request, self._head[1])
        encoded, content = self._frames.joined(_bare(repaired.request), history.encoded, options)
        return Made(repaired, encoded, content)

    def _extended(self, request: Request, policy: ReasoningPolicy, options: Options) -> _History | None:
        """The last history with what this request adds; ``None`` where it can't be used."""
        history = self._history
        if history is None or not _is_plain(request, options) or history.kind != _kind(request, policy, options):
            return None
        offered, messages = self._offered, request.messages
        is_known = offered is not None and offered.given is history.given and offered.messages is messages
        if not is_known and messages[: len(history.given)] != history.given:
            return None
        return self._added(history, request, options) if history.media.holds(options.media) else None

    def _anew(self, request: Request, policy: ReasoningPolicy, options: Options) -> _History | None:
        """A new history of all messages; ``None`` where the request has to be made in one piece."""
        kind = _kind(request, policy, options)
        if not _is_plain(request, options) or kind == self._never_grows:
            return None
        history = _History(kind)
        history.media.holds(options.media)
        return self._added(history, request, options)

    def _added(self, history: _History, request: Request, options: Options) -> _History | None:
        self._history = None  # what fails on its way is not gone on with
        if not history.add(request, options):
            if history.selection.always_moves:
                self._never_grows = history.kind
            return None
        self._history = history
        return history


def _is_plain(request: Request, options: Options) -> bool:
    """Whether nothing but the messages before one decides what it becomes: they may be made one after the other.

    A request that ends with an answer may have words added to its end or taken from it, which the next one has not.
    """
    if request.chained or not request.messages or not can_grow(request, options):
        return False
    last = request.messages[-1]
    return not last.parts or may_end(last, target_of(request))


def _kind(request: Request, policy: ReasoningPolicy, options: Options) -> _Kind:
    return _Kind(target_of(request), policy, options.cache is not None)


def _bare(request: Request) -> Request:
    return msgspec.structs.replace(request, messages=())


def _whole(request: Request, policy: ReasoningPolicy, options: Options) -> Made:
    repaired = repair(request, policy=policy)
    encoded = encode(repaired.request, options=options)
    return Made(repaired, encoded, encoded.content)

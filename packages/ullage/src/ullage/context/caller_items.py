"""What is sent, in the items of the caller's own body: kept as they are, replaced, or put between them.

An item is one element of the body's list: ``messages``, ``input`` or ``contents``. A kept item goes out as the object
that it is, so that ids, signatures and cache marks survive, and with them the provider's cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ullage.codec.blocks import Options
from ullage.codec.foreign import as_plain
from ullage.codec.history import encode_items
from ullage.codec.parts import data_url, decode_base64, source_of_data
from ullage.codec.repair import repair
from ullage.codec.wires import wire_named
from ullage.context.policy import SHORTEST_DATA
from ullage.messages import FilePart, ImagePart, Message, Request, ToolResultPart
from ullage.reasoning import ReasoningPolicy


class Keep(NamedTuple):
    """The caller's item with this index goes out as it is."""

    item: int


class Replace(NamedTuple):
    """``body`` goes out in the place of the caller's item with this index."""

    item: int
    body: dict[str, Any]


class Insert(NamedTuple):
    """``body`` goes out here; the caller has no such item."""

    body: dict[str, Any]


ItemPlan = tuple[Keep | Replace | Insert, ...]
"""What goes out, in order. Items of the caller that it does not name are left out."""


class _ItemGroup(NamedTuple):
    """Messages that were read from the same items: indices of both."""

    messages: tuple[int, ...]
    items: tuple[int, ...]


@dataclass(frozen=True)
class CallerItems:
    """The items of one body and the messages that were read from them.

    ``places`` has the indices of the items of each message. ``sent`` are the items of a plan as they go out.
    """

    wire: str
    body: Mapping[str, Any]
    messages: tuple[Message, ...]
    places: tuple[tuple[int, ...], ...]

    @property
    def field(self) -> str:
        """The field of the body that holds the items."""
        return wire_named(self.wire).field

    @cached_property
    def items(self) -> list[Any]:
        """The caller's own items; a bare text is one."""
        listed = self.body.get(self.field)
        if isinstance(listed, list | tuple):
            return list(listed)
        return wire_named(self.wire).reader.items_of(listed)

    @cached_property
    def _groups(self) -> list[_ItemGroup]:
        groups: list[_ItemGroup] = []
        for index, places in enumerate(self.places):
            if groups and groups[-1].items[-1] in places:
                messages, items = groups.pop()
                added = tuple(place for place in places if place not in items)
                groups.append(_ItemGroup((*messages, index), items + added))
            else:
                groups.append(_ItemGroup((index,), places))
        return groups

    @cached_property
    def _group_of(self) -> dict[str, _ItemGroup]:
        found: dict[str, _ItemGroup] = {}
        for group in self._groups:
            for index in group.messages:
                found[self.messages[index].id] = group
        return found

    def plan(self, request: Request, *, policy: ReasoningPolicy) -> ItemPlan:
        """How to send this request, whose messages are the caller's, changed or not, and others between them.

        A message that is the same object as the caller's goes out in the caller's own items, unless the provider would
        refuse its reasoning.
        """
        repaired = repair(request, policy=policy).request
        first = self.places[0][0] if self.places else len(self.items)
        plan: list[Keep | Replace | Insert] = [Keep(place) for place in range(first)]
        for run in self._runs(request.messages, repaired.messages):
            plan += self._planned(run, repaired, policy.unbound)
        return tuple(plan)

    def sent(self, plan: Iterable[Keep | Replace | Insert]) -> list[Any]:
        """The items that a plan sends."""
        return [
            self.items[one.item] if isinstance(one, Keep) else one.body for one in plan
        ]

    def _runs(
        self, shown: Sequence[Message], repaired: Sequence[Message]
    ) -> Iterator[list[Message]]:
        """The messages to be sent, those together that share items, and those together that share none.

        What the wire needs between two messages is added where the caller does not have the two in a row.
        """
        added = _between(shown, repaired)
        run: list[Message] = []
        before: Message | None = None
        for message in shown:
            extra = added.get("" if before is None else before.id, ())
            if extra and not self._are_neighbours(before, message):
                if run and self._group_of.get(run[-1].id) is not None:
                    yield run
                    run = []
                run += extra
            if run and self._group_of.get(run[-1].id) is not self._group_of.get(
                message.id
            ):
                yield run
                run = []
            run.append(message)
            before = message
        if run:
            yield run

    def _are_neighbours(self, one: Message | None, other: Message) -> bool:
        """Whether the caller sends the two in a row."""
        if one is None:
            return bool(self.messages) and self.messages[0].id == other.id
        first, second = self._group_of.get(one.id), self._group_of.get(other.id)
        if first is None or second is None:
            return False
        return second.messages[0] - first.messages[-1] <= 1

    def _planned(
        self, run: list[Message], request: Request, unbound: AbstractSet[str]
    ) -> ItemPlan:
        """How the messages of one group are sent, or messages that the caller does not have."""
        group = self._group_of.get(run[0].id)
        repaired = {message.id: message for message in request.messages}
        made: list[Message] = []
        for message in run:
            if message.id in repaired or message.id not in unbound:
                made.append(repaired.get(message.id, message))
        if group is None:
            return tuple(Insert(item) for item in self._encoded(request, made, ()))
        own = [self.messages[index] for index in group.messages]
        is_kept = unbound.isdisjoint(message.id for message in run)
        if is_kept and len(own) == len(run) and all(map(_is_same, own, run)):
            return tuple(Keep(place) for place in group.items)
        items = self._encoded(request, made, group.items)
        before = self._encoded(request, own, group.items)
        known = before if len(before) == len(group.items) else ()
        plan: list[Keep | Replace | Insert] = []
        for at, item in enumerate(items):
            if at < len(known) and item == known[at]:
                plan.append(Keep(group.items[at]))
            elif at < len(group.items):
                plan.append(Replace(group.items[at], item))
            else:
                plan.append(Insert(item))
        return tuple(plan)

    def _encoded(
        self, request: Request, messages: Sequence[Message], places: Iterable[int]
    ) -> tuple[dict[str, Any], ...]:
        """These messages as items of the wire, without cache marks of ours; media come from the caller's items."""
        media: dict[str, bytes] = {}
        if any(map(_has_media, messages)):
            for place in places:
                media |= _media_in(as_plain(self.items[place]))
        options = Options(cache=None, media=media)
        return encode_items(request, messages, options=options)


def _is_same(one: Message, other: Message) -> bool:
    return one is other


def _between(
    shown: Sequence[Message], repaired: Sequence[Message]
) -> dict[str, list[Message]]:
    """What a repair has put between messages, by the id of the message before; empty for the front."""
    known = {message.id for message in shown}
    added: dict[str, list[Message]] = {}
    before = ""
    for message in repaired:
        if message.id in known:
            before = message.id
        else:
            added.setdefault(before, []).append(message)
    return added


def _has_media(message: Message) -> bool:
    for part in message.parts:
        held = part.content if isinstance(part, ToolResultPart) else (part,)
        if any(isinstance(one, ImagePart | FilePart) for one in held):
            return True
    return False


def _media_in(item: object) -> dict[str, bytes]:
    """The bytes of images and files in an item, by the source that their parts name."""
    found: dict[str, bytes] = {}
    for text in _texts(item):
        data = data_url(text)[1] or text
        content = _bytes_of(data) if len(data) >= SHORTEST_DATA else None
        if content:
            found[source_of_data(data)] = content
    return found


def _bytes_of(data: str) -> bytes | None:
    """The bytes of a base64, or those that an SDK's object held (``as_plain`` makes a text of them)."""
    if data.isascii():
        return decode_base64(data)
    try:
        return data.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)

"""What is in the window, with running sums: adding, replacing and removing a message costs O(its parts)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import msgspec

from ullage.messages import Message, Role, ToolCallPart
from ullage.meter import fingerprint
from ullage.meter.breakdown import Share
from ullage.meter.cost import TOOL_RESULTS, MessageCost
from ullage.meter.origin import Origin


class Facts(NamedTuple):
    """What is known of a message in view without its content."""

    role: Role
    call: str
    """The call that made it; empty where none did."""
    origin: Origin
    opening: float
    """What it costs in a first request; only asked for before any actual."""
    cost: MessageCost


class Source(Protocol):
    """Where the entries of a checkpoint have their facts and their messages from, once they are asked for."""

    def facts(self, place: int) -> Facts:
        """What was stored of an entry."""
        ...

    def message(self, place: int) -> Message:
        """The entry's message, read from the ledger. Raises what the ledger raises."""
        ...


class Entry(msgspec.Struct, eq=False, gc=False):
    """One message in view. ``order`` grows with every entry made, so that it tells what an anchor covers.

    An entry out of a checkpoint reads its facts when they are first asked for, and its message when that is. The
    garbage collector need not look at entries: nothing that they hold leads back to them.
    """

    id: str
    order: int
    _source: Source | None = None
    _place: int = 0
    _facts: Facts | None = None
    _message: Message | None = None

    @classmethod
    def of(cls, message: Message, cost: MessageCost, order: int, *, opening: float, origin: Origin) -> Entry:
        """The entry of a message that is at hand."""
        facts = Facts(message.role, message.call or "", origin, opening, cost)
        return cls(message.id, order, None, 0, facts, message)

    def with_order(self, order: int) -> Entry:
        """The same message, entered at another time."""
        return Entry(self.id, order, self._source, self._place, self._facts, self._message)

    @property
    def facts(self) -> Facts:
        """What is known of it without its content."""
        if self._facts is None:
            assert self._source is not None, "an entry has its facts or knows where they are"
            self._facts = self._source.facts(self._place)
        return self._facts

    @property
    def message(self) -> Message:
        """The message. Raises what reading the ledger raises, where it has to be read."""
        if self._message is None:
            assert self._source is not None, "an entry has its message or knows where it is"
            self._message = self._source.message(self._place)
        return self._message

    @property
    def cost(self) -> MessageCost:
        return self.facts.cost

    @property
    def opening(self) -> float:
        return self.facts.opening

    @property
    def role(self) -> Role:
        return self.facts.role

    @property
    def call(self) -> str:
        return self.facts.call

    @property
    def origin(self) -> Origin:
        return self.facts.origin


@dataclass(slots=True)
class View:
    """The messages of the next request, in order, and the sums of their costs by row."""

    entries: dict[str, Entry] = field(default_factory=dict)
    rows: dict[str, dict[str, float]] = field(default_factory=dict)
    """Tokens by row and by name within it."""
    touched: set[str] = field(default_factory=set)
    """Rows that changed since their share was made."""
    shares: dict[str, Share] = field(default_factory=dict)
    tokens: float = 0.0
    opening: float = 0.0
    media: float = 0.0
    orders: int = 0
    tool_names: dict[str, str] = field(default_factory=dict)
    """Name of the tool by call id, for results that don't say it."""
    holders: dict[str, str] = field(default_factory=dict)
    """Id of the message by id of the tool result part, for pruning."""
    recent: dict[str, Entry] = field(default_factory=dict)
    """Entries made after the last order that ``since`` was asked for."""
    _digest: str | None = fingerprint.EMPTY
    """``None`` once something else than an addition has changed the view."""
    _unrolled: list[Message] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    @property
    def last(self) -> Entry | None:
        """The newest entry, if there is one."""
        return next(reversed(self.entries.values()), None)

    @property
    def digest(self) -> str:
        """The rolling digest over ids and revisions of everything in view."""
        if self._digest is None:
            self._digest = fingerprint.of_messages(entry.message for entry in self)
        else:
            for message in self._unrolled:
                self._digest = fingerprint.roll(self._digest, message)
        self._unrolled.clear()
        return self._digest

    @property
    def rolled(self) -> str | None:
        """The digest, where it can be had without going through the whole view."""
        return None if self._digest is None else self.digest

    def resume(self, digest: str | None, entries: Iterable[tuple[str, Entry]], recent: Iterable[Entry]) -> None:
        """Go on from a checkpoint with these entries, each under its id."""
        self._digest = digest
        self.entries = dict(entries)
        self.recent = {entry.id: entry for entry in recent}
        self.touched = set(self.rows)

    def add(self, message: Message, cost: MessageCost, *, opening: float, origin: Origin) -> Entry:
        """Put a message at the end."""
        self.orders += 1
        entry = Entry.of(message, cost, self.orders, opening=opening, origin=origin)
        self.entries[message.id] = self.recent[message.id] = entry
        self._unrolled.append(message)
        self._learn_names(message)
        self._count(entry, 1)
        return entry

    def replace(
        self, message: Message, cost: MessageCost, *, opening: float, origin: Origin, keep_order: bool
    ) -> Entry:
        """Put a message in the place of the one with its id."""
        old = self.entries[message.id]
        self._count(old, -1)
        if not keep_order:
            self.orders += 1
        order = old.order if keep_order else self.orders
        entry = Entry.of(message, cost, order, opening=opening, origin=origin)
        self.entries[message.id] = entry
        if not keep_order or message.id in self.recent:
            self.recent[message.id] = entry
        self._digest = None
        self._learn_names(message)
        self._count(entry, 1)
        return entry

    def remove(self, message_id: str) -> Entry | None:
        """Take a message out; ``None`` when it is not in view."""
        entry = self.entries.pop(message_id, None)
        self.recent.pop(message_id, None)
        if entry is not None:
            self._digest = None
            self._count(entry, -1)
        return entry

    def arrange(self, ids: Iterable[str]) -> None:
        """Bring the entries into this order; ids that are not in view are passed over, the others follow."""
        first = {each: self.entries[each] for each in ids if each in self.entries}
        self.entries = first | {each: entry for each, entry in self.entries.items() if each not in first}
        self._digest = None

    def put_back(self, entry: Entry) -> None:
        """An entry that had been removed is in view again, with the order it has."""
        self.entries[entry.id] = self.recent[entry.id] = entry
        self._digest = None
        self._count(entry, 1)

    def since(self, order: int) -> list[Entry]:
        """Entries made after ``order``, oldest first. ``order`` may only grow from call to call."""
        self.recent = {each: entry for each, entry in self.recent.items() if entry.order > order}
        return list(self.recent.values())

    def _learn_names(self, message: Message) -> None:
        for part in message.of_type(ToolCallPart):
            self.tool_names[part.call_id] = part.name

    def _count(self, entry: Entry, sign: int) -> None:
        cost = entry.cost
        self.tokens += sign * cost.tokens
        self.opening += sign * entry.opening
        self.media += sign * cost.added.media
        for part in cost.parts:
            names = self.rows.setdefault(part.row, {})
            names[part.name] = names.get(part.name, 0.0) + sign * part.tokens
            self.touched.add(part.row)
            if part.row == TOOL_RESULTS and part.name:  # other parts of a tool's message have no name
                if sign > 0:
                    self.holders[part.id] = entry.id
                else:
                    self.holders.pop(part.id, None)

"""What is in the window, with running sums: adding, replacing and removing a message costs O(its parts)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ullage.messages import Message, ToolCallPart, ToolResultPart
from ullage.meter import fingerprint
from ullage.meter.breakdown import Share
from ullage.meter.cost import MessageCost


@dataclass(slots=True)
class Entry:
    """One message in view. ``order`` grows with every entry made, so that it tells what an anchor covers."""

    message: Message
    cost: MessageCost
    order: int
    opening: float = 0.0
    """What it costs in a first request; only asked for before any actual."""


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

    def add(self, message: Message, cost: MessageCost, *, opening: float) -> Entry:
        """Put a message at the end."""
        self.orders += 1
        entry = Entry(message, cost, self.orders, opening)
        self.entries[message.id] = self.recent[message.id] = entry
        self._unrolled.append(message)
        self._count(entry, 1)
        return entry

    def replace(self, message: Message, cost: MessageCost, *, opening: float, keep_order: bool) -> Entry:
        """Put a message in the place of the one with its id."""
        old = self.entries[message.id]
        self._count(old, -1)
        if not keep_order:
            self.orders += 1
        entry = Entry(message, cost, old.order if keep_order else self.orders, opening)
        self.entries[message.id] = entry
        if not keep_order or message.id in self.recent:
            self.recent[message.id] = entry
        self._digest = None
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
        self.entries[entry.message.id] = entry
        self.recent[entry.message.id] = entry
        self._digest = None
        self._count(entry, 1)

    def since(self, order: int) -> list[Entry]:
        """Entries made after ``order``, oldest first. ``order`` may only grow from call to call."""
        self.recent = {each: entry for each, entry in self.recent.items() if entry.order > order}
        return list(self.recent.values())

    def _count(self, entry: Entry, sign: int) -> None:
        self.tokens += sign * entry.cost.tokens
        self.opening += sign * entry.opening
        self.media += sign * entry.cost.added.media
        for part in entry.cost.parts:
            names = self.rows.setdefault(part.row, {})
            names[part.name] = names.get(part.name, 0.0) + sign * part.tokens
            self.touched.add(part.row)
        for piece in entry.message.parts:
            if isinstance(piece, ToolCallPart) and sign > 0:
                self.tool_names[piece.call_id] = piece.name
            elif isinstance(piece, ToolResultPart):
                if sign > 0:
                    self.holders[piece.id] = entry.message.id
                else:
                    self.holders.pop(piece.id, None)

"""What is in the window, with running sums: adding, replacing and removing a message costs O(its parts)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from ullage.errors import LedgerError
from ullage.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart
from ullage.meter import fingerprint
from ullage.meter.cost import TOOL_RESULTS, MessageCost, PartCost
from ullage.meter.reading import Source


class Share(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """An estimate of one row, in tokens, before it is fitted to the total."""

    name: str
    tokens: float
    doubt: float = 0.0
    """Tokens that the estimate may be off by at 95 of 100."""
    source: Source = "estimated"
    id: str = ""
    note: str = ""
    children: tuple[Share, ...] = ()
    summed: bool = True


class ContentLocation(NamedTuple):
    """Where in the ledger the present content of a message is.

    ``seq`` is the event that brought it. ``place`` is which of that event's messages it is: 0 its only message (or the
    summary), n the n-th of a compaction's ``replaced``. ``pruned`` are the later events that cleared parts of it.
    """

    seq: int
    place: int = 0
    pruned: tuple[int, ...] = ()

    def after_pruning(self, seq: int) -> ContentLocation:
        """The origin once the event ``seq`` has cleared parts of the message."""
        return self._replace(pruned=(*self.pruned, seq))


class Facts(NamedTuple):
    """What is known of a message in view without its content."""

    role: Role
    call: str
    """The call that made it; empty where none did."""
    origin: ContentLocation
    opening: float
    """What it costs in a first request; only needed before any call has reported its input."""
    cost: MessageCost


class Entry:
    """One message in view. ``order`` grows with every entry made, so that it tells what an anchor covers.

    The content of an entry may be missing: then ``facts.origin`` says where in the ledger it is.
    """

    __slots__ = ("content", "facts", "id", "order")

    id: str
    order: int
    facts: Facts
    content: Message | None

    def __init__(
        self, id: str, order: int, facts: Facts, content: Message | None
    ) -> None:
        self.id = id
        self.order = order
        self.facts = facts
        self.content = content

    def with_order(self, order: int) -> Entry:
        """The same message, entered at another time."""
        return Entry(self.id, order, self.facts, self.content)

    @property
    def message(self) -> Message:
        """The message. Raises ``LedgerError`` where its content is missing."""
        if self.content is None:
            raise LedgerError(
                f"The content of the message {self.id} was not loaded from the ledger."
            )
        return self.content

    @property
    def cost(self) -> MessageCost:
        return self.facts.cost

    @property
    def role(self) -> Role:
        return self.facts.role

    @property
    def call(self) -> str:
        return self.facts.call


DERIVED: Final = {"derived": True}
"""Metadata of a dataclass field that follows from the other fields: it is made again, and need not be stored."""


@dataclass(slots=True)
class View:
    """The messages of the next request, in order, and the sums of their costs by row."""

    entries: dict[str, Entry] = field(default_factory=dict)
    rows: dict[str, dict[str, float]] = field(default_factory=dict)
    """Tokens by row and by name within it."""
    touched: set[str] = field(default_factory=set, metadata=DERIVED)
    """Rows that changed since their share was made."""
    shares: dict[str, Share] = field(default_factory=dict, metadata=DERIVED)
    tokens: float = 0.0
    opening: float = 0.0
    media: float = 0.0
    under: float = 0.0
    over: float = 0.0
    """By how much the media may cost less or more."""
    orders: int = 0
    tool_names: dict[str, str] = field(default_factory=dict)
    """Name of the tool by call id, for results that don't say it."""
    results: int = 0
    """How many tool results are in view."""
    recent: dict[str, Entry] = field(default_factory=dict)
    """Entries made after the last order that ``since`` was asked for."""
    rolled: str | None = fingerprint.EMPTY
    """The digest of the view; ``None`` once something else than an addition has changed it."""

    def __post_init__(self) -> None:
        self.touched = set(self.rows)

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
        if self.rolled is None:
            self.rolled = fingerprint.of_messages(entry.message for entry in self)
        return self.rolled

    def add(
        self,
        message: Message,
        cost: MessageCost,
        *,
        opening: float,
        origin: ContentLocation,
    ) -> Entry:
        """Put a message at the end."""
        self.orders += 1
        entry = self._enter(
            message,
            Facts(message.role, message.call or "", origin, opening, cost),
            self.orders,
        )
        self.recent[message.id] = entry
        if self.rolled is not None:
            self.rolled = fingerprint.roll(self.rolled, message)
        return entry

    def replace(
        self,
        message: Message,
        cost: MessageCost,
        *,
        opening: float,
        origin: ContentLocation,
        keep_order: bool,
    ) -> Entry:
        """Put a message in the place of the one with its id."""
        old = self.entries[message.id]
        self._count(old, -1)
        order = old.order
        if not keep_order:
            self.orders += 1
            order = self.orders
        entry = self._enter(
            message, Facts(message.role, message.call or "", origin, opening, cost), order
        )
        if not keep_order or message.id in self.recent:
            self.recent[message.id] = entry
        self.rolled = None
        return entry

    def _enter(self, message: Message, facts: Facts, order: int) -> Entry:
        entry = self.entries[message.id] = Entry(message.id, order, facts, message)
        for part in message.of_type(ToolCallPart):
            self.tool_names[part.call_id] = part.name
        self._count(entry, 1)
        return entry

    def recost(self, message_id: str, cost: MessageCost) -> None:
        """Another cost for a message in view, whose content is as it was."""
        old = self.entries[message_id]
        facts = old.facts._replace(cost=cost)
        entry = Entry(message_id, old.order, facts, old.content)
        self._count(old, -1)
        self.entries[message_id] = entry
        if message_id in self.recent:
            self.recent[message_id] = entry
        self._count(entry, 1)

    def remove(self, message_id: str) -> Entry | None:
        """Take a message out; ``None`` for one that is not in view."""
        entry = self.entries.pop(message_id, None)
        self.recent.pop(message_id, None)
        if entry is not None:
            self.rolled = None
            self._count(entry, -1)
        return entry

    def arrange(self, ids: Iterable[str]) -> None:
        """Bring the entries into this order; ids that are not in view are ignored, the other entries follow."""
        first = {each: self.entries[each] for each in ids if each in self.entries}
        self.entries = first | {
            each: entry for each, entry in self.entries.items() if each not in first
        }
        self.rolled = None

    def put_back(self, entry: Entry) -> None:
        """An entry that had been removed is in view again, with the order it has."""
        self.entries[entry.id] = self.recent[entry.id] = entry
        self.rolled = None
        self._count(entry, 1)

    def since(self, order: int) -> list[Entry]:
        """Entries made after ``order``, oldest first. ``order`` may only grow from call to call."""
        self.recent = {
            each: entry for each, entry in self.recent.items() if entry.order > order
        }
        return list(self.recent.values())

    def _count(self, entry: Entry, sign: int) -> None:
        cost = entry.cost
        self.tokens += sign * cost.tokens
        self.opening += sign * entry.facts.opening
        self.media += sign * cost.added.media
        self.under += sign * cost.added.under
        self.over += sign * cost.added.over
        for part in cost.parts:
            names = self.rows.setdefault(part.row, {})
            names[part.name] = names.get(part.name, 0.0) + sign * part.tokens
            self.touched.add(part.row)
            if _is_result(part):
                self.results += sign

    def holders(self, parts: Iterable[str]) -> dict[str, set[str]]:
        """By message in view, which of these tool results it holds. Goes through the view once."""
        wanted = set(parts)
        found: dict[str, set[str]] = {}
        for entry in self:
            held = {
                part.id
                for part in entry.cost.parts
                if _is_result(part) and part.id in wanted
            }
            if held:
                found[entry.id] = held
        return found


def _is_result(part: PartCost) -> bool:
    """Whether it is a tool's result. Other parts of a tool's message have no name."""
    return part.row == TOOL_RESULTS and bool(part.name)


# -- undoing --


class ChangedEntry(NamedTuple):
    """A message that got other content: its entry before, and the one that has replaced it."""

    before: Entry
    after: Entry


class UndoRecord(NamedTuple):
    """What one compaction or prune changed.

    ``anchor`` is the call that the reading rested on then, ``order`` all ids in view before, ``summary`` the id of the
    message that was put in the place of what ``left``, ``behind`` the one that it was put behind, ``added`` those at
    the end, ``unshown`` tokens of which no entry tells. A prune only has ``changed``, a rewind only what ``left``.
    """

    anchor: str
    order: tuple[str, ...]
    left: tuple[Entry, ...] = ()
    changed: tuple[ChangedEntry, ...] = ()
    summary: str = ""
    is_prune: bool = False
    behind: str = ""
    added: tuple[str, ...] = ()
    unshown: float = 0.0
    is_rewind: bool = False


def cleared(message: Message, parts: Iterable[str], notice: str) -> Message:
    """The message with a notice in the place of these tool results' content; it and they get a higher revision."""
    chosen = set(parts)
    return msgspec.structs.replace(
        message,
        revision=message.revision + 1,
        parts=tuple(
            _cleared_result(part, notice)
            if isinstance(part, ToolResultPart) and part.id in chosen
            else part
            for part in message.parts
        ),
    )


def _cleared_result(part: ToolResultPart, notice: str) -> ToolResultPart:
    text = notice.replace("{part}", part.id)
    return msgspec.structs.replace(
        part,
        content=(TextPart(id=f"{part.id}.notice", text=text),),
        cleared=True,
        revision=part.revision + 1,
    )

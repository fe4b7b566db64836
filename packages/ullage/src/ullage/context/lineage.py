"""Explains where a message is: in view, cleared, summarised, or dropped, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Literal, NamedTuple

from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pinned,
    Pruned,
    Rewound,
    Uncompacted,
)
from ullage.messages import Message, ToolResultPart

MessageStatus = Literal[
    "in view", "cleared", "shortened", "summarised", "dropped", "rewound", "unknown"
]


class Passage(NamedTuple):
    """One change of a message, or of the summary that contains it.

    ``compaction`` names the compaction or prune; ``into`` is the id of the summary that contains the message since;
    ``why`` is the reason.
    """

    status: MessageStatus
    compaction: str
    into: str = ""
    why: str = ""


class Whereabouts(NamedTuple):
    """Where a message is. ``holder`` is the id of the message in view that contains it; empty without one.

    ``passages`` are its changes, oldest first, through chains of summaries, without undone changes. ``rewound`` is a
    message that was rewound, or a summary whose compaction was undone.
    """

    message: str
    status: MessageStatus
    holder: str
    passages: tuple[Passage, ...]
    pinned: bool

    def __str__(self) -> str:
        text = f"{self.message}: {self.status}"
        if self.holder and self.holder != self.message:
            text += f", in {self.holder}"
        changes = [
            ": ".join(filter(None, (f"{each.status} by {each.compaction}", each.why)))
            for each in self.passages
        ]
        return f"{text} ({'; '.join(changes)})" if changes else text


def explain(message_id: str, events: Iterable[Event]) -> Whereabouts:
    """Where the message with this id went. ``unknown`` for an id that was never in the session."""
    trace = _Trace(message_id)
    pins: set[str] = set()
    for event in events:
        trace.apply(event)
        if isinstance(event, Pinned):
            named = set(event.messages)
            pins = pins | named if event.pinned else pins - named
    holder = trace.holder if trace.holder in trace.view else ""
    return Whereabouts(
        message_id, trace.status, holder, tuple(trace.passages), message_id in pins
    )


class _UndoPoint(NamedTuple):
    """The state before a compaction or prune."""

    name: str
    view: tuple[str, ...]
    gone: frozenset[str]
    summary: str
    status: MessageStatus
    holder: str
    passages: int
    behind: str
    added: tuple[str, ...]


class _Trace:
    """One message followed through a session."""

    def __init__(self, message_id: str) -> None:
        self.id = message_id
        self.holder = message_id
        self.status: MessageStatus = "unknown"
        self.passages: list[Passage] = []
        self.view: dict[str, None] = {}
        self.system: set[str] = set()
        self.results: set[str] = set()
        self.before: list[_UndoPoint] = []

    def apply(self, event: Event) -> None:
        match event:
            case MessageAdded() | MessageReplaced():
                self._added(event.message)
            case Rewound():
                self._rewound(event.to)
            case Pruned():
                self._pruned(event)
            case CompactionCommitted():
                self._compacted(event)
            case Uncompacted():
                self._uncompacted(event.compaction)
            case _:
                pass

    def _added(self, message: Message) -> None:
        self.view.setdefault(message.id)
        if message.role == "system":
            self.system.add(message.id)
        if message.id == self.id:
            self.status, self.holder = "in view", message.id
            self.results = {part.id for part in message.of_type(ToolResultPart)}

    def _rewound(self, to: str) -> None:
        ids = list(self.view)
        gone = ids if to not in self.view else ids[ids.index(to) + 1 :]
        for name in gone:
            del self.view[name]
        if self.holder in gone:
            self.status = "rewound"

    def _remember(
        self,
        name: str,
        gone: frozenset[str],
        summary: str,
        behind: str = "",
        added: tuple[str, ...] = (),
    ) -> None:
        if name:
            held = _UndoPoint(
                name,
                tuple(self.view),
                gone,
                summary,
                self.status,
                self.holder,
                len(self.passages),
                behind,
                added,
            )
            self.before.append(held)

    def _pruned(self, event: Pruned) -> None:
        self._remember(event.prune, frozenset(), "")
        if (
            self.results & set(event.parts)
            and self.holder == self.id
            and self.id in self.view
        ):
            self.status = "cleared"
            self.passages.append(Passage("cleared", event.prune, why=event.reason))

    def _compacted(self, event: CompactionCommitted) -> None:
        summary = event.summary.id if event.summary is not None else ""
        gone = self.view.keys() & {
            *event.summarised,
            *(dropped.id for dropped in event.dropped),
        }
        added = tuple(message.id for message in event.added)
        self._remember(event.compaction, frozenset(gone), summary, event.behind, added)
        if self.holder in self.view:
            self._follow(event, summary)
        for name in gone:
            del self.view[name]
        if summary:
            ids = list(self.view)
            front = list(takewhile(self.system.__contains__, ids))
            if event.behind in self.view:
                front = ids[: ids.index(event.behind) + 1]
            self.view = {**dict.fromkeys(front), summary: None, **self.view}
        self.view |= dict.fromkeys(added)
        if self.id in (summary, *added):
            self.status, self.holder = "in view", self.id

    def _follow(self, event: CompactionCommitted, summary: str) -> None:
        for dropped in event.dropped:
            if dropped.id == self.holder:
                self.status = "dropped"
                self.passages.append(
                    Passage("dropped", event.compaction, why=dropped.reason)
                )
        if self.holder in event.summarised:
            self.status = "summarised"
            self.passages.append(
                Passage("summarised", event.compaction, into=summary, why=event.rung)
            )
            self.holder = summary
        if any(message.id == self.holder == self.id for message in event.replaced):
            self.status = "shortened"
            self.passages.append(Passage("shortened", event.compaction, why=event.rung))

    def _uncompacted(self, name: str) -> None:
        if all(held.name != name for held in self.before):
            return
        while self.before:
            held = self.before.pop()
            self._undo(held)
            if held.name == name:
                return

    def _undo(self, held: _UndoPoint) -> None:
        if held.behind and held.behind not in self.view:
            return
        made = (held.summary, *held.added)
        there = [each for each in held.view if each in held.gone or each in self.view]
        self.view = dict.fromkeys(
            (*there, *(each for each in self.view if each not in made))
        )
        if self.id in made:
            self.status = "rewound"
        left = [passage for passage in self.passages if passage.compaction != held.name]
        if len(left) == len(self.passages):
            return
        self.passages = left
        if len(left) == held.passages:
            self.holder = held.holder
            self.status = held.status if held.holder in self.view else "rewound"

"""Explains where a message is: in view, cleared, summarised, or dropped, with the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pinned,
    Pruned,
    Uncompacted,
)
from ullage.messages import ToolResultPart

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


def explain(
    message_id: str, events: Iterable[Event], view: Collection[str]
) -> Whereabouts:
    """Where the message with this id went. ``unknown`` for an id that was never in the session.

    ``events`` are all of the session, and ``view`` the ids of the messages that are in view after them.
    """
    trace = _Trace(message_id)
    pins: set[str] = set()
    for event in events:
        trace.apply(event)
        if isinstance(event, Pinned):
            named = set(event.messages)
            pins = pins | named if event.pinned else pins - named
    status: MessageStatus = "unknown"
    holder = trace.holder if trace.holder in view else ""
    if trace.is_known:
        status = trace.passages[-1].status if trace.passages else "in view"
        if not holder and status != "dropped":
            status = "rewound"
    return Whereabouts(
        message_id, status, holder, tuple(trace.passages), message_id in pins
    )


class _Trace:
    """What compactions and prunes did to one message, and to the summaries that contain it."""

    def __init__(self, message_id: str) -> None:
        self.id = message_id
        self.is_known = False
        self.passages: list[Passage] = []
        self.changes: list[str] = []
        """Ids of the compactions and prunes that may be undone, oldest first."""
        self.results: set[str] = set()

    @property
    def holder(self) -> str:
        """Id of the message that contains it: the newest summary, or itself."""
        for passage in reversed(self.passages):
            if passage.into:
                return passage.into
        return self.id

    def apply(self, event: Event) -> None:
        match event:
            case MessageAdded() | MessageReplaced() if event.message.id == self.id:
                results = event.message.of_type(ToolResultPart)
                self.results = {part.id for part in results}
                self.is_known, self.passages = True, []
            case Pruned():
                self.changes.append(event.prune)
                if self.results & set(event.parts) and self.holder == self.id:
                    self._note("cleared", event.prune, why=event.reason)
            case CompactionCommitted():
                self.changes.append(event.compaction)
                self._compacted(event)
            case Uncompacted() if event.compaction in self.changes:
                place = self.changes.index(event.compaction)
                undone = set(self.changes[place:])
                del self.changes[place:]
                self.passages = [
                    passage
                    for passage in self.passages
                    if passage.compaction not in undone
                ]
            case _:
                pass

    def _compacted(self, event: CompactionCommitted) -> None:
        summary = "" if event.summary is None else event.summary.id
        holder = self.holder
        for dropped in event.dropped:
            if dropped.id == holder:
                self._note("dropped", event.compaction, why=dropped.reason)
        if holder in event.summarised:
            self._note("summarised", event.compaction, into=summary, why=event.rung)
        if holder == self.id and any(each.id == holder for each in event.replaced):
            self._note("shortened", event.compaction, why=event.rung)
        if self.id in (summary, *(message.id for message in event.added)):
            self.is_known = True

    def _note(
        self, status: MessageStatus, compaction: str, *, into: str = "", why: str
    ) -> None:
        self.passages.append(Passage(status, compaction, into, why))

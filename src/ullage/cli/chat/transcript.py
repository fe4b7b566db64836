"""A session's events as the entries of a transcript: a fold, like every other display. Pure.

Text that streams grows its entry; the message that ends it replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from msgspec.structs import replace as replace_field

from ullage.cli.chat.entries import AnswerEntry, Called, ChatEntry, MessageEntry, Notice, Thought
from ullage.cli.chat.notices import notice
from ullage.cli.live import cancelled_words
from ullage.display.text import Span
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallStarted,
    Cancelled,
    CompactionCommitted,
    Event,
    MessageAdded,
    Pruned,
    Rewound,
    SettingsChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
    Uncompacted,
)
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.store.store import DraftPiece


class Transcript:
    """``entries`` in the order of what happened. ``apply`` gives the place of the first entry that changed."""

    def __init__(self) -> None:
        self._entries: list[ChatEntry] = []
        self._pieces: dict[int, list[str]] = {}
        """What streamed since the entries were looked at, by the place of the entry."""
        self.asked: dict[str, Called] = {}
        """The calls that wait for a person's word, by their id."""
        self.undoable: list[str] = []
        """Compactions and prunes that are in force, oldest first."""
        self.prompts: list[str] = []
        """What people have said, oldest first."""
        self._place: dict[str, int] = {}
        self._written: list[str] = []
        """The parts of the answer under way."""
        self._in_turn = False
        self._was_cancelled = False
        self._unanswered: set[str] = set()
        """Calls that nobody has answered for, until the turn is over."""
        self._failed_with = ""

    @property
    def entries(self) -> list[ChatEntry]:
        """The entries as they are now. A look joins what has streamed since the last one, and a piece costs itself."""
        for place, pieces in self._pieces.items():
            entry, text = self._entries[place], "".join(pieces)
            match entry:
                case AnswerEntry() | Thought():
                    self._entries[place] = replace(entry, text=entry.text + text)
                case Called():
                    self._entries[place] = replace(entry, arguments=entry.arguments + text)
        self._pieces.clear()
        return self._entries

    def apply_all(self, events: Iterable[Event | DraftPiece]) -> None:
        """Take in many events."""
        for event in events:
            self.apply(event)

    def apply(self, event: Event | DraftPiece) -> int:
        """Take in one event or piece; gives the place from which on entries differ."""
        before = len(self._entries)
        match event:
            case DraftPiece():
                return self._piece(event)
            case MessageAdded():
                return min(before, self._message(event.message))
            case ToolStarted():
                return self._change(event.call_id, is_running=True, asks=False, is_granted=bool(event.grant))
            case ToolEnded():
                ended = {"outcome": event.outcome, "is_running": False, "asks": False, "size_bytes": event.size_bytes}
                self.asked.pop(event.call_id, None)
                return self._change(event.call_id, **ended)
            case ApprovalAsked():
                self._unanswered.add(event.call_id)
                place = self._change(event.call_id, asks=True)
                entry = self._entries[place] if place < len(self._entries) else None
                if isinstance(entry, Called):
                    self.asked[event.call_id] = entry
                return place
            case ApprovalGiven():
                self.asked.pop(event.call_id, None)
                self._unanswered.discard(event.call_id)
                return self._change(event.call_id, asks=False)
            case CallStarted(purpose="main"):
                self._written = []
            case TurnStarted():
                self._in_turn = True
            case TurnEnded():
                self._in_turn = False
                self._unanswered.clear()
                if event.reason == "cancelled" and not self._was_cancelled:
                    self._entries.append(Notice(line=(Span("cancelled", "warn"),)))
                self._was_cancelled = False
            case Cancelled():
                self._was_cancelled = True
                words = cancelled_words(event, was_asking=bool(self._unanswered))
                self._entries.append(Notice(line=(Span(f"cancelled: {words}", "warn"),)))
                return before
            case TurnPaused(reason="failed") if event.note and event.note == self._failed_with:
                event = replace_field(event, note="")
            case Rewound() if self._in_turn:
                self._entries.append(Notice(line=(Span("the answer broke off and is asked for again", "warn"),)))
                return before
            case CallEnded(purpose="main", outcome="failed"):
                self._failed_with = event.error
                return min(self._drop_unfinished(), self._notice(event))
        self._note_undoable(event)
        return min(before, self._notice(event))

    def _notice(self, event: Event) -> int:
        line = () if isinstance(event, SettingsChanged) and not self._entries else notice(event)
        if line:
            self._entries.append(Notice(line=line))
        return len(self._entries) - bool(line)

    def _note_undoable(self, event: Event) -> None:
        match event:
            case CompactionCommitted() if event.compaction:
                self.undoable.append(event.compaction)
            case Pruned() if event.prune:
                self.undoable.append(event.prune)
            case Uncompacted() if event.compaction in self.undoable:
                del self.undoable[self.undoable.index(event.compaction) :]
            case _:
                return

    # -- text that streams --

    def _piece(self, piece: DraftPiece) -> int:
        place = self._place.get(piece.part)
        if place is None:
            if piece.kind == "done":
                return len(self._entries)
            place = self._begin(piece)
            self._written.append(piece.part)
        if piece.kind == "done":
            self._close(place)
        else:
            self._pieces.setdefault(place, []).append(piece.text)
        return place

    def _close(self, place: int) -> None:
        """The entry is whole: nothing more streams into it."""
        entry = self.entries[place]
        if isinstance(entry, AnswerEntry | Thought | Called):
            self._entries[place] = replace(entry, is_open=False)

    def _begin(self, piece: DraftPiece) -> int:
        place = self._place[piece.part] = len(self._entries)
        match piece.kind:
            case "text":
                self._entries.append(AnswerEntry(text="", part=piece.part, is_open=True))
            case "reasoning":
                self._entries.append(Thought(text="", part=piece.part, is_open=True))
            case "call" | "done":
                self._place[piece.call_id] = place
                self._entries.append(Called(name=piece.name, arguments="", call_id=piece.call_id, is_open=True))
        return place

    def _drop_unfinished(self) -> int:
        """Take out what a failed attempt had begun to say."""
        places = sorted({self._place[part] for part in self._written if part in self._place})
        self._written = []
        if not places:
            return len(self._entries)
        gone = set(places)
        self._entries = [entry for place, entry in enumerate(self.entries) if place not in gone]
        moved = {place: place - sum(one < place for one in places) for place in self._place.values()}
        self._place = {name: moved[place] for name, place in self._place.items() if place not in gone}
        return places[0]

    # -- messages --

    def _message(self, message: Message) -> int:
        first = len(self._entries)
        match message.role:
            case "assistant":
                for part in message.parts:
                    first = min(first, self._part(part, message))
                self._written = []
            case "tool":
                for result in message.of_type(ToolResultPart):
                    first = min(first, self._result(result))
            case _:
                text = text_of(message)
                attached = sum(isinstance(part, ImagePart | FilePart) for part in message.parts)
                self._entries.append(
                    MessageEntry(text=text, message=message.id, origin=message.origin, attached=attached)
                )
                if message.origin == "said" and text:
                    self.prompts.append(text)
        return first

    def _part(self, part: object, message: Message) -> int:
        match part:
            case TextPart() if part.text:
                entry: ChatEntry = AnswerEntry(text=part.text, part=part.id, interrupted=message.interrupted or "")
                return self._put(part.id, entry)
            case ReasoningPart() if part.text or part.opaque_size:
                return self._put(part.id, Thought(text=part.text, part=part.id, hidden=part.opaque_size))
            case ToolCallPart():
                place = self._put(part.id, Called(name=part.name, arguments=part.arguments, call_id=part.call_id))
                self._place[part.call_id] = place
                return place
            case _:
                return len(self._entries)

    def _put(self, name: str, entry: ChatEntry) -> int:
        """The entry in the place of the one that streamed, or behind all."""
        place = self._place.setdefault(name, len(self._entries))
        if place == len(self._entries):
            self._entries.append(entry)
        else:
            self.entries[place] = entry
        return place

    def _result(self, result: ToolResultPart) -> int:
        self.asked.pop(result.call_id, None)
        changes = {"result": result.text, "is_error": result.is_error, "is_running": False, "asks": False}
        if result.call_id in self._place:
            return self._change(result.call_id, **changes)
        self._place[result.call_id] = len(self._entries)
        entry = Called(name=result.name, arguments="", call_id=result.call_id)
        self._entries.append(entry)
        return self._change(result.call_id, **changes)

    def _change(self, call_id: str, **changes: object) -> int:
        place = self._place.get(call_id)
        if place is None:
            return len(self._entries)
        entry = self._entries[place]
        if isinstance(entry, Called):
            self._entries[place] = replace(entry, **changes)  # type: ignore[arg-type]
        return place


def text_of(message: Message) -> str:
    """What a message says."""
    return "\n".join(part.text for part in message.of_type(TextPart))

"""Our own sessions, as ``ullage.store.export`` writes them: a header, then one event of ``ullage.events`` a line.

docs/store.md describes the format. Lines with kept data (``{"kept": …}``) are no part of the conversation. What is
left of a damaged file has to make sense by itself: an event that can't follow the ones before it is skipped, a call
whose beginning or end is missing gets one, and all are numbered anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, Final

import msgspec

from ullage.bounds import json_excess
from ullage.encoding import UndecodableRow, decode_event
from ullage.envelope import LOG_LINE_BYTES
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    Pruned,
    Rewound,
    SessionStarted,
    Uncompacted,
    UnknownEvent,
)
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.reader import TOO_LONG, Reader
from ullage.messages import Message, TextPart

FORMAT = "ullage-session"
"""What the header's ``format`` says."""


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    session: str = ""
    title: str = ""


_of_header: Final = msgspec.json.Decoder(_Header)


class UllageReader(Reader):
    """Reads the events of one session."""

    format: ClassVar[str] = "ullage"

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._events: list[Event] = []
        self._seq = 0
        self._view: list[str] = []
        self._added: dict[str, Message] = {}
        self._parts: set[str] = set()
        self._open: dict[str, CallStarted] = {}
        self._calls: set[str] = set()
        self._epochs: dict[str, tuple[list[str], list[str]]] = {}
        """For each compaction in force, the view before and after it."""
        self._follow: dict[type, Callable[..., Event | None]] = {
            SessionStarted: self._started,
            ModelChanged: self._model,
            MessageAdded: self._add,
            MessageReplaced: self._replace,
            Pruned: self._prune,
            Rewound: self._rewind,
            CompactionCommitted: self._compact,
            Uncompacted: self._uncompact,
            CallStarted: self._call,
            CallEnded: self._end,
        }

    def feed(self, lines: Iterable[bytes]) -> list[Event]:
        for line in lines:
            self.lines += 1
            text = line.strip(b"\0 \t\r\n")
            if not text:
                continue
            try:
                self.line(text)
            except Unusable as why:
                self.skip(str(why))
        return self._taken()

    def line(self, text: bytes) -> None:
        """Read one line. Raises ``Unusable``."""
        if len(text) > LOG_LINE_BYTES:
            raise Unusable(TOO_LONG)
        if excess := json_excess(text):
            raise Unusable(excess)
        if text.startswith(b'{"kept":'):
            return
        if text.startswith(b'{"format":'):
            self._header(text)
            return
        try:
            event = decode_event(text)
        except UndecodableRow:
            raise Unusable("torn, or no event: no JSON object, or a field with a value it can't have") from None
        follow = self._follow.get(type(event))
        kept = event if follow is None else follow(event)
        if kept is None:
            raise Unusable(f"{event.__struct_config__.tag} does not follow from what was read before it")
        self._put(kept)

    def settle(self) -> list[Event]:
        self.close()
        return self._taken()

    def read(self, entry: JsonObject) -> None:
        self.line(msgspec.json.encode(entry))

    def close(self) -> None:
        for call in list(self._open.values()):
            self._put(CallEnded(call=call.call, outcome="dropped", purpose=call.purpose, at=call.at))
        self._open.clear()

    # -- inside --

    def _header(self, text: bytes) -> None:
        try:
            header = _of_header.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise Unusable("a header that can't be read") from None
        self.rows.session = header.session or self.rows.session
        if header.title:
            self.titles["program"] = header.title

    def _taken(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _put(self, event: Event) -> None:
        self._seq += 1
        place: dict[str, object] = {"session": self.rows.session, "seq": self._seq}
        if isinstance(event, UnknownEvent):
            fields = msgspec.json.decode(event.raw, type=dict[str, msgspec.Raw])
            place["raw"] = msgspec.Raw(msgspec.json.encode({**fields, **place}))
        self._events.append(msgspec.structs.replace(event, **place))

    # -- what each kind of event needs before it, and does --

    def _started(self, event: SessionStarted) -> Event:
        rows = self.rows
        rows.model, rows.wire, rows.provider = event.model, event.wire, event.provider
        rows.cwd, rows.program = event.cwd or rows.cwd, event.program or rows.program
        if event.title:
            self.titles["person"] = event.title
        return event

    def _model(self, event: ModelChanged) -> Event:
        self.rows.model = event.model
        return event

    def _add(self, event: MessageAdded) -> Event | None:
        message = event.message
        if message.id in self._added:
            return None
        self._hold(message)
        self._view.append(message.id)
        if message.role == "user" and message.origin == "said":
            self.prompted(next((part.text for part in message.of_type(TextPart)), ""))
        return event

    def _replace(self, event: MessageReplaced) -> Event | None:
        held = self._added.get(event.message.id)
        if held is None or event.message.revision <= held.revision:
            return None
        self._hold(event.message)
        return event

    def _prune(self, event: Pruned) -> Event | None:
        parts = tuple(part for part in event.parts if part in self._parts)
        return msgspec.structs.replace(event, parts=parts) if parts else None

    def _rewind(self, event: Rewound) -> Event | None:
        if event.to and event.to not in self._view:
            return None
        self._view = self._view[: self._view.index(event.to) + 1] if event.to else []
        return event

    def _compact(self, event: CompactionCommitted) -> Event | None:
        summary = event.summary
        if event.compaction in self._epochs or (summary is not None and summary.id in self._added):
            return None
        summarised = tuple(each for each in event.summarised if each in self._view)
        dropped = tuple(each for each in event.dropped if each.id in self._view)
        replaced = tuple(each for each in event.replaced if each.id in self._view)
        before = self._view
        gone = {*summarised, *(each.id for each in dropped)}
        self._view = [each for each in self._view if each not in gone]
        if summary is not None:
            self._hold(summary)
            self._view.insert(0, summary.id)
        self._epochs[event.compaction] = (before, list(self._view))
        for message in replaced:
            self._hold(message)
        return msgspec.structs.replace(event, summarised=summarised, dropped=dropped, replaced=replaced)

    def _uncompact(self, event: Uncompacted) -> Event | None:
        epoch = self._epochs.pop(event.compaction, None)
        if epoch is None:
            return None
        before, after = epoch
        self._view = before + [each for each in self._view if each not in after]
        return event

    def _call(self, event: CallStarted) -> Event | None:
        if event.call in self._calls:
            return None
        self._calls.add(event.call)
        self._open[event.call] = event
        return event

    def _end(self, event: CallEnded) -> Event | None:
        if self._open.pop(event.call, None) is None:
            if event.call in self._calls:
                return None
            self._calls.add(event.call)
            self._put(CallStarted(call=event.call, purpose=event.purpose, at=event.at))
        return event

    def _hold(self, message: Message) -> None:
        self._added[message.id] = message
        self._parts.update(part.id for part in message.parts)


def recognise(sample: list[object]) -> str:
    """What the first lines of a file lack to be a session of our own; empty when they fit."""
    if any(isinstance(entry, dict) and entry.get("format") == FORMAT for entry in sample[:1]):
        return ""
    return f'no first line with "format": "{FORMAT}"'

"""A second, simple fold of imported events, independent of ``EventWriter``: what is in view, and does it all fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ullage.encoding import decode_event, encode
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pruned,
    Rewound,
    Uncompacted,
)
from ullage.messages import Message, TextPart, ToolResultPart
from ullage.meter.meter import Meter

FIXTURES = Path(__file__).parent / "fixtures"


class Folded:
    """The session at its end. Raises ``AssertionError`` for events that don't fit those before them."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.view: list[str] = []
        self.messages: dict[str, Message] = {}
        self.calls: list[CallEnded] = []
        self.pruned: set[str] = set()
        self._before: dict[str, tuple[list[str], list[str]]] = {}
        self._open: set[str] = set()
        for seq, event in enumerate(events, start=1):
            assert event.seq == seq
            assert decode_event(encode(event)) == event
            self._take(event)
        assert not self._open

    def _take(self, event: Event) -> None:
        match event:
            case MessageAdded(message=message):
                assert message.id not in self.view
                self.messages[message.id] = message
                self.view.append(message.id)
            case MessageReplaced(message=message):
                assert message.revision > self.messages[message.id].revision
                self.messages[message.id] = message
            case Pruned(parts=parts):
                held = {
                    part.id
                    for message in self.messages.values()
                    for part in message.parts
                }
                assert set(parts) <= held
                self.pruned |= set(parts)
            case Rewound(to=to):
                assert to == "" or to in self.view
                self.view = self.view[: self.view.index(to) + 1] if to else []
            case CompactionCommitted():
                self._compact(event)
            case Uncompacted(compaction=name):
                before, after = self._before.pop(name)
                self.view = before + [each for each in self.view if each not in after]
            case CallStarted(call=call):
                self._open.add(call)
            case CallEnded(call=call):
                self._open.remove(call)
                self.calls.append(event)

    def _compact(self, event: CompactionCommitted) -> None:
        assert set(event.summarised) <= set(self.view)
        before = list(self.view)
        self.view = [each for each in self.view if each not in event.summarised]
        if event.summary is not None:
            self.messages[event.summary.id] = event.summary
            self.view.insert(0, event.summary.id)
        self._before[event.compaction] = (before, list(self.view))

    @property
    def main(self) -> list[CallEnded]:
        return [call for call in self.calls if call.purpose == "main"]

    def inputs(self) -> list[int | None]:
        """Reported input of the main calls that finished."""
        return [
            call.usage.input if call.usage else None
            for call in self.main
            if call.outcome == "finished"
        ]

    def said(self) -> list[str]:
        """Role and text of each message in view; tools by their names."""
        return [
            f"{self.messages[name].role}: {text_of(self.messages[name])}"
            for name in self.view
        ]


def text_of(message: Message) -> str:
    pieces = []
    for part in message.parts:
        match part:
            case TextPart(text=text):
                pieces.append(text)
            case ToolResultPart(name=name):
                pieces.append(f"[{name}] {part.text}")
            case _:
                pieces.append(f"<{type(part).__name__}>")
    return " ".join(pieces)


def fold(events: Sequence[Event], program: str) -> None:
    """Shows that the events are consistent. Our own are taken as they are: a meter folds any."""
    if program != "ullage":
        Folded(events)
        return
    meter = Meter()
    for event in events:
        meter.apply(event)
    meter.reading()

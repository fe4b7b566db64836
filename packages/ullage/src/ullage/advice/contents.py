"""The content of a session's items, in the order they came: what suggestions look into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ullage.advice.history import WindowHistory
from ullage.advice.tool_calls import path_of, read_arguments
from ullage.advice.words import distinctive_words
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    SystemChanged,
)
from ullage.messages import (
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    SystemBlock,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

MOST_CHARACTERS = 200_000
"""Of one part, that are read for its words."""


class SeenPart(NamedTuple):
    """A tool's result, a person's text or an image, with its place among all parts of the session.

    ``item`` is its place in ``WindowHistory.items``. ``words`` are distinctive ones that no part before it had.
    """

    place: int
    item: int
    part: Part
    text: str
    words: frozenset[str]


class SeenCall(NamedTuple):
    """A tool call. ``path`` is the file that it names."""

    place: int
    part: ToolCallPart
    path: str


class SessionContents:
    """All that was said, called and returned, read once."""

    def __init__(self, history: WindowHistory, events: Iterable[Event]) -> None:
        self.results: list[SeenPart] = []
        self.texts: list[SeenPart] = []
        """What people wrote, pastes among it."""
        self.images: list[SeenPart] = []
        self.calls: list[SeenCall] = []
        self.blocks: list[tuple[int, SystemBlock]] = []
        """Blocks of the system prompt, with the places of their items."""
        self.reminders: list[SeenPart] = []
        self.image_words: list[int] = []
        """Places of answers that speak of an image."""
        self._items: dict[tuple[str, str], int] = {}
        self._first: set[str] = set()
        self._used: dict[str, int] = {}
        self._named: dict[str, int] = {}
        self._place = 0
        for place, item in enumerate(history.items):
            self._items.setdefault((item.message, item.part), place)
        for event in events:
            self._read(event)

    def last_use(self, words: Iterable[str]) -> int:
        """The place of the last answer, call or message of a person that has one of these words; 0 without any."""
        return max((self._used.get(word, 0) for word in words), default=0)

    def last_call_for(self, path: str) -> int:
        """The place of the last call that names this file; 0 without any."""
        return self._named.get(path, 0)

    def _read(self, event: Event) -> None:
        match event:
            case MessageAdded() | MessageReplaced():
                self._read_message(event.message)
            case CompactionCommitted():
                for message in (event.summary, *event.added):
                    if message is not None:
                        self._read_message(message)
            case SystemChanged():
                for block in event.system:
                    item = self._items.get(("", block.name or block.kind))
                    self._note_words(block.text)
                    if item is not None:
                        self.blocks.append((item, block))
            case _:
                pass

    def _note_words(self, text: str) -> frozenset[str]:
        """The words of a text that are new in it."""
        words = distinctive_words(text[:MOST_CHARACTERS])
        new = words - self._first
        self._first |= new
        return frozenset(new)

    def _use_words(self, text: str) -> None:
        for word in distinctive_words(text[:MOST_CHARACTERS]):
            self._used[word] = self._place

    def _read_message(self, message: Message) -> None:
        for part in message.parts:
            self._place += 1
            match part:
                case ToolResultPart():
                    self._see(self.results, message, part, part.text)
                case ToolCallPart():
                    path = path_of(read_arguments(part.arguments))
                    self.calls.append(SeenCall(self._place, part, path))
                    self._named[path] = self._place
                    self._use_words(part.arguments)
                    self._note_words(part.arguments)
                case TextPart():
                    self._read_text(message, part)
                case ReasoningPart():
                    self._use_words(part.text)
                    self._note_words(part.text)
                case ImagePart():
                    self._see(self.images, message, part, "")
                case _:
                    pass

    def _read_text(self, message: Message, part: TextPart) -> None:
        is_answer = message.role == "assistant" or message.origin == "summary"
        if message.origin == "injected" or message.role == "system":
            self._see(self.reminders, message, part, part.text)
        elif is_answer:
            self._use_words(part.text)
            self._note_words(part.text)
            if speaks_of_images(part.text[:MOST_CHARACTERS]):
                self.image_words.append(self._place)
        else:
            self._use_words(part.text)
            self._see(self.texts, message, part, part.text)

    def _see(
        self,
        seen: list[SeenPart],
        message: Message,
        part: Part,
        text: str,
    ) -> None:
        words = self._note_words(text)
        item = self._items.get((message.id, part.id))
        if item is not None:
            seen.append(SeenPart(self._place, item, part, text, words))


IMAGE_WORDS = ("image", "screenshot", "picture", "photo", "diagram")


def speaks_of_images(text: str) -> bool:
    """Whether a text names an image in English words."""
    lower = text.lower()
    return any(word in lower for word in IMAGE_WORDS)

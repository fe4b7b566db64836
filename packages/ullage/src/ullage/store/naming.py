"""The title and the model of a session in a list."""

from __future__ import annotations

from collections.abc import Sequence

from ullage.codec.reminders import words_of_person
from ullage.display.text import shortened
from ullage.events import (
    CallStarted,
    Event,
    MessageAdded,
    ModelChanged,
    Queued,
    Renamed,
    SessionStarted,
)
from ullage.messages import Message, TextPart

TITLE_LENGTH = 80


def naming(title: str, model: str, events: Sequence[Event]) -> tuple[str, str]:
    """Title and model after these events: the title given last, or else the first message of a person.

    Of a conversation that begins with answers, such as examples, it is the first message behind them.
    """
    first = latest = ""
    for event in events:
        match event:
            case SessionStarted():
                title, model = event.title or title, event.model or model
            case Renamed():
                title = event.title
            case ModelChanged():
                model = event.model
            case MessageAdded(message=message) | Queued(message=message) if not title:
                words = _first_words(message)
                first = first or words
                latest = "" if message.role == "assistant" else latest or words
            case CallStarted() if not title:
                title = latest
    return title or first, model


def _first_words(message: Message) -> str:
    if message.role != "user" or message.origin != "said":
        return ""
    text = ""
    for part in message.of_type(TextPart):
        if part.text.strip() and not part.name:  # what has a name is a reminder
            text = words_of_person(part.text[: 40 * TITLE_LENGTH])
            break
    return shortened(" ".join(text[: 20 * TITLE_LENGTH].split()), TITLE_LENGTH)

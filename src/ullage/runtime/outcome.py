"""What the methods of a session give back: its result, a cancel's answer, a waiting message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from ullage import errors
from ullage.errors import ContextUnfixable, InternalError, Overflow, ProviderError, UllageError
from ullage.messages import Message, TextPart
from ullage.meter.reading import Reading
from ullage.store.store import QueueKind

INTERRUPTED: Final = "interrupted"
"""The reason of a result whose turn has no driver: the process that worked on it ended."""

INTERRUPTED_NOTE: Final = "The program that worked on this turn ended before the turn did. Resume it to continue."


class WaitingMessage(NamedTuple):
    """A message that waits. ``position`` counts from 1 in the order of delivery."""

    id: str
    position: int
    at: float
    kind: QueueKind
    message: Message


class CancelAnswer(NamedTuple):
    """What a cancel has done. ``persisted`` is what was kept (seed 003); ``returned`` are messages given back."""

    cancelled: bool
    persisted: Literal["partial_assistant", "tools_in_progress", "compaction_rolled_back"] | None
    returned: tuple[Message, ...] = ()


class Result(NamedTuple):
    """How the session came to rest. ``text`` is the last answer's.

    ``reason`` is an ``EndReason``, a ``PauseReason``, or ``interrupted`` where the turn has no driver. ``is_paused``:
    the turn is not over; ``note`` says what it waits for.
    """

    text: str
    reason: str
    note: str
    is_paused: bool
    reading: Reading
    error: UllageError | None = None
    """What a failed or too large turn failed with."""

    def or_raise(self) -> Result:
        """The result, if the turn did not fail. Raises its ``error`` otherwise."""
        if self.error is not None:
            raise self.error
        return self


def error_of(reason: str, kind: str, note: str, stuck: ContextUnfixable | None) -> UllageError | None:
    """The error that a turn's end stands for; ``None`` where it is none."""
    if reason == "too_large":
        return stuck or Overflow(note)
    if reason != "failed":
        return None
    named = getattr(errors, kind, ProviderError)
    return (named if issubclass(named, ProviderError | InternalError) else ProviderError)(note)


def last_words(messages: Sequence[Message]) -> str:
    """The text of the last answer to the last thing a person said; empty where it has none yet."""
    for message in reversed(messages):
        if message.role == "assistant":
            return "".join(part.text for part in message.of_type(TextPart))
        if message.role == "user" and message.origin == "said":
            return ""
    return ""

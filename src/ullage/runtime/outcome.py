"""Return values of a session's methods: its result, the answer of a cancel, a queued message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from ullage import errors
from ullage.errors import (
    ContextUnfixable,
    InternalError,
    Overflow,
    ProviderError,
    UllageError,
)
from ullage.messages import Message, TextPart
from ullage.meter.reading import Reading
from ullage.store.store import QueueKind

INTERRUPTED: Final = "interrupted"
"""The reason of a result whose turn has no driver: the process that worked on it ended."""

INTERRUPTED_NOTE: Final = "The program that worked on this turn ended before the turn did. Resume it to continue."


class WaitingMessage(NamedTuple):
    """A queued message. ``position`` counts from 1 in the order of delivery."""

    id: str
    position: int
    at: float
    kind: QueueKind
    message: Message


class CancelAnswer(NamedTuple):
    """The effect of a cancel. ``persisted`` is what was kept; ``returned`` are messages given back from the queue."""

    cancelled: bool
    persisted: (
        Literal["partial_assistant", "tools_in_progress", "compaction_rolled_back"] | None
    )
    returned: tuple[Message, ...] = ()


class Result(NamedTuple):
    """How the session came to rest. ``text`` is the last answer's.

    ``reason`` is an ``EndReason``, a ``PauseReason``, or ``interrupted`` if the turn has no driver. ``is_paused``:
    the turn is not over; ``note`` says what it waits for.
    """

    text: str
    reason: str
    note: str
    is_paused: bool
    reading: Reading
    error: UllageError | None = None
    """The error of a failed or too large turn."""

    def or_raise(self) -> Result:
        """The result, if the turn did not fail. Raises its ``error`` otherwise."""
        if self.error is not None:
            raise self.error
        return self


def error_of(
    reason: str, kind: str, note: str, stuck: ContextUnfixable | None
) -> UllageError | None:
    """The error of a turn's end; ``None`` if it did not fail."""
    if reason == "too_large":
        return stuck or Overflow(note)
    if reason != "failed":
        return None
    named = getattr(errors, kind, ProviderError)
    return (named if issubclass(named, ProviderError | InternalError) else ProviderError)(
        note
    )


def last_words(messages: Sequence[Message]) -> str:
    """The text of the answer to the last message of a person; empty before the answer."""
    for message in reversed(messages):
        if message.role == "assistant":
            return "".join(part.text for part in message.of_type(TextPart))
        if message.role == "user" and message.origin == "said":
            return ""
    return ""

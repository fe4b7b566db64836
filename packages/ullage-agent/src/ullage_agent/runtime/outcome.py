"""Return values of a session's methods: its result, the answer of a cancel, a queued message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, cast

from ullage import errors
from ullage.display.text import quoted
from ullage.errors import (
    AnswerInvalid,
    ContextUnfixable,
    InternalError,
    Overflow,
    ProviderError,
    UllageError,
)
from ullage.messages import Message, TextPart, ToolCallPart
from ullage.meter.reading import Reading
from ullage.store.store import QueueKind

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=str)
else:
    from typing import TypeVar

    OutputT = TypeVar("OutputT")

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


class Result(NamedTuple, Generic[OutputT]):
    """How the session came to rest. ``text`` is the last answer's, ``output`` it as the type asked for.

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
    parsed: Any = None
    is_parsed: bool = False
    """Whether ``parsed`` is the answer as the type that was asked for."""
    missing: str = ""
    """The name of that type, where the turn ended without an answer of it."""

    def __str__(self) -> str:
        """The text, or the reason of a turn that has none."""
        return self.text or self.note or f"({self.reason}, without text)"

    def __repr__(self) -> str:
        """One line: the beginning of the text, how the turn ended, how full the window is."""
        used = f"{self.reading.used.tokens:,} tokens"
        told = f"text={quoted(self.text)}, reason={self.reason!r}, used={used!r}"
        if self.error is not None:
            told += f", error={type(self.error).__name__}"
        return f"Result({told})"

    @property
    def output(self) -> OutputT:
        """The answer as the ``output_type`` that was asked for; its text without one.

        Raises the turn's ``error``, or ``AnswerInvalid`` where the turn is paused or was cancelled.
        """
        if self.is_parsed:
            return cast(OutputT, self.parsed)
        if self.missing:
            raise self.error or AnswerInvalid(
                f"There is no {self.missing} yet: {self.note or self.reason}",
                text=self.text,
            )
        return cast(OutputT, self.text)

    def or_raise(self) -> Result[OutputT]:
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


def last_words(messages: Sequence[Message], answer_call: str = "") -> str:
    """The text of the answer to the last message of a person; empty before the answer.

    ``answer_call`` is the tool call that gave the answer: its arguments are the text.
    """
    for message in reversed(messages):
        if message.role == "assistant":
            for call in message.of_type(ToolCallPart):
                if answer_call and call.call_id == answer_call:
                    return call.arguments
            return "".join(part.text for part in message.of_type(TextPart))
        if message.role == "user" and message.origin == "said":
            return ""
    return ""

"""What every store says of messages that wait in the queue."""

from __future__ import annotations

from typing import NamedTuple

from ullage.display.text import quoted
from ullage.errors import CommandRefused, WrongType
from ullage.messages import Message
from ullage.store.rows import is_message
from ullage.store.store import QueueKind, QueueState


class Queueing(NamedTuple):
    """One row of the queue. ``queued`` is the number of the event that added it, ``seq`` of its newest content."""

    kind: QueueKind
    state: QueueState
    queued: int
    seq: int
    at: float


def check_message(message: Message) -> None:
    """Raise ``WrongType`` for what is no message, ``CommandRefused`` for a message without an id."""
    if not is_message(message):
        raise WrongType(
            f"A message for the queue is a Message of parts, and this one is not: {type(message).__name__}."
        )
    if not message.id:
        raise CommandRefused("A message for the queue needs an id. Give it one.")


def queued_before(message: str) -> str:
    """The reason why a message is not queued a second time."""
    return f"A message {message!r} was queued before."


def not_waiting(message: str, state: str) -> str:
    """The reason why a message can't be edited or withdrawn; ``state`` is empty for one that was never queued."""
    happened = f"was {state}" if state else "was never queued"
    return f"The message {quoted(message)} does not wait: it {happened}."

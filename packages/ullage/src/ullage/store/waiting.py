"""Messages that wait in the queue: changing and withdrawing them, and what every store says of them."""

from __future__ import annotations

from typing import NamedTuple

from ullage.display.text import quoted
from ullage.errors import CommandRefused, WrongType
from ullage.events import QueueEdited, QueueLeft
from ullage.messages import Message
from ullage.store.rows import is_message
from ullage.store.store import QueueKind, QueueState, Receipt, SessionStore


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


async def edit(store: SessionStore, session: str, message: Message) -> Receipt:
    """Another content for a waiting message. Raises ``CommandRefused`` when it no longer waits."""
    await store.command(session, [QueueEdited(message=message)])
    receipt = await store.receipt(session, message.id)
    assert receipt is not None, "an edit of a message that was never queued was written"
    return receipt


async def withdraw(
    store: SessionStore, session: str, message: str, *, who: str = ""
) -> Message:
    """Take a waiting message out, for this person. Raises ``CommandRefused`` when it no longer waits."""
    seq = (await store.about(session)).seq
    waiting = {each.id: each for _, each, _ in await store.pending(session)}
    receipt = await store.receipt(session, message)
    if receipt is not None and receipt.state == "pending" and message not in waiting:
        raise CommandRefused(
            f"The message {message!r} is damaged and can't be given back. Send it again."
        )
    left = QueueLeft(message_id=message, how="withdrawn", who=who)
    await store.command(session, [left])
    for event in await store.read(session, after=seq):
        if isinstance(event, QueueEdited) and event.message.id == message:
            waiting[message] = event.message
    return waiting[message]

"""The arguments of a call that needs approval, read near the question: without folding the session."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.errors import UllageError
from ullage.events import Event, MessageAdded, ToolCallReplaced
from ullage.messages import ToolCallPart
from ullage.store.policy import EVENTS_BEFORE_ASKED
from ullage.store.store import SessionStore
from ullage.turns.approving import digest_of
from ullage.turns.standing import AskedApproval


async def arguments_of(
    store: SessionStore, session: str, asked: AskedApproval
) -> str | None:
    """The arguments that would run, as the model or a hook wrote them.

    ``None`` where the session can't be read, or the call stands far before the question.
    """
    for count in EVENTS_BEFORE_ASKED:
        first = max(0, asked.asked - count)
        try:
            events = await store.read(session, after=first, limit=asked.asked - first)
        except UllageError:  # one session must not hide the others
            return None
        for arguments in _written(events):
            if digest_of(asked.tool, arguments) == asked.digest:
                return arguments
    return None


def _written(events: list[Event]) -> Iterator[str]:
    for event in events:
        match event:
            case ToolCallReplaced():
                yield event.arguments
            case MessageAdded():
                yield from (
                    part.arguments for part in event.message.of_type(ToolCallPart)
                )

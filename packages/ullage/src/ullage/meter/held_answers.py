"""Where in a session's messages the provider's copy of a conversation ends, for each answer that it may hold.

A request that continues an answer (``codec.held``) has only what is new. What the provider puts in front of it are the
messages up to that answer, as far as the ledger has them: with these it is a request like any other. All state follows
from the events.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.events import CallEnded, CallStarted, Event, MessageAdded
from ullage.messages import Message
from ullage.meter.policy import MOST_ANSWERS

UNMEASURED: Final = (
    "The request continues a conversation that the provider holds and this session does not have. Its size is unknown "
    "until the provider reports it."
)

_NO_ROOM: Final = (
    "The provider holds this conversation, so Ullage does not shorten it. To make room, "
)

_ROOM: Final = {
    "messages": "send the whole conversation in a request that creates a thread: there Ullage can compact it.",
    "responses": "begin a new one with a summary, or have the provider compact it (`context_management`).",
}
"""https://platform.claude.com/docs/en/build-with-claude/message-threads,
https://platform.openai.com/docs/guides/compaction."""


def room_note(wire: str) -> str:
    """What can be done about a held conversation that has reached the compaction threshold."""
    return _NO_ROOM + _ROOM.get(wire, "begin a new one with a summary.")


class _End(NamedTuple):
    """The end of the provider's copy after a call: the id of its last message, and what later requests call it."""

    message: str = ""
    name: str = ""


class HeldAnswers:
    """The answers of one session. ``end`` is the last message of one that goes on, whose answers have no names."""

    def __init__(self, end: str = "") -> None:
        self._places: OrderedDict[str, str] = OrderedDict()
        """By the name of an answer or a conversation, the id of its last message."""
        self._end = _End(end)
        self._before = _End()
        """The end before the last call, should that fail."""
        self._call = ""

    def note(
        self,
        event: Event,
        last: str,
    ) -> None:
        """Follow an event that was applied. ``last`` is the id of the last message in view."""
        match event:
            case CallStarted(purpose="main"):
                self._before = self._end
                self._call = event.call
                self._end = _End(last)
            case CallEnded(purpose="main", call=self._call):
                if event.outcome == "failed":
                    self._end = self._before
                else:
                    self._end = self._end._replace(name=event.continued_as)
                    self._remember()
            case MessageAdded() if self._call and event.message.call == self._call:
                self._end = self._end._replace(message=event.message.id)
                self._remember()
            case _:
                return

    def front(
        self,
        name: str,
        messages: Sequence[Message],
    ) -> tuple[Message, ...]:
        """The messages that the provider holds under this name, out of ``messages``; none where it is unknown.

        The name of the last answer is learnt from the request that continues it, where the answer did not tell it.
        """
        is_unnamed = not self._end.name
        if is_unnamed and name not in self._places:
            self._end = self._end._replace(name=name)
            self._remember()
        place = self._places.get(name, "")
        for number in range(len(messages), 0, -1):
            last = messages[number - 1]
            if last.id == place:
                return tuple(messages[:number])
        return ()

    def _remember(self) -> None:
        end = self._end
        if not end.name:
            return
        self._places[end.name] = end.message
        self._places.move_to_end(end.name)
        if len(self._places) > MOST_ANSWERS:
            self._places.popitem(last=False)

"""The events that close a copied session: it has no unfinished work, no grants and no queued messages.

A copy is a fork or an imported file. Its unfinished work belongs to another driver and its grants come from another
person, so the copy begins without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from ullage.events import (
    CallEnded,
    CallStarted,
    Cancelled,
    CompactionRolledBack,
    Event,
    GrantRevoked,
    Purpose,
    QueueLeft,
    SettingsChanged,
    TurnEnded,
)
from ullage.turns.closing import UNKNOWN, closed
from ullage.turns.grants import Grant
from ullage.turns.loop import Loop, OpenCall, apply

SettingsToKeep = Callable[[Mapping[str, object]], Mapping[str, object]]
"""Returns the settings that a copy keeps, perhaps narrowed, from the session's own settings."""

COPIED: Final = "Not run: this session was copied before this call was started."
ENDED: Final = "The session was copied while this turn was unfinished."


class CopyClosure(NamedTuple):
    """``events`` close the copy. ``dropped`` lists for a person what was left out."""

    events: tuple[Event, ...]
    dropped: tuple[str, ...]


class CopiedSession:
    """A fold of the events that are copied."""

    def __init__(self) -> None:
        self.loop = Loop()
        self._calls: dict[str, Purpose] = {}

    def add(self, event: Event) -> None:
        """Apply the next event."""
        self.loop = apply(self.loop, event)
        match event:
            case CallStarted():
                self._calls[event.call] = event.purpose
            case CallEnded():
                self._calls.pop(event.call, None)
            case _:
                pass

    def add_all(self, events: Iterable[Event]) -> CopiedSession:
        """Apply these events in order."""
        for event in events:
            self.add(event)
        return self

    def resting(self, keep: SettingsToKeep) -> CopyClosure:
        """The events that close the copy."""
        events, dropped = list[Event](), list[str]()
        for part in (
            self._work(),
            self._tools(),
            self._turn(),
            self._queue(),
            self._grants(),
            self._settings(keep),
        ):
            events += part.events
            dropped += part.dropped
        return CopyClosure(tuple(events), tuple(dropped))

    def _work(self) -> CopyClosure:
        """Model calls and a compaction in progress."""
        events: list[Event] = []
        dropped: list[str] = []
        if self.loop.compaction:
            events.append(
                CompactionRolledBack(compaction=self.loop.compaction, reason="copied")
            )
            dropped.append("a compaction in progress: rolled back")
        for call, purpose in self._calls.items():
            events.append(
                CallEnded(
                    call=call,
                    purpose=purpose,
                    outcome="cancelled",
                    error="the session was copied",
                )
            )
            dropped.append(f"a model call in progress ({purpose})")
        return CopyClosure(tuple(events), tuple(dropped))

    def _tools(self) -> CopyClosure:
        """Tool calls without a result, and with them the answers to questions for approval."""
        events: list[Event] = []
        for call in self.loop.open:
            events += _closed(call)
        return CopyClosure(
            tuple(events),
            tuple(f"an open call of {call.name}" for call in self.loop.open),
        )

    def _turn(self) -> CopyClosure:
        """The turn, and commands that wait for a driver."""
        loop, events, dropped = self.loop, list[Event](), list[str]()
        if loop.turn:
            events.append(
                TurnEnded(turn=loop.turn, reason="other", note=ENDED, steps=loop.steps)
            )
            dropped.append("an unfinished turn")
        if loop.cancel or loop.compact_asked is not None:
            events.append(Cancelled())
            dropped += ["a cancel"] if loop.cancel else []
            dropped += (
                ["a requested compaction"] if loop.compact_asked is not None else []
            )
        return CopyClosure(tuple(events), tuple(dropped))

    def _queue(self) -> CopyClosure:
        names = [waiting.message.id for waiting in self.loop.queue]
        events = tuple(QueueLeft(message_id=name, how="returned") for name in names)
        return CopyClosure(events, tuple(f"the queued message {name}" for name in names))

    def _grants(self) -> CopyClosure:
        """The grants of another person."""
        events = tuple(GrantRevoked(grant=grant.id) for grant in self.loop.grants)
        return CopyClosure(
            events,
            tuple(f"the grant for {_granted(grant)}" for grant in self.loop.grants),
        )

    def _settings(self, keep: SettingsToKeep) -> CopyClosure:
        """Resets the session's own settings that are not kept."""
        own = self.loop.settings
        kept = keep(own)
        changes = {
            name: kept.get(name) for name, value in own.items() if kept.get(name) != value
        }
        if not changes:
            return CopyClosure((), ())
        dropped = [
            f"the setting {name}" + (" in part" if name in kept else "")
            for name in changes
        ]
        return CopyClosure((SettingsChanged(settings=changes),), tuple(dropped))


def _closed(call: OpenCall) -> list[Event]:
    if call.state == "started":
        return closed([call], "unknown", UNKNOWN)
    return closed([call], "not_started", COPIED)


def _granted(grant: Grant) -> str:
    return " ".join((grant.tool, *grant.prefix)).rstrip()


def keep_nothing(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Keeps no settings: for a caller that does not know which of them are harmless."""
    return {}

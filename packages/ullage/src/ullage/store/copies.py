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
from ullage.turns.loop import Loop, apply

SettingsToKeep = Callable[[Mapping[str, object]], Mapping[str, object]]
"""Returns the settings that a copy keeps, perhaps narrowed, from the session's own settings."""

COPIED: Final = "Not run: this session was copied before this call was started."
ENDED: Final = "The session was copied while this turn was unfinished."


class CopyClosure(NamedTuple):
    """``events`` close the copy. ``dropped`` lists for a person what was left out."""

    events: tuple[Event, ...]
    dropped: tuple[str, ...]


def closing(copied: Iterable[Event], keep: SettingsToKeep) -> CopyClosure:
    """What closes a copy of these events."""
    loop, calls = Loop(), dict[str, Purpose]()
    for event in copied:
        loop = apply(loop, event)
        match event:
            case CallStarted():
                calls[event.call] = event.purpose
            case CallEnded():
                calls.pop(event.call, None)
    events, dropped = _closed_work(loop, calls)
    for waiting in loop.queue:
        events.append(QueueLeft(message_id=waiting.message.id, how="returned"))
        dropped.append(f"the queued message {waiting.message.id}")
    for grant in loop.grants:
        events.append(GrantRevoked(grant=grant.id))
        dropped.append(f"the grant for {' '.join((grant.tool, *grant.prefix)).rstrip()}")
    own, kept = loop.settings, keep(loop.settings)
    changes = {
        name: kept.get(name) for name, value in own.items() if kept.get(name) != value
    }
    if changes:
        events.append(SettingsChanged(settings=changes))
    for name in changes:
        dropped.append(f"the setting {name}" + (" in part" if name in kept else ""))
    return CopyClosure(tuple(events), tuple(dropped))


def _closed_work(
    loop: Loop, calls: Mapping[str, Purpose]
) -> tuple[list[Event], list[str]]:
    """A compaction, model calls, tool calls without a result, the turn, and commands that wait for a driver."""
    events, dropped = list[Event](), list[str]()
    if loop.compaction:
        events.append(CompactionRolledBack(compaction=loop.compaction, reason="copied"))
        dropped.append("a compaction in progress: rolled back")
    for call, purpose in calls.items():
        error = "the session was copied"
        events.append(
            CallEnded(call=call, purpose=purpose, outcome="cancelled", error=error)
        )
        dropped.append(f"a model call in progress ({purpose})")
    for each in loop.open:
        if each.state == "started":
            events += closed([each], "unknown", UNKNOWN)
        else:
            events += closed([each], "not_started", COPIED)
        dropped.append(f"an open call of {each.name}")
    if loop.turn:
        events.append(
            TurnEnded(turn=loop.turn, reason="other", note=ENDED, steps=loop.steps)
        )
        dropped.append("an unfinished turn")
    if loop.cancel or loop.compact_asked is not None:
        events.append(Cancelled())
    if loop.cancel:
        dropped.append("a cancel")
    if loop.compact_asked is not None:
        dropped.append("a requested compaction")
    return events, dropped


def keep_nothing(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Keeps no settings: for a caller that does not know which of them are harmless."""
    return {}

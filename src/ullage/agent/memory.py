"""What the loop's steps need to know of earlier events besides where the loop stands. A fold like the others."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ullage.agent.loop import OVERFLOWS
from ullage.context.breakers import Breakers
from ullage.events import (
    CallEnded,
    CallStarted,
    EpochChanged,
    Event,
    MessageAdded,
    MessageReplaced,
    Pinned,
    ReadingTaken,
    Rewound,
    TurnEnded,
    Uncompacted,
)


class LoopMemory(msgspec.Struct, frozen=True, kw_only=True):
    """``task_start`` is the first message since the last finished task; ``pins`` may not be touched by a compaction.

    ``broken`` says what changed in what was sent before, so that the next request begins a new epoch.
    """

    epoch: int = 0
    broken: str = ""
    is_declared: bool = False
    """Whether a new epoch was declared since the last call."""
    taken: ReadingTaken | None = None
    """The last reading that was recorded."""
    started: CallStarted | None = None
    """The last model call that was started."""
    newest_sent: str = ""
    """Id of the newest message at the last call: what came after it was never sent."""
    newest: str = ""
    last_error: str = ""
    """The kind of error that the last call ended with; empty for none."""
    refused: int | None = None
    """Tokens of the last request as a provider counted that refused it for its size."""
    background: str = ""
    """The call that prepares a summary, while it is under way."""
    asides: dict[str, int] = {}
    """Calls under way that are not the conversation's own, and how large their requests were estimated."""
    task_start: str = ""
    pins: frozenset[str] = frozenset()
    breakers: Breakers = Breakers()


def remember(memory: LoopMemory, event: Event) -> LoopMemory:
    """The memory after one more event. Never raises; most events change nothing."""
    breakers = memory.breakers.apply(event)
    if breakers is not memory.breakers:
        memory = replace(memory, breakers=breakers)
    match event:
        case ReadingTaken():
            return replace(memory, taken=event)
        case CallStarted():
            return _call_started(memory, event)
        case CallEnded():
            return _call_ended(memory, event)
        case MessageAdded():
            begins = event.message.role == "user" and event.message.origin == "said" and not memory.task_start
            return replace(
                memory, newest=event.message.id, task_start=event.message.id if begins else memory.task_start
            )
        case MessageReplaced():
            return replace(memory, broken="edit")
        case Rewound():
            is_unsent = bool(event.to) and event.to == memory.newest_sent
            return replace(memory, newest=event.to, broken=memory.broken if is_unsent else "rewind")
        case Uncompacted():
            return replace(memory, broken="uncompact")
        case EpochChanged():
            return replace(memory, epoch=event.epoch, broken="", is_declared=True)
        case TurnEnded(reason="finished"):
            return replace(memory, task_start="")
        case Pinned():
            named = frozenset(event.messages)
            return replace(memory, pins=memory.pins | named if event.pinned else memory.pins - named)
        case _:
            return memory


def _call_started(memory: LoopMemory, event: CallStarted) -> LoopMemory:
    if event.purpose != "main":
        if event.estimate is not None:
            memory = replace(memory, asides={**memory.asides, event.call: event.estimate.tokens})
        return replace(memory, background=event.call) if event.detached else memory
    return replace(memory, started=event, newest_sent=memory.newest, broken="", is_declared=False)


def _call_ended(memory: LoopMemory, event: CallEnded) -> LoopMemory:
    if event.call in memory.asides:
        memory = replace(memory, asides={name: size for name, size in memory.asides.items() if name != event.call})
    if event.call == memory.background:
        return replace(memory, background="")
    if event.purpose != "main":
        return memory
    is_overflow = event.error_kind in OVERFLOWS
    refused = event.counted if is_overflow else None if event.outcome == "finished" else memory.refused
    return replace(memory, last_error=event.error_kind, refused=refused)

"""A fold of the facts about earlier events that the loop's steps need beside the loop's state."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ullage.context.breakers import Breakers
from ullage.context.deferral import ToolsInUse
from ullage.events import (
    Calibrated,
    CallEnded,
    CallStarted,
    CompactionCommitted,
    EpochChanged,
    Event,
    MessageAdded,
    MessageReplaced,
    Pinned,
    ReadingTaken,
    Rewound,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    Uncompacted,
)
from ullage.messages import Message
from ullage.turns.loop import OVERFLOWS


class LoopMemory(msgspec.Struct, frozen=True, kw_only=True):
    """``task_start`` is the first message since the last finished task; a compaction must not change ``pins``.

    ``broken`` names the change to messages that were sent before, so that the next request begins a new epoch.
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
    """Id of the newest message at the last call: later messages were never sent."""
    newest: str = ""
    last_error: str = ""
    """The kind of error that ended the last call; empty for none."""
    refused: int | None = None
    """The provider's token count of the last request that it refused for its size."""
    asides: dict[str, int] = {}
    """Running calls outside the conversation, with the estimated tokens of their requests."""
    task_start: str = ""
    pins: frozenset[str] = frozenset()
    breakers: Breakers = Breakers()
    tools_in_use: ToolsInUse = ToolsInUse()
    unlearnt: str = ""
    """The last ended call, while what it taught is not recorded."""
    retries: dict[str, int] = {}
    """How often each tool has asked to be called again in this turn."""


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
        case Calibrated(call=memory.unlearnt):
            return replace(memory, unlearnt="")
        case ToolStarted():
            in_use = memory.tools_in_use.after_call(event.name)
            return replace(memory, tools_in_use=in_use)
        case TurnStarted() if memory.retries:
            return replace(memory, retries={})
        case ToolEnded() if event.retry_of:
            used = memory.retries.get(event.retry_of, 0) + 1
            return replace(memory, retries={**memory.retries, event.retry_of: used})
        case ToolEnded() if event.found:
            in_use = memory.tools_in_use.after_search(event.found)
            return replace(memory, tools_in_use=in_use)
        case CompactionCommitted():
            in_use = memory.tools_in_use.after_compaction()
            return replace(memory, tools_in_use=in_use)
        case MessageAdded():
            return _message_added(memory, event.message)
        case MessageReplaced():
            return _broken(memory, "edit")
        case Rewound():
            is_unsent = bool(event.to) and event.to == memory.newest_sent
            memory = replace(memory, newest=event.to)
            return memory if is_unsent else _broken(memory, "rewind")
        case Uncompacted():
            return _broken(memory, "uncompact")
        case EpochChanged():
            return replace(memory, epoch=event.epoch, broken="", is_declared=True)
        case TurnEnded(reason="finished"):
            return replace(memory, task_start="")
        case Pinned():
            named = frozenset(event.messages)
            return replace(
                memory, pins=memory.pins | named if event.pinned else memory.pins - named
            )
        case _:
            return memory


def _broken(memory: LoopMemory, change: str) -> LoopMemory:
    """Without a call there is no epoch that a change could end."""
    return memory if memory.started is None else replace(memory, broken=change)


def _message_added(memory: LoopMemory, message: Message) -> LoopMemory:
    memory = replace(memory, newest=message.id)
    if memory.task_start or message.role != "user" or message.origin != "said":
        return memory
    return replace(memory, task_start=message.id)


def _call_started(memory: LoopMemory, event: CallStarted) -> LoopMemory:
    if event.purpose != "main":
        if event.estimate is not None:
            memory = replace(
                memory, asides={**memory.asides, event.call: event.estimate.tokens}
            )
        return memory
    return replace(
        memory, started=event, newest_sent=memory.newest, broken="", is_declared=False
    )


def _call_ended(memory: LoopMemory, event: CallEnded) -> LoopMemory:
    if event.call in memory.asides:
        others = {
            call: tokens for call, tokens in memory.asides.items() if call != event.call
        }
        memory = replace(memory, asides=others)
    if event.purpose != "main":
        return memory
    refused = memory.refused
    if event.error_kind in OVERFLOWS:
        refused = event.counted
    elif event.outcome == "finished":
        refused = None
    return replace(
        memory, last_error=event.error_kind, refused=refused, unlearnt=event.call
    )

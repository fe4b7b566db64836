"""A compaction that another program made, from the history before it and the request after it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.events import CompactionCommitted
from ullage.messages import Message
from ullage.meter.same_content import same_content


def foreign_compaction(
    held: Sequence[Message],
    sent: Sequence[Message],
    name: str,
) -> CompactionCommitted | None:
    """The compaction after which ``sent`` follows from ``held``; ``None`` where nothing of it is left out.

    The first message that is new stands for what has left, unless the model wrote it. Messages before it that are the
    same stay, and so does the end of the history where it follows.
    """
    same = common_beginning(held, sent)
    summary: Message | None = None
    rest = same
    if same < len(sent) and sent[same].role != "assistant":
        summary = replace(sent[same], origin="summary", call=None)
        rest += 1
    tail = _kept_from(held, same, sent[rest:])
    gone = held[same:tail]
    if not gone:
        return None
    behind = held[same - 1].id if same else ""
    return CompactionCommitted(
        compaction=name,
        summary=summary,
        summarised=tuple(message.id for message in gone),
        behind=behind,
    )


def common_beginning(held: Sequence[Message], sent: Sequence[Message]) -> int:
    """How many messages both begin with."""
    same = 0
    for old, new in zip(held, sent, strict=False):
        if not same_content(old, new):
            break
        same += 1
    return same


def _kept_from(
    held: Sequence[Message],
    start: int,
    following: Sequence[Message],
) -> int:
    """From where on the history's end stands at the beginning of what follows the summary; its length, if nowhere."""
    for place in range(start, len(held)):
        size = len(held) - place
        if size > len(following):
            continue
        if common_beginning(held[place:], following) == size:
            return place
    return len(held)

"""The short status of a session: how full, of how much, and whether the limit is near."""

from __future__ import annotations

import msgspec

from ullage.events import Amount, ReadingTaken
from ullage.meter.plausible import REPORT_NOTE
from ullage.meter.reading import Reading
from ullage.watching.policy import NEAR_OFF, NEAR_ON


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A line for a dashboard. ``max_tokens`` is the window, ``None`` if it is unknown.

    ``near_limit`` becomes true at one share of the compaction threshold and false below a lower one, so that it does
    not flicker.
    """

    snapshot: str
    tokens: int
    max_tokens: int | None
    messages_in_context: int
    near_limit: bool
    low: int
    high: int
    compaction_point: int | None = None


def status_of(event: ReadingTaken) -> Status:
    """The status of a reading's event."""
    return Status(
        snapshot=event.snapshot,
        tokens=event.used.tokens,
        max_tokens=event.window,
        messages_in_context=event.messages,
        near_limit=event.near_limit,
        low=event.used.low,
        high=event.used.high,
        compaction_point=event.compaction_point,
    )


def reading_event(
    reading: Reading, *, messages: int, last: ReadingTaken | None
) -> ReadingTaken:
    """The reading as an event."""
    limit = reading.compaction_point or reading.input_limit
    is_near = last is not None and last.near_limit
    if limit:
        is_near = reading.proven_high >= (NEAR_OFF if is_near else NEAR_ON) * limit
    return ReadingTaken(
        snapshot=reading.snapshot_id,
        used=Amount(
            tokens=reading.used.tokens, low=reading.used.low, high=reading.used.high
        ),
        window=reading.window.tokens,
        compaction_point=reading.compaction_point,
        input_limit=reading.input_limit,
        reserve=reading.reserve,
        messages=messages,
        near_limit=bool(limit) and is_near,
        grown=None if last is None else reading.used.tokens - last.used.tokens,
        label=reading.basis.label,
        note=next((n for n in reading.notes if n.startswith(REPORT_NOTE)), ""),
    )

"""A row for each model call of a session, as it ends."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ullage.advice.following import ItemFollower
from ullage.advice.lives import CallRow, ItemLife
from ullage.codec.dialects import hour_writes
from ullage.events import CallEnded
from ullage.meter.meter import Meter
from ullage.meter.spend import HOUR_WRITE
from ullage.usage import Usage


def call_row(
    event: CallEnded,
    meter: Meter,
    follower: ItemFollower,
    before_used: int,
) -> CallRow:
    """Applies the end of a call and gives its row. ``before_used`` is the input of the main call before it."""
    fold = meter._fold
    before = fold.spend.money
    started = fold.pending.get(event.call)
    meter.apply(event)
    usage = event.usage or Usage()
    row = CallRow(
        number=follower.next_call - 1,
        call=event.call,
        at=event.at,
        purpose=event.purpose,
        outcome=event.outcome,
        model=event.model or fold.model,
        used=usage.context or 0,
        is_reported=usage.context is not None,
        cached=usage.cache_read,
        written=usage.cache_write,
        hour_written=hour_writes(usage),
        output=usage.output,
    )
    if started is not None and not event.at:
        row = replace(row, at=started.at)
    money = fold.spend.money
    if money.priced > before.priced:
        row = replace(row, usd=money.usd - before.usd)
    if event.purpose == "main":
        row = _main_row(row, meter, follower)
    return _with_prices(row, meter, before_used)


def _main_row(
    row: CallRow,
    meter: Meter,
    follower: ItemFollower,
) -> CallRow:
    number = follower.number_of(row.call)
    marks = follower.take_marks()
    row = replace(row, number=number, marks=marks)
    steps = meter._fold.track.steps
    if not steps or steps[-1].call != row.call:
        return row
    step = steps[-1]
    used = step.actual
    if used is None:
        used = step.estimated
    marks = (*step.marks, *marks)
    return replace(
        row,
        used=used,
        is_reported=step.actual is not None,
        marks=tuple(dict.fromkeys(marks)),
    )


def _with_prices(
    row: CallRow,
    meter: Meter,
    before_used: int,
) -> CallRow:
    """The row with the prices of its input."""
    known = meter._fold.known
    if known is None or known.prices is None or row.purpose != "main":
        return row
    rate = known.prices.at(row.used)
    new = rate.input
    if row.written and rate.cache_write is not None:
        hour_share = row.hour_written / row.written
        longer = HOUR_WRITE * rate.input - rate.cache_write
        new = rate.cache_write + hour_share * longer
    old = new
    again = min(before_used, row.used)
    if row.cached and again and rate.cache_read is not None:
        share = min(1.0, row.cached / again)
        old = share * rate.cache_read + (1 - share) * new
    return replace(
        row,
        new_price=new,
        old_price=old,
        read_price=rate.cache_read,
    )


def with_rests(
    rows: Iterable[CallRow],
    items: Iterable[ItemLife],
    next_call: int,
) -> tuple[CallRow, ...]:
    """The rows with what the items leave of each main call."""
    changes = [0] * (next_call + 2)
    for item in items:
        if not item.is_summed:
            continue
        changes[item.first_call] += item.tokens
        if item.last_call is not None:
            changes[item.last_call + 1] -= item.tokens
    held = [0] * len(changes)
    running = 0
    for number, change in enumerate(changes):
        running += change
        held[number] = running
    found: list[CallRow] = []
    for row in rows:
        rest = 0
        if row.purpose == "main":
            rest = row.used - held[row.number]
        found.append(replace(row, rest=rest))
    return tuple(found)

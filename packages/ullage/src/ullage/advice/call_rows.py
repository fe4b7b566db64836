"""A row for each model call of a session, as it ends."""

from __future__ import annotations

from msgspec.structs import replace

from ullage.advice.following import ItemFollower
from ullage.advice.lives import CallRow
from ullage.codec.dialects import hour_writes
from ullage.events import CallEnded
from ullage.meter.fold import Fold
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
    money = fold.spend.money
    row = replace(
        reported_row(event, fold),
        number=follower.next_call - 1,
        at=event.at or (started.at if started is not None else 0),
        usd=money.usd - before.usd if money.priced > before.priced else None,
    )
    if event.purpose != "main":
        return row
    number = follower.number_of(row.call)
    marks = follower.take_marks()
    used = row.used
    steps = fold.track.steps
    if steps and steps[-1].call == row.call:
        step = steps[-1]
        used = step.tokens
        marks = tuple(dict.fromkeys((*step.marks, *marks)))
    row = replace(row, number=number, used=used, marks=marks)
    return with_prices(row, fold, before_used)


def reported_row(event: CallEnded, fold: Fold) -> CallRow:
    """What a call has reported, without its number and what it cost."""
    usage = event.usage or Usage()
    return CallRow(
        number=0,
        call=event.call,
        at=event.at,
        purpose=event.purpose,
        outcome=event.outcome,
        model=event.model or fold.model,
        used=usage.context or 0,
        cached=usage.cache_read,
        written=usage.cache_write,
        hour_written=hour_writes(usage),
        output=usage.output,
    )


def with_prices(row: CallRow, fold: Fold, before_used: int = 0) -> CallRow:
    """The row with the prices of its input."""
    known = fold.known
    if known is None or known.prices is None:
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
    return replace(row, new_price=new, old_price=old, read_price=rate.cache_read)

"""The rows of a reading. They sum to the total exactly.

What every request carries has its estimate, corrected by what the first report showed (``State.fixed_ratio``); Messages
are the rest (back-calculated, as in Dexto). What they hold beyond their content is shown as *unattributed* instead of
being hidden. A row's interval is what its estimate may be off (``meter.opening``), within the interval of the total.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor, hypot
from typing import NamedTuple

from msgspec.structs import replace

from ullage.meter.anchor import Forecast
from ullage.meter.call_names import part_labels
from ullage.meter.cost import SUMMARY
from ullage.meter.fold import Fold
from ullage.meter.policy import NAMED_TOOLS
from ullage.meter.reading import Row
from ullage.meter.shares import least_messages, message_shares, request_shares
from ullage.meter.state import PLAUSIBLE, plausible_ratio
from ullage.meter.view import Share


class PartEstimate(NamedTuple):
    """One part in view and what it is estimated to cost. ``position`` is its message's place, from 1.

    ``label`` says what a tool call or its result was about: ``Read src/app.py``.
    """

    message: str
    part: str
    row: str
    name: str
    tokens: int
    position: int
    label: str = ""


def rows_of(fold: Fold, forecast: Forecast) -> tuple[Row, ...]:
    """The top rows, which sum to ``forecast.tokens``, and what each is made of. Costs O(rows).

    Messages get at least what their content must cost: then the others are cut in proportion.
    """
    held = message_shares(fold, forecast)
    shares = request_shares(fold, hypot(*[share.doubt for share in held]))
    summed = [share for share in shares if share.summed]
    weights = [share.tokens * _ratio_of(share, fold, forecast) for share in summed]
    least = max(0.0, least_messages(fold) - forecast.cleared.total)
    room = max(0.0, forecast.tokens - least)
    granted = apportion(round(min(sum(weights), room)), weights)
    tokens_of = {share.name: each for share, each in zip(summed, granted, strict=True)}
    rows: list[Row] = []
    for share in shares:
        row = _row_of(
            share, tokens_of.get(share.name, round(share.tokens)), forecast.high
        )
        rows.append(_with_note(row) if row.name.startswith("Tools (") else row)
    left = forecast.tokens - sum(granted)
    doubt = hypot(*[share.doubt for share in summed])
    rows += _message_rows(held, fold, forecast, left, doubt)
    return tuple(rows)


def _ratio_of(share: Share, fold: Fold, forecast: Forecast) -> float:
    """By what the estimate of a row that every request carries is multiplied."""
    if share.source != "estimated" or fold.partly_unlogged:
        return 1.0
    if fold.anchor is None and forecast.overhead:
        return plausible_ratio(1 + forecast.overhead / max(1.0, fold.fixed.tokens))
    return fold.fixed_ratio


def largest(fold: Fold, count: int) -> tuple[PartEstimate, ...]:
    """The parts that cost most, largest first, as their rows were corrected. Goes through the whole view."""
    scales: dict[str, float] = {}
    top = rows_of(fold, fold.whole_forecast())
    for row in (*top, *top[-1].children):
        share = fold.view.shares.get(row.name)
        if share is not None and share.tokens > 0:
            scales[row.name] = row.tokens / share.tokens
    items: list[PartEstimate] = []
    for position, entry in enumerate(fold.view, 1):
        for part in entry.cost.parts:
            tokens = round(part.tokens * scales.get(part.row, 1.0))
            items.append(
                PartEstimate(entry.id, part.id, part.row, part.name, tokens, position)
            )
    items.sort(key=lambda item: -item.tokens)
    chosen = items[:count]
    loaded = [entry.content for entry in fold.view if entry.content is not None]
    labels = part_labels(loaded, {item.part for item in chosen})
    return tuple(item._replace(label=labels.get(item.part, "")) for item in chosen)


class MessageRatio(NamedTuple):
    """What the messages of a request cost, by difference to the rows beside them, and their estimate."""

    reported: float
    estimated: float


def message_ratio(fold: Fold, reported: int) -> MessageRatio | None:
    """That of the request whose input has just been reported.

    ``None`` where it would say nothing of the estimates: system prompt or tools are not known, or the request held what
    no event shows.
    """
    estimated = fold.view.tokens
    if fold.partly_unlogged or estimated <= 0:
        return None
    messages = reported - fold.fixed_ratio * fold.fixed.tokens
    if not PLAUSIBLE[0] <= messages / estimated <= PLAUSIBLE[1]:
        return None
    return MessageRatio(messages, estimated)


@lru_cache(maxsize=64)
def _with_note(tools: Row) -> Row:
    """The row, with a note of the two largest tools, wherever they are served."""
    leaves: list[Row] = []
    for row in tools.children:
        leaves.extend(row.children or (row,))
    leaves.sort(key=lambda leaf: -leaf.tokens)
    told = [f"{leaf.name} {leaf.tokens:,}" for leaf in leaves if leaf.id]
    note = " · ".join(told[:NAMED_TOOLS])
    return replace(tools, note=f"largest: {note}" if note else "")


def _message_rows(
    shares: list[Share], fold: Fold, forecast: Forecast, tokens: int, doubt: float
) -> list[Row]:
    """Messages, and before them the summary of what was compacted; together they are ``tokens``.

    Their content is corrected up to its doubt, and what is beyond that is unattributed. ``doubt`` is of the other rows.
    Before anything was reported there is no such rest: they are what their content is estimated at.
    """
    is_known = fold.anchor is not None or fold.counted is not None
    estimated = sum(share.tokens for share in shares)
    own = hypot(*[share.doubt for share in shares])
    explained = min(tokens, round(estimated + own)) if is_known else tokens
    granted = apportion(explained, [share.tokens for share in shares])
    rows: list[Row] = []
    children: list[Row] = []
    for share, each in zip(shares, granted, strict=True):
        kept = rows if share.name == SUMMARY else children
        kept.append(_row_of(share, each, forecast.high))
    of_total = max(forecast.tokens - forecast.low, forecast.high - forecast.tokens)
    doubt = hypot(doubt, of_total) if is_known else own
    if explained < tokens and children:
        beyond = Share(
            name="Unattributed",
            tokens=tokens - explained,
            doubt=hypot(doubt, own),
            source="by_difference",
        )
        children.append(_row_of(beyond, tokens - explained, forecast.high))
    left = tokens - sum(row.tokens for row in rows)
    messages = Share(
        name="Messages",
        tokens=left,
        doubt=doubt,
        source="by_difference" if is_known else "estimated",
    )
    row = _row_of(messages, left, forecast.high)
    return [*rows, replace(row, children=tuple(children))]


@lru_cache(maxsize=512)
def _row_of(share: Share, tokens: int, most: int) -> Row:
    """One row of ``tokens``, its children fitted into it. One that has not changed is not made again."""
    doubt = share.doubt
    if share.tokens > 0:
        doubt *= tokens / share.tokens
    counted = [child.tokens for child in share.children if child.source == "counted"]
    free = sum(child.tokens for child in share.children) - sum(counted)
    rest = max(0.0, tokens - sum(counted)) / free if free else 1.0
    weights: list[float] = []
    for child in share.children:
        weights.append(child.tokens * (1.0 if child.source == "counted" else rest))
    granted = apportion(tokens if weights else 0, weights)
    children: list[Row] = []
    for child, each in zip(share.children, granted, strict=True):
        children.append(_row_of(child, each, most))
    return Row(
        name=share.name,
        tokens=tokens,
        source=share.source,
        low=max(0, floor(tokens - doubt)),
        high=max(tokens, min(most, ceil(tokens + doubt))),
        children=tuple(children),
        id=share.id,
        summed=share.summed,
        note=share.note,
    )


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """``total`` split in whole tokens, in proportion to ``weights``, none negative.

    Running sums are rounded, not shares, so that nothing is left over. A weight that is rounded to nothing gets a token
    of the largest share, while that has more than one.
    """
    positive = [weight if weight > 0 else 0.0 for weight in weights]
    whole = sum(positive)
    if whole <= 0 or total <= 0:
        shares = [0] * len(positive)
        if shares and total > 0:
            shares[0] = total
        return shares
    granted: list[int] = []
    running, given = 0.0, 0
    for weight in positive:
        running += total * (weight / whole)
        upto = int(running + 0.5)
        granted.append(upto - given)
        given = upto
    granted[-1] += total - given
    if min(granted) > 0:
        return granted
    for place, weight in enumerate(positive):
        lacking = (1 if weight else 0) - granted[place]
        if lacking > 0 and max(granted) > 1:
            granted[granted.index(max(granted))] -= lacking
            granted[place] += lacking
    return granted

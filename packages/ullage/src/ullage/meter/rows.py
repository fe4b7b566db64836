"""The rows of a reading. They sum to the total exactly, and each has an interval.

What every request carries is attributed to its rows as the reports leave it (``meter.attribution``), Messages are the
rest (back-calculated, as in Dexto). Inside a row its children are corrected within their own doubt, and what messages
hold beyond that is shown as *unattributed* instead of being hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, floor, hypot
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.meter.anchor import Forecast
from ullage.meter.attribution import (
    AttributedRows,
    RowEstimate,
    attributed,
    fit,
    joint_doubt,
    least_tokens,
    total_tokens,
)
from ullage.meter.call_names import part_labels
from ullage.meter.cost import SUMMARY
from ullage.meter.fold import Fold
from ullage.meter.reading import Row, Used
from ullage.meter.shares import (
    LEAST_FIXED,
    estimates_of,
    expected_rows,
    least_messages,
    least_of,
    message_rows,
    message_shares,
    messages_estimate,
    priors_of,
    request_shares,
    without_cleared,
)
from ullage.meter.state import PLAUSIBLE
from ullage.meter.view import Share

LARGEST_TOOLS: Final = 2
"""Tools that the note of their row names."""


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


def rows_of(fold: Fold, forecast: Forecast) -> Breakdown:
    """The top rows, which sum to ``forecast.tokens``, and what each is made of. Costs O(rows)."""
    shares = request_shares(fold)
    known = fold.attribution
    if known is None and forecast.overhead and not fold.partly_unlogged:
        known = expected_rows(fold, forecast)
    doubt = 0.0 if known is None else messages_estimate(fold, known.messages.tokens).doubt
    fixed = attributed(known, estimates_of(fold), priors_of(shares), doubt)
    used = Used(tokens=forecast.tokens, low=forecast.low, high=forecast.high)
    below = hypot(fixed.doubt, used.tokens - used.low)
    above = hypot(fixed.doubt, used.high - used.tokens)
    if fold.attribution is None:
        rest = used.tokens - total_tokens(fixed.rows.values())
        below = above = messages_estimate(fold, rest).doubt
    messages = message_shares(fold, forecast)
    cleared = forecast.cleared.content
    estimates = without_cleared(messages, message_rows(fold, messages), cleared)
    least = max(0.0, least_messages(fold) - forecast.cleared.total)
    content = MessageEstimates(messages, estimates, below, above, least)
    is_known = forecast.last_input is not None or fold.counted is not None
    return break_down(used, shares, fixed, content, reported=is_known)


def largest(fold: Fold, count: int) -> tuple[PartEstimate, ...]:
    """The parts that cost most, largest first, as their rows were corrected. Goes through the whole view."""
    scales: dict[str, float] = {}
    top = rows_of(fold, fold.whole_forecast()).rows
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
    shares = request_shares(fold)
    fixed = attributed(fold.attribution, estimates_of(fold), priors_of(shares)).rows
    messages = reported - total_tokens(fixed.values())
    if not PLAUSIBLE[0] <= messages / estimated <= PLAUSIBLE[1]:
        return None
    return MessageRatio(messages, estimated)


# -- fitting to the total --


class MessageEstimates(NamedTuple):
    """What messages hold: their rows, the estimates of these, and of all together how many tokens fewer or more they
    may be, and the fewest possible."""

    shares: Sequence[Share] = ()
    rows: Sequence[RowEstimate] = ()
    below: float = 0.0
    above: float = 0.0
    least: float = 0.0


class Breakdown(NamedTuple):
    """The rows, and by how many tokens the least that they can cost exceeds the total (0 when they fit)."""

    rows: tuple[Row, ...]
    excess: int


def break_down(
    used: Used,
    shares: Mapping[str, Share],
    fixed: AttributedRows,
    messages: MessageEstimates,
    *,
    reported: bool,
) -> Breakdown:
    """Rows for ``used`` tokens: ``shares`` as attributed in ``fixed``, Messages by difference. Their sum is ``used``.

    Messages get at least what their content must cost: then the others are cut, by their doubt. Without a reported
    total (``reported=False``) Messages are an estimate as well.
    """
    values = list(fixed.rows.values())
    room = max(0.0, used.tokens - messages.least)
    excess = least_tokens(values) - room
    if total_tokens(values) > room:
        values = fit(room, values)
    wanted = [row.tokens for row in values]
    granted = dict(zip(fixed.rows, apportion(round(sum(wanted)), wanted), strict=True))
    fitted = dict(zip(fixed.rows, values, strict=True))
    rows: list[Row] = []
    for key, share in shares.items():
        tokens, doubt = round(share.tokens), share.doubt
        if share.summed:
            tokens, doubt = granted[key], fitted[key].doubt
        row = _row_of(share, tokens, ceil(doubt), LEAST_FIXED)
        rows.append(_with_note(row) if key == "tools" else row)
    left = used.tokens - sum(granted.values())
    rows.extend(_message_rows(left, messages, reported=reported))
    return Breakdown(narrowed(rows, used.low, used.high), max(0, round(excess)))


@lru_cache(maxsize=64)
def _with_note(tools: Row) -> Row:
    """The row, with a note of the two largest tools, wherever they are served."""
    leaves: list[Row] = []
    for row in tools.children:
        leaves.extend(row.children or (row,))
    leaves.sort(key=lambda leaf: -leaf.tokens)
    told: list[str] = []
    for leaf in leaves:
        if leaf.id and len(told) < LARGEST_TOOLS:
            told.append(f"{leaf.name} {leaf.tokens:,}")
    return replace(tools, note="largest: " + " · ".join(told) if told else "")


def _message_rows(
    tokens: int, messages: MessageEstimates, *, reported: bool
) -> list[Row]:
    """Messages, and before them the summary of what was compacted; together they are ``tokens``.

    Their content is corrected up to its doubt. What is beyond that is unattributed, and then tells nothing of how the
    content is to be split.
    """
    estimated = total_tokens(messages.rows)
    content_doubt = joint_doubt(messages.rows)
    explained = min(tokens, round(estimated + content_doubt))
    unattributed = tokens - explained
    doubt = content_doubt if unattributed else max(messages.below, messages.above)
    values = fit(explained, messages.rows, doubt)
    granted = apportion(explained, [value.tokens for value in values])
    rows: list[Row] = []
    children: list[Row] = []
    left, of_summary = tokens, 0.0
    for share, each, value, estimate in zip(
        messages.shares, granted, values, messages.rows, strict=True
    ):
        own = min(value.doubt, estimate.doubt)
        least = estimate.least / share.tokens if share.tokens else 0.0
        row = _row_of(share, each, ceil(own), least, ceil(estimate.doubt))
        if share.name == SUMMARY:
            rows.append(row)
            left, of_summary = tokens - each, own
        else:
            children.append(row)
    if unattributed and children:
        below = hypot(content_doubt, messages.below)
        above = hypot(content_doubt, messages.above)
        row = _row("Unattributed", unattributed, below, above)
        children.append(replace(row, source="by_difference"))
    below = hypot(of_summary, messages.below)
    above = hypot(of_summary, messages.above)
    row = _row(
        "Messages", left, below, above, least=sum(row.low or 0 for row in children)
    )
    rows.append(
        replace(
            row,
            source="by_difference" if reported else "estimated",
            children=narrowed(children, row.low or 0, row.high or 0),
        )
    )
    return rows


def _row(name: str, tokens: int, below: float, above: float, least: float = 0.0) -> Row:
    """One row and its interval, whose lower end is not below ``least``."""
    low = _low(tokens, below, least)
    high = tokens + ceil(above)
    return Row(name=name, tokens=tokens, source="estimated", low=low, high=high)


def _low(tokens: int, below: float, least: float) -> int:
    """The lower end of the interval of a row."""
    return min(max(floor(tokens - below), ceil(least), 0), tokens)


@lru_cache(maxsize=512)
def _row_of(share: Share, tokens: int, doubt: int, least: float, spread: int = 0) -> Row:
    """One row of ``tokens``, its children fitted into it. One that has not changed is not made again.

    ``least`` is the share of its estimate that it is certain to cost. ``spread`` is by how many tokens its children
    together may be off where they have no doubt of their own.
    """
    certain = max(1.0, least * share.tokens) if share.has_content else 0.0
    low = _low(tokens, doubt, certain)
    children: tuple[Row, ...] = ()
    if share.children:
        children = _children_of(share, tokens, low, doubt, least, spread)
    return Row(
        name=share.name,
        tokens=tokens,
        source=share.source,
        low=low,
        high=tokens + doubt,
        children=children,
        id=share.id,
        summed=share.summed,
        note=share.note,
    )


def _children_of(
    share: Share, tokens: int, low: int, doubt: int, least: float, spread: int
) -> tuple[Row, ...]:
    estimates = _child_estimates(share, spread)
    whole = total_tokens(estimates)
    covered = 1.0 if share.tokens <= 0 else min(1.0, whole / share.tokens)
    total = min(tokens, round(tokens * covered))
    values = fit(total, estimates, doubt)
    granted = apportion(total, [value.tokens for value in values])
    rows: list[Row] = []
    for child, each, value in zip(share.children, granted, values, strict=True):
        rows.append(_row_of(child, each, ceil(value.doubt), least))
    return narrowed(rows, low if total == tokens else 0, tokens + doubt)


@lru_cache(maxsize=64)
def _child_estimates(share: Share, spread: int) -> Sequence[RowEstimate]:
    estimates: list[RowEstimate] = []
    spread_share = spread / share.tokens if share.tokens > 0 else 0.0
    for child in share.children:
        own = child.doubt or spread_share * child.tokens
        estimates.append(RowEstimate(child.tokens, own, least_of(child)))
    return estimates


def narrowed(rows: Sequence[Row], low: int, high: int) -> tuple[Row, ...]:
    """The rows of a total from ``low`` to ``high``.

    None is more than the others leave of it at their lower ends, nor less than they leave at their upper ends.
    """
    least = low - sum([row.high or 0 for row in rows if row.summed])
    most = high - sum([row.low or 0 for row in rows if row.summed])
    found: list[Row] = []
    for row in rows:
        if row.summed and row.low is not None and row.high is not None:
            found.append(_within(row, row.low, row.high, least, most))
        else:
            found.append(row)
    return tuple(found)


def _within(row: Row, low: int, high: int, least: int, most: int) -> Row:
    """The row from ``low`` to ``high``, of which the others together leave ``least + high`` to ``most + low``."""
    lowest = low
    if least + high > low:
        lowest = min(row.tokens, least + high)
    highest = high
    if most + low < high:
        highest = max(row.tokens, most + low)
    if lowest == low and highest == high:
        return row
    children = narrowed(row.children, 0, highest) if row.children else ()
    return replace(row, low=lowest, high=highest, children=children)


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

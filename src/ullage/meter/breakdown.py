"""Rows that sum to the total exactly.

Only the total is known well. The rows that can be estimated on their own are, Messages are what is left (seed 000's
back-calculation), and inside Messages what its parts don't explain stands as *unattributed* instead of being hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ullage.meter.reading import Row, Source


class Share(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """An estimate of one row, in tokens, before it is fitted to the total."""

    name: str
    tokens: float
    source: Source = "estimated"
    id: str = ""
    note: str = ""
    children: tuple[Share, ...] = ()
    summed: bool = True


class Breakdown(NamedTuple):
    """The rows, and by how much the estimates of the others exceeded the total (0 when they did not)."""

    rows: tuple[Row, ...]
    excess: int


def break_down(used: int, fixed: Sequence[Share], messages: Sequence[Share], *, reported: bool) -> Breakdown:
    """Rows for ``used`` tokens: the ``fixed`` ones as estimated, Messages by difference. Their sum is ``used``.

    ``messages`` are the estimates of what Messages hold. When the fixed rows alone exceed ``used``, they are scaled
    down to it and Messages are 0. Without a reported total (``reported=False``) Messages are an estimate as well.
    """
    granted = _fixed_rows(tuple(fixed), None)
    excess = max(0, granted.tokens - used)
    if excess:
        granted = _fixed_rows(tuple(fixed), used)
    left = used - granted.tokens
    source: Source = "by_difference" if reported else "estimated"
    rest = Row(name="Messages", tokens=left, source=source, children=inside(left, messages))
    return Breakdown((*granted.rows, rest), excess)


class _Granted(NamedTuple):
    rows: tuple[Row, ...]
    tokens: int
    """Of the summed ones."""


@lru_cache(maxsize=64)
def _fixed_rows(fixed: tuple[Share, ...], total: int | None) -> _Granted:
    """The rows of what seldom changes, as estimated or scaled to ``total``; made once, since tools are many."""
    wanted = [share.tokens for share in fixed if share.summed]
    tokens = round(sum(wanted)) if total is None else total
    granted = iter(apportion(tokens, wanted))
    rows = tuple(row_of(share, next(granted) if share.summed else round(share.tokens)) for share in fixed)
    return _Granted(rows, tokens if wanted else 0)


def inside(total: int, shares: Sequence[Share]) -> tuple[Row, ...]:
    """Children of a row of ``total`` tokens; what they don't explain is *unattributed*, and none is negative."""
    wanted = [share.tokens for share in shares]
    explained = round(sum(wanted))
    granted = apportion(min(total, explained), wanted)
    rows = [_known_row(share, tokens) for share, tokens in zip(shares, granted, strict=True)]
    if total > explained and rows:
        rows.append(Row(name="Unattributed", tokens=total - explained, source="by_difference"))
    return tuple(rows)


@lru_cache(maxsize=256)
def _known_row(share: Share, tokens: int) -> Row:
    """A share that has not changed since the last reading keeps its row: tools are many."""
    return row_of(share, tokens)


def row_of(share: Share, tokens: int) -> Row:
    """One row of ``tokens``, its children scaled to fit into it."""
    children: tuple[Row, ...] = ()
    if share.children:
        weights = [child.tokens for child in share.children]
        whole = sum(weights)
        part = whole if share.tokens <= 0 else tokens * min(1.0, whole / share.tokens)
        granted = apportion(min(tokens, round(part)), weights)
        children = tuple([row_of(child, each) for child, each in zip(share.children, granted, strict=True)])
    if not children and share.summed and not share.id and not share.note:
        return Row(name=share.name, tokens=tokens, source=share.source)
    return Row(
        name=share.name,
        tokens=tokens,
        source=share.source,
        children=children,
        id=share.id,
        summed=share.summed,
        note=share.note,
    )


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """``total`` split in whole tokens, in proportion to ``weights``, none negative, each less than one token off.

    Running sums are rounded, not shares, so that nothing is left over.
    """
    positive = [weight if weight > 0 else 0.0 for weight in weights]
    whole = sum(positive)
    if whole <= 0 or total <= 0:
        shares = [0] * len(positive)
        if shares and total > 0:
            shares[0] = total
        return shares
    scale = total / whole
    granted: list[int] = []
    running, given = 0.0, 0
    for weight in positive:
        running += weight * scale
        upto = int(running + 0.5)
        granted.append(upto - given)
        given = upto
    granted[-1] += total - given
    if granted[-1] < 0:  # only by the rounding of floating point sums
        granted[granted.index(max(granted))] += granted[-1]
        granted[-1] = 0
    return granted

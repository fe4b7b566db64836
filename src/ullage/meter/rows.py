"""The rows of a reading. They sum to the total exactly.

Only the total is known well. The rows that can be estimated on their own are, Messages are the rest (seed 000's
back-calculation), and inside Messages what its parts don't explain is shown as *unattributed* instead of being hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ullage.messages import SystemBlock, Tool
from ullage.meter.anchor import Forecast
from ullage.meter.cost import SUMMARY
from ullage.meter.fold import Fold
from ullage.meter.reading import Row, Source
from ullage.meter.view import Share

SYSTEM_ROWS = {
    "prompt": "System prompt",
    "instructions": "Instruction files",
    "memory": "Memory files",
    "skills": "Skills",
    "agents": "Agents",
}
UNLOGGED = "Not in the log"
DEFERRED = "Deferred tools"


class PartEstimate(NamedTuple):
    """One part in view and what it is estimated to cost. ``position`` is its message's place, from 1."""

    message: str
    part: str
    row: str
    name: str
    tokens: int
    position: int


def rows_of(fold: Fold, forecast: Forecast) -> Breakdown:
    """The top rows, which sum to ``forecast.tokens``, and what each is made of. Costs O(rows)."""
    if (
        fold.shares is None
    ):  # what every request carries, made again only when that changes
        fold.shares = (*_system_shares(fold), *_tool_shares(fold), *_answer_share(fold))
    fixed = list(fold.shares)
    if fold.unlogged and fold.partly_unlogged:
        note = "system prompt, tools and what else the first request held"
        fixed.append(
            Share(name=UNLOGGED, tokens=fold.unlogged, source="by_difference", note=note)
        )
    summary = sum(fold.view.rows.get(SUMMARY, {}).values())
    if summary >= 0.5:
        fixed.append(Share(name=SUMMARY, tokens=summary))
    messages = _message_shares(fold, forecast)
    return break_down(
        forecast.tokens, fixed, messages, reported=forecast.last_input is not None
    )


def largest(fold: Fold, count: int) -> tuple[PartEstimate, ...]:
    """The parts that cost most, largest first. Goes through the whole view."""
    items = [
        PartEstimate(entry.id, part.id, part.row, part.name, round(part.tokens), position)
        for position, entry in enumerate(fold.view, 1)
        for part in entry.cost.parts
    ]
    return tuple(sorted(items, key=lambda item: -item.tokens)[:count])


def _system_shares(fold: Fold) -> list[Share]:
    by_kind: dict[str, list[tuple[SystemBlock, float]]] = {}
    for block, tokens in zip(fold.system or (), fold.fixed.system, strict=True):
        by_kind.setdefault(block.kind, []).append((block, tokens))
    shares: list[Share] = []
    for kind, held in by_kind.items():
        name = SYSTEM_ROWS[kind]
        if len(held) > 1 and kind != "prompt":
            name = f"{name} ({len(held)})"
        children: tuple[Share, ...] = ()
        if len(held) > 1 or held[0][0].name:
            children = tuple(
                Share(name=block.name or kind, tokens=tokens) for block, tokens in held
            )
        shares.append(
            Share(name=name, tokens=sum(tokens for _, tokens in held), children=children)
        )
    return shares


def _tool_shares(fold: Fold) -> list[Share]:
    tools = fold.tools or ()
    cost = fold.fixed.tools
    loaded = [
        (tool, tokens)
        for tool, tokens in zip(tools, cost.each, strict=True)
        if not tool.deferred
    ]
    deferred = [
        (tool, tokens)
        for tool, tokens in zip(tools, cost.deferred, strict=True)
        if tool.deferred
    ]
    shares: list[Share] = []
    if loaded:
        children = _by_server(loaded)
        once = cost.overhead + cost.choice
        if once >= 1:
            children.append(Share(name="once for all", tokens=once))
        biggest = sorted(loaded, key=lambda pair: -pair[1])[:2]
        note = "largest: " + " · ".join(
            f"{tool.name} {tokens:,.0f}" for tool, tokens in biggest
        )
        name = f"Tools ({len(loaded)})"
        shares.append(
            Share(name=name, tokens=cost.tokens, children=tuple(children), note=note)
        )
    if deferred:
        shares.append(
            Share(
                name=f"{DEFERRED} ({len(deferred)})",
                tokens=sum(tokens for _, tokens in deferred),
                children=tuple(_by_server(deferred)),
                summed=False,
                note="not in the request until looked up",
            )
        )
    return shares


def _by_server(tools: Iterable[tuple[Tool, float]]) -> list[Share]:
    servers: dict[str, list[Share]] = {}
    for tool, cost in sorted(tools, key=lambda pair: -pair[1]):
        servers.setdefault(tool.server, []).append(
            Share(name=tool.name, tokens=cost, id=tool.name)
        )
    own = servers.pop("", [])
    mcp = [
        Share(
            name=f"MCP {server} ({len(held)})",
            tokens=sum(share.tokens for share in held),
            children=tuple(held),
        )
        for server, held in servers.items()
    ]
    return sorted([*own, *mcp], key=lambda share: -share.tokens)


def _answer_share(fold: Fold) -> list[Share]:
    return (
        [Share(name="Answer format", tokens=fold.fixed.answer)]
        if fold.fixed.answer
        else []
    )


def _message_shares(fold: Fold, forecast: Forecast) -> Sequence[Share]:
    view = fold.view
    for row in view.touched:
        held = [
            Share(name=name, tokens=tokens)
            for name, tokens in view.rows[row].items()
            if tokens >= 0.5
        ]
        held.sort(key=_largest_first)
        view.shares[row] = Share(
            name=row,
            tokens=sum([share.tokens for share in held]),
            children=tuple(held) if held and held[0].name else (),
        )
    view.touched.clear()
    shares = [
        share
        for row, share in view.shares.items()
        if share.tokens >= 0.5 and row != SUMMARY
    ]
    if forecast.reasoning >= 0.5:
        shares.append(
            Share(
                name="Reasoning", tokens=forecast.reasoning, note="sent back and counted"
            )
        )
    shares.sort(key=_largest_first)
    return shares


def _largest_first(share: Share) -> tuple[float, str]:
    return -share.tokens, share.name


# -- fitting to the total --


class Breakdown(NamedTuple):
    """The rows, and by how much the estimates of the others exceeded the total (0 when they did not)."""

    rows: tuple[Row, ...]
    excess: int


def break_down(
    used: int, fixed: Sequence[Share], messages: Sequence[Share], *, reported: bool
) -> Breakdown:
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
    rest = Row(
        name="Messages", tokens=left, source=source, children=_inside(left, messages)
    )
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
    rows = tuple(
        _row_of(share, next(granted) if share.summed else round(share.tokens))
        for share in fixed
    )
    return _Granted(rows, tokens if wanted else 0)


def _inside(total: int, shares: Sequence[Share]) -> tuple[Row, ...]:
    """Children of a row of ``total`` tokens; what they don't explain is *unattributed*, and none is negative."""
    wanted = [share.tokens for share in shares]
    explained = round(sum(wanted))
    granted = apportion(min(total, explained), wanted)
    rows = [_row_of(share, tokens) for share, tokens in zip(shares, granted, strict=True)]
    if total > explained and rows:
        rows.append(
            Row(name="Unattributed", tokens=total - explained, source="by_difference")
        )
    return tuple(rows)


@lru_cache(maxsize=512)
def _row_of(share: Share, tokens: int) -> Row:
    """One row of ``tokens``, its children scaled to fit into it. One that has not changed is not made again."""
    children: tuple[Row, ...] = ()
    if share.children:
        weights = [child.tokens for child in share.children]
        whole = sum(weights)
        part = whole if share.tokens <= 0 else tokens * min(1.0, whole / share.tokens)
        granted = apportion(min(tokens, round(part)), weights)
        children = tuple(
            [
                _row_of(child, each)
                for child, each in zip(share.children, granted, strict=True)
            ]
        )
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

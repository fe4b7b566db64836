"""The rows of a reading, from the fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ullage.messages import SystemBlock, Tool
from ullage.meter.anchor import Forecast
from ullage.meter.breakdown import Share, break_down
from ullage.meter.cost import SUMMARY
from ullage.meter.fold import Fold
from ullage.meter.reading import Row

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


class Rows(NamedTuple):
    """The top rows, and by how much the estimates of the others were more than all: then Messages is 0."""

    rows: tuple[Row, ...]
    excess: int


def rows_of(fold: Fold, forecast: Forecast) -> Rows:
    """The top rows, which sum to ``forecast.tokens``, and what each is made of. Costs O(rows)."""
    fixed = (*_constant_shares(fold), *_unlogged_share(fold), *_summary_share(fold))
    result = break_down(
        forecast.tokens, fixed, _message_shares(fold, forecast), reported=forecast.last_input is not None
    )
    return Rows(result.rows, result.excess)


def largest(fold: Fold, count: int) -> tuple[PartEstimate, ...]:
    """The parts that cost most, largest first. Goes through the whole view."""
    items = [
        PartEstimate(entry.id, part.id, part.row, part.name, round(part.tokens), position)
        for position, entry in enumerate(fold.view, 1)
        for part in entry.cost.parts
    ]
    return tuple(sorted(items, key=lambda item: -item.tokens)[:count])


def _constant_shares(fold: Fold) -> tuple[Share, ...]:
    """The rows of what every request carries, made again only when that changes."""
    if fold.shares is None:
        fold.shares = (*_system_shares(fold), *_tool_shares(fold), *_answer_share(fold))
    return fold.shares


def _system_shares(fold: Fold) -> list[Share]:
    blocks = fold.system or ()
    by_kind: dict[str, list[tuple[SystemBlock, float]]] = {}
    for block, tokens in zip(blocks, fold.fixed.system, strict=True):
        by_kind.setdefault(block.kind, []).append((block, tokens))
    return [
        Share(
            name=SYSTEM_ROWS[kind] if len(held) == 1 or kind == "prompt" else f"{SYSTEM_ROWS[kind]} ({len(held)})",
            tokens=sum(tokens for _, tokens in held),
            children=tuple(Share(name=block.name or kind, tokens=tokens) for block, tokens in held)
            if len(held) > 1 or held[0][0].name
            else (),
        )
        for kind, held in by_kind.items()
    ]


def _tool_shares(fold: Fold) -> list[Share]:
    tools = fold.tools or ()
    loaded = [(tool, cost) for tool, cost in zip(tools, fold.fixed.tools.each, strict=True) if not tool.deferred]
    deferred = [(tool, cost) for tool, cost in zip(tools, fold.fixed.tools.deferred, strict=True) if tool.deferred]
    shares: list[Share] = []
    if loaded:
        children = _by_server(loaded)
        if fold.fixed.tools.overhead + fold.fixed.tools.choice >= 1:
            children.append(Share(name="once for all", tokens=fold.fixed.tools.overhead + fold.fixed.tools.choice))
        biggest = sorted(loaded, key=lambda pair: -pair[1])[:2]
        shares.append(
            Share(
                name=f"Tools ({len(loaded)})",
                tokens=fold.fixed.tools.tokens,
                children=tuple(children),
                note="largest: " + " · ".join(f"{tool.name} {cost:,.0f}" for tool, cost in biggest),
            )
        )
    if deferred:
        shares.append(
            Share(
                name=f"{DEFERRED} ({len(deferred)})",
                tokens=sum(cost for _, cost in deferred),
                children=tuple(_by_server(deferred)),
                summed=False,
                note="not in the request until looked up",
            )
        )
    return shares


def _by_server(tools: Iterable[tuple[Tool, float]]) -> list[Share]:
    servers: dict[str, list[Share]] = {}
    for tool, cost in sorted(tools, key=lambda pair: -pair[1]):
        servers.setdefault(tool.server, []).append(Share(name=tool.name, tokens=cost, id=tool.name))
    own = servers.pop("", [])
    mcp = [
        Share(name=f"MCP {server} ({len(held)})", tokens=sum(share.tokens for share in held), children=tuple(held))
        for server, held in servers.items()
    ]
    return sorted([*own, *mcp], key=lambda share: -share.tokens)


def _answer_share(fold: Fold) -> list[Share]:
    return [Share(name="Answer format", tokens=fold.fixed.answer)] if fold.fixed.answer else []


def _unlogged_share(fold: Fold) -> list[Share]:
    if not fold.unlogged or not fold.partly_unlogged:
        return []
    return [
        Share(
            name=UNLOGGED,
            tokens=fold.unlogged,
            source="by_difference",
            note="system prompt, tools and what else the first request held",
        )
    ]


def _summary_share(fold: Fold) -> list[Share]:
    tokens = sum(fold.view.rows.get(SUMMARY, {}).values())
    return [Share(name=SUMMARY, tokens=tokens)] if tokens >= 0.5 else []


def _message_shares(fold: Fold, forecast: Forecast) -> Sequence[Share]:
    view = fold.view
    for row in view.touched:
        held = [Share(name=name, tokens=tokens) for name, tokens in view.rows[row].items() if tokens >= 0.5]
        held.sort(key=_largest_first)
        view.shares[row] = Share(
            name=row,
            tokens=sum([share.tokens for share in held]),
            children=tuple(held) if held and held[0].name else (),
        )
    view.touched.clear()
    shares = [share for row, share in view.shares.items() if share.tokens >= 0.5 and row != SUMMARY]
    if forecast.reasoning >= 0.5:
        shares.append(Share(name="Reasoning", tokens=forecast.reasoning, note="sent back and counted"))
    shares.sort(key=_largest_first)
    return shares


def _largest_first(share: Share) -> tuple[float, str]:
    return -share.tokens, share.name

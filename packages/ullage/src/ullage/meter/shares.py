"""The estimates of the rows of a reading: of what every request carries, and of what messages hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from typing import Final

from msgspec.structs import replace

from ullage.messages import Tool
from ullage.meter.anchor import Forecast
from ullage.meter.cost import TOOL_CALLS, TOOL_RESULTS
from ullage.meter.counting import all_tools_key, block_key, tools_key
from ullage.meter.opening import (
    OTHERWISE,
    HalfWidth,
    OpeningWidths,
    hosted_doubt,
    opening_widths,
)
from ullage.meter.policy import (
    HIDDEN_FROM,
    MEDIA_DOUBT,
    REASONING_DOUBT,
    SHARES_OFF,
)
from ullage.meter.state import State
from ullage.meter.view import Share
from ullage.tokens.policy import RATIO_RANGE
from ullage.tokens.tools import is_hosted

SYSTEM_ROWS: Final = {
    "prompt": "System prompt",
    "instructions": "Instruction files",
    "memory": "Memory files",
    "skills": "Skills",
    "agents": "Agents",
}
UNLOGGED: Final = "Not in the log"
LACKED: Final = {"system": "system prompt", "tools": "tools"}
"""The parts of ``SessionStarted.unlogged``, in words."""

PUT_BACK: Final = "Put back after the compaction"
DEFERRED: Final = "Deferred tools"
FOR_ALL_TOOLS: Final = "shared by all tools"

HIDDEN: Final = "Hidden prompt"

REASONING: Final = "Reasoning"


def widths_of(state: State) -> OpeningWidths:
    """How far a row's estimate may be off: as measured, until reports show that the model counts otherwise."""
    off = max(abs(state.fixed_ratio - 1), abs(state.learnt.ratio - 1))
    if off > SHARES_OFF:
        return OTHERWISE
    forecaster = state.forecaster
    return opening_widths(forecaster.template.stratum, is_exact=forecaster.exact_text)


# -- what every request carries --


def request_shares(state: State, doubt: float) -> list[Share]:
    """The rows of what every request carries; made again only when that changes.

    ``doubt`` is how far the messages' estimate may be off, in tokens: what the log lacks is the rest beside them.
    """
    if state.shares is None:
        state.shares = _shares(state)
    return [*state.shares, *_unlogged_shares(state, doubt)]


def _unlogged_shares(state: State, doubt: float) -> Iterable[Share]:
    """The rows of what the log lacks."""
    put_back = state.expected_put_back
    if put_back is not None and not state.begun.reports:
        yield Share(
            name=PUT_BACK,
            tokens=put_back.tokens,
            doubt=max(put_back.below, put_back.above),
            note=put_back.source,
        )
    elif state.put_back > 0:
        yield Share(
            name=PUT_BACK,
            tokens=state.put_back,
            doubt=state.put_back,
            source="by_difference",
            note="files, skills, plans and reminders that the log does not show",
        )
    tokens = state.expected_unlogged
    if not tokens:
        return
    lacking = [name for part, name in LACKED.items() if part in state.lacking]
    unlogged = Share(
        name=UNLOGGED,
        tokens=tokens,
        doubt=min(tokens, hypot(doubt, state.history_doubt, state.put_back)),
        source="by_difference",
        note=f"{', '.join(lacking)} and what else the first request held",
    )
    overhead = state.overhead
    if state.unlogged is None and overhead is not None:
        unlogged = replace(
            unlogged,
            doubt=overhead.above,
            source="estimated",
            note=overhead.source,
        )
    yield unlogged


def _shares(state: State) -> list[Share]:
    widths = widths_of(state)
    shares = [*_system_shares(state, widths.text), *_tool_shares(state, widths.tools)]
    if state.fixed.answer:
        doubt = widths.answer.of(state.fixed.answer)
        answer = Share(name="Answer format", tokens=state.fixed.answer, doubt=doubt)
        shares.append(answer)
    hidden = state.fixed.overhead
    if hidden >= HIDDEN_FROM:
        note = "what the provider puts in front of every request"
        doubt = min(hidden, widths.tools.of(hidden))
        shares.append(Share(name=HIDDEN, tokens=hidden, doubt=doubt, note=note))
    if (added := state.fixed.replaced) > 0:
        note = "what hooks added to the last request"
        row = Share(name="Added by hooks", tokens=added, doubt=widths.text.of(added))
        shares.append(replace(row, source="by_difference", note=note))
    return shares


def _system_shares(state: State, width: HalfWidth) -> Iterable[Share]:
    """A row for each kind of block, of its blocks."""
    by_kind: dict[str, list[Share]] = {}
    system = state.system or ()
    for end, (block, tokens) in enumerate(
        zip(system, state.fixed.system, strict=True), 1
    ):
        share = Share(name=block.name, tokens=tokens, doubt=width.of(tokens))
        if state.pieces:
            share = _counted(state, share, block_key(state.model, system[:end]))
        by_kind.setdefault(block.kind, []).append(share)
    for kind, held in by_kind.items():
        name = SYSTEM_ROWS[kind]
        if len(held) > 1 and kind != "prompt":
            name = f"{name} ({len(held)})"
        whole = _together(name, held)
        if len(held) == 1 and not held[0].name:
            whole = replace(whole, children=())
        yield replace(
            whole,
            children=tuple(
                replace(child, name=child.name or kind) for child in whole.children
            ),
        )


def _together(name: str, held: Sequence[Share]) -> Share:
    """The row of these rows."""
    return Share(
        name=name,
        tokens=_tokens_of(held),
        doubt=sum(share.doubt for share in held),
        source="counted"
        if all(each.source == "counted" for each in held)
        else "estimated",
        children=tuple(held),
    )


def _tokens_of(shares: Iterable[Share]) -> float:
    """The tokens of these rows together."""
    return sum([share.tokens for share in shares])


def _counted(state: State, share: Share, key: str) -> Share:
    """The row as its provider counted it, if it did."""
    tokens = state.pieces.get(key)
    if tokens is None:
        return share
    return replace(share, tokens=tokens, doubt=0.0, source="counted")


def _tool_shares(state: State, width: HalfWidth) -> Iterable[Share]:
    tools = state.tools or ()
    cost = state.fixed.tools
    loaded: list[Share] = []
    deferred: list[Share] = []
    servers: dict[str, list[Tool]] = {}
    for tool, each, later in zip(tools, cost.each, cost.deferred, strict=True):
        servers.setdefault(tool.server, []).append(tool)
        tokens = later if tool.deferred else each
        doubt = hosted_doubt(tokens) if is_hosted(tool) else width.of(tokens)
        share = Share(name=tool.name, tokens=tokens, doubt=doubt, id=tool.name)
        if tool.deferred:
            deferred.append(share)
        else:
            loaded.append(_counted(state, share, tools_key(state.model, [tool])))
    if loaded:
        children = _by_server(state, loaded, servers)
        once = cost.overhead + cost.choice
        if once >= 1:
            doubt = width.of(cost.tokens)
            children.append(Share(name=FOR_ALL_TOOLS, tokens=once, doubt=doubt))
        row = Share(
            name=f"Tools ({len(loaded)})",
            tokens=cost.tokens,
            doubt=hypot(width.of(cost.tokens - cost.hosted), hosted_doubt(cost.hosted)),
            children=tuple(children),
        )
        sent = [tool for tool in tools if not tool.deferred]
        yield _counted(state, row, all_tools_key(state.model, sent))
    if deferred:
        yield replace(
            _together(
                f"{DEFERRED} ({len(deferred)})", _by_server(state, deferred, servers)
            ),
            summed=False,
            note="not in the request until looked up",
        )


def _by_server(
    state: State, tools: Sequence[Share], servers: dict[str, list[Tool]]
) -> list[Share]:
    """The tools without a server and the servers' rows, largest first."""
    rows: list[Share] = []
    by_name = {share.name: share for share in sorted(tools, key=_largest_first)}
    for server, held in servers.items():
        names = {tool.name for tool in held}
        own = [share for name, share in by_name.items() if name in names]
        if not server:
            rows += own
        elif own:
            row = _together(f"MCP {server} ({len(own)})", own)
            sent = [tool for tool in held if not tool.deferred]
            rows.append(_counted(state, row, tools_key(state.model, sent)))
    return sorted(rows, key=_largest_first)


# -- messages --


def least_messages(state: State) -> float:
    """The fewest tokens that the messages in view can cost; 0 without any."""
    if not len(state.view):
        return 0.0
    return max(1.0, RATIO_RANGE[0] * state.view.tokens)


def message_shares(state: State, forecast: Forecast) -> list[Share]:
    """The rows of the messages, largest first, by the ratio that was learnt of the model's text."""
    view, widths, ratio = state.view, widths_of(state), state.learnt.ratio
    for row in view.touched:
        held: list[Share] = []
        for name, tokens in view.rows[row].items():
            if tokens >= 0.5:
                held.append(Share(name=name, tokens=tokens))
        held.sort(key=_largest_first)
        view.shares[row] = Share(
            name=row,
            tokens=_tokens_of(held),
            children=tuple(held) if held and held[0].name else (),
        )
    view.touched.clear()
    shares: list[Share] = []
    for share in view.shares.values():
        tokens = ratio * share.tokens
        if share.name == TOOL_RESULTS:
            tokens -= forecast.cleared.content
        if share.tokens < 0.5 or tokens < 0.5:
            continue
        width = widths.tools if share.name == TOOL_CALLS else widths.text
        doubt = hypot(width.share * tokens, min(tokens, MEDIA_DOUBT * view.media))
        shares.append(replace(share, tokens=tokens, doubt=doubt))
    if forecast.reasoning >= 0.5:
        doubt = REASONING_DOUBT * forecast.reasoning
        note = "sent back and counted"
        shares.append(
            Share(name=REASONING, tokens=forecast.reasoning, doubt=doubt, note=note)
        )
    shares.sort(key=_largest_first)
    return shares


def _largest_first(share: Share) -> tuple[float, str]:
    return -share.tokens, share.name

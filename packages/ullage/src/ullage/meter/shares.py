"""The estimates of the rows of a reading, each with its doubt, before they are fitted to the total."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot, sqrt
from typing import Final

from msgspec.structs import replace

from ullage.messages import SystemBlock, Tool
from ullage.meter.anchor import Anchor, Forecast, Pending
from ullage.meter.attribution import CHANGE_DOUBT, Attribution, RowEstimate, learn
from ullage.meter.cost import TOOL_CALLS, TOOL_RESULTS
from ullage.meter.counting import all_tools_key, block_key, tools_key
from ullage.meter.forecast import LEAST_CHANGE_DOUBT
from ullage.meter.opening import (
    HOSTED_ABOVE,
    HOSTED_LEAST,
    MEDIA,
    OTHERWISE,
    HalfWidth,
    OpeningWidths,
    opening_widths,
)
from ullage.meter.state import State
from ullage.meter.view import Share
from ullage.tokens.calibration import CORRECTS_FROM, Learnt
from ullage.tokens.tools import is_hosted

SYSTEM_ROWS: Final = {
    "prompt": "System prompt",
    "instructions": "Instruction files",
    "memory": "Memory files",
    "skills": "Skills",
    "agents": "Agents",
}
UNLOGGED: Final = "Not in the log"
DEFERRED: Final = "Deferred tools"
ONCE: Final = "once for all"

HIDDEN: Final = "Hidden prompt"
HIDDEN_FROM: Final = 10.0
"""Tokens from which on what a provider adds to every request is a row; fewer are in the messages' row."""

LEAST_TEXT: Final = 0.5
"""The smallest share of its estimate that the tokens of a text are corrected to: no tokenizer that was measured needs
fewer than half the tokens of another (``calibration.RATIO_RANGE``)."""

LEAST_FIXED: Final = 0.1
"""The same for a row that every request carries: the hidden prompt of a batch of tools is 0 to 500 tokens
(``tokens.template``)."""

PIECE_DOUBT: Final = 4.0
"""Tokens that a difference of two counts may be off by: what lies between two pieces belongs to neither."""

ANY: Final = 1e7
"""The doubt of a row of which nothing is known: more tokens than any window."""

REASONING: Final = "Reasoning"
REASONING_DOUBT: Final = 0.1
"""Share of the reasoning that is sent back by which it may be off: where it was not reported it is the output less what
is visible of it, whose estimate is within a tenth of the answer (``growth.PLACEHOLDER_SHARE``)."""


def widths_of(state: State) -> OpeningWidths:
    """How far the rows may be off: as measured, until reports show that the model does not count so."""
    is_surprised = state.attribution is not None and state.attribution.is_surprised
    if is_surprised or _counts_otherwise(state.learnt):
        return OTHERWISE
    forecaster = state.forecaster
    return opening_widths(
        forecaster.template.stratum, is_exact=forecaster.counter.name == "bpe"
    )


def _counts_otherwise(learnt: Learnt) -> bool:
    """Whether the growth from report to report speaks for a model that counts in another way than measured."""
    if len(learnt.seen) < CORRECTS_FROM or not learnt.fits:
        return False
    measured, *others = learnt.fits
    return any(fit.evidence > measured.evidence for fit in others)


# -- what every request carries --


def estimates_of(state: State) -> dict[str, float]:
    """The estimates of what every request carries, by the key of the row."""
    tokens: dict[str, float] = {}
    for block, each in zip(state.system or (), state.fixed.system, strict=True):
        tokens[block.kind] = tokens.get(block.kind, 0.0) + each
    if any(not tool.deferred for tool in state.tools or ()):
        tokens["tools"] = state.fixed.tools.tokens
    if state.fixed.answer:
        tokens["answer"] = state.fixed.answer
    if state.fixed.overhead >= HIDDEN_FROM:
        tokens["hidden"] = state.fixed.overhead
    if state.expected_unlogged:
        tokens["unlogged"] = state.expected_unlogged
    return tokens


def priors_of(shares: dict[str, Share]) -> dict[str, RowEstimate]:
    """What is known of these rows before any report."""
    priors: dict[str, RowEstimate] = {}
    for key, share in shares.items():
        if share.summed:
            priors[key] = RowEstimate(share.tokens, share.doubt, least_of(share))
    return priors


def least_of(share: Share) -> float:
    """The fewest tokens that a row every request carries is corrected to."""
    if share.source == "counted":
        return share.tokens
    return max(min(1.0, share.tokens), LEAST_FIXED * share.tokens)


def request_shares(state: State) -> dict[str, Share]:
    """The rows of what every request carries, by key; made again only when that or their doubt changes."""
    widths = widths_of(state)
    if state.shares is None or state.share_widths != widths:
        state.shares, state.share_widths = _shares(state, widths), widths
    if not state.expected_unlogged:
        return state.shares
    unlogged = Share(
        name=UNLOGGED,
        tokens=state.expected_unlogged,
        doubt=ANY,
        source="by_difference",
        has_content=False,
        note="system prompt, tools and what else the first request held",
    )
    overhead = state.overhead
    if state.unlogged is None and overhead is not None:
        unlogged = replace(
            unlogged,
            doubt=overhead.above,
            source="estimated",
            note=f"as in {overhead.source}",
        )
    return state.shares | {"unlogged": unlogged}


def _shares(state: State, widths: OpeningWidths) -> dict[str, Share]:
    return (
        _system_shares(state, widths.text)
        | _tool_shares(state, widths.tools)
        | _answer_share(state, widths.answer)
        | _hidden_share(state, widths.tools)
    )


def _system_shares(state: State, width: HalfWidth) -> dict[str, Share]:
    by_kind: dict[str, list[tuple[SystemBlock, float]]] = {}
    system = state.system or ()
    places: dict[str, list[str]] = {}
    for end, (block, tokens) in enumerate(
        zip(system, state.fixed.system, strict=True), 1
    ):
        by_kind.setdefault(block.kind, []).append((block, tokens))
        if state.pieces:
            places.setdefault(block.kind, []).append(block_key(state.model, system[:end]))
    counts = state.pieces
    shares: dict[str, Share] = {}
    for kind, held in by_kind.items():
        name = SYSTEM_ROWS[kind]
        if len(held) > 1 and kind != "prompt":
            name = f"{name} ({len(held)})"
        children: list[Share] = []
        for block, tokens in held:
            child_name = block.name or kind
            children.append(Share(name=child_name, tokens=tokens, doubt=width.of(tokens)))
        whole = _tokens_of(children)
        if len(held) == 1 and not held[0][0].name:
            children = []
        shares[kind] = Share(
            name=name, tokens=whole, doubt=width.of(whole), children=tuple(children)
        )
        known: list[int] = []
        for key in places.get(kind, ()):
            if key in counts:
                known.append(counts[key])
        if len(known) == len(held):
            shares[kind] = _counted_share(shares[kind], sum(known))
    return shares


def _tokens_of(shares: Iterable[Share]) -> float:
    """The tokens of these rows together."""
    return sum([share.tokens for share in shares])


def _counted_share(share: Share, tokens: float) -> Share:
    """The row as its provider counted it."""
    return replace(share, tokens=tokens, doubt=PIECE_DOUBT, source="counted")


def _tool_shares(state: State, width: HalfWidth) -> dict[str, Share]:
    tools = state.tools or ()
    cost = state.fixed.tools
    # What the batch is off by may all be in what is there once, or in each tool alike.
    whole = hypot(width.of(cost.tokens - cost.hosted), _hosted_doubt(cost.hosted))
    of_each = whole / max(1, len(tools))
    loaded: list[Share] = []
    deferred: list[Share] = []
    servers: dict[str, str] = {}
    for tool, each, later in zip(tools, cost.each, cost.deferred, strict=True):
        servers[tool.name] = tool.server
        if tool.deferred:
            deferred.append(_tool_share(tool, later, width, of_each))
        else:
            share = _tool_share(tool, each, width, of_each)
            counted = state.pieces.get(tools_key(state.model, [tool]))
            loaded.append(share if counted is None else _counted_share(share, counted))
    shares: dict[str, Share] = {}
    if loaded:
        children: list[Share] = []
        for share in _by_server(loaded, servers):
            children.append(_counted_server(state, share))
        once = cost.overhead + cost.choice
        if once >= 1:
            children.append(Share(name=ONCE, tokens=once, doubt=whole, has_content=False))
        shares["tools"] = Share(
            name=f"Tools ({len(loaded)})",
            tokens=cost.tokens,
            doubt=whole,
            children=tuple(children),
        )
        sent = [tool for tool in tools if not tool.deferred]
        together = state.pieces.get(all_tools_key(state.model, sent))
        if together is not None:
            shares["tools"] = _counted_share(shares["tools"], together)
    if deferred:
        tokens = _tokens_of(deferred)
        shares["deferred"] = Share(
            name=f"{DEFERRED} ({len(deferred)})",
            tokens=tokens,
            doubt=width.of(tokens),
            children=tuple(_by_server(deferred, servers)),
            summed=False,
            note="not in the request until looked up",
        )
    return shares


def _tool_share(tool: Tool, tokens: float, width: HalfWidth, common: float) -> Share:
    """``common`` is its part of what the whole batch may be off by."""
    doubt = hypot(width.share * tokens, common)
    if is_hosted(tool):
        doubt = _hosted_doubt(tokens)
    return Share(name=tool.name, tokens=tokens, doubt=doubt, id=tool.name)


def _hosted_doubt(tokens: float) -> float:
    return HOSTED_ABOVE * tokens + HOSTED_LEAST if tokens else 0.0


def _counted_server(state: State, share: Share) -> Share:
    """The row of a server's tools as they were counted together; any other row as it is."""
    if not share.children or not state.pieces:
        return share
    names = {child.id for child in share.children}
    held = [tool for tool in state.tools or () if tool.name in names]
    tokens = state.pieces.get(tools_key(state.model, held))
    return share if tokens is None else _counted_share(share, tokens)


def _by_server(tools: Iterable[Share], server_of: dict[str, str]) -> list[Share]:
    servers: dict[str, list[Share]] = {}
    for share in sorted(tools, key=lambda share: -share.tokens):
        servers.setdefault(server_of[share.name], []).append(share)
    own = servers.pop("", [])
    mcp: list[Share] = []
    for server, held in servers.items():
        row = Share(
            name=f"MCP {server} ({len(held)})",
            tokens=_tokens_of(held),
            doubt=sum(share.doubt for share in held),
            children=tuple(held),
        )
        mcp.append(row)
    return sorted([*own, *mcp], key=lambda share: -share.tokens)


def _answer_share(state: State, width: HalfWidth) -> dict[str, Share]:
    tokens = state.fixed.answer
    if not tokens:
        return {}
    return {"answer": Share(name="Answer format", tokens=tokens, doubt=width.of(tokens))}


def learn_rows(state: State, anchor: Anchor, pending: Pending | None) -> Attribution:
    """What is known of these rows once the input of ``anchor`` is reported."""
    estimates = estimates_of(state)
    tokens = anchor.messages + anchor.reasoning
    tokens += anchor.fixed - sum(estimates.values()) + estimates.get("unlogged", 0.0)
    if pending is not None and "unlogged" not in estimates:
        tokens = (
            pending.forecast.tokens - pending.forecast.overhead - sum(estimates.values())
        )
    if state.attribution is None or state.anchor is None:
        return learn_first(state, tokens, anchor.input)
    messages = messages_estimate(state, tokens)
    if pending is not None:
        messages = messages._replace(doubt=_growth_doubt(pending))
    priors = priors_of(request_shares(state))
    return learn(state.attribution, estimates, priors, messages, anchor.input)


def learn_first(state: State, messages: float, total: int) -> Attribution:
    """The same for the first total that is known of a session, beside what the messages in it are estimated at."""
    estimates, priors = estimates_of(state), priors_of(request_shares(state))
    learnt = learn(None, estimates, priors, messages_estimate(state, messages), total)
    known = state.attribution
    if learnt.is_surprised or (known is not None and known.is_surprised):
        priors |= priors_of(_shares(state, OTHERWISE))
        wider = _messages_estimate(state, OTHERWISE, messages)
        learnt = replace(learn(None, estimates, priors, wider, total), is_surprised=True)
    return learnt


def expected_rows(state: State, forecast: Forecast) -> Attribution:
    """The same before any report, by what earlier sessions showed that system prompt and tools cost."""
    messages = forecast.tokens - forecast.overhead - sum(estimates_of(state).values())
    return learn_first(state, messages, forecast.tokens)


def _growth_doubt(pending: Pending) -> float:
    """How far the forecast of a call may be off, but for what it was widened by a change of system prompt or tools."""
    forecast = pending.forecast
    half = (forecast.high - forecast.low) / 2
    of_change = 0.0
    if forecast.changed:
        of_change = hypot(CHANGE_DOUBT * forecast.changed, LEAST_CHANGE_DOUBT)
    return sqrt(max(1.0, half * half - of_change * of_change))


def _hidden_share(state: State, width: HalfWidth) -> dict[str, Share]:
    tokens = state.fixed.overhead
    if tokens < HIDDEN_FROM:
        return {}
    share = Share(
        name=HIDDEN,
        tokens=tokens,
        doubt=min(tokens, width.of(tokens)),
        has_content=False,
        note="what the provider puts in front of every request",
    )
    return {"hidden": share}


# -- messages --


def least_messages(state: State) -> float:
    """The fewest tokens that the messages in view can cost; 0 without any."""
    if not len(state.view):
        return 0.0
    return max(1.0, LEAST_TEXT * state.view.tokens)


def messages_estimate(state: State, tokens: float) -> RowEstimate:
    """The messages of a request whose input is not reported yet, which are estimated at ``tokens``."""
    return _messages_estimate(state, widths_of(state), tokens)


def _messages_estimate(state: State, widths: OpeningWidths, tokens: float) -> RowEstimate:
    doubt = hypot(widths.text.of(tokens), MEDIA * state.view.media)
    return RowEstimate(tokens, doubt, LEAST_TEXT * max(0.0, tokens))


def message_shares(state: State, forecast: Forecast) -> Sequence[Share]:
    """The rows of the messages, largest first."""
    view = state.view
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
    shares = [share for share in view.shares.values() if share.tokens >= 0.5]
    if forecast.reasoning >= 0.5:
        shares.append(
            Share(name=REASONING, tokens=forecast.reasoning, note="sent back and counted")
        )
    shares.sort(key=_largest_first)
    return shares


def message_rows(state: State, shares: Sequence[Share]) -> list[RowEstimate]:
    """Their estimates, by the ratio that was learnt of the model's text; reasoning is mostly reported."""
    widths, ratio, media = widths_of(state), state.learnt.ratio, state.view.media
    rows: list[RowEstimate] = []
    for share in shares:
        tokens, doubt = share.tokens, REASONING_DOUBT * share.tokens
        if share.name != REASONING:
            tokens *= ratio
            doubt = hypot(widths.text.of(tokens), min(tokens, MEDIA * media))
        if share.name == TOOL_CALLS:
            doubt = hypot(doubt, widths.tools.share * tokens)
        rows.append(RowEstimate(tokens, doubt, LEAST_TEXT * tokens))
    return rows


def without_cleared(
    shares: Sequence[Share], rows: Sequence[RowEstimate], cleared: float
) -> list[RowEstimate]:
    """These estimates without so many tokens of tool results, which the provider clears."""
    left: list[RowEstimate] = []
    for share, row in zip(shares, rows, strict=True):
        if share.name == TOOL_RESULTS:
            rest = max(0.0, 1 - cleared / max(1.0, row.tokens))
            row = RowEstimate(rest * row.tokens, rest * row.doubt, rest * row.least)  # noqa: PLW2901
        left.append(row)
    return left


def _largest_first(share: Share) -> tuple[float, str]:
    return -share.tokens, share.name

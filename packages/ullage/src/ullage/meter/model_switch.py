"""What a reading rests on after a change of the model, before the new model has reported an input.

A program sends another system prompt and other tools to another model, and often the log has neither. So what a
model's own reports showed counts most, then the program's earlier sessions with that model, then the other model's
last report. The figures are of OpenCode, pi, Codex and Claude Code against the simulators (docs/clients.md).
"""

from __future__ import annotations

from math import hypot

import msgspec
from msgspec.structs import replace

from ullage.meter.anchor import Anchor, Forecast
from ullage.meter.clearing import NOTHING_CLEARED, PARAMETER
from ullage.meter.forecast import SAMPLE, Forecaster
from ullage.meter.overhead import OTHER_MODEL, learnt_overhead
from ullage.meter.policy import (
    CARRIED_DOUBT,
    MOST_MODELS,
    SINCE_DOUBT,
    SWITCH_LEAST_DOUBT,
)
from ullage.meter.state import ModelReport, State
from ullage.usage import Usage


class OtherModel(msgspec.Struct, frozen=True, kw_only=True):
    """What was known just before the change."""

    forecast: Forecast
    weight: float
    """The ledger's estimate of messages, system prompt and tools, in the units of the model before."""
    forecaster: Forecaster


def remember(state: State) -> None:
    """Keep what the last report of the session's model showed; nothing where it was carried over itself."""
    anchor = state.anchor
    if anchor is None or anchor.spread:
        return
    key = _key(state)
    state.model_reports.pop(key, None)
    state.model_reports[key] = ModelReport(
        anchor=replace(anchor, usage=Usage()),
        unlogged=state.unlogged,
        first_messages=state.first_messages,
    )
    while len(state.model_reports) > MOST_MODELS:
        del state.model_reports[next(iter(state.model_reports))]


def rest_on_new_model(state: State, before: OtherModel) -> None:
    """Give the state an anchor for the model that it has changed to."""
    report = state.model_reports.get(_key(state))
    if report is not None:
        state.anchor = _of_own_report(state, report)
        state.unlogged = report.unlogged
        state.first_messages = report.first_messages
        return
    text_ratio = state.forecaster.text_ratio(before.forecaster, SAMPLE)
    state.anchor = _with_earlier_sessions(
        state, _of_other_report(state, before, text_ratio)
    )
    if state.unlogged is not None:
        state.unlogged *= text_ratio
        state.first_messages = 0.0


def _key(state: State) -> str:
    return f"{state.wire}/{state.provider}/{state.model}"


def anchor_of_view(state: State, tokens: float) -> Anchor:
    """An anchor of everything in view."""
    return Anchor(
        call="",
        input=max(0, round(tokens)),
        usage=Usage(),
        order=state.view.orders,
        fixed=state.fixed.tokens,
        reasoning=state.earlier_reasoning(with_last=True),
        messages=state.view.tokens,
    )


def _with_doubt(anchor: Anchor, doubt: float) -> Anchor:
    return replace(anchor, spread=doubt / max(1, anchor.input))


def ledger_tokens(state: State) -> float:
    """The estimate of everything that the log shows of the next request."""
    reasoning = state.earlier_reasoning(with_last=True)
    return state.view.tokens + state.fixed.tokens + reasoning


def _of_own_report(state: State, report: ModelReport) -> Anchor:
    """The model's own last report, and the estimate of what has come and gone since.

    What the estimate missed of messages leaves with them.
    """
    reported = report.anchor
    unlogged = report.unlogged or 0.0
    missed = reported.unexplained - unlogged
    if state.view.tokens < reported.messages:
        missed *= state.view.tokens / reported.messages
    anchor = anchor_of_view(state, ledger_tokens(state) + unlogged + missed)
    since = abs(anchor.messages - reported.messages)
    anchor = _with_doubt(
        anchor, hypot(SWITCH_LEAST_DOUBT * anchor.input, SINCE_DOUBT * since)
    )
    level: float | None = None
    if reported.level is not None:
        level = anchor.input + reported.beyond
    return replace(
        anchor,
        level=level,
        label="the model changed back: by its own last report, and what came since",
    )


def _of_other_report(state: State, before: OtherModel, text_ratio: float) -> Anchor:
    """The other model's last report in the new units: by the ratio of the two estimates.

    What the log lacks is converted as text, and may be something else for this model. Reasoning is counted anew, as
    far as the new model can read it.
    """
    tokens = before.forecast.tokens - before.forecast.reasoning
    weight = state.view.tokens + state.fixed.tokens
    ratio = weight / before.weight if before.weight > 0 else 1.0
    unlogged = 0.0
    if state.partly_unlogged and state.unlogged is not None:
        unlogged = min(state.unlogged, tokens)
    logged = (tokens - unlogged) * ratio
    unlogged *= text_ratio
    reasoning = state.earlier_reasoning(with_last=True)
    anchor = anchor_of_view(state, logged + unlogged + reasoning)
    doubt = CARRIED_DOUBT * anchor.input
    level: float | None = None
    if unlogged:
        doubt = hypot(doubt, OTHER_MODEL.share * unlogged, OTHER_MODEL.more)
    if not state.partly_unlogged:
        level = ledger_tokens(state)
    cleared = state.cleared if PARAMETER in state.params else NOTHING_CLEARED
    return replace(
        _with_doubt(anchor, doubt),
        label="the model changed: carried over by ratio",
        cleared=cleared.scaled(ratio),
        level=level,
    )


def _with_earlier_sessions(state: State, carried: Anchor) -> Anchor:
    """What the program's earlier sessions with this model showed, where there are any; the interval holds both."""
    if not state.partly_unlogged or state.partial:
        return carried
    alike = [
        call
        for call in state.earlier_calls
        if (call.provider, call.model) == (state.provider, state.model)
        and state.believes(call)
    ]
    overhead = learnt_overhead(alike, state.session_facts())
    if overhead is None:
        return carried
    anchor = anchor_of_view(state, ledger_tokens(state) + overhead.tokens)
    doubt = hypot(overhead.below, SINCE_DOUBT * anchor.messages)
    return replace(
        _with_doubt(anchor, doubt),
        label="the model changed: as in earlier sessions with it",
        level=float(carried.input),
    )

"""What the ledger expects of a call's reported input: the state of the fold as an ``Expectation``."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ullage.meter.anchor import Pending
from ullage.meter.plausible import EXPLAINED, Expectation, ReportVerdict
from ullage.meter.state import State
from ullage.usage import Usage

KEPT_ELSEWHERE: Final = frozenset({"prompt", "cachedContent", "container"})
"""Parameters that name content which the provider keeps: a stored prompt
(https://platform.openai.com/docs/api-reference/responses/create), cached content (https://ai.google.dev/api/caching),
files of a container (https://platform.claude.com/docs/en/api/messages)."""

CLEARING: Final = frozenset({"context_management", "truncation"})
"""Parameters by which the provider leaves out content (https://platform.claude.com/docs/en/build-with-claude/context-editing;
``truncation`` of https://platform.openai.com/docs/api-reference/responses/create)."""


def expectation_of(state: State, pending: Pending | None, reported: float) -> Expectation:
    """What is expected of a call that was started so and reported this input.

    ``pending`` is ``None`` for a call without a recorded start.
    """
    if pending is None:
        forecast, before = state.forecast(), state.basis
        messages, fixed, media = state.view.tokens, state.fixed.tokens, state.view.media
    else:
        forecast, before = pending.held_against(reported), pending.before
        messages, fixed, media = pending.messages, pending.fixed, pending.media
    hosted = state.fixed.tools.hosted
    is_partial = bool(state.missing or state.partial or messages <= 0)
    is_kept_elsewhere = not KEPT_ELSEWHERE.isdisjoint(state.params)
    is_recorded = pending is not None and pending.is_whole
    expected = Expectation(
        tokens=forecast.tokens,
        low=forecast.low,
        high=forecast.high,
        level=forecast.tokens,
        content=max(0.0, messages + fixed - hosted - media),
        media=max(0.0, media),
        is_whole=is_recorded and not is_partial and not is_kept_elsewhere,
        has_left=pending is None or bool(pending.marks),
        may_clear=not CLEARING.isdisjoint(state.params),
        runs_tools=hosted > 0,
        window=_largest_window(state),
        choices=_choices(state.params),
    )
    if before is None:
        return expected
    anchor = before.anchor
    held = anchor.messages + anchor.fixed + anchor.reasoning
    reasoning = anchor.reasoning if pending is None else pending.earlier
    return expected._replace(
        last_input=anchor.input,
        level=forecast.tokens + anchor.beyond,
        is_explained=anchor.input <= EXPLAINED[1] * held + media,
        has_left=bool(
            expected.has_left
            or before.removed
            or before.output_left
            or before.changed < 0
            or reasoning < anchor.reasoning
        ),
    )


def _largest_window(state: State) -> int | None:
    """The largest of the windows that are known: a user may set one below the model's own."""
    window = state.limits.denominators.window.tokens
    known = state.known.window if state.known is not None else None
    windows = [each for each in (window, known) if each is not None]
    return max(windows, default=None)


def _choices(params: dict[str, object]) -> int:
    """How many answers are asked for: ``n`` of Chat, ``candidateCount`` of Gemini."""
    asked = params.get("n")
    config = params.get("generationConfig")
    if isinstance(config, dict):
        asked = config.get("candidateCount")
    return asked if isinstance(asked, int) and asked > 1 else 1


def without_counts(usage: Usage, reason: str) -> Usage:
    """A usage whose answer can't be told from it, because its counts are not this call's own."""
    return replace(
        usage,
        output=None,
        reasoning=None,
        context_output=None,
        flags=(*usage.flags, f"report:{reason}"),
    )


def spent(usage: Usage | None, verdict: ReportVerdict) -> Usage | None:
    """A call's usage as its spend counts it.

    Of a sum of all calls only this call's part counts as input. An input that is too large counts as not reported.
    """
    if usage is None:
        return None
    history = verdict.history
    is_sum = history.rule == "sum"
    if history.refused is not None:
        is_sum = history.refused.reason in {"too_large", "sum"}
    if not is_sum:
        return usage
    return replace(
        usage,
        input=verdict.input,
        context_input=None,
        cache_read=None,
        cache_write=None,
    )

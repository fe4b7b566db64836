"""What the ledger expects of a call's reported input: the state of the fold as an ``Expectation``."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ullage.codec.held import PREFIXES
from ullage.meter.anchor import Pending
from ullage.meter.clearing import PARAMETER
from ullage.meter.plausible import Expectation, is_possible
from ullage.meter.policy import EXPLAINED, UNKNOWN_ITEM
from ullage.meter.state import State
from ullage.usage import Usage

ADDING: Final = frozenset(
    {"mcp_servers", "plugins", "search_parameters", "web_search_options", "data_sources"}
)
"""Parameters by which the provider adds content: tools of servers that it asks
(https://platform.claude.com/docs/en/agents-and-tools/mcp-connector), results of a search
(https://openrouter.ai/docs/guides/features/plugins/web-search, https://docs.x.ai/docs/guides/live-search,
``web_search_options`` of https://platform.openai.com/docs/api-reference/chat/create), documents of a store
(https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data)."""

ONLINE: Final = ":online"
"""The end of a model's name that asks OpenRouter for a search."""

CLEARING: Final = frozenset({PARAMETER, "truncation"})
"""Parameters by which the provider leaves out content (https://platform.claude.com/docs/en/build-with-claude/context-editing;
``truncation`` of https://platform.openai.com/docs/api-reference/responses/create)."""


def expectation_of(state: State, pending: Pending | None, reported: float) -> Expectation:
    """What is expected of a call that was started so and reported this input.

    ``pending`` is ``None`` for a call without a recorded start.
    """
    if pending is None:
        forecast, before = state.whole_forecast(), state.basis
        messages, fixed, media = state.view.tokens, state.fixed.tokens, state.view.media
    else:
        forecast, before = pending.held_against(reported), pending.before
        messages, fixed, media = pending.messages, pending.fixed, pending.media
    hosted = state.fixed.tools.hosted
    is_partial = bool(state.missing or state.partial or messages <= 0)
    is_kept_elsewhere = not PREFIXES.isdisjoint(state.params)
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
        adds_unseen=hosted > 0 or _adds_unseen(state),
        window=largest_window(state),
        choices=_choices(state.params),
    )
    if pending is not None and pending.is_held:
        expected = expected._replace(
            content=0.0, is_whole=False, is_held=True, has_left=True, may_clear=True
        )
    if before is None:
        # Items whose content the provider keeps are in what a later report is held against.
        has_items = any(entry.cost.added.over >= UNKNOWN_ITEM for entry in state.view)
        return expected._replace(adds_unseen=expected.adds_unseen or has_items)
    anchor = before.anchor
    held = anchor.messages + anchor.fixed + anchor.reasoning
    reasoning = anchor.reasoning if pending is None else pending.earlier
    return expected._replace(
        last_input=anchor.input,
        level=forecast.tokens + anchor.beyond_of(forecast.tokens),
        is_explained=not anchor.spread and anchor.input <= EXPLAINED[1] * held + media,
        has_left=bool(
            expected.has_left
            or before.removed
            or before.output_left
            or before.changed < 0
            or reasoning < anchor.reasoning
        ),
    )


def _adds_unseen(state: State) -> bool:
    """Whether the request asks the provider to add content."""
    return state.model.endswith(ONLINE) or not ADDING.isdisjoint(state.params)


def largest_window(state: State) -> int | None:
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


def without_counts(usage: Usage, reason: str = "implausible") -> Usage:
    """A usage whose answer can't be told from it, because its counts are not this call's own."""
    return replace(
        usage,
        output=None,
        reasoning=None,
        context_output=None,
        flags=(*usage.flags, f"report:{reason}"),
    )


def is_summary_possible(reported: float, asked: float, window: int | None) -> bool:
    """Whether a call for a summary can have had this input, which was estimated at ``asked`` at the most."""
    expected = Expectation(asked, 0, asked, is_whole=True, may_clear=True, window=window)
    return is_possible(reported, expected)


def with_input(usage: Usage, tokens: int | None) -> Usage:
    """A usage as the spend counts it, whose input is this; ``None`` is an input that can't be true."""
    return replace(
        usage, input=tokens, context_input=None, cache_read=None, cache_write=None
    )

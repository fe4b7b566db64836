"""What somebody says of the size of a session without a bill (``SizeStated``), as an anchor for the next readings."""

from __future__ import annotations

from math import hypot
from typing import Final

from msgspec.structs import replace

from ullage.envelope import MOST_TOKENS
from ullage.events import Amount, SizeStated
from ullage.meter.anchor import Anchor
from ullage.meter.model_switch import anchor_of_view, ledger_tokens
from ullage.meter.policy import (
    COUNT_DOUBT,
    COUNTING,
    LEAST_COUNT_DOUBT,
    LEAST_STATED_DOUBT,
    SEALED_DOUBT,
    SUBAGENT_DOUBT,
    SUMMARY_DOUBT,
)
from ullage.meter.reading import STATED
from ullage.meter.state import State

NOTHING_BESIDE: Final = Amount(tokens=0, low=0, high=0)


def can_be_true(event: SizeStated) -> bool:
    """Whether what is said can be true: it may stand in a log that somebody else wrote, or in a gateway's refusal."""
    beside = event.beside or NOTHING_BESIDE
    others = (event.known or 0, beside.tokens, -beside.low, beside.high)
    return 0 < event.tokens <= MOST_TOKENS and all(
        -MOST_TOKENS <= each <= MOST_TOKENS for each in others
    )


def outranks(state: State, event: SizeStated) -> bool:
    """Whether a reading rests on what is said rather than on what it rests on now.

    A provider that refuses a request has counted it. A program's number is worth less than a reported input with what
    was added since, and more than an estimate: nothing was reported yet, or the last request has lost a part.
    """
    if event.is_provider or state.anchor is None or state.anchor.spread:
        return True
    return bool(state.removed) or "compaction" in state.marks


def hidden_tokens(event: SizeStated) -> int | None:
    """Tokens of a summary that the log hides; ``None`` where the event does not say how much is shown."""
    return None if event.known is None else max(0, event.tokens - max(0, event.known))


def anchor_of(state: State, event: SizeStated) -> Anchor:
    """What the next request holds, and how far that may be off.

    Where it tells the size of a summary, the rest is what the first call was reported with.
    """
    unlogged = state.unlogged
    is_known = unlogged is not None or not state.partly_unlogged
    if event.known is not None and is_known:
        tokens = ledger_tokens(state) + (unlogged or 0.0)
        sealed = SEALED_DOUBT * (hidden_tokens(event) or 0)
        doubt = max(LEAST_STATED_DOUBT, SUMMARY_DOUBT * tokens, sealed)
        if state.is_subagent:
            doubt = max(doubt, SUBAGENT_DOUBT)
        if not state.forecaster.exact_text:
            doubt = hypot(doubt, COUNTING * state.view.tokens)
    elif event.is_provider:
        tokens = event.tokens
        doubt = max(LEAST_COUNT_DOUBT, COUNT_DOUBT * tokens)
    else:
        beside = event.beside or NOTHING_BESIDE
        tokens = max(0, event.tokens + beside.tokens)
        doubt = max(beside.high - beside.tokens, beside.tokens - beside.low)
        doubt = max(LEAST_STATED_DOUBT, doubt)
    anchor = anchor_of_view(state, tokens)
    spread = doubt / max(1, anchor.input)
    return replace(
        anchor, spread=spread, stated_by=event.by, label=f"{STATED}{event.by} says"
    )

"""Advice in words: what suggestions save, what became of earlier ones, when the next compaction comes."""

from __future__ import annotations

from typing import Final

from ullage.advice.history import WindowHistory
from ullage.advice.next_compaction import CallsLeft, NextCompaction
from ullage.advice.savings import TokenSaving
from ullage.advice.suggestion import AdviceOutcome
from ullage.advice.suggestions import Advice
from ullage.display.text import counted, dollars, number, percent

BESIDE: Final = " · "

FAR: Final = 1_000
"""Calls beyond which their number says nothing."""

THOUSAND: Final = 1_000
MILLION: Final = 1_000_000
CENT: Final = 0.01


def heading_of(advice: Advice) -> str:
    """How many suggestions there are, and what they save together."""
    if not advice.calls:
        return "No model call has ended yet, so nothing can be said of what it costs."
    count = len(advice.suggestions)
    if not count:
        return f"Nothing worth leaving out was found in {counted(advice.calls, 'call')}."
    saving = advice.total
    parts: list[str] = []
    if saving.tokens:
        share = percent(saving.tokens, advice.used)
        parts.append(f"about {number(saving.tokens)} tokens less a call ({share})")
    so_far = f"{short(saving.so_far)} of {short(advice.paid)} input tokens so far"
    if saving.usd is not None and saving.usd >= CENT and advice.usd:
        so_far = f"{dollars(saving.usd)} of {dollars(advice.usd)} so far"
    parts.append(so_far)
    together = " together" if count > 1 else ""
    return f"{counted(count, 'suggestion')}:{together} {BESIDE.join(parts)}"


def saving_text(saving: TokenSaving) -> str:
    """What is saved, in a few words: a call, and so far."""
    parts: list[str] = []
    so_far = f"{short(saving.so_far)} tokens so far"
    if saving.tokens:
        text = f"{number(saving.tokens)} tokens a call"
        if (saving.low, saving.high) != (saving.tokens, saving.tokens):
            text += f" ({number(saving.low)} to {number(saving.high)})"
        parts.append(text)
        so_far = f"{short(saving.so_far)} so far"
    if saving.usd is not None and saving.usd >= CENT:
        so_far += f", {dollars(saving.usd)}"
    return BESIDE.join([*parts, so_far])


def outcome_text(outcome: AdviceOutcome) -> str:
    """What was promised and what was saved, in a sentence."""
    text = (
        f"{outcome.title}: promised {number(outcome.promised)} tokens per {outcome.unit}"
    )
    text += f", measured {number(outcome.measured)}"
    return text if outcome.has_helped else text + ". It did not help"


def compaction_sentence(compaction: NextCompaction, history: WindowHistory) -> str:
    """When the next compaction comes, and what it takes out."""
    at = number(compaction.threshold)
    text = f"{compaction.by} compacts at {at}"
    if not compaction.by:
        text = f"Ullage would compact at {at}"
    if history.used > compaction.threshold:
        text += f", and the next request has {number(history.used)} already"
    elif compaction.left is not None:
        text += f", {_when(compaction.left)}"
    if compaction.leaves == 0:
        text += ". It would find nothing to take out now"
    elif compaction.leaves is not None:
        becomes = "become a summary"
        if not compaction.is_summary:
            becomes = "be cleared without a summary"
        parts = counted(len(compaction.items), "part")
        text += f". If it came now, {parts} of {number(compaction.leaves)} tokens"
        text += f" would {becomes} and {number(compaction.stays or 0)} would stay"
    if compaction.note and compaction.is_summary:
        text += f". {compaction.note}"
    return f"{text}."


def _when(left: CallsLeft) -> str:
    if left.calls <= 0:
        return "which the next call may reach"
    growth = f"at {number(left.growth)} tokens a call"
    if left.calls > FAR:
        return f"more than {counted(FAR, 'call')} away {growth}"
    ends = f"{number(left.low)} to {number(left.high)}"
    return f"in about {counted(left.calls, 'call')} ({ends}) {growth}"


def short(tokens: int) -> str:
    """A number of tokens in at most five characters: ``812``, ``9.9k``, ``682k``, ``24.7M``."""
    if tokens < THOUSAND:
        return str(tokens)
    if tokens < 10 * THOUSAND:
        return f"{tokens / THOUSAND:.1f}k"
    if tokens < MILLION:
        return f"{tokens / THOUSAND:.0f}k"
    return f"{tokens / MILLION:.1f}M"

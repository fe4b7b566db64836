"""Calls that paid again for what the provider's cache should have held, and why."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, Literal, NamedTuple

from ullage.advice.history import WindowHistory
from ullage.advice.lives import CallRow
from ullage.advice.policy import MISSED_SHARE, NAMED_CALLS
from ullage.advice.savings import TokenSaving
from ullage.advice.suggestion import AdviceInput, Suggestion, plural
from ullage.meter.spend import MILLION

SMALLEST: Final = 1_024
"""Tokens below which providers cache nothing
(https://platform.openai.com/docs/guides/prompt-caching; Anthropic's least is 1,024 too)."""

SHORT_LIFE_S: Final = 300
LONG_LIFE_S: Final = 3_600
"""Seconds for which Anthropic keeps a cache (https://platform.claude.com/docs/en/build-with-claude/prompt-caching)."""

MissReason = Literal["model", "tools", "pause_1h", "pause_5m", "edited", "unknown"]

_WORDS: Final[dict[MissReason, str]] = {
    "model": "after a change of the model",
    "tools": "after a change of tools or system prompt",
    "pause_1h": "after a pause of more than an hour",
    "pause_5m": "after a pause of more than five minutes",
    "edited": "after an earlier message was changed",
    "unknown": "for a reason that the session does not show",
}

_CHANGES: Final = "change it only between tasks, right after a compaction"
_NOTHING: Final = "nothing is known to help: a provider may drop its cache early"

_REMEDIES: Final[dict[MissReason, str]] = {
    "model": _CHANGES,
    "tools": _CHANGES,
    "edited": _CHANGES,
    "unknown": _NOTHING,
}
"""What to do about it, whatever the program. Pauses have remedies of their own in each."""


class CacheMiss(NamedTuple):
    """One call that read less from the cache than the call before had sent. ``again`` are the tokens paid again."""

    row: CallRow
    reason: MissReason
    again: int
    usd: float | None


def cache_misses(history: WindowHistory) -> list[CacheMiss]:
    """The misses of a session, without those that a compaction or pruning made: these make requests shorter."""
    misses: list[CacheMiss] = []
    rows = [row for row in history.main_calls if row.outcome != "failed"]
    if not any(row.cached for row in rows):
        return misses
    life_s = SHORT_LIFE_S
    for before, row in pairwise(rows):
        if before.written:
            life_s = LONG_LIFE_S if before.hour_written else SHORT_LIFE_S
        sent = min(before.used, row.used)
        is_shortened = "compaction" in row.marks or "prune" in row.marks
        if row.cached is None or sent < SMALLEST or is_shortened:
            continue
        again = sent - row.cached
        if again < MISSED_SHARE * sent:
            continue
        usd: float | None = None
        if row.new_price is not None and row.read_price is not None:
            usd = again * (row.new_price - row.read_price) / MILLION
        misses.append(CacheMiss(row, _reason(row, before, life_s), again, usd))
    return misses


def _reason(row: CallRow, before: CallRow, life_s: int) -> MissReason:
    """``life_s`` is for how long what was written before is kept."""
    if row.model != before.model:
        return "model"
    if "tools" in row.marks or "system" in row.marks:
        return "tools"
    pause_s = 0.0
    if row.at and before.at:
        pause_s = row.at - before.at
    if pause_s > LONG_LIFE_S:
        return "pause_1h"
    if pause_s > life_s:
        return "pause_5m"
    if {"edit", "rewind", "uncompact"} & set(row.marks):
        return "edited"
    return "unknown"


def missed_cache(given: AdviceInput) -> list[Suggestion]:
    """One suggestion for each reason."""
    by_reason: dict[MissReason, list[CacheMiss]] = {}
    for miss in cache_misses(given.history):
        by_reason.setdefault(miss.reason, []).append(miss)
    found: list[Suggestion] = []
    for reason, misses in by_reason.items():
        known = [miss.usd for miss in misses if miss.usd is not None]
        saving = TokenSaving(
            so_far=sum(miss.again for miss in misses), usd=sum(known) if known else None
        )
        count = len(misses)
        numbers = ", ".join(f"{miss.row.number:,}" for miss in misses[:NAMED_CALLS])
        if count > NAMED_CALLS:
            numbers += ", …"
        calls = plural(count, "call")
        suggestion = Suggestion(
            kind="cache",
            title=f"{calls} paid for the prompt again {_WORDS[reason]}",
            text=f"call {numbers}",
            how=_REMEDIES.get(reason) or given.remedy("cache"),
            saving=saving,
            number=count,
        )
        found.append(suggestion)
    return found

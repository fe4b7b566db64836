"""Calls that paid again for what the provider's cache should have held, and why."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ullage.advice.history import WindowHistory
from ullage.advice.lives import CallRow
from ullage.advice.savings import MILLION, TokenSaving
from ullage.advice.suggestion import AdviceInput, Suggestion, plural

MISSED: Final = 0.5
"""Share of the last request from which on not reading it from the cache is a miss."""

SMALLEST: Final = 1_024
"""Tokens below which providers cache nothing
(https://platform.openai.com/docs/guides/prompt-caching; Anthropic's least is 1,024 too)."""

SHORT_LIFE_S: Final = 300
LONG_LIFE_S: Final = 3_600
"""Seconds for which Anthropic keeps a cache (https://platform.claude.com/docs/en/build-with-claude/prompt-caching)."""

NAMED: Final = 4
"""Calls that a suggestion names."""

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
    before: CallRow | None = None
    life_s = SHORT_LIFE_S
    has_cache = any(row.cached for row in history.main_calls)
    for row in history.main_calls:
        if row.outcome == "failed":
            continue
        if has_cache and before is not None:
            miss = _miss(row, before, life_s)
            if miss is not None:
                misses.append(miss)
        before = row
        if row.written:
            life_s = _life_s(row)
    return misses


def _life_s(row: CallRow) -> int:
    """For how long what a call wrote is kept; the provider's default where its usage does not say."""
    return LONG_LIFE_S if row.hour_written else SHORT_LIFE_S


def _miss(row: CallRow, before: CallRow, life_s: int) -> CacheMiss | None:
    again = min(before.used, row.used)
    if row.cached is None or again < SMALLEST:
        return None
    if "compaction" in row.marks or "prune" in row.marks:
        return None
    missed = again - row.cached
    if missed < MISSED * again:
        return None
    usd: float | None = None
    if row.new_price is not None and row.read_price is not None:
        usd = missed * (row.new_price - row.read_price) / MILLION
    return CacheMiss(row, _reason(row, before, life_s), missed, usd)


def _reason(row: CallRow, before: CallRow, life_s: int) -> MissReason:
    marks = set(row.marks)
    if row.model != before.model:
        return "model"
    if marks & {"tools", "system"}:
        return "tools"
    pause = 0.0
    if row.at and before.at:
        pause = row.at - before.at
    if pause > LONG_LIFE_S:
        return "pause_1h"
    if pause > life_s:
        return "pause_5m"
    if marks & {"edit", "rewind", "uncompact"}:
        return "edited"
    return "unknown"


def missed_cache(given: AdviceInput) -> list[Suggestion]:
    """One suggestion for each reason."""
    by_reason: dict[MissReason, list[CacheMiss]] = {}
    for miss in cache_misses(given.history):
        by_reason.setdefault(miss.reason, []).append(miss)
    found: list[Suggestion] = []
    for reason, misses in by_reason.items():
        again = sum(miss.again for miss in misses)
        usd: float | None = None
        for miss in misses:
            if miss.usd is not None:
                usd = (usd or 0.0) + miss.usd
        count = len(misses)
        calls = plural(count, "call")
        numbers = ", ".join(f"{miss.row.number:,}" for miss in misses[:NAMED])
        if count > NAMED:
            numbers += ", …"
        suggestion = Suggestion(
            kind="cache",
            title=f"{calls} paid for the prompt again {_WORDS[reason]}",
            text=f"call {numbers}",
            how=_REMEDIES.get(reason) or given.remedy("cache"),
            saving=TokenSaving(so_far=again, usd=usd),
            number=count,
        )
        found.append(suggestion)
    return found

"""Suggestions for calls that paid again for what the provider's cache should have held."""

from __future__ import annotations

from typing import Final

from ullage.advice.cause import CauseKind
from ullage.advice.history import WindowHistory
from ullage.advice.lives import CallRow
from ullage.advice.policy import NAMED_CALLS
from ullage.advice.savings import TokenSaving
from ullage.advice.suggestion import AdviceInput, Suggestion
from ullage.display.text import counted

_CHANGES: Final = "change it only between tasks, right after a compaction"
_NOTHING: Final = "nothing is known to help: a provider may drop its cache early"
_STEADY: Final = (
    "send the same bytes in each request: what changes belongs behind what stays"
)

_REMEDIES: Final[dict[CauseKind, str]] = {
    "model": _CHANGES,
    "setting": _CHANGES,
    "beta": _CHANGES,
    "tool_added": _CHANGES,
    "tool_removed": _CHANGES,
    "tools_replaced": _CHANGES,
    "cache_key": "keep the key of a conversation",
    "marks": "keep a cache mark behind the newest message",
    "lookback": "set a cache mark at least every 20 blocks",
    "provider": _NOTHING,
    "unknown": _NOTHING,
}
"""What to do about it, whatever the program. Pauses have remedies of their own in each."""


def misses_of(history: WindowHistory) -> list[CallRow]:
    """The calls that paid again, without those after a compaction, which makes requests shorter."""
    found: list[CallRow] = []
    for row in history.main_calls:
        is_shortened = "compaction" in row.marks or "prune" in row.marks
        if row.cause is not None and row.cause.kind != "compaction" and not is_shortened:
            found.append(row)
    return found


def missed_cache(given: AdviceInput) -> list[Suggestion]:
    """One suggestion for each cause and what it is about."""
    by_cause: dict[tuple[CauseKind, str], list[CallRow]] = {}
    for row in misses_of(given.history):
        if row.cause is not None:
            kind = row.cause.kind
            is_named = not kind.startswith(("message", "pause"))
            key = (kind, row.cause.name if is_named else "")
            by_cause.setdefault(key, []).append(row)
    return [_suggestion(given, kind, rows) for (kind, _), rows in by_cause.items()]


def _suggestion(given: AdviceInput, kind: CauseKind, rows: list[CallRow]) -> Suggestion:
    causes = [row.cause for row in rows if row.cause is not None]
    known = [cause.usd for cause in causes if cause.usd is not None]
    again = sum(cause.tokens for cause in causes)
    numbers = ", ".join(f"{row.number:,}" for row in rows[:NAMED_CALLS])
    if len(rows) > NAMED_CALLS:
        numbers += ", …"
    first = causes[0]
    return Suggestion(
        kind="cache",
        title=f"{counted(len(rows), 'call')} paid for the prompt again: {first.words}",
        text=f"call {numbers}",
        quote=first.quote,
        how=given.remedy("cache") if kind == "pause" else _REMEDIES.get(kind, _STEADY),
        saving=TokenSaving(so_far=again, usd=sum(known) if known else None),
        number=len(rows),
    )

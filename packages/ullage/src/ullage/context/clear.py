"""Clears old tool results: a notice replaces the content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from ullage.context.budget import Aim, aim_of
from ullage.context.cache_prices import cache_prices
from ullage.context.costs import reading_after
from ullage.context.policy import PROTECT_SHARE
from ullage.context.rules import NOTICE, READABLE_NOTICE
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined, Proposal, Strategy, SummaryAnswer
from ullage.events import Pruned
from ullage.messages import Message, ToolCallPart, ToolResultPart

READS: Final = re.compile(r"read|view|cat|open|show", re.IGNORECASE)
"""Names of tools that read a file: a repeated read makes the earlier result outdated."""

WORTH: Final = 2.0
"""A result is cleared if it has at least this many times the tokens of the notice."""

LEAST_READS: Final = 1

MOST_LEFT: Final = 0.5
"""The most of the request that clearing may leave. If it leaves more, the next compaction is near and the cache was
rewritten for little (docs/why/index.md#compaction)."""


class ClearableResult(NamedTuple):
    """A tool result that may be cleared. ``superseded``: a later read of the same file is in view."""

    message: str
    part: str
    tokens: float
    superseded: bool


class CacheCost(NamedTuple):
    """In prices of fresh tokens: the cost of rewriting the cache, and the saving of the smaller requests.

    ``reads`` is the expected number of requests until the next compaction.
    """

    cost: float
    saving: float
    reads: int


@dataclass(frozen=True, slots=True)
class ClearToolResults(Strategy):
    """Clears the content of old tool results, all that may go in one change. Tool results only, ever.

    Stays: the newest min(``Rules.protect_tokens``, a quarter of the input limit) tokens of them, those in pinned
    messages and those the model has not seen. A read of a file that was read again later counts as old at once.
    Declines when it would not bring the request down to the goal and to half its size, or when the provider's cache of
    what follows the first cleared result costs more to write anew than the smaller requests save: a strategy that
    follows does better then, so both are left to the proof where only clearing is chosen. Declines when a person asked
    for a summary.
    """

    name: str = "clear"

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        if situation.is_only_asked or situation.is_partial:
            return Declined("nothing_to_do", "A summary was asked for.")
        aim = aim_of(situation)
        chosen = tuple(clearable(situation, aim))
        if not chosen:
            return Declined("nothing_to_do", "No old tool result is left to clear.")
        event = Pruned(
            parts=tuple(result.part for result in chosen),
            reason=f"{situation.trigger}: {len(chosen)} old tool results",
            notice=_notice(situation),
            prune=situation.compaction,
        )
        after = reading_after(situation.fold, (event,)).tokens
        saved = situation.sizes.used - after
        rewritten = _behind(situation, {result.message for result in chosen}) - saved
        enough = min(aim.goal, MOST_LEFT * situation.sizes.used)
        has_better = not situation.rules.only_clears
        if after > enough and has_better:
            return Declined(
                "above_point",
                f"Clearing {saved:,} tokens leaves {after:,}, more than {enough:,.0f}.",
            )
        price = cache_cost(
            situation, aim, saved=saved, rewritten=max(0, rewritten), after=after
        )
        is_dear = price.saving <= price.cost
        may_wait = has_better and not situation.is_urgent
        if is_dear and may_wait:
            note = f"Rewriting {rewritten:,} tokens of cache costs {price.cost:,.0f}, and {price.reads} calls save "
            return Declined(
                "not_worth_it", f"{note}{price.saving:,.0f} (in fresh input tokens)."
            )
        counted = msgspec.structs.replace(
            event,
            before=situation.sizes.used,
            after=after,
            saved=saved,
            rewritten=max(0, rewritten),
        )
        return Candidate(counted)


def _notice(situation: Situation) -> str:
    return READABLE_NOTICE if situation.can_read else NOTICE


def clearable(situation: Situation, aim: Aim) -> Iterator[ClearableResult]:
    """The results that may be cleared, oldest first."""
    limit = aim.limit if aim.limit is not None else situation.sizes.used
    protected = min(situation.rules.protect_tokens, PROTECT_SHARE * limit)
    smallest = WORTH * situation.count(_notice(situation))
    old: list[ClearableResult] = []
    for result in reversed(tuple(_results(situation))):
        if not result.superseded and protected > 0:
            protected -= result.tokens
            continue
        if result.tokens >= smallest:
            old.append(result)
    return reversed(old)


def _results(situation: Situation) -> Iterator[ClearableResult]:
    """Results in view with content that the model has seen and that are not pinned, oldest first."""
    calls = {
        part.call_id: part
        for message in situation.messages
        for part in message.of_type(ToolCallPart)
    }
    last_read = {
        _read(calls[part.call_id]): part.id
        for message in situation.messages
        for part in message.of_type(ToolResultPart)
        if part.call_id in calls and not part.is_error
    }
    unseen = _unseen(situation.messages)
    for message in situation.messages:
        if message.id in situation.pins or message.id in unseen:
            continue
        entry = situation.fold.view.entries[message.id]
        share = (
            situation.sizes.each[message.id] / entry.cost.tokens
            if entry.cost.tokens > 0
            else 0.0
        )
        costs = {cost.id: cost.tokens * share for cost in entry.cost.parts}
        for part in message.of_type(ToolResultPart):
            if part.cleared:
                continue
            key = _read(calls[part.call_id]) if part.call_id in calls else ""
            superseded = bool(key) and last_read.get(key, part.id) != part.id
            yield ClearableResult(
                message.id, part.id, costs.get(part.id, 0.0), superseded
            )


def _read(call: ToolCallPart) -> str:
    """A key for the file that a call reads; empty for other tools."""
    return (
        f"{call.name}\0{' '.join(call.arguments.split())}"
        if READS.search(call.name)
        else ""
    )


def _unseen(messages: Sequence[Message]) -> frozenset[str]:
    """Messages after the last answer, which the model has not seen."""
    ids: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        ids.append(message.id)
    return frozenset(ids)


def _behind(situation: Situation, changed: set[str]) -> int:
    """Tokens from the first changed message to the end, which the cache no longer covers."""
    ids = [message.id for message in situation.messages]
    first = min(
        (place for place, name in enumerate(ids) if name in changed), default=len(ids)
    )
    return round(situation.sizes.of(ids[first:]))


def cache_cost(
    situation: Situation, aim: Aim, *, saved: int, rewritten: int, after: int
) -> CacheCost:
    """The cost and the saving of clearing at the provider's cache prices, until the next compaction."""
    prices = cache_prices(situation)
    reads = max(LEAST_READS, _calls_until(situation, aim, after))
    return CacheCost(rewritten * prices.again, saved * prices.read * reads, reads)


def _calls_until(situation: Situation, aim: Aim, after: int) -> int:
    """Calls until the next compaction, at the average growth per call."""
    calls = len(situation.fold.track.steps)
    growth = situation.sizes.messages / calls if calls else 0.0
    bar = aim.bar if aim.bar is not None else situation.sizes.used
    return round(max(0.0, bar - after) / growth) if growth > 0 else 1

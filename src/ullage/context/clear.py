"""Clearing old tool results: a notice in the place of what nobody will read again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from ullage.context.budget import Aim, aim_of
from ullage.context.costs import reading_after
from ullage.context.rules import NOTICE, PROTECT_SHARE
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined, Proposal, SummaryAnswer
from ullage.events import Pruned
from ullage.messages import Message, ToolCallPart, ToolResultPart

READS: Final = re.compile(r"read|view|cat|open|show", re.IGNORECASE)
"""Names of tools that read a file: the same read again makes the earlier one's result out of date."""

WORTH: Final = 2.0
"""A result is cleared if it has at least this many times the tokens of the notice."""

WRITE_PRICE: Final = 1.25
READ_PRICE: Final = 0.1
"""Of the price of a fresh token, what writing it to the cache and reading it from there cost, where the model's own
prices are not known (https://platform.claude.com/docs/en/build-with-claude/prompt-caching)."""

LEAST_READS: Final = 1

MOST_LEFT: Final = 0.5
"""Of the request, the most that clearing may leave. Where it frees less, the next compaction is near, and the cache has
been written anew for little (docs/why/compaction.md)."""


class ClearableResult(NamedTuple):
    """A tool result that may be cleared, with its tokens and whether a later read of the same file is in view."""

    message: str
    part: str
    tokens: float
    superseded: bool


class CacheCost(NamedTuple):
    """In fresh-token prices: what writing the rest anew costs, and what the smaller requests save until the next time.

    ``reads`` is how many requests are expected until then.
    """

    cost: float
    saving: float
    reads: int


@dataclass(frozen=True, slots=True)
class ClearToolResults:
    """Clears the content of old tool results, all that may go in one change. Tool results only, ever.

    Stays: the newest min(``Rules.protect_tokens``, a quarter of the input limit) tokens of them, those in pinned
    messages and those the model has not seen. A read of a file that was read again later counts as old at once.
    Declines when it would not bring the request down to the goal and to half its size, when the provider's cache of
    what follows the first cleared result costs more to write anew than the smaller requests save, or when a person
    asked for a summary.
    """

    name: str = "clear"

    def calls_at_most(self, situation: Situation) -> int:
        return 0

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        if situation.is_only_asked:
            return Declined("nothing_to_do", "A summary was asked for.")
        aim = aim_of(situation)
        chosen = tuple(clearable(situation, aim))
        if not chosen:
            return Declined("nothing_to_do", "No old tool result is left to clear.")
        event = Pruned(
            parts=tuple(result.part for result in chosen),
            reason=f"{situation.trigger}: {len(chosen)} old tool results",
            notice=NOTICE,
            prune=situation.compaction,
        )
        after = reading_after(situation.fold, (event,)).tokens
        saved = situation.sizes.used - after
        rewritten = _behind(situation, {result.message for result in chosen}) - saved
        enough = min(aim.goal, MOST_LEFT * situation.sizes.used)
        if after > enough:
            return Declined("above_point", f"Clearing {saved:,} tokens leaves {after:,}, more than {enough:,.0f}.")
        price = cache_cost(situation, aim, saved=saved, rewritten=max(0, rewritten), after=after)
        if price.saving <= price.cost and not situation.is_urgent:
            note = f"Writing {rewritten:,} tokens anew costs {price.cost:,.0f}, and {price.reads} calls save "
            return Declined("not_worth_it", f"{note}{price.saving:,.0f} (in fresh input tokens).")
        counted = msgspec.structs.replace(
            event, before=situation.sizes.used, after=after, saved=saved, rewritten=max(0, rewritten)
        )
        return Candidate(counted)


def clearable(situation: Situation, aim: Aim) -> Iterator[ClearableResult]:
    """The results that may be cleared, oldest first."""
    limit = aim.limit if aim.limit is not None else situation.sizes.used
    protected = min(situation.rules.protect_tokens, PROTECT_SHARE * limit)
    smallest = WORTH * situation.count(NOTICE)
    old: list[ClearableResult] = []
    for result in reversed(tuple(_results(situation))):
        if not result.superseded and protected > 0:
            protected -= result.tokens
            continue
        if result.tokens >= smallest:
            old.append(result)
    return reversed(old)


def _results(situation: Situation) -> Iterator[ClearableResult]:
    """Results in view that have their content, may be touched and were seen by the model, oldest first."""
    calls = {part.call_id: part for message in situation.messages for part in message.of_type(ToolCallPart)}
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
        share = situation.sizes.each[message.id] / entry.cost.tokens if entry.cost.tokens > 0 else 0.0
        costs = {cost.id: cost.tokens * share for cost in entry.cost.parts}
        for part in message.of_type(ToolResultPart):
            if part.cleared:
                continue
            key = _read(calls[part.call_id]) if part.call_id in calls else ""
            superseded = bool(key) and last_read.get(key, part.id) != part.id
            yield ClearableResult(message.id, part.id, costs.get(part.id, 0.0), superseded)


def _read(call: ToolCallPart) -> str:
    """What a call reads, as a key; empty for a tool that does not read a file."""
    return f"{call.name}\0{' '.join(call.arguments.split())}" if READS.search(call.name) else ""


def _unseen(messages: Sequence[Message]) -> frozenset[str]:
    """Messages after the last answer: the model has not had them yet."""
    ids: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        ids.append(message.id)
    return frozenset(ids)


def _behind(situation: Situation, changed: set[str]) -> int:
    """Tokens from the first changed message to the end: the cache holds what comes before."""
    ids = [message.id for message in situation.messages]
    first = min((place for place, name in enumerate(ids) if name in changed), default=len(ids))
    return round(situation.sizes.of(ids[first:]))


def cache_cost(situation: Situation, aim: Aim, *, saved: int, rewritten: int, after: int) -> CacheCost:
    """What clearing costs and saves at the provider's cache prices, until the compaction point is reached again."""
    write, read = WRITE_PRICE, READ_PRICE
    known = situation.fold.known
    if known is not None and known.prices is not None:
        rate = known.prices.at(situation.sizes.used)
        if rate.input:
            write = (rate.cache_write if rate.cache_write is not None else rate.input) / rate.input
            read = (rate.cache_read if rate.cache_read is not None else rate.input) / rate.input
    reads = max(LEAST_READS, _calls_until(situation, aim, after))
    return CacheCost(rewritten * max(0.0, write - read), saved * read * reads, reads)


def _calls_until(situation: Situation, aim: Aim, after: int) -> int:
    """Calls until the bar is reached again, at the growth a call so far."""
    calls = situation.fold.track.count
    growth = situation.sizes.messages / calls if calls else 0.0
    bar = aim.bar if aim.bar is not None else situation.sizes.used
    return round(max(0.0, bar - after) / growth) if growth > 0 else 1

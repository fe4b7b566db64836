"""Counts that a provider's count endpoint gave: of the whole next request, and of what every request carries.

A count is worth more than an estimate and less than a report. Anthropic calls its count an estimate that may be off
by a small amount and may hold tokens that Anthropic adds and does not bill
(https://platform.claude.com/docs/en/build-with-claude/token-counting); OpenAI calls it exact
(https://developers.openai.com/api/docs/guides/token-counting). Neither names a figure for the difference.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.messages import SystemBlock, Tool
from ullage.meter.anchor import Forecast
from ullage.meter.fingerprint import digest, of_system, of_tools
from ullage.meter.policy import (
    COUNT_DOUBT,
    COUNT_STAYS_WITHIN,
    LEAST_COUNT_DOUBT,
    PIECES_COUNTED,
)

CountMode = Literal["auto", "always", "never"]
"""When a provider is asked to count: see ``State.is_count_due``."""

CORRECTION: Final = (0.25, 4.0)
"""How far a count may correct what is new in a request that has changed since it was counted."""

COUNTED: Final = "counted by the provider"
"""The label of a reading that rests on a count."""


MOVED: Final = (1_000, 0.1)
"""A count that stays within so many tokens although the estimate of the same requests has moved by so many tokens, and
by this share of it, is no count of them: no estimate of a changed content is off by a factor of a hundred."""

CONTRADICTED: Final = "The provider counts {:,} tokens for requests of different sizes: its counts are not used."


class CountedInput(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's count of one request, and what the same request was estimated at."""

    tokens: int
    estimated: int
    new: float
    """``Forecast.new`` of that estimate."""
    is_contradicted: bool = False
    """The count is that of a request of another size, so neither of the two is used."""

    def contradicts(self, earlier: CountedInput) -> bool:
        """Whether this count stays where ``earlier`` was, of a request of another size or itself contradicted."""
        if abs(self.tokens - earlier.tokens) > COUNT_STAYS_WITHIN:
            return False
        least, share = MOVED
        moved = abs(self.estimated - earlier.estimated)
        return earlier.is_contradicted or moved >= max(least, share * earlier.estimated)

    def covers(self, estimate: Forecast) -> bool:
        """Whether an estimate is of the request that was counted."""
        return not self.is_contradicted and estimate.tokens == self.estimated

    def applied(self, estimate: Forecast) -> Forecast:
        """The forecast by this count.

        For the counted request it is the count. After a change of the content, what is new is corrected in proportion,
        so that an estimate of a compaction's gain and the reading before it are in the same units. A count that is
        contradicted only adds a note.
        """
        if self.is_contradicted:
            note = CONTRADICTED.format(self.tokens)
            return replace(estimate, notes=(*estimate.notes, note))
        if self.covers(estimate):
            doubt = max(LEAST_COUNT_DOUBT, COUNT_DOUBT * self.tokens)
            return replace(
                estimate,
                tokens=self.tokens,
                low=max(0, min(self.tokens, round(self.tokens - doubt))),
                high=round(self.tokens + doubt),
                new=estimate.new + self.tokens - estimate.tokens,
                label=COUNTED,
            )
        least, most = CORRECTION
        ratio = 1.0
        if self.new > 0:
            actual_new = self.new + self.tokens - self.estimated
            ratio = min(most, max(least, actual_new / self.new))
        moved = round(estimate.new * (ratio - 1))
        return replace(
            estimate,
            tokens=max(0, estimate.tokens + moved),
            low=max(0, estimate.low + moved),
            high=max(0, estimate.high + moved),
            new=estimate.new + moved,
        )


# -- pieces: what every request carries --

FIRST_TOOL: Final = Tool(name="first", description="Is not called.")
"""Stands beside counted tools, so that what a first tool adds once is not counted as theirs."""


class Carried(NamedTuple):
    """A system prompt and tools as a counted request has them."""

    system: tuple[SystemBlock, ...] = ()
    tools: tuple[Tool, ...] = ()


class CountedPiece(NamedTuple):
    """What is counted as the difference of two requests. ``key`` names the content and the model."""

    key: str
    whole: Carried
    rest: Carried


def block_key(model: str, blocks: Iterable[SystemBlock]) -> str:
    """Names the last of these system blocks as it follows the others, for one model."""
    return digest("system", model, of_system(blocks))


def tools_key(model: str, tools: Iterable[Tool]) -> str:
    """Names a group of tools by its declarations, for one model."""
    return digest("tools", model, of_tools(tools))


def all_tools_key(model: str, tools: Iterable[Tool]) -> str:
    """Names all tools of a request, with what the first one adds, for one model."""
    return digest("all tools", tools_key(model, tools))


def pieces_of(
    model: str,
    system: tuple[SystemBlock, ...],
    tools: tuple[Tool, ...],
    large: Container[str],
) -> list[CountedPiece]:
    """The pieces to count: system blocks, all tools, each server's tools and each ``large`` tool, by name.

    Each system block is counted behind those before it. A server's tools and a single tool do not depend on the
    others, so what does not change is not counted twice.
    """
    pieces: list[CountedPiece] = []
    for end in range(1, len(system) + 1):
        whole, rest = Carried(system=system[:end]), Carried(system=system[: end - 1])
        pieces.append(CountedPiece(block_key(model, system[:end]), whole, rest))
    sent = tuple(tool for tool in tools if not tool.deferred)
    if not sent:
        return pieces[:PIECES_COUNTED]
    pieces.append(
        CountedPiece(all_tools_key(model, sent), Carried(tools=sent), Carried())
    )
    large_tools: list[list[Tool]] = []
    servers: dict[str, list[Tool]] = {}
    for tool in sent:
        if tool.name in large:
            large_tools.append([tool])
        if tool.server:
            servers.setdefault(tool.server, []).append(tool)
    first = Carried(tools=(FIRST_TOOL,))
    for group in (*large_tools, *servers.values()):
        key = tools_key(model, group)
        pieces.append(CountedPiece(key, Carried(tools=(FIRST_TOOL, *group)), first))
    return pieces[:PIECES_COUNTED]

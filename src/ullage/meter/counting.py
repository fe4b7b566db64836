"""Counts that a provider's count endpoint gave: of the whole next request, and of what every request carries.

A count is worth more than an estimate and less than a report. Anthropic calls its count an estimate that may be off
by a small amount and may hold tokens that Anthropic adds and does not bill
(https://platform.claude.com/docs/en/build-with-claude/token-counting); OpenAI calls it exact
(https://developers.openai.com/api/docs/guides/token-counting). Neither names a figure for the difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ullage.messages import SystemBlock, Tool
from ullage.meter.anchor import Forecast
from ullage.meter.fingerprint import digest

CountMode = Literal["auto", "always", "never"]
"""When a provider is asked to count: see ``State.is_count_due``."""

COUNT_DOUBT: Final = 0.005
LEAST_COUNT_DOUBT: Final = 10.0
"""The half width of a counted reading's interval: a share of it, and tokens at least. No provider documents how far a
count may be off, so these are a choice: a simulator's and llama.cpp's counts were equal to their reports."""

CORRECTION: Final = (0.25, 4.0)
"""How far a count may correct what is new in a request that has changed since it was counted."""

BELIEVED_FACTOR: Final = 10
BELIEVED_MARGIN: Final = 1_000
"""A count is believed up to this multiple of the estimate's interval in either direction, and tokens beyond it: no
tokenizer is further from the estimates than a fifth of that, and short requests are mostly a server's template."""

COUNTED: Final = "counted by the provider"
"""The label of a reading that rests on a count."""


def is_believed(tokens: int, estimate: Forecast) -> bool:
    """Whether a count may be of the request with this estimate."""
    most = estimate.high * BELIEVED_FACTOR + BELIEVED_MARGIN
    least = estimate.low / BELIEVED_FACTOR - BELIEVED_MARGIN
    return tokens > 0 and least <= tokens <= most


class CountedInput(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's count of one request, and what the same request was estimated at."""

    tokens: int
    estimated: int
    new: float
    """``Forecast.new`` of that estimate."""

    def covers(self, estimate: Forecast) -> bool:
        """Whether an estimate is of the request that was counted."""
        return estimate.tokens == self.estimated

    def applied(self, estimate: Forecast) -> Forecast:
        """The forecast by this count.

        For the counted request it is the count. After a change of the content, what is new is corrected in proportion,
        so that an estimate of a compaction's gain and the reading before it are in the same units.
        """
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


def block_key(model: str, blocks: Iterable[SystemBlock]) -> str:
    """Names the last of these system blocks as it follows the others, for one model."""
    texts = [piece for block in blocks for piece in (block.kind, block.name, block.text)]
    return digest("system", model, *texts)


def tools_key(model: str, tools: Iterable[Tool]) -> str:
    """Names a group of tools by its declarations, for one model."""
    declared = [
        piece
        for tool in tools
        for piece in (tool.name, tool.description, bytes(tool.schema), tool.kind)
    ]
    return digest("tools", model, *declared)


def overhead_key(model: str) -> str:
    """Names what the first tool adds beside its own declaration, for one model."""
    return digest("overhead", model)

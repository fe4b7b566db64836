"""The first call: what its content costs, and how far an estimate may be off, when nothing is known but the request.

Bounds are meant to hold the truth 95 times in 100. Half-widths are listed by what they are for: text, tools and an
answer's schema of one group of models, in tokens and as a share, once for the models' own vocabulary and once for an
estimate. They were set on recorded first calls so that each group's coverage is between 93 and 98 %
(``docs/accuracy.md``). What runs on the provider's side is the largest unknown: it may be billed once or with
everything it read.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot
from typing import Final, NamedTuple

from ullage.meter.cost import NO_DOUBT, Widths
from ullage.meter.policy import (
    FIRST_NARROWEST,
    HOSTED_ABOVE,
    HOSTED_BELOW,
    HOSTED_LEAST,
    MEDIA_DOUBT,
)


def is_thinking(params: Mapping[str, object]) -> bool:
    """Whether the request turns extended thinking on, in any wire's spelling."""
    for holder in (params, params.get("additionalModelRequestFields")):
        if not isinstance(holder, dict):
            continue
        for key in ("thinking", "reasoning", "reasoning_config", "reasoningConfig"):
            found = holder.get(key)
            if isinstance(found, dict) and _turns_on(found):
                return True
    return False


def _turns_on(found: Mapping[str, object]) -> bool:
    if found.get("type") in {"disabled", "adaptive"} or found.get("enabled") is False:
        return False
    return found.get("effort") not in {"none", "minimal"} and bool(found)


class OpeningContent(NamedTuple):
    """What a request is made of, in tokens of the estimate, and whose models it is for."""

    stratum: str
    tokens: float
    """All of it."""
    tools: float = 0.0
    hosted: float = 0.0
    answer: float = 0.0
    media: float = 0.0
    media_doubt: Widths = NO_DOUBT
    history: bool = False
    unread: float = 0.0
    """Not of ``tokens``: ``ToolsCost.unread``."""

    @property
    def text(self) -> float:
        """What is counted text and framing."""
        return max(0.0, self.tokens - self.tools - self.hosted - self.answer - self.media)


class HalfWidth(NamedTuple):
    """A half-width: tokens and a share, added as independent errors."""

    tokens: float
    share: float

    def of(self, amount: float) -> float:
        return hypot(self.tokens, self.share * amount) if amount else 0.0


class OpeningWidths(NamedTuple):
    """Half-widths of one group of models."""

    text: HalfWidth
    tools: HalfWidth
    answer: HalfWidth


_CLAUDE: Final = OpeningWidths(
    HalfWidth(2.5, 0.005), HalfWidth(4, 0.01), HalfWidth(6, 0.08)
)

EXACT: Final = {
    "openai": OpeningWidths(HalfWidth(0, 0), HalfWidth(0.6, 0.01), HalfWidth(2, 0.01)),
    "claude": _CLAUDE,
    "newer claude": _CLAUDE._replace(tools=HalfWidth(330, 0.02)),
    "gemini": OpeningWidths(HalfWidth(2, 0.015), HalfWidth(5, 0.14), HalfWidth(2, 0.2)),
    "open": OpeningWidths(HalfWidth(3, 0.015), HalfWidth(11, 0.06), HalfWidth(4, 0.3)),
}
"""In the models' own vocabulary: 97 % of 500 requests of OpenAI's without tools come out even."""

ESTIMATED: Final = {
    "openai": OpeningWidths(HalfWidth(2.4, 0.05), HalfWidth(1, 0.08), HalfWidth(4, 0.1)),
    "gemini": OpeningWidths(HalfWidth(3, 0.1), HalfWidth(5, 0.2), HalfWidth(3, 0.2)),
    "open": OpeningWidths(HalfWidth(3, 0.16), HalfWidth(11, 0.08), HalfWidth(5, 0.3)),
    "other": OpeningWidths(HalfWidth(3, 0.08), HalfWidth(5, 0.12), HalfWidth(5, 0.3)),
}
"""In the nearest vocabulary, or without a tokenizer."""

UNKNOWN: Final = OpeningWidths(
    HalfWidth(12, 0.35), HalfWidth(120, 0.8), HalfWidth(60, 0.8)
)
"""For models without measurements."""

OTHERWISE: Final = UNKNOWN._replace(tools=HalfWidth(350, 0.8))
"""For a model whose first report has shown that it does not count as it was measured to. The hidden prompt of a batch
of tools is then known to be from 0 to 500 tokens (``tokens.template``), and no more."""

HISTORY: Final = HalfWidth(12, 0.2)
"""Tool results and calls of earlier turns (n=62)."""


def opening_widths(stratum: str, *, is_exact: bool) -> OpeningWidths:
    """The half-widths of one group of models. ``is_exact``: its text is counted in its own vocabulary."""
    exact = EXACT.get(stratum) if is_exact else None
    return exact or ESTIMATED.get(stratum, UNKNOWN)


def hosted_doubt(tokens: float) -> float:
    """How far above its estimate the cost of tools may be that run on the provider's side."""
    return HOSTED_ABOVE * tokens + HOSTED_LEAST if tokens else 0.0


def opening_interval(content: OpeningContent, *, is_exact: bool) -> tuple[int, int]:
    """The bounds of a first call's input, in whole tokens. ``is_exact``: as in ``opening_widths``."""
    widths = opening_widths(content.stratum, is_exact=is_exact)
    half = hypot(
        FIRST_NARROWEST if content.tokens else 0.0,
        widths.text.of(content.text),
        widths.tools.of(content.tools),
        widths.answer.of(content.answer),
        HISTORY.of(content.text) if content.history else 0.0,
    )
    of_media = MEDIA_DOUBT * content.media
    below = hypot(half, max(of_media, content.media_doubt.below))
    above = hypot(half, max(of_media, content.media_doubt.above))
    tokens = max(0.0, content.tokens)
    low = max(0, round(tokens - below - HOSTED_BELOW * content.hosted))
    high = round(tokens + above + hosted_doubt(content.hosted) + content.unread)
    return min(low, round(tokens)), max(high, round(tokens))

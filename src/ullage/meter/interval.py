"""How far an estimate may be off: half-widths meant to hold the truth 95 times in 100.

A row whose content can be counted gets a narrow interval; what can't be predicted (media, reasoning under a rule read from a few
pairs, an answer whose output was no count) widens only the rows that have it. Terms were set on the recorded
conversations, fold by fold, so that each stratum's coverage is between 93 and 98 % (``docs/accuracy.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What is uncertain about an estimate, in tokens of the kind."""

    content: float = 0.0
    """Text that was counted."""
    media: float = 0.0
    answer: float = 0.0
    """The answer, where it was counted since its output said nothing."""
    hidden: float = 0.0
    """Reasoning whose place in the next input rests on a rule."""
    results: int = 0
    rule_n: int = 0
    """Pairs of calls the reasoning rule was read from."""
    framing_n: int = 0
    known: bool = True
    placeholder: bool = False
    disturbed: bool = False
    begins_turn: bool = False
    size: float = 0.0
    """The estimate itself."""
    scale: float = 1.0
    """What this conversation's errors were against what was expected of them."""
    seen: int = 0


class Widths(NamedTuple):
    """Tokens below and above the estimate."""

    below: float
    above: float


def half_widths(doubt: Doubt) -> Widths:
    """The interval of an estimate. Both are at least 2 tokens."""
    width = hypot(4.0, 0.06 * doubt.content, 0.3 * doubt.media, 0.15 * doubt.answer, 0.1 * doubt.hidden)
    return Widths(width, width)

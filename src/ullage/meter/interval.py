"""How far an estimate may be off: half-widths meant to hold the truth 95 times in 100.

A row whose content can be counted gets a narrow interval; what can't be predicted (media of unknown size, server
tools, an answer whose output was no count) widens only the rows that have it. Terms were set on the recorded
conversations so that coverage is between 93 and 98 % in each stratum (``docs/accuracy.md``).
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import msgspec

from ullage.messages import FilePart, ImagePart
from ullage.tokens.calibration import AS_EXPECTED, Scales


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """What is uncertain about an estimate, in tokens of the kind."""

    content: float = 0.0
    """Text that was counted: of new messages, and of answers whose output did not tell it."""
    exact_text: bool = False
    """Whether it was counted with the provider's own tokenizer."""
    media_under: float = 0.0
    media_over: float = 0.0
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
    has_items: bool = False
    """Whether the answer holds items whose content is on the provider's side, such as results of its tools."""
    edited: bool = False
    begins_turn: bool = False
    size: float = 0.0
    """The estimate itself."""
    scale_below: Scales = AS_EXPECTED
    scale_above: Scales = AS_EXPECTED
    """What this conversation's errors were against what was expected of them."""
    correction: float = 0.0
    """How far what was learnt of the model may be off for this call."""


UNLOGGED = 400.0
"""Tokens by which a program's own additions, such as reminders, exceed what its log says, in a large session."""

SESSION = 20.0
"""Tokens by which the wrapping differs between programs, in a large session."""

HALF_SESSION_AT = 15_000.0
"""The input at which half of both is expected. Nothing but the size tells at first whether a program is at work; each
conversation's errors then say what it adds."""

COUNTING = 0.08
"""Share of a text's count that it may be off in a vocabulary nobody published."""

EXACT_COUNTING = 0.015
"""The same in the provider's own vocabulary."""

UNKNOWN_ITEM = 5_000.0
"""Tokens that an item of a wire may cost whose content is on the provider's side."""

SMALL, SMALL_SHARE, LARGE_SHARE = 20_000.0, 0.75, 0.2
"""What tools on the provider's side bring may change a request by this share of it, and of what is beyond ``SMALL`` by
the lower one: recorded are factors of 0.3 to 2.5 up to 34,000 tokens (n=20) and 1.19 at 405,000 (n=1)."""

NARROWEST = 2.0


class Widths(NamedTuple):
    """Tokens below and above the estimate."""

    below: float
    above: float


class Expected(NamedTuple):
    """Half-widths by what they are for, before anything was learnt: the wrapping and all that is hidden, the text."""

    below: float
    above: float
    text: float


def expected(doubt: Doubt) -> Expected:
    """What an estimate may be off before its model was seen."""
    base = 6.0 if doubt.framing_n >= 10 else 13.0
    if doubt.results > 1:
        base += 4.0
    if not doubt.known:
        base += 12.0
    if doubt.edited:
        base = hypot(base, 12.0)
    rule = 0.01 if doubt.rule_n >= 30 else 0.02 if doubt.rule_n >= 10 else 0.1
    answering = 0.4 if doubt.placeholder else 0.25
    counting = EXACT_COUNTING if doubt.exact_text else COUNTING
    session = 1 / (1 + (HALF_SESSION_AT / max(1.0, doubt.size)) ** 2)
    base += SESSION * session
    common = hypot(base, answering * doubt.answer, rule * doubt.hidden)
    return Expected(common, hypot(common, UNLOGGED * session), counting * doubt.content)


def half_widths(doubt: Doubt) -> Widths:
    """The interval of an estimate. Both are at least ``NARROWEST``."""
    first = expected(doubt)
    below = max(NARROWEST, hypot(first.below * doubt.scale_below.wrapping, first.text * doubt.scale_below.text))
    above = max(NARROWEST, hypot(first.above * doubt.scale_above.wrapping, first.text * doubt.scale_above.text))
    opaque = _unseen(doubt.size) if doubt.has_items else 0.0
    return Widths(
        hypot(below, doubt.media_under, opaque, doubt.correction),
        hypot(above, doubt.media_over, opaque, doubt.correction),
    )


def _unseen(size: float) -> float:
    """Tokens by which an answer's items may cost more or less than nothing, in a request of that size."""
    return SMALL_SHARE * min(size, SMALL) + LARGE_SHARE * max(0.0, size - SMALL)


def media_doubt(part: ImagePart | FilePart, tokens: float, *, in_result: bool) -> Widths:
    """How much less or more an image or a file may cost than its formula says.

    With its size known an image is within a tenth (n=101, but for Groq's, 50 % dearer); inside a tool result a provider
    may leave it out. The text
    of a PDF page is charged beside its picture and was up to 1,070 tokens of it (n=58). Of unknown size, the formula
    gives the most that is possible.
    """
    if isinstance(part, ImagePart):
        if not part.width or not part.height:
            return Widths(tokens + 10, 0.15 * tokens + 15)
        return Widths(0.1 * tokens + (50 if in_result else 10), 0.5 * tokens + 25)
    if part.seconds is not None:
        return Widths(0.4 * tokens + 15, 0.5 * tokens + 200)
    if part.pages is not None:
        return Widths(tokens + 10 if in_result else 0.1 * tokens + 15, 0.1 * tokens + 1100 * part.pages)
    return Widths(tokens + 10, 0.2 * tokens + 1100)

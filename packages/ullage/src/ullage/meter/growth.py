"""The next input: the last one, the part of its answer that is sent back, and what was added since; with an interval.

A reading costs O(1) in the length of the history. Everything is in tokens as the provider charges them. The interval
is meant to hold the truth 95 times in 100. A request whose content can be counted gets a narrow one; what can't be
predicted (media of unknown size, server tools, an answer whose output was no count) widens only the requests that have
it. Terms were set on the recorded conversations so that coverage is between 93 and 98 % in each stratum
(``docs/accuracy.md``).
"""

from __future__ import annotations

from math import ceil, hypot
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.meter.cost import (
    NO_DOUBT,
    NOTHING_COUNTED,
    Added,
    AnswerTokens,
    Counted,
    Widths,
    thought_tokens,
)
from ullage.meter.policy import (
    CONTRADICTED,
    COUNTING,
    EDITED,
    EXACT_COUNTING,
    HALF_SESSION_AT,
    HIDDEN,
    LEAST_CONTENT,
    MEASURED_FROM,
    NARROWEST,
    PLACEHOLDER_SHARE,
    RECOUNT_SHARE,
    RECOUNT_SLACK,
    SESSION_WRAPPING,
    STRANGE_COUNTING,
    UNKNOWN_ITEM,
    UNLOGGED,
    UNPROVEN,
)
from ullage.reasoning import ReasoningRule, SentBack, is_counted
from ullage.tokens.calibration import AS_EXPECTED, NOTHING_LEARNT, Learnt, Scales
from ullage.tokens.families import PLAIN, Family
from ullage.tokens.regression import terms
from ullage.tokens.text_kinds import spread_of, summed

FLOOR: Final = 64
"""OpenAI Responses reports reasoning of o-series and gpt-5 floored to a multiple of this."""


class LastCall(msgspec.Struct, frozen=True, kw_only=True):
    """The last call: its usage as reported (``None`` is unknown), and what its answer is made of."""

    input: int
    output: float | None = None
    reasoning: int | None = None
    answer: AnswerTokens = AnswerTokens()
    sent_back: SentBack = "yes"
    placeholder: bool = False
    edited: float = 0.0
    """Tokens by which the answer as it is sent back exceeds the one that came."""


class GrowthSituation(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's rule for reasoning, and whether the next request begins a turn or continues a tool loop."""

    rule: ReasoningRule
    begins_turn: bool = False
    kind: str = ""
    """What is added, where messages of its kind have an offset of their own: the names of the tools that answered."""
    counted: Counted = NOTHING_COUNTED
    """The answers that a change of earlier reasoning rests on, where the caller takes it into account itself."""
    exact_text: bool = False
    """Whether text was counted with the provider's own tokenizer."""
    earlier: Widths = NO_DOUBT
    """Reasoning of earlier answers that may leave, or come back, with this turn, as their rule is not proven."""
    is_steered: bool = False
    """Whether a user's message stands beside results, which this model has read in both ways."""


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """What is uncertain about an estimate, in tokens of the kind."""

    content: float = 0.0
    """Text that was counted: of new messages, and of answers whose output did not tell it."""
    spread: float = 0.0
    """By how much the text may be off in a tokenizer that nobody measured, beside what any text is (``spread_of``)."""
    exact_text: bool = False
    """Whether it was counted with the provider's own tokenizer."""
    media_under: float = 0.0
    media_over: float = 0.0
    answer: float = 0.0
    """The answer, where it was counted for lack of a usable output."""
    hidden: float = 0.0
    """Reasoning whose place in the next input rests on a rule."""
    counted_reasoning: float = 0.0
    """Reasoning that was counted by its text, for lack of a usable output."""
    results: int = 0
    framing_n: int = 0
    known: bool = True
    placeholder: bool = False
    has_items: bool = False
    """Whether the answer holds items whose content is on the provider's side, such as results of its tools."""
    begins_turn: bool = False
    size: float = 0.0
    """The estimate itself."""
    scale_below: Scales = AS_EXPECTED
    scale_above: Scales = AS_EXPECTED
    """This conversation's errors against the expected ones."""
    correction: float = 0.0
    """How far the learnt correction of the model may be off for this call."""
    unproven: Widths = NO_DOUBT
    """Reasoning that is counted, or left out, by a rule that is not proven; and what an edit of an answer changed."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The next input and how it came about."""

    exact: float
    """The tokens, not rounded."""
    answer_kept: float
    """Tokens of the last answer in the next input, reasoning included."""
    reasoning_kept: float
    """Of these, hidden reasoning."""
    added: float
    degraded: bool = False
    """True where the output was no count and the answer had to be estimated."""
    recounted: bool = False
    """True where the answer is taken as its text counts, since its output is far from that (``Family.recounts``)."""
    kept: bool = False
    """Whether reasoning of the last answer is counted, by the rule or by what this conversation has shown."""
    flipped: bool = False
    """True where this conversation has shown the rule to be the other way round."""
    counted: Counted = NOTHING_COUNTED
    """The answers that were counted."""
    doubt: Doubt


def hidden_reasoning(last: LastCall, family: Family) -> float:
    """Tokens of the answer that were reasoning: as reported, or output without what is visible."""
    output, reported = last.output, last.reasoning
    if output is None:
        return 0.0
    unseen = max(0.0, output - last.answer.visible(family))
    if (
        family.floors_reasoning
        and reported is not None
        and reported % FLOOR == 0
        and family is not PLAIN
    ):
        return min(max(unseen, reported), reported + FLOOR - 1, output)
    if reported:
        return float(min(reported, output))
    return unseen if last.answer.thoughts else 0.0


def counted_for(last: LastCall, family: Family) -> Counted:
    """The answer, if its hidden reasoning is its output less its counted text, and not as reported."""
    reported = last.reasoning
    if last.output is None:
        return NOTHING_COUNTED
    if family.floors_reasoning and reported is not None and reported % FLOOR == 0:
        unseen = last.output - last.answer.visible(family)
        is_estimated = reported < unseen < reported + FLOOR - 1
    else:
        is_estimated = not reported and bool(last.answer.thoughts)
    return Counted.of(last.answer) if is_estimated else NOTHING_COUNTED


def is_proven(rule: ReasoningRule, *, begins: bool) -> bool:
    """Whether so few recorded pairs contradict a rule, at a turn's begin or in a loop, that it needs no doubt."""
    pairs = rule.turns_pairs if begins else rule.loop_pairs
    return (pairs.against + 0.5) / (pairs.n + 1) <= CONTRADICTED


def is_open(rule: ReasoningRule, learnt: Learnt, *, begins: bool) -> bool:
    """Whether neither recorded pairs nor this conversation have shown which way a rule is."""
    return not (is_proven(rule, begins=begins) or learnt.is_settled(rule.name, begins))


def doubted(hidden: float, *, kept: bool) -> Widths:
    """The interval of reasoning whose rule is open: it holds both ways."""
    tokens = UNPROVEN * hidden
    return Widths(tokens, 0.0) if kept else Widths(0.0, tokens)


def next_input(
    last: LastCall,
    added: Added,
    situation: GrowthSituation,
    family: Family,
    learnt: Learnt = NOTHING_LEARNT,
) -> Estimate:
    """The input of the call that sends ``added`` after the last call's answer. Never negative, never raises."""
    rule, begins = situation.rule, situation.begins_turn
    kept = is_counted(rule, begins_turn=begins, sent_back=last.sent_back)
    flipped = bool(learnt.flipped) and learnt.flips(rule.name, begins)
    kept = kept != flipped
    hidden = hidden_reasoning(last, family)
    if not added.names and added.results == last.answer.calls:
        added = replace(added, names=last.answer.names)
    answer = (
        _KeptAnswer(0.0)
        if family.forgets and begins
        else _answer_kept(last, family, hidden, kept=kept)
    )
    counted = answer.counted.plus(situation.counted)
    content = added.text + counted.text
    text_kinds = summed(added.text_kinds, counted.text_kinds)
    row = terms(
        content,
        results=added.results,
        is_user=begins,
        calls=counted.calls,
        text_kinds=text_kinds,
    )
    correction = learnt.correction(row, kind=situation.kind, is_known=family.is_known)
    framing = family.framing_for(kept=kept)
    unproven = situation.earlier
    is_doubted = situation.is_steered or is_open(rule, learnt, begins=begins)
    if is_doubted and (kept or last.sent_back != "no"):
        unproven = unproven.plus(doubted(hidden, kept=kept))
    if last.edited:
        # Text in the place of a text is charged as it is sent; what came with calls or thoughts, as it came or not.
        is_text = not (last.answer.calls or last.answer.thoughts)
        tokens = 0.0 if is_text else last.edited
        unproven = unproven.plus(Widths(max(EDITED, tokens), max(EDITED, -tokens)))
    grown = added.tokens(family, kept=kept) + framing.step + correction.tokens
    # What was learnt from false or unusual reports can be less than nothing; text that is in the request can't.
    grown = max(grown, ceil(LEAST_CONTENT * added.text))
    exact = max(0.0, last.input + answer.tokens + grown)
    doubt = Doubt(
        content=content,
        spread=spread_of(text_kinds),
        exact_text=situation.exact_text,
        media_under=added.under,
        media_over=added.over,
        answer=answer.guessed,
        hidden=hidden,
        counted_reasoning=answer.hidden if answer.placeholder else 0.0,
        results=added.results,
        known=family.is_known,
        framing_n=framing.n,
        placeholder=answer.placeholder,
        has_items=last.answer.items > 0,
        begins_turn=begins,
        size=exact,
        scale_below=learnt.below,
        scale_above=learnt.above,
        correction=correction.doubt,
        unproven=unproven,
    )
    return Estimate(
        exact=exact,
        answer_kept=answer.tokens,
        reasoning_kept=answer.hidden,
        added=grown,
        degraded=answer.placeholder,
        recounted=answer.recounted,
        kept=kept,
        flipped=flipped,
        counted=counted,
        doubt=doubt,
    )


class _KeptAnswer(msgspec.Struct, frozen=True):
    tokens: float
    hidden: float = 0.0
    guessed: float = 0.0
    """Tokens that rest on counting the answer instead of on its reported output."""
    placeholder: bool = False
    recounted: bool = False
    counted: Counted = NOTHING_COUNTED


def _answer_kept(
    last: LastCall, family: Family, hidden: float, *, kept: bool
) -> _KeptAnswer:
    """Tokens of the last answer in the next input."""
    visible = last.answer.visible(family)
    output = last.output
    bare = family.answering.n == 0
    if (
        output is None
        or last.placeholder
        or (not bare and output < PLACEHOLDER_SHARE * visible - RECOUNT_SLACK)
    ):
        thought = thought_tokens(last.answer, family) if kept else 0.0
        return _KeptAnswer(
            visible + thought,
            thought,
            visible + thought,
            placeholder=True,
            counted=Counted.of(last.answer),
        )
    if family.recounts and not last.answer.thoughts and not last.reasoning:
        if abs(output - visible) > max(RECOUNT_SLACK, RECOUNT_SHARE * visible):
            counted = Counted.of(last.answer)
            return _KeptAnswer(visible, 0.0, visible, recounted=True, counted=counted)
        return _KeptAnswer(output)
    if kept:
        return _KeptAnswer(output, hidden)
    guessed = visible if not last.reasoning and hidden else 0.0
    counted = counted_for(last, family) if hidden else NOTHING_COUNTED
    return _KeptAnswer(output - hidden, 0.0, guessed, counted=counted)


# -- the interval --

SMALL, SMALL_SHARE, LARGE_SHARE = 20_000.0, 0.75, 0.2
"""What tools on the provider's side bring may change a request by this share of it, and of what is beyond ``SMALL`` by
the lower one: recorded are factors of 0.3 to 2.5 up to 34,000 tokens (n=20) and 1.19 at 405,000 (n=1)."""

LONG_REASONING, LONG_REASONING_SHARE = 1_500.0, 0.7
"""Reasoning that was counted by its text may be longer than that by this share of it, from so many tokens on: of long
reasoning Claude shows a summary (https://docs.claude.com/en/docs/build-with-claude/extended-thinking). Of a session
whose log has no output, the longest five were 30 to 70 % longer than their text."""


class Expected(NamedTuple):
    """Half-widths by their cause, before anything was learnt: the wrapping and all that is hidden, the text."""

    below: float
    above: float
    text: float


def expected(doubt: Doubt) -> Expected:
    """What an estimate may be off before its model was seen."""
    base = 6.0 if doubt.framing_n >= MEASURED_FROM else 13.0
    if doubt.results > 1:
        base += 4.0
    if not doubt.known:
        base += 12.0
    answering = 0.4 if doubt.placeholder else 0.25
    counting = COUNTING if doubt.known else STRANGE_COUNTING
    if doubt.exact_text:
        counting = EXACT_COUNTING
    session = 1 / (1 + (HALF_SESSION_AT / max(1.0, doubt.size)) ** 2)
    base += SESSION_WRAPPING * session
    common = hypot(base, answering * doubt.answer, HIDDEN * doubt.hidden)
    text = counting * doubt.content
    if not doubt.known:
        text += doubt.spread
    return Expected(common, hypot(common, UNLOGGED * session), text)


def half_widths(doubt: Doubt) -> Widths:
    """The interval of an estimate. Both are at least ``NARROWEST``."""
    first = expected(doubt)
    below = _learnt_width(first.below, first.text, doubt.scale_below)
    above = _learnt_width(first.above, first.text, doubt.scale_above)
    if doubt.counted_reasoning > LONG_REASONING:
        above = hypot(above, LONG_REASONING_SHARE * doubt.counted_reasoning)
    items = 0.0
    if doubt.has_items and doubt.media_under < UNKNOWN_ITEM:  # else a log says how far
        items = SMALL_SHARE * min(doubt.size, SMALL) + LARGE_SHARE * max(
            0.0, doubt.size - SMALL
        )
    return Widths(
        hypot(below, doubt.media_under, items, doubt.correction, doubt.unproven.below),
        hypot(above, doubt.media_over, items, doubt.correction, doubt.unproven.above),
    )


def _learnt_width(wrapping: float, text: float, scales: Scales) -> float:
    return max(NARROWEST, hypot(wrapping * scales.wrapping, text * scales.text))

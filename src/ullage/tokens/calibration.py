"""What a model's actuals teach: an offset first, a ratio second, and which rules were the other way round.

Frozen states and one pure update, bounded in size, so that a reading can be repeated from the state it used.
"""

from __future__ import annotations

from functools import cached_property
from statistics import median
from typing import Final, NamedTuple

import msgspec

from ullage.tokens.families import Family

MEMORY: Final = 32
"""Residuals that are kept."""

SMALL: Final = 200.0
"""Tokens of content below which a residual speaks of wrapping, and from which on of the ratio."""

OFFSET_FROM: Final = 4
"""Residuals of small messages before an offset is believed."""

KIND_BELOW: Final = 100.0
KIND_FROM: Final = 3
KIND_RANGE: Final = 60.0
"""The same for messages of one kind, such as the results of one tool, whose wrapping is more alike: content below which
they speak of it, residuals before it is believed, and the most tokens it can be."""

STEADY: Final = 2.0
"""An offset is believed when it is above this many median absolute deviations."""

RATIO_FROM: Final = 3
LEAST_SPREAD: Final = 0.01
"""Residuals from which on a ratio that they agree on is believed at once, and the least they are taken to differ by."""

KNOWN_DOUBT: Final = 5.0
UNKNOWN_DOUBT: Final = 0.5
"""Observations that the ratio 1 counts for, in a family that was measured and in one that was not."""

RATIO_RANGE: Final = (0.5, 2.0)

COVERED: Final = 0.96
"""Share of a conversation's errors that its interval is to hold."""

SCALE_DOUBT: Final = 5.0
"""Observations that the scale 1 counts for."""

SCALE_RANGE: Final = (0.6, 2.0)

MISFIT_MOST: Final = 8.0
"""How many times the interval may widen where errors lay beyond it: the model is then another than its family says (a
gateway, another tokenizer), and its own errors alone tell."""

FLIP_FROM: Final = 40.0
FLIP_WITHIN: Final = 0.15
"""A residual within this share of the hidden reasoning, of at least so many tokens, turns the rule round."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One actual beside its estimate. ``residual`` is actual - estimated, the estimate being made without learning.

    ``content`` are the tokens of text that were counted; ``hidden`` is reasoning, positive where the rule said it would
    be counted and negative where not. ``sound`` is False where media or other things that can't be counted were in
    play.
    """

    content: float
    residual: float
    actual: int
    corrected: float = 0.0
    """actual - estimated, the estimate being the one that was shown."""
    expected: float = 0.0
    """How far above the estimate its interval reached, before what was learnt about this model."""
    expected_below: float = 0.0
    """The same below it; 0 is as far as above."""
    is_user: bool = False
    kind: str = ""
    """What was added, for offsets of its own: the names of the tools whose results they were; empty is of no kind."""
    hidden: float = 0.0
    rule: str = ""
    sound: bool = True


class Residual(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of an observation."""

    content: float
    residual: float
    is_user: bool
    relative: float
    """The error against the half-width that was expected; positive for an underestimate."""
    kind: str = ""


class _Ratios(NamedTuple):
    """How many residuals speak of the ratio, and the median of what they say."""

    number: int
    middle: float
    is_steady: bool
    """Whether they agree on another ratio than 1."""


class Learnt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """What was learnt about one model from ``n`` actuals.

    ``before`` and ``after`` are mean errors without and with it, as shares of the actuals. What the residuals come to
    is derived once, since one state serves many readings.
    """

    n: int = 0
    residuals: tuple[Residual, ...] = ()
    flipped: tuple[str, ...] = ()
    before: float = 0.0
    after: float = 0.0

    def ratio(self, family: Family) -> float:
        """What the count of a text is multiplied with."""
        seen = self._ratios
        doubt = KNOWN_DOUBT if family.is_known and not seen.is_steady else UNKNOWN_DOUBT
        shrunk = 1 + (seen.middle - 1) * seen.number / (seen.number + doubt)
        return min(RATIO_RANGE[1], max(RATIO_RANGE[0], shrunk))

    def offset(self, *, is_user: bool, kind: str = "") -> float:
        """Tokens added per call: the median of what small messages were off, where it is steady.

        Messages of the same kind are asked first, those of all kinds where there are too few of it.
        """
        own = self._kind_offsets.get(kind)
        if own is not None:
            return own
        return self._user_offset if is_user else self._loop_offset

    @cached_property
    def _ratios(self) -> _Ratios:
        ratios = [1 + each.residual / each.content for each in self.residuals if each.content >= SMALL]
        if not ratios:
            return _Ratios(0, 1.0, False)
        middle = median(ratios)
        spread = median(abs(each - middle) for each in ratios)
        steady = len(ratios) >= RATIO_FROM and abs(middle - 1) > STEADY * max(spread, LEAST_SPREAD)
        return _Ratios(len(ratios), middle, steady)

    @cached_property
    def _kind_offsets(self) -> dict[str, float]:
        """The offset of each kind that was seen often enough."""
        kinds: dict[str, list[float]] = {}
        for each in self.residuals:
            if each.kind and each.content < KIND_BELOW:
                kinds.setdefault(each.kind, []).append(each.residual)
        known = {kind: _steady(residuals) for kind, residuals in kinds.items() if len(residuals) >= KIND_FROM}
        return {kind: offset if abs(offset) <= KIND_RANGE else 0.0 for kind, offset in known.items()}

    @cached_property
    def _user_offset(self) -> float:
        return self._small_offset(is_user=True)

    @cached_property
    def _loop_offset(self) -> float:
        return self._small_offset(is_user=False)

    def _small_offset(self, *, is_user: bool) -> float:
        small = [each.residual for each in self.residuals if each.content < SMALL and each.is_user == is_user]
        return _steady(small) if len(small) >= OFFSET_FROM else 0.0

    def flips(self, rule: str, begins_turn: bool) -> bool:
        """Whether a reasoning rule was seen to be the other way round."""
        return _key(rule, begins_turn) in self.flipped

    @cached_property
    def below(self) -> float:
        """What overestimates were against what the interval expected; 1 before anything was seen."""
        return self._scale(-1)

    @cached_property
    def above(self) -> float:
        """The same for underestimates."""
        return self._scale(1)

    def _scale(self, sign: int) -> float:
        relative = sorted(max(0.0, sign * each.relative) for each in self.residuals)
        seen = len(relative)
        if not seen:
            return 1.0
        place = COVERED * (seen - 1)
        low = int(place)
        high = min(low + 1, seen - 1)
        reached = relative[low] + (relative[high] - relative[low]) * (place - low)
        if relative[-1] > 1:
            return min(MISFIT_MOST, max(SCALE_RANGE[0], reached))
        scale = (reached * seen + SCALE_DOUBT) / (seen + SCALE_DOUBT)
        return min(SCALE_RANGE[1], max(SCALE_RANGE[0], scale))


NOTHING_LEARNT: Final = Learnt()


def _steady(residuals: list[float]) -> float:
    """The median of the residuals if they agree on it, else 0."""
    middle = median(residuals)
    spread = median(abs(each - middle) for each in residuals)
    return middle if abs(middle) > STEADY * max(spread, 0.5) else 0.0


def _key(rule: str, begins_turn: bool) -> str:
    return f"{rule} {'turn' if begins_turn else 'loop'}"


def learn(learnt: Learnt, seen: Observation) -> Learnt:
    """The state after one more actual. Nothing but the counts of ``n`` grows."""
    n = learnt.n + 1
    flipped = learnt.flipped
    residual = seen.residual
    if is_the_other_way(seen):
        key = _key(seen.rule, seen.is_user)
        flipped = tuple(each for each in flipped if each != key) if key in flipped else (*flipped, key)
        residual = 0.0
    kept = learnt.residuals
    if seen.sound:
        expected = seen.expected if seen.corrected > 0 else seen.expected_below or seen.expected
        relative = max(-10.0, min(10.0, seen.corrected / expected)) if expected > 0 else 0.0
        kept = (*kept, Residual(seen.content, residual, seen.is_user, relative, seen.kind))[-MEMORY:]
    actual = max(1, seen.actual)
    return Learnt(
        n=n,
        residuals=kept,
        flipped=flipped,
        before=learnt.before + (abs(seen.residual) / actual - learnt.before) / n,
        after=learnt.after + (abs(seen.corrected) / actual - learnt.after) / n,
    )


def is_the_other_way(seen: Observation) -> bool:
    """Whether the estimate missed by just the reasoning that its rule put in or left out."""
    hidden = abs(seen.hidden)
    if hidden < max(FLIP_FROM, seen.expected):  # what the interval explains as well shows nothing
        return False
    wrong = seen.corrected if seen.hidden < 0 else -seen.corrected
    return abs(wrong - hidden) <= FLIP_WITHIN * hidden


class Calibration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was learnt, per model as served by a provider."""

    models: dict[str, Learnt] = msgspec.field(default_factory=dict)

    def of(self, provider: str, model: str) -> Learnt:
        """What is known of one model; nothing at first."""
        return self.models.get(f"{provider}/{model}", NOTHING_LEARNT)

    def learn(self, provider: str, model: str, seen: Observation) -> Calibration:
        """The calibration after one more actual of a model."""
        return Calibration(models=self.models | {f"{provider}/{model}": learn(self.of(provider, model), seen)})

"""One actual beside its estimate: what the regression is told of it, and what is kept."""

from __future__ import annotations

from typing import Final

import msgspec

from ullage.tokens import regression

UNTOLD: Final = 10.0
"""Half-width that is taken for a residual that does not say what was expected."""


def terms(content: float, *, results: int, is_user: bool, calls: int) -> regression.TermValues:
    """How often each term of the regression is in a call."""
    return 1.0, content, float(results), float(is_user), float(calls), float(results > 1)


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One actual beside its estimate. ``residual`` is actual - estimated, the estimate being made without learning.

    ``content`` are the tokens of text that were counted: of new messages, and of answers of which no output told.
    ``results`` and ``calls`` are how many results and counted calls these hold. ``hidden`` is reasoning, positive where
    the rule said it would be counted and negative where not; ``otherwise`` is what the residual would be more, were the
    rule inside a tool loop the other way round. ``sound`` is False where media or other things that can't be counted
    were in play.
    """

    content: float
    residual: float
    actual: int
    corrected: float = 0.0
    """actual - estimated, the estimate being the one that was shown."""
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
    """What was added, for offsets of its own: the names of the tools whose results they were; empty is of no kind."""
    hidden: float = 0.0
    otherwise: float = 0.0
    rule: str = ""
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
    below: float = UNTOLD
    above: float = UNTOLD
    text: float = 0.0
    otherwise: float = 0.0
    rule: str = ""

    @property
    def row(self) -> regression.TermValues:
        """How often each term was in it."""
        return terms(self.content, results=self.results, is_user=self.is_user, calls=self.calls)


class Older(msgspec.Struct, frozen=True, array_like=True):
    """What a store written by an earlier version kept of an observation."""

    content: float
    residual: float
    is_user: bool
    relative: float = 0.0
    kind: str = ""

    @property
    def seen(self) -> KeptObservation:
        """The same as it is kept now."""
        return KeptObservation(self.content, self.residual, self.is_user, self.kind, 0 if self.is_user else 1)

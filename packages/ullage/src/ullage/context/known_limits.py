"""How many images and bytes one request may hold, as refusals have shown."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from ullage.context.budget import bytes_limit_of, image_limit_of
from ullage.context.situation import Situation
from ullage.errors import Overflow
from ullage.meter.fold import Fold


class Served(NamedTuple):
    """A model at its address: limits on images and bytes hold for it alone."""

    provider: str
    model: str
    base_url: str


class RequestLimits(NamedTuple):
    """The most images and files, counted together, and the most bytes of the body; ``None`` is unknown."""

    most_images: int | None = None
    most_bytes: int | None = None


class KnownLimits:
    """The limits of one request that refusals have shown, by model and address.

    What providers document is not asked: their pages differ, a gateway has limits of its own, and a refusal costs no
    token.
    """

    def __init__(self) -> None:
        self._met: dict[Served, RequestLimits] = {}

    @property
    def has_met_any(self) -> bool:
        """Whether any refusal has shown a limit."""
        return bool(self._met)

    def is_over(self, fold: Fold, base_url: str) -> bool:
        """Whether the view has more images or bytes than one request may hold."""
        if served_by(fold, base_url) not in self._met:
            return False
        situation = self.limited(Situation(fold=fold), base_url)
        return situation.is_over_images or situation.is_over_bytes

    def limited(self, situation: Situation, base_url: str) -> Situation:
        """The situation with the limits of one request."""
        met = self._met.get(served_by(situation.fold, base_url))
        if met is None:
            return situation
        return dataclasses.replace(
            situation, image_limit=met.most_images, bytes_limit=met.most_bytes
        )

    def note(self, problem: Overflow, situation: Situation, base_url: str) -> None:
        """Note how many images or bytes this model accepts at its address, from its refusal of the current view."""
        served = served_by(situation.fold, base_url)
        images = image_limit_of(problem, situation)
        size = bytes_limit_of(problem, situation)
        met = self._met.get(served, RequestLimits())
        if images is not None:
            self._met[served] = met._replace(most_images=images)
        if size is not None:
            self._met[served] = met._replace(most_bytes=size)


def served_by(fold: Fold, base_url: str) -> Served:
    """The model of a session, at this address."""
    return Served(fold.provider, fold.model, base_url)

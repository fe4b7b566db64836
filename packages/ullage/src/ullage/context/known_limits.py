"""How many images and bytes one request may hold: by the documented limits, and by what an endpoint has refused."""

from __future__ import annotations

import dataclasses
from typing import Final, NamedTuple

from ullage.context.budget import bytes_limit_of, image_limit_of
from ullage.context.costs import count_images, size_bytes
from ullage.context.request_limits import RequestLimits, request_limits
from ullage.context.situation import Situation
from ullage.errors import Overflow
from ullage.meter.fold import Fold

NONE_MET: Final = RequestLimits()


class Served(NamedTuple):
    """A model at its address: limits on images and bytes hold for it alone."""

    provider: str
    model: str
    base_url: str


class LastLook(NamedTuple):
    """Whether a view, by its digest, exceeded the known limits of one request."""

    view: str
    served: Served
    met: RequestLimits
    is_over: bool


class KnownLimits:
    """The limits of one request, and those that refusals have shown, by model and address."""

    def __init__(self) -> None:
        self._met: dict[Served, RequestLimits] = {}
        self._last_look: LastLook | None = None

    @property
    def has_met_any(self) -> bool:
        """Whether any refusal has shown a limit."""
        return bool(self._met)

    def is_over(self, fold: Fold, base_url: str) -> bool:
        """Whether the view has more images or bytes than one request may hold, by the known limits.

        Searches the view once after each change, and not at all without images and known limits: text fills the window
        long before the body. The exact check runs only if the quick one finds that there may be too much.
        """
        view = fold.view
        if not view.media and not self._met:
            return False
        served = served_by(fold, base_url)
        met = self._met_by(served)
        last = self._last_look
        if last is None or (last.view, last.served, last.met) != (
            view.digest,
            served,
            met,
        ):
            last = LastLook(view.digest, served, met, self._is_over(fold, served))
            self._last_look = last
        return last.is_over

    def limited(self, situation: Situation, base_url: str) -> Situation:
        """The situation with the limits of one request: the lowest of the documented ones and those of refusals."""
        fold = situation.fold
        limits = _least(
            self._met_by(served_by(fold, base_url)),
            request_limits(fold.provider, fold.model, situation.messages),
        )
        return dataclasses.replace(
            situation, image_limit=limits.most_images, bytes_limit=limits.most_bytes
        )

    def note(self, problem: Overflow, situation: Situation, base_url: str) -> None:
        """Note how many images or bytes this model accepts at its address, from its refusal of the current view."""
        served = served_by(situation.fold, base_url)
        met = self._met_by(served)
        images, size = (
            image_limit_of(problem, situation),
            bytes_limit_of(problem, situation),
        )
        if images is not None:
            met = met._replace(most_images=images)
        if size is not None:
            met = met._replace(most_bytes=size)
        if met != NONE_MET:
            self._met[served] = met

    def _is_over(self, fold: Fold, served: Served) -> bool:
        if self._met_by(served) == NONE_MET:
            pictured = [entry.message for entry in fold.view if entry.cost.added.media]
            images, size = (
                sum(map(count_images, pictured)),
                sum(map(size_bytes, pictured)),
            )
            limits = request_limits(fold.provider, fold.model, pictured)
            is_few = limits.most_images is None or images <= limits.most_images
            if is_few and (limits.most_bytes is None or size <= limits.most_bytes // 2):
                return False
        situation = self.limited(Situation(fold=fold), served.base_url)
        return situation.is_over_images or situation.is_over_bytes

    def _met_by(self, served: Served) -> RequestLimits:
        return self._met.get(served, NONE_MET)


def served_by(fold: Fold, base_url: str) -> Served:
    """The model of a session, at this address."""
    return Served(fold.provider, fold.model, base_url)


def _least(one: RequestLimits, other: RequestLimits) -> RequestLimits:
    least: list[int | None] = []
    for pair in zip(one, other, strict=True):
        known = [most for most in pair if most is not None]
        least.append(min(known, default=None))
    return RequestLimits(*least)

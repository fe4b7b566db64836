"""Holds the view against how many images and bytes one request may hold: as documented, and as met in a refusal."""

from __future__ import annotations

import dataclasses
from typing import Final

from ullage.context.budget import bytes_limit_of, image_limit_of
from ullage.context.costs import count_images, size_bytes
from ullage.context.request_limits import RequestLimits, request_limits
from ullage.context.situation import Situation
from ullage.errors import Overflow
from ullage.runtime.compactions import LastLook, Served
from ullage.runtime.work import Work

NONE_MET: Final = RequestLimits()


def is_over_request(work: Work) -> bool:
    """Whether the view has more images or bytes than one request may hold, as far as that is known.

    Goes through the view once for each change of it, and not at all where it has no images and no limit was met: text
    fills the window long before the body. It is looked at closely only where there may be too much.
    """
    view, met = work.ledger.meter._fold.view, _met(work)
    if not view.media and met == NONE_MET:
        return False
    last = work.compactions.last_look
    if last is None or (last.view, last.served, last.met) != (view.digest, _served(work), met):
        last = LastLook(view.digest, _served(work), met, _is_over(work))
        work.compactions.last_look = last
    return last.is_over


def limited(work: Work, situation: Situation) -> Situation:
    """The situation with what one request may hold: the least of what was met and of what is documented."""
    fold = situation.fold
    limits = _least(_met(work), request_limits(fold.provider, fold.model, situation.messages))
    return dataclasses.replace(situation, image_limit=limits.most_images, bytes_limit=limits.most_bytes)


def note_limits(work: Work, problem: Overflow, situation: Situation) -> None:
    """Remember how many images or bytes this model takes at its address, from its refusal of what is in view.

    Of another model, and of the same one elsewhere, it says nothing.
    """
    met = _met(work)
    images, size = image_limit_of(problem, situation), bytes_limit_of(problem, situation)
    if images is not None:
        met = met._replace(most_images=images)
    if size is not None:
        met = met._replace(most_bytes=size)
    if met != NONE_MET:
        work.compactions.met[_served(work)] = met


def _is_over(work: Work) -> bool:
    fold = work.ledger.meter._fold
    if _met(work) == NONE_MET:
        pictured = [entry.message for entry in fold.view if entry.cost.added.media]
        images, size = sum(map(count_images, pictured)), sum(map(size_bytes, pictured))
        limits = request_limits(fold.provider, fold.model, pictured)
        is_few = limits.most_images is None or images <= limits.most_images
        if is_few and (limits.most_bytes is None or size <= limits.most_bytes // 2):
            return False
    situation = limited(work, Situation(fold=fold))
    return situation.is_over_images or situation.is_over_bytes


def _met(work: Work) -> RequestLimits:
    return work.compactions.met.get(_served(work), NONE_MET)


def _served(work: Work) -> Served:
    fold = work.ledger.meter._fold
    return Served(fold.provider, fold.model, work.settings.base_url)


def _least(one: RequestLimits, other: RequestLimits) -> RequestLimits:
    pairs = zip(one, other, strict=True)
    images, size = (min((most for most in pair if most is not None), default=None) for pair in pairs)
    return RequestLimits(images, size)

"""The limits and goals of a compaction: its limit, its upper bound, its goal, and its least saving."""

from __future__ import annotations

from typing import NamedTuple

from ullage.context.keeping import must_stay
from ullage.context.policy import (
    BYTES_A_TOKEN,
    BYTES_GOAL,
    GOAL_OF_POINT,
    LEAST_SAVED,
    LEAST_SAVED_OF_WINDOW,
    LEAST_SAVED_SHARE,
    REFUSED_SHARE,
    REFUSED_UNSEEN,
    ROOM_ABOVE_FIXED,
    SUMMARY_LEAST,
    SUMMARY_MOST,
    SUMMARY_OF_MESSAGES,
    SUMMARY_SHARE,
)
from ullage.context.situation import Situation
from ullage.errors import BodyTooLarge, Overflow, TooManyImages
from ullage.meter.policy import DEFAULT_TRIGGER


class Aim(NamedTuple):
    """All in tokens of the reading.

    ``limit`` is the largest request (``None``: unknown). The result must stay below ``bar`` (``None``: any smaller
    result is good enough). A plan works towards ``goal`` and has to save ``least``. ``summary`` is the longest summary,
    ``window`` the window, if it is known.
    """

    limit: int | None
    bar: float | None
    goal: float
    least: float
    summary: float
    window: int | None


def aim_of(situation: Situation) -> Aim:
    """The limits and goals of a compaction of this session."""
    fold, sizes = situation.fold, situation.sizes
    messages = sizes.messages
    if situation.is_partial:
        messages -= situation.once("unnamed", lambda: sizes.of(must_stay(situation)))
    window, _, limit, threshold = fold.limits.denominators
    point = threshold.tokens
    correction = max(situation.correction, 1.0)
    size = None if window.tokens is None else round(window.tokens / correction)
    if limit is None:
        half = sizes.used / 2
        least = max(
            1.0, LEAST_SAVED_SHARE * (messages if situation.is_partial else sizes.used)
        )
        bar = half if situation.is_urgent else None
        return Aim(
            None,
            bar,
            0.9 * half,
            least,
            _summary(None, half - sizes.fixed, messages),
            None,
        )
    limit = round(limit / correction)
    is_short = situation.is_over_bytes or situation.is_over_images
    if (
        situation.trigger == "overflow"
        and correction == 1.0
        and sizes.high <= limit
        and not is_short
    ):
        # The request fits by the reading and was refused: the error of the reading is unknown.
        limit = round(REFUSED_SHARE * sizes.used)
    share = min(DEFAULT_TRIGGER * (size or limit), limit)
    bar = share if point is None else min(point / correction, limit)
    if sizes.fixed < bar:
        goal = min(situation.rules.goal * (size or limit), GOAL_OF_POINT * bar)
        goal = max(goal, sizes.fixed + ROOM_ABOVE_FIXED * (bar - sizes.fixed))
    else:
        goal = 0.9 * bar
    if situation.is_over_bytes:
        goal = min(goal, sizes.fixed + BYTES_GOAL * sizes.messages)
    least = max(
        LEAST_SAVED_SHARE * sizes.used,
        min(LEAST_SAVED, LEAST_SAVED_OF_WINDOW * (size or limit)),
    )
    if situation.is_partial:
        least = LEAST_SAVED_SHARE * messages
    taken = size or limit
    if situation.bytes_limit is not None:
        taken = min(taken, round(situation.bytes_limit / BYTES_A_TOKEN))
    return Aim(
        limit, bar, goal, least, _summary(taken, goal - sizes.fixed, messages), size
    )


def _summary(window: int | None, room: float, messages: float) -> float:
    share = SUMMARY_MOST if window is None else SUMMARY_SHARE * window
    return max(
        SUMMARY_LEAST,
        min(share, SUMMARY_MOST, 0.3 * room, SUMMARY_OF_MESSAGES * messages),
    )


def correction_of(refusal: Overflow, used: int, window: int | None) -> float:
    """The provider's tokens per token of the reading, from a refusal; 1 if the reading was not too low.

    ``used`` is the reading of the refused request, ``window`` its known limit.
    """
    if used <= 0 or isinstance(refusal, BodyTooLarge | TooManyImages):
        return 1.0
    if refusal.count is not None:
        return max(1.0, refusal.count / used)
    known = refusal.limit or window
    if known is None or used >= known:
        return 1.0
    return max(1.0, REFUSED_UNSEEN * known / used)


def bytes_limit_of(refusal: Overflow, situation: Situation) -> int | None:
    """The most bytes of a body after this refusal; ``None`` if bytes were not the reason.

    If the refusal names no limit, or one above our own count, it is half of the sent bytes.
    """
    if not isinstance(refusal, BodyTooLarge):
        return None
    sent = situation.all_bytes
    return _limit_below(sent, refusal.most)


def image_limit_of(refusal: Overflow, situation: Situation) -> int | None:
    """The most images and files of a request after this refusal; ``None`` if they were not the reason.

    If the refusal names no limit, or one above our own count, it is half of the sent images.
    """
    if not isinstance(refusal, TooManyImages):
        return None
    return _limit_below(situation.images, refusal.most)


def _limit_below(sent: int, named: int | None) -> int:
    return named if named is not None and named < sent else sent // 2

"""The numbers a compaction is held against: what must fit, where it must end, what it aims at, what it must save."""

from __future__ import annotations

from typing import Final, NamedTuple

from ullage.context.request_limits import RequestLimits, request_limits
from ullage.context.situation import Situation
from ullage.errors import BodyTooLarge, Overflow, TooManyImages
from ullage.meter.reading import Reading
from ullage.meter.window import DEFAULT_TRIGGER

LEAST_SHARE: Final = 0.1
LEAST_TOKENS: Final = 2_000
LEAST_OF_WINDOW: Final = 0.05
"""A compaction saves at least max(10 % of the request, min(2,000 tokens, 5 % of the window)), or it is none."""

GOAL_OF_POINT: Final = 0.6
"""The goal is at most this share of the compaction point, for triggers far below the usual one."""

ROOM_ABOVE_FIXED: Final = 0.3
"""Where system prompt and tools fill much of the window, the goal leaves messages this share of what is left."""

BYTES_GOAL: Final = 0.5
"""Where bytes are short, a compaction aims at this share of them."""

BYTES_A_TOKEN: Final = 6
"""Bytes of a request for each token of its text: English has 4 to 5, and JSON adds to that."""

SUMMARY_SHARE: Final = 0.06
SUMMARY_MOST: Final = 8_000
SUMMARY_LEAST: Final = 250
"""A summary may take 6 % of the window, within these bounds in tokens."""

SUMMARY_OF_MESSAGES: Final = 0.3
"""Nor more than this share of the messages: of a short conversation a summary of full length would save nothing."""

REFUSED: Final = 0.75
"""Of a request that was read as fitting and was refused, what is taken to fit, where the provider gave no numbers."""

UNSEEN: Final = 1.05
"""A request that was refused is taken to have been this much over the limit, where the provider gave no count."""


class Aim(NamedTuple):
    """All in tokens of the reading.

    ``limit`` is the most that may be sent (``None``: nobody knows), ``bar`` what the result must end below (``None``:
    anything smaller will do), ``goal`` what a plan works towards, ``least`` what it has to save, ``summary`` the
    longest summary, ``window`` the window, if it is known.
    """

    limit: int | None
    bar: float | None
    goal: float
    least: float
    summary: float
    window: int | None


def aim_of(situation: Situation) -> Aim:
    """What a compaction of this session is held against."""
    fold, sizes = situation.fold, situation.sizes
    window, _, limit, point = fold.denominators
    correction = max(situation.correction, 1.0)
    size = None if window.tokens is None else round(window.tokens / correction)
    if limit is None:
        half = sizes.used / 2
        least = max(1.0, LEAST_SHARE * sizes.used)
        bar = half if situation.is_urgent else None
        return Aim(None, bar, 0.9 * half, least, _summary(None, half - sizes.fixed, sizes.messages), None)
    limit = round(limit / correction)
    is_short = situation.is_over_bytes or situation.is_over_images
    if situation.trigger == "overflow" and correction == 1.0 and sizes.high <= limit and not is_short:
        # It was read as fitting and did not: how far off the reading is, nobody has said.
        limit = round(REFUSED * sizes.used)
    share = min(DEFAULT_TRIGGER * (size or limit), limit)
    bar = share if point is None else min(point / correction, limit)
    goal = min(situation.rules.goal * (size or limit), GOAL_OF_POINT * bar)
    goal = max(goal, sizes.fixed + ROOM_ABOVE_FIXED * (bar - sizes.fixed)) if sizes.fixed < bar else 0.9 * bar
    if situation.is_over_bytes:
        goal = min(goal, sizes.fixed + BYTES_GOAL * sizes.messages)
    least = max(LEAST_SHARE * sizes.used, min(LEAST_TOKENS, LEAST_OF_WINDOW * (size or limit)))
    taken = size or limit
    if situation.bytes_limit is not None:
        taken = min(taken, round(situation.bytes_limit / BYTES_A_TOKEN))
    return Aim(limit, bar, goal, least, _summary(taken, goal - sizes.fixed, sizes.messages), size)


def _summary(window: int | None, room: float, messages: float) -> float:
    share = SUMMARY_MOST if window is None else SUMMARY_SHARE * window
    return max(SUMMARY_LEAST, min(share, SUMMARY_MOST, 0.3 * room, SUMMARY_OF_MESSAGES * messages))


def correction_of(refusal: Overflow, used: int, window: int | None) -> float:
    """How many real tokens one token of the reading stands for, from a refusal; 1 where the reading was not below.

    ``used`` is what was read for the refused request, ``window`` the limit it was held against.
    """
    if used <= 0 or isinstance(refusal, BodyTooLarge | TooManyImages):
        return 1.0
    if refusal.count is not None:
        return max(1.0, refusal.count / used)
    known = refusal.limit or window
    return max(1.0, UNSEEN * known / used) if known is not None and used < known else 1.0


def bytes_limit_of(refusal: Overflow, situation: Situation) -> int | None:
    """The most bytes a body may have after this refusal; ``None`` where bytes were not the reason.

    Where the provider's limit is not known, or was not exceeded by our count, it is half of what was sent.
    """
    if not isinstance(refusal, BodyTooLarge):
        return None
    sent = situation.fixed_bytes + sum(situation.bytes.values())
    known = refusal.most if refusal.most is not None else _documented(situation).most_bytes
    return known if known is not None and known < sent else sent // 2


def image_limit_of(refusal: Overflow, situation: Situation) -> int | None:
    """The most images and files a request may have after this refusal; ``None`` where they were not the reason.

    Where it was not named and is not known, or was not exceeded by our count, it is half of what was sent.
    """
    if not isinstance(refusal, TooManyImages):
        return None
    known = refusal.most if refusal.most is not None else _documented(situation).most_images
    return known if known is not None and known < situation.images else situation.images // 2


def _documented(situation: Situation) -> RequestLimits:
    return request_limits(situation.fold.provider, situation.fold.model, situation.messages)


def should_prepare(reading: Reading, soft: float | None) -> bool:
    """Whether a summary is to be prepared while the model answers: at ``soft`` of the compaction point, below it."""
    point = reading.compaction_point
    return soft is not None and point is not None and soft * point <= reading.used.high < point

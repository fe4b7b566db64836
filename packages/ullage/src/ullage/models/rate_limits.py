"""A provider's rate limits as all processes of a store keep them together. Pure; times are those of the store.

Each limit is a token bucket. A call takes its slot before the bucket has refilled so far, and waits until then: the
level is below 0 by what is promised to waiting calls. A slot is promised at most ``PROMISED_S`` ahead, so that waiting
processes that are killed keep no more of the limit than that; a call whose turn is later asks again. A refusal of the
provider moves all promised slots by the time that it asks to wait, and the calls after it are spread.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

Amounts = Mapping[str, float]
"""Numbers by the kinds of limits: ``requests``, ``input_tokens``, ``output_tokens``, or both kinds of ``tokens``."""

_NONE: Final[Mapping[str, float]] = MappingProxyType({})

LEARNT_S: Final = 600.0
"""Seconds for which limits of a provider's headers hold after they were needed last."""

CHUNK_S: Final = 5.0
"""Seconds for which a process may use what it took ahead, and the most that it takes ahead, in seconds of refill."""

PROMISED_S: Final = 30.0
"""Seconds that a slot is promised ahead: what killed processes can cost the next caller."""

SPREAD_PER_MINUTE: Final = 600.0
"""Requests per minute after a refusal of a provider that names no limit of requests: not all calls at once."""

LOW_SHARE: Final = 0.25
"""Limits are shared once less than this share of one is left; before, nothing is stored."""

MARGIN: Final = 0.95
"""The share of a limit that is used: clocks differ, and requests arrive later than they were sent."""


class MinuteLimit(NamedTuple):
    """The ``most`` that may be used at once, and what is refilled ``per_minute``."""

    most: float
    per_minute: float


_NO_LIMITS: Final[Mapping[str, MinuteLimit]] = MappingProxyType({})


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of one limit: ``level`` at the time ``at``, which lies ahead while the provider is left alone."""

    most: float
    per_minute: float
    level: float
    at: float


class RateState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The limits of one key and model.

    Learnt ones hold ``until``. ``shifted_s`` is the sum of all times by which refusals have moved slots.
    """

    buckets: dict[str, Bucket] = {}
    until: float = 0.0
    blocked_until: float = 0.0
    shifted_s: float = 0.0


class RateReport(NamedTuple):
    """What a process has to tell: unused amounts (negative: used beyond what was taken), and the provider's headers.

    ``refused_s`` is for how long a refusal asks to wait.
    """

    returned: Amounts = _NONE
    learnt: Mapping[str, MinuteLimit] = _NO_LIMITS
    remaining: Amounts = _NONE
    refused_s: float | None = None


class RateSlot(NamedTuple):
    """When a call may be sent, the state's ``shifted_s`` at that time, and what its process may use beyond it.

    Without a promise nothing was taken: ``wait_s`` is what the call would wait now, and ``ask_s`` are the seconds
    until it can get a promise. ``pace_s`` is the time that the limits give to each such call.
    """

    wait_s: float
    shifted_s: float
    ahead: Amounts = _NONE
    is_promised: bool = True
    ask_s: float = 0.0
    pace_s: float = 0.0


def is_low(learnt: Mapping[str, MinuteLimit], remaining: Amounts) -> bool:
    """Whether so little is left of a limit that processes should share it."""
    return any(
        remaining[kind] < LOW_SHARE * limit.most
        for kind, limit in learnt.items()
        if kind in remaining
    )


def is_limited(state: RateState, now: float) -> bool:
    """Whether calls have to ask for a slot."""
    return now < max(state.until, state.blocked_until)


def updated(
    state: RateState, report: RateReport, set_limits: Amounts, now: float
) -> RateState:
    """The state with a process's report. ``set_limits`` are the operator's, per minute."""
    buckets = {
        kind: _refilled(bucket, now)
        for kind, bucket in state.buckets.items()
        if is_limited(state, now) or kind in set_limits
    }
    limits = {**report.learnt}
    for kind, per_minute in set_limits.items():
        known = limits.get(kind)
        if known is None or per_minute < known.per_minute:
            limits[kind] = MinuteLimit(per_minute, per_minute)
    for kind, limit in limits.items():
        most, per_minute = MARGIN * limit.most, MARGIN * limit.per_minute
        had = buckets.get(kind)
        level = most if had is None else min(had.level, most)
        at = now if had is None else had.at
        buckets[kind] = Bucket(most=most, per_minute=per_minute, level=level, at=at)
    left = report.remaining if report.refused_s is None else _NONE
    for kind, bucket in buckets.items():
        level = min(bucket.most, bucket.level + report.returned.get(kind, 0.0))
        buckets[kind] = replace(bucket, level=min(level, left.get(kind, level)))
    until = max(state.until, now + LEARNT_S) if report.learnt else state.until
    after = replace(state, buckets=buckets, until=until)
    if report.refused_s is None:
        return after
    return _blocked(after, report.refused_s, report.remaining, now)


def _refilled(bucket: Bucket, now: float) -> Bucket:
    if now <= bucket.at:
        return bucket
    level = bucket.level + (now - bucket.at) * bucket.per_minute / 60
    return replace(bucket, level=min(bucket.most, level), at=now)


def _blocked(state: RateState, for_s: float, left: Amounts, now: float) -> RateState:
    """The state after a refusal. When the wait is over, there is room for one request: the others follow it."""
    added = max(0.0, now + for_s - max(now, state.blocked_until))
    spread = Bucket(most=1.0, per_minute=SPREAD_PER_MINUTE, level=1.0, at=now)
    buckets = {}
    for kind, bucket in {"requests": spread, **state.buckets}.items():
        room = 1.0 if kind == "requests" else left.get(kind, 0.0)
        level = min(bucket.level, max(0.0, room))
        at = max(bucket.at, now) + added
        buckets[kind] = replace(bucket, level=level, at=at)
    return replace(
        state,
        buckets=buckets,
        blocked_until=max(now, state.blocked_until) + added,
        shifted_s=state.shifted_s + added,
    )


class SlotTaken(NamedTuple):
    """The state after a call took its slot."""

    state: RateState
    slot: RateSlot


def take(state: RateState, cost: Amounts, now: float) -> SlotTaken:
    """Take the next slot of a state that is ``updated``, and some more where none waits."""
    wait = before_s = max(0.0, state.blocked_until - now)
    pace_s = 0.0
    for kind, bucket in state.buckets.items():
        second = bucket.per_minute / 60
        if bucket.level < 0:
            before_s = max(before_s, bucket.at - now - bucket.level / second)
        needed = min(cost.get(kind, 0.0), bucket.most) or 1e-9
        if bucket.level < needed:
            wait = max(wait, bucket.at - now + (needed - bucket.level) / second)
        pace_s = max(pace_s, needed / second)
    if before_s > PROMISED_S:
        later = RateSlot(
            wait,
            state.shifted_s,
            is_promised=False,
            ask_s=before_s - PROMISED_S,
            pace_s=pace_s,
        )
        return SlotTaken(state, later)
    ahead: dict[str, float] = {}
    after: dict[str, Bucket] = {}
    for kind, bucket in state.buckets.items():
        level = bucket.level - cost.get(kind, 0.0)
        if not wait:
            most = min(level / 4, bucket.per_minute * CHUNK_S / 60)
            ahead[kind] = float(max(0, int(most)))
        after[kind] = replace(bucket, level=level - ahead.get(kind, 0.0))
    slot = RateSlot(wait, state.shifted_s, ahead)
    return SlotTaken(replace(state, buckets=after), slot)

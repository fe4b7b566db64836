"""A provider's rate limits as all processes of a store keep them together. Pure; times are those of the store.

Each limit is a token bucket. A call takes its slot at once and waits until the bucket has refilled so far: the level
goes below 0 by what is promised to waiting calls, so they are sent in the order in which they came, in all processes.
A refusal of the provider moves all slots that are not used yet by the time that it asks to wait.
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
    """When a call may be sent, the state's ``shifted_s`` at that time, and what its process may use beyond it."""

    wait_s: float
    shifted_s: float
    ahead: Amounts


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
        if now < state.until or kind in set_limits
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
    """The state after a refusal. What the provider named as used up has room for one call when the wait is over."""
    added = max(0.0, now + for_s - max(now, state.blocked_until))
    buckets = {}
    for kind, bucket in state.buckets.items():
        room = 1.0 if kind == "requests" else 0.0
        level = min(bucket.level, max(room, left.get(kind, 0.0)))
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
    wait = max(0.0, state.blocked_until - now)
    for kind, bucket in state.buckets.items():
        needed = min(cost.get(kind, 0.0), bucket.most) or 1e-9
        if bucket.level < needed:
            refill_s = (needed - bucket.level) * 60 / bucket.per_minute
            wait = max(wait, bucket.at - now + refill_s)
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

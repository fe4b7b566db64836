"""Which points of a turn a sweep dies at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tests.sweeps.orders import Kill

ALWAYS = (
    "store",
    "shown text",
    "shown call",
    "tool look begins",
    "tool look ends",
    "tool count begins",
    "tool count did",
    "tool count ends",
    "tool press begins",
    "tool press ends",
)
"""Kinds of point whose first is in every sweep: they lead to each of the things that can be left open."""
IN_SHELL = Kill("shell")
"""The command itself kills the process that runs it."""

IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"

SHARE = {"store": 30, "loop": 18, "shown": 5, "time": 2}
"""How many points of each kind a quick sweep of one wire takes, other ones than the wires before."""


def points(
    counts: Mapping[str, int], *, lasts_ms: int, wire: int, wires: int
) -> list[Kill]:
    """The points for one of several wires: all in the thorough profile, else each wire takes others.

    ``counts`` is how often a run that nobody kills reaches each kind.
    """
    ends = {**counts, "time": lasts_ms}
    found = [*(Kill(kind, 1) for kind in ALWAYS), IN_SHELL]
    for kind, share in SHARE.items():
        found += [Kill(kind, at) for at in spread(ends[kind], share, place=wire / wires)]
    return found


def spread(end: int, share: int, *, place: float) -> Sequence[int]:
    """``share`` numbers from 1 to ``end`` at equal distances, ``place`` of a distance further on; or all of them."""
    if IS_THOROUGH:
        return range(1, end + 1)
    step = max(1.0, end / share)
    return sorted(
        {min(end, int((number + place) * step) + 1) for number in range(min(share, end))}
    )

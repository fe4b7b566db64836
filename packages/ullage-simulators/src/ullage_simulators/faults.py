"""What goes wrong on purpose: per request, by a scenario."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, get_args

from ullage_simulators.body import Count, Quantity

FaultKind = Literal[
    "no-usage",
    "zero-usage",
    "late-usage",
    "huge-usage",
    "cumulative-usage",
    "uncached-only",
    "tiny-usage",
    "nan-usage",
    "cut",
    "hang",
    "slow",
    "status",
    "duplicate-events",
    "unknown-events",
    "malformed-json",
    "reset",
    "content-type",
]
KINDS: tuple[str, ...] = get_args(FaultKind)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    ``request`` counts generating requests of the run from 1, 0 is every one; ``path`` limits it to paths that begin
    so. ``at`` is the byte of the answer's body for ``cut``, ``hang`` and ``reset``. ``status`` and ``retry_after_s``
    belong to ``status``; ``seconds`` to ``slow`` (before each event), ``hang`` (as long at most) and ``late-usage``.
    """

    kind: FaultKind
    request: Count = 0
    path: str = ""
    at: Count = 0
    status: Count = 500
    retry_after_s: Quantity | None = None
    seconds: Quantity = 0.0

    def applies(self, number: int, path: str) -> bool:
        return self.request in (0, number) and path.startswith(self.path)


class Frame(NamedTuple):
    """A part of an answer that is sent at once: one SSE event, or a whole body. ``usage``: it carries the bill."""

    data: bytes
    usage: bool = False


FALSE_INPUTS: Final[tuple[FaultKind, ...]] = (
    "huge-usage",
    "cumulative-usage",
    "uncached-only",
    "tiny-usage",
    "nan-usage",
)
"""Faults that show an input which is not that of the request."""

HUGE: Final = 14_800_000
TINY: Final = 3

UsageMode = Literal["normal", "none", "zero", "late"]


def usage_mode(faults: tuple[Fault, ...]) -> UsageMode:
    """How the bill is shown under these faults."""
    kinds = {fault.kind for fault in faults}
    if "no-usage" in kinds:
        return "none"
    if "zero-usage" in kinds:
        return "zero"
    return "late" if "late-usage" in kinds else "normal"


def false_input(kind: FaultKind, true: int, before: Sequence[int]) -> float:
    """The input that such a fault shows. ``before`` are the true inputs of the run's earlier calls, oldest first."""
    match kind:
        case "huge-usage":
            return HUGE
        case "tiny-usage":
            return TINY
        case "nan-usage":
            return math.nan
        case "cumulative-usage":
            return sum(before) + true
        case "uncached-only" if before and before[-1] < true:
            return true - before[-1]
        case _:
            return true


def without_cache(usage: Any) -> Any:
    """A usage object without the fields that speak of a cache."""
    if isinstance(usage, list):
        return [without_cache(each) for each in usage]
    if not isinstance(usage, dict):
        return usage
    return {
        name: without_cache(value)
        for name, value in usage.items()
        if "cache" not in name.lower()
    }


def bend(frames: list[Frame], faults: tuple[Fault, ...], unknown: Frame) -> list[Frame]:
    """The events under the faults that change them. ``unknown`` is an event of a kind no client of the wire knows."""
    for fault in faults:
        if fault.kind == "duplicate-events":
            frames = list(_with_duplicates(frames, fault))
        elif fault.kind == "unknown-events":
            frames = list(_with_unknown(frames, unknown))
        elif fault.kind == "malformed-json":
            index = min(fault.at or len(frames) // 2, len(frames) - 1)
            frames = [*frames[:index], _malformed(frames[index]), *frames[index + 1 :]]
    return frames


def _with_duplicates(frames: list[Frame], fault: Fault) -> Iterator[Frame]:
    """Those with the bill twice, or else the last one, and the one that the fault names."""
    twice = {index for index, frame in enumerate(frames) if frame.usage} or {
        len(frames) - 1
    }
    if fault.at:
        twice.add(fault.at)
    for index, frame in enumerate(frames):
        yield frame
        if index in twice:
            yield frame


def _with_unknown(frames: list[Frame], unknown: Frame) -> Iterator[Frame]:
    for index, frame in enumerate(frames):
        if index in (1, len(frames) - 1):
            yield Frame(b": a comment\n\n")
            yield unknown
        yield frame


def _malformed(frame: Frame) -> Frame:
    body = frame.data.rstrip(b"\r\n")
    return frame._replace(data=body[: max(len(body) - 7, 1)] + frame.data[len(body) :])


def first(faults: tuple[Fault, ...], *kinds: FaultKind) -> Fault | None:
    """The first fault of these kinds."""
    return next((fault for fault in faults if fault.kind in kinds), None)

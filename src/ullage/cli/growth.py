"""How the window filled up over the calls, as a sparkline, with marks where it was compacted or pruned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ullage.display.glyphs import Glyphs
from ullage.meter.track import Step


class Sparkline(NamedTuple):
    """A sparkline and, of the same length, the marks under it (blank where nothing happened)."""

    line: str
    marks: str


class _Bucket(NamedTuple):
    tokens: int
    mark: str


def sparkline(steps: Sequence[Step], width: int, glyphs: Glyphs) -> Sparkline:
    """At most ``width`` columns: one for each call, or the highest of several neighbours. Its foot is 0 tokens."""
    tokens = [size_of(step) for step in steps]
    top = max(tokens, default=0)
    buckets = _buckets(steps, tokens, max(1, width), glyphs)
    line = "".join(_level(bucket.tokens, top, glyphs.levels) for bucket in buckets)
    return Sparkline(line, "".join(bucket.mark for bucket in buckets))


def size_of(step: Step) -> int:
    """What the window held for this call: as reported, or as estimated where nothing was reported."""
    return step.estimated if step.actual is None else step.actual


def _buckets(steps: Sequence[Step], tokens: Sequence[int], width: int, glyphs: Glyphs) -> list[_Bucket]:
    columns = min(width, len(steps))
    buckets = []
    for column in range(columns):
        start, end = column * len(steps) // columns, (column + 1) * len(steps) // columns
        marks = {mark for step in steps[start:end] for mark in step.marks}
        mark = glyphs.compacted if "compaction" in marks else glyphs.pruned if "prune" in marks else " "
        buckets.append(_Bucket(max(tokens[start:end]), mark))
    return buckets


def _level(tokens: int, top: int, levels: str) -> str:
    if top <= 0:
        return levels[0]
    return levels[min(len(levels) - 1, tokens * len(levels) // (top + 1))]

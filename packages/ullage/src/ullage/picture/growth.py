"""How the window grew: a bar a call with what was reported, what was estimated before it, and what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Final, NamedTuple

from ullage.advice.lives import CallRow
from ullage.advice.sentences import short
from ullage.display.gauge_line import amount
from ullage.display.text import number
from ullage.meter.limit_texts import threshold_sentence
from ullage.meter.reading import Used
from ullage.meter.track import MARKS, Step
from ullage.picture.model import Picture
from ullage.picture.policy import (
    FAR_THRESHOLD,
    GROWTH_BOTTOM,
    GROWTH_LEFT,
    GROWTH_TOP,
    MOST_BARS,
    MOST_LINES,
    NARROWEST_BAR,
    WIDEST_BAR,
)
from ullage.picture.shapes import Box, hover, label, rectangle, width_of

KEY: Final = {
    "bar": ("M0 -9h10v9h-10z", "bar", "reported"),
    "estimate": ("M0 -9h10v9h-10zM0 -4.5h10", "tick", "estimate and its interval"),
    "compaction": ("M0 -9h9l-4.5 8z", "ink", "compacted"),
    "prune": ("M.5 -8.5h8l-4 7z", "hollow", "pruned"),
    "cause": ("M0 -4.5a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", "warn", "cache missed"),
}
"""What is drawn: its shape, its style and its name."""


class Scale(NamedTuple):
    """From tokens to pixels: ``most`` is at the top, 0 at ``foot``."""

    most: float
    foot: float

    def y(self, tokens: float) -> float:
        """Where so many tokens are."""
        return self.foot - (self.foot - GROWTH_TOP) * tokens / self.most


def growth(picture: Picture, width: float, height: float) -> str:
    """All calls from left to right. Of neighbours that share a bar, the largest is drawn."""
    steps = picture.steps
    if not steps:
        return label(0, GROWTH_TOP, "No call has ended yet.", style="dim")
    threshold = picture.reading.threshold
    most = max(max(step.high, step.actual or 0, 1) for step in steps)
    point = threshold.tokens
    is_near = point is not None and point <= FAR_THRESHOLD * most
    if point is not None and is_near:
        most = max(most, point)
    scale = Scale(1.06 * most, height - GROWTH_BOTTOM)
    drawn = _grid(scale, width)
    rows = {row.call: row for row in picture.history.main_calls}
    seen = {"bar", "estimate"}
    count = min(len(steps), MOST_BARS, int((width - GROWTH_LEFT) / NARROWEST_BAR))
    pitch = min((width - GROWTH_LEFT) / count, WIDEST_BAR)
    for place in range(count):
        together = steps[place * len(steps) // count : (place + 1) * len(steps) // count]
        x = GROWTH_LEFT + place * pitch
        drawn.append(_bar(together, rows, Box(x, 0, pitch, scale.foot), scale, seen))
    if point is not None:
        sentence, y = threshold_sentence(threshold), GROWTH_TOP
        if is_near:
            y = scale.y(point)
            drawn.append(
                f'<path class="point" stroke-dasharray="5 4" d="M{GROWTH_LEFT} {y:.1f}H{width:.1f}"/>'
            )
        else:
            sentence += ", above this scale"
        drawn.append(
            label(width, y - 6, sentence, size=11, anchor="end", room=width - GROWTH_LEFT)
        )
    drawn.append(
        label(
            GROWTH_LEFT,
            scale.foot + 28,
            f"call {number(steps[0].number)}",
            size=11,
            style="dim",
        )
    )
    end = GROWTH_LEFT + count * pitch
    if end - GROWTH_LEFT > 120:
        drawn.append(
            label(
                end,
                scale.foot + 28,
                number(steps[-1].number),
                size=11,
                style="dim",
                anchor="end",
            )
        )
    return "".join([*drawn, _key(seen, width)])


def _grid(scale: Scale, width: float) -> list[str]:
    unit = 10.0 ** floor(log10(scale.most))
    unit = next(
        part * unit
        for part in (0.1, 0.2, 0.5, 1, 2)
        if scale.most / (part * unit) <= MOST_LINES
    )
    drawn: list[str] = []
    for line in range(int(scale.most / unit) + 1):
        y = scale.y(line * unit)
        drawn.append(f'<path class="rule" d="M{GROWTH_LEFT} {y:.1f}H{width:.1f}"/>')
        drawn.append(
            label(
                GROWTH_LEFT - 8,
                y + 4,
                short(round(line * unit)),
                size=11,
                style="dim",
                anchor="end",
            )
        )
    return drawn


def _bar(
    steps: Sequence[Step],
    rows: Mapping[str, CallRow],
    column: Box,
    scale: Scale,
    seen: set[str],
) -> str:
    """The calls that share a bar, with all that happened before one of them."""
    step = max(steps, key=lambda each: each.actual or each.estimated)
    gap = 1 if column.width < 10 else 3
    x, width = column.x + gap / 2, column.width - gap
    centre = column.x + column.width / 2
    drawn: list[str] = []
    if step.actual is not None:
        y = scale.y(step.actual)
        drawn.append(rectangle(Box(x, y, width, max(1, scale.foot - y)), "bar"))
    y = scale.y(step.high)
    drawn.append(rectangle(Box(x, y, width, max(1, scale.y(step.low) - y)), "interval"))
    drawn.append(
        f'<path class="tick" d="M{x:.1f} {scale.y(step.estimated):.1f}h{width:.1f}"/>'
    )
    told: list[str] = []
    for each in steps:
        row = rows.get(each.call)
        marks = list(each.marks)
        if row is not None and row.cause is not None:
            marks.append("cause")
            told.append(f"call {number(each.number)}: {row.cause.line}")
        for mark in marks:
            told.append(MARKS.get(mark, ""))
            if mark in KEY and f"{mark} {x}" not in seen:
                seen.update((mark, f"{mark} {x}"))
    for mark in KEY:
        if f"{mark} {x}" in seen:
            y = scale.foot + 12
            drawn.append(_shape(mark, centre - 4.5, y))
            if mark == "compaction":
                drawn.append(
                    f'<path class="rule" d="M{column.x:.1f} {GROWTH_TOP}V{scale.foot:.1f}"/>'
                )
    drawn.append(rectangle(column, "hit"))
    calls = f"Call {number(step.number)}"
    if len(steps) > 1:
        calls += (
            f", the largest of {number(steps[0].number)} to {number(steps[-1].number)}"
        )
    estimate = amount(Used(tokens=step.estimated, low=step.low, high=step.high))
    reported = (
        "not reported" if step.actual is None else f"{number(step.actual)} reported"
    )
    told = [text for text in dict.fromkeys(told) if text]
    return hover(
        "; ".join([f"{calls}: {estimate} estimated, {reported}", *told]), "".join(drawn)
    )


def _shape(name: str, x: float, y: float) -> str:
    path, style, _ = KEY[name]
    return f'<path class="{style}" transform="translate({x:.1f} {y:.1f})" d="{path}"/>'


def _key(seen: set[str], width: float) -> str:
    drawn: list[str] = []
    x = 0.0
    for name, (_, _, words) in KEY.items():
        if name not in seen:
            continue
        drawn.append(_shape(name, x, 12) + label(x + 15, 12, words, size=11, style="dim"))
        x += 33 + width_of(words, 11)
    return "".join(drawn)

"""How the window grew: a bar a call with what was reported, what was estimated before it, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Final

from ullage.advice.lives import CallRow
from ullage.advice.sentences import short
from ullage.display.text import number
from ullage.meter.limit_texts import threshold_sentence
from ullage.meter.track import MARKS, Step
from ullage.picture.model import SessionPicture
from ullage.picture.policy import FAR_THRESHOLD, NARROWEST_BAR, WIDEST_BAR
from ullage.picture.shapes import Box, rectangle, text

GLYPHS: Final = {"compacted": "▼", "cache missed": "●", "pruned": "▽"}
"""What is marked below a bar, the most important first."""

KEY: Final = """\
<text class="dim small" y="12"><tspan class="bar">■</tspan> reported &#160; <tspan class="ink">━</tspan> estimate in its \
interval &#160; ▼ compacted &#160; ▽ pruned &#160; <tspan class="warn">●</tspan> cache missed</text>"""


def growth(picture: SessionPicture, width: float, height: float) -> str:
    """All calls from left to right. Of neighbours that share a bar, the largest is drawn."""
    steps, threshold = picture.steps, picture.reading.threshold
    if not steps:
        return text(0, 40, "No call has ended yet.", "dim")
    top, foot, left = 40, height - 34, 44
    point = threshold.tokens or 0
    most = max(max(step.high, step.actual or 1) for step in steps)
    is_near = point <= FAR_THRESHOLD * most
    if is_near:
        most = max(most, point)
    scale = (foot - top) / most
    drawn = KEY
    unit = 10 ** floor(log10(most / 2 + 1))
    for tokens in range(0, most + 1, unit * ceil(most / unit / 5)):
        y = foot - tokens * scale
        drawn += rectangle(Box(left, y, width - left, 1), "line")
        drawn += text(left - 8, y + 4, short(tokens), "dim small end")
    rows = {row.call: row for row in picture.history.main_calls}
    count = min(len(steps), int((width - left) / NARROWEST_BAR))
    pitch = min((width - left) / count, WIDEST_BAR)
    for place in range(count):
        some = steps[place * len(steps) // count : (place + 1) * len(steps) // count]
        step = max(some, key=lambda each: each.actual or each.estimated)
        x, bar = left + place * pitch, pitch - max(1, pitch / 8)
        for tokens, tall, look in (
            (step.actual or 0, (step.actual or 0) * scale, "bar"),
            (step.high, (step.high - step.low) * scale, "ink veil"),
            (step.estimated, 1.5, "ink"),
        ):
            drawn += rectangle(Box(x, foot - tokens * scale, bar, tall), look)
        told: list[str] = []
        for each in some:
            told += happened(each, rows.get(each.call))
        for word, glyph in GLYPHS.items():
            if word in told:
                look = "warn" if word == "cache missed" else "ink"
                drawn += text(x + bar / 2, foot + 13, glyph, f"{look} mid")
                break
        reported = number(step.actual) if step.actual else "nothing"
        title = f"Call {number(step.number)}: {number(step.estimated)} estimated, {reported} reported. {'; '.join(told)}"
        drawn += rectangle(Box(x, top, pitch, foot - top), "clear", title)
    if point:
        y = foot - point * scale if is_near else top
        drawn += rectangle(Box(left, y, width - left, 1), "ink")
        beyond = "" if is_near else ", above this"
        drawn += text(
            width, y - 6, threshold_sentence(threshold) + beyond, "ink small end"
        )
    drawn += text(left, foot + 28, f"call {number(steps[0].number)}", "dim small")
    if count > 9:
        drawn += text(
            left + count * pitch, foot + 28, number(steps[-1].number), "dim small end"
        )
    return drawn


def happened(step: Step, row: CallRow | None) -> Sequence[str]:
    """What happened before a call, and why it paid again."""
    told = [MARKS.get(mark, mark) for mark in dict.fromkeys(step.marks)]
    if row is not None and row.cause is not None:
        told += ("cache missed", row.cause.line)
    return told

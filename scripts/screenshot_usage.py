"""Draws the picture of ``ullage usage`` that the documentation shows.

    uv run python -m scripts.screenshot_usage [PICTURE]

PICTURE is ``docs/images/usage.svg`` unless said otherwise. The calls are invented, the same each time; the lines are
those that a terminal of 110 columns gets.
"""

from __future__ import annotations

import io
import random
import sys
from datetime import UTC, date, datetime, timedelta

from scripts.terminal_pictures import svg, write
from ullage.cli.screen import Screen
from ullage.cli.usage import ShownUsage, drawn, notes_on
from ullage.display.styles import rich_text
from ullage.meter.distinct_calls import DistinctCalls, PlacedCall
from ullage.meter.spent_calls import CallsOfLog, PriceList, SpentCall
from ullage.meter.usage_table import usage_table
from ullage.watching.past_calls import PastCalls

WIDTH = 110
FIRST = date(2026, 11, 10)
DAYS = 14
MODELS = (
    ("claude-opus-4-5", "anthropic"),
    ("claude-sonnet-4-5", "anthropic"),
    ("gpt-5", "openai"),
    ("cellar-7b-local", ""),
)


def calls() -> list[PlacedCall]:
    """Two weeks of work, with quiet weekends."""
    chance = random.Random(17)
    log = CallsOfLog(
        program="claude-code 2.1.330", session="s-1", project="/home/ann/kettle"
    )
    made: list[PlacedCall] = []
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()
        busy = chance.randint(60, 260)
        if day.weekday() >= 5:
            busy = chance.choice((0, 12))
        for _ in range(busy):
            model, provider = chance.choices(MODELS, weights=(30, 55, 14, 1))[0]
            made.append(_call(chance, noon, model, provider, log))
    return made


def _call(
    chance: random.Random, at: float, model: str, provider: str, log: CallsOfLog
) -> PlacedCall:
    read = chance.randint(15_000, 110_000)
    write = chance.randint(300, 6_000)
    output = chance.randint(40, 1_500)
    call = SpentCall(
        at=at,
        name="",
        model=model,
        provider=provider,
        purpose="main",
        input=read + write + chance.randint(3, 400),
        output=output,
        cache_read=read,
        cache_write=write,
        reasoning=output // 3,
    )
    return PlacedCall(call, log, is_child=chance.random() < 0.2)


def picture() -> str:
    """The table as an SVG picture."""
    found = calls()
    days = [FIRST + timedelta(days=number) for number in range(DAYS)]
    table = usage_table(
        found, "day", lambda at: datetime.fromtimestamp(at, UTC).date(), PriceList()
    )
    logs = [CallsOfLog(program="claude-code")] * 23 + [CallsOfLog(program="codex")] * 6
    past = PastCalls(logs, (), [])
    notes = notes_on(table, past, DistinctCalls(found, 31, 0), 0)
    screen = Screen(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    shown = ShownUsage(table, days[0], days[-1], "UTC", notes)
    lines = map(rich_text, drawn(shown, WIDTH, screen.glyphs))
    return svg(lines, "ullage usage", WIDTH, "ullage-usage")


if __name__ == "__main__":
    write("usage.svg", picture(), sys.argv[1:])

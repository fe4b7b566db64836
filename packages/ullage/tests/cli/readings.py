"""Readings made by hand, as the drawings are specified with them."""

from __future__ import annotations

from typing import Any

import msgspec

from ullage.meter.reading import (
    Accuracy,
    Basis,
    CompactionThreshold,
    Reading,
    Row,
    Source,
    Used,
    Window,
)
from ullage.meter.spend import Money, Spend
from ullage.meter.track import Step
from ullage.usage import UsageSum


def row(name: str, tokens: int, source: Source = "estimated", **more: Any) -> Row:
    return Row(name=name, tokens=tokens, source=source, **more)


TOOLS = row(
    "Tools (23)",
    8_000,
    note="largest: browser 2,310 · bash 1,204",
    children=(
        row("browser", 2_310),
        row("bash", 1_204),
        row("read_file", 900),
        row("shared by all tools", 346),
    ),
)

MESSAGES = row(
    "Messages",
    40_100,
    "by_difference",
    children=(
        row(
            "Tool results",
            28_900,
            children=(row("read_file", 20_000), row("bash", 8_900)),
        ),
        row("Assistant", 8_000),
        row("Reasoning", 1_900, "reported", note="sent back and counted"),
        row("User", 1_200),
        row("Unattributed", 100, "by_difference"),
    ),
)

SPEND = Spend(
    by_purpose={
        "main": UsageSum(
            calls=38,
            input=1_204_000,
            output=40_000,
            cache_read=1_100_000,
            cache_write=60_000,
            reasoning=12_000,
        ),
        "summary": UsageSum(calls=1, input=9_000, output=900, unsaid={"cache_read": 1}),
    },
    money=Money(usd=1.2345, priced=39),
)

QUARTER_FULL = Reading(
    snapshot_id="5f0c",
    session="s1",
    seq=120,
    model="claude-haiku-4-5",
    window=Window(tokens=200_000, source="catalogue"),
    input_limit=184_000,
    threshold=CompactionThreshold(tokens=160_000, source="assumed"),
    used=Used(tokens=52_100, low=51_960, high=52_240),
    reserve=16_000,
    free=131_900,
    rows=(
        row("System prompt", 4_000),
        TOOLS,
        row("Deferred tools (12)", 9_000, summed=False),
        MESSAGES,
    ),
    basis=Basis(last_input=50_000, last_output=2_000, new=100, changed=0, removed=0),
    accuracy=Accuracy(
        estimated=49_790,
        actual=50_000,
        error=-210,
        error_percent=-0.42,
        median_error_percent=0.2,
        calls=38,
        inside=36,
    ),
    spend=SPEND,
    compactions=1,
)
"""The window that the design draws: 52,100 of 200,000."""


def reading(**changes: Any) -> Reading:
    """``QUARTER_FULL`` with some fields changed."""
    return msgspec.structs.replace(QUARTER_FULL, **changes)


UNKNOWN_WINDOW = reading(
    model="my-own-model",
    window=Window(tokens=None, source="unknown"),
    input_limit=None,
    threshold=CompactionThreshold(tokens=None, source="unknown"),
    free=None,
)

OVER_FULL = reading(
    used=Used(tokens=230_000, low=220_000, high=240_000),
    free=-46_000,
    rows=(row("System prompt", 4_000), row("Messages", 226_000, "by_difference")),
    basis=Basis(
        last_input=150_000, last_output=2_000, new=80_000, changed=-1_500, removed=-500
    ),
)

NO_CALL_YET = reading(
    used=Used(tokens=900, low=600, high=1_200),
    free=183_100,
    rows=(row("System prompt", 700), row("Messages", 200)),
    basis=Basis(last_input=None, last_output=0, new=900, changed=0, removed=0),
    accuracy=Accuracy(),
    spend=Spend(),
    compactions=0,
)


def steps(
    *tokens: int, compacted: tuple[int, ...] = (), pruned: tuple[int, ...] = ()
) -> tuple[Step, ...]:
    """One call for each number, marked where its number (from 1) says so."""
    return tuple(
        Step(
            number=place,
            call=f"c{place}",
            estimated=actual + 10,
            low=actual - 20,
            high=actual + 30,
            actual=actual,
            marks=("compaction",) * (place in compacted) + ("prune",) * (place in pruned),
            situation="first call" if place == 1 else "tool step",
        )
        for place, actual in enumerate(tokens, 1)
    )


GROWN = steps(
    *range(2_000, 42_000, 2_000),
    *range(9_000, 45_000, 2_000),
    compacted=(21,),
    pruned=(30,),
)

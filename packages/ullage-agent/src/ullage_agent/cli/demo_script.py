"""What is said in the demonstration: the script of the model, and tools over an invented cellar."""

from __future__ import annotations

import asyncio
import random
from typing import Any, Final

from ullage.context.prompt import TASK
from ullage_agent.tools.functions import tool
from ullage_agent.tools.tool import AgentTool

MODEL: Final = "cellar-small"
WINDOW: Final = 9_000
MAX_OUTPUT: Final = 1_000

DAYS: Final = 19
"""Days of logs; each is one step with one to three calls."""

ROUNDS: Final = 17
"""Steps of the second half: three small measurements each, and more thinking."""

SYSTEM: Final = "You look after the logs of a wine cellar. Read before you answer, and keep to what the logs say."
REQUEST: Final = "Which casks lose more than they should? Read the logs of all 19 days."
STEER: Final = "Also note every day on which the pump failed."
STORY: Final = "Tell me the long story of cask 7."
SECOND: Final = "Never mind the story. Weigh and measure cask after cask, then sum up."

_CASKS: Final = ("3", "7", "11", "12", "19", "24")
_KEEPERS: Final = ("Ada", "Noor", "Emil")


def tools_of(*, pause_s: float) -> list[AgentTool]:
    """Three tools that look at invented data, the same on every run; each takes ``pause_s`` or a little more."""

    @tool(idempotent=True)
    async def read_log(day: int) -> str:
        """Read the log of one day.

        Args:
            day: The day, from 1.
        """
        await asyncio.sleep(pause_s)
        return log_of(day)

    @tool(idempotent=True)
    async def weigh(cask: str) -> str:
        """Weigh a cask.

        Args:
            cask: Its number.
        """
        await asyncio.sleep(1.3 * pause_s)
        return f"{180 + int(cask) % 9} kg, {int(cask) % 4} kg less than a week ago"

    @tool(idempotent=True)
    async def measure(cask: str, what: str) -> str:
        """Measure something of a cask.

        Args:
            cask: Its number.
            what: ullage, temperature or pressure.
        """
        await asyncio.sleep(1.6 * pause_s)
        unit = {"ullage": "litres", "temperature": "°C"}.get(what, "bar")
        return f"{int(cask) * 7 % 40 / 10 + 9:.1f} {unit}"

    return [read_log, weigh, measure]


def log_of(day: int) -> str:
    """The log of a day."""
    drawn = random.Random(day)
    fails = (
        f"; 14:10 the pump failed, running again at 14:{10 + day % 50}"
        if day % 5 == 2
        else ""
    )
    lines = [f"Day {day}: {drawn.choice(('dry', 'damp', 'cool'))}{fails}"]
    for hour in range(6, 16):
        lines.append(
            f"{hour:02}:{drawn.randrange(60):02} cask {drawn.choice(_CASKS)}: level {drawn.uniform(87, 99):.1f} %, "
            f"{drawn.uniform(11, 14):.1f} °C, checked by {drawn.choice(_KEEPERS)}"
        )
    return "\n".join(lines)


def answers() -> list[dict[str, Any]]:
    """The model's answers, in order, each given once; and the summary, given whenever one is asked for."""
    first = _said(
        "Casks 7 and 11: 3 kg less in a week, where 1 kg is usual.\nThe pump failed on days 2, 7, 12 and 17.",
        thought="All days are read. Casks 7 and 11 stand out, and the pump failures are noted.",
    )
    story = {
        **_said(_STORY, thought="A story, then. Begin with the flood."),
        "when": {"contains": STORY},
    }
    last = _said(
        "Casks 7 and 11 lose 3 kg a week; the others are as they should be.\nAll are between 9 and 13 °C.",
        thought="Every cask is weighed and measured. Two lines will do.",
    )
    days = [_day(day) for day in range(1, DAYS + 1)]
    return [
        _SUMMARY,
        *days,
        first,
        story,
        *(_round(number) for number in range(ROUNDS)),
        last,
    ]


_SUMMARY: Final[dict[str, Any]] = {
    "when": {"contains": TASK.partition("{")[0].strip()},
    "reasoning": "What the user wants, what was found, and what comes next.",
    "text": "## Goal\nFind the casks that lose more than they should. Asked last: weigh and measure cask after cask, "
    "then sum up.\n## Constraints\nKeep to what the logs say. Note every day on which the pump failed.\n"
    "## State\nAll 19 days are read: casks 7 and 11 lose 3 kg a week, 1 kg is usual. The pump failed on days 2, 7, "
    "12 and 17. The story of cask 7 was begun and stopped by the user.\n"
    "## Next\nMeasure the casks that are left, then sum up.",
}

_STORY: Final = "Cask 7 was made in the year of the flood. " + " ".join(
    f"In its {ordinal} year it sang whenever the wind came from the {wind}, and {keeper} put a stone on its lid."
    for ordinal, wind, keeper in zip(
        (
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
        )
        * 2,
        ("east", "north", "mill", "river") * 5,
        (*_KEEPERS, "the cooper") * 5,
        strict=True,
    )
)

_THOUGHTS: Final = (
    "Day {day}: the levels first, then the casks that moved.",
    "Cask 7 was low again: weigh it beside reading day {day}.",
    "Nothing odd so far. On to day {day}.",
)

_REASONS: Final = (
    "Cask {cask} next. It stood at the east wall, where the sun comes in; if it is warmer than the others, that "
    "explains what it lost, and the bung need not be looked at.",
    "Now cask {cask}. A cask that loses weight but no level has a scale that drifts; one that loses both has a leak. "
    "So both are needed, and the temperature with them.",
    "Then cask {cask}. The last two were as they should be, so the scale can be trusted; what matters now is whether "
    "this one is like them or like cask 7.",
)


def _day(day: int) -> dict[str, Any]:
    calls: list[dict[str, Any]] = [_call("read_log", day=day)]
    if day % 2 == 0:
        calls.append(_call("weigh", cask=_CASKS[day % len(_CASKS)]))
    if day % 4 == 0:
        calls.append(_call("measure", cask="7", what="temperature"))
    return {
        "reasoning": _THOUGHTS[day % len(_THOUGHTS)].format(day=day),
        "calls": calls,
        "times": 1,
    }


def _round(number: int) -> dict[str, Any]:
    cask = _CASKS[number % len(_CASKS)]
    measured = ("ullage", "temperature", "pressure")[number // len(_CASKS)]
    calls = [
        _call("weigh", cask=cask),
        _call("measure", cask=cask, what=measured),
        _call("measure", cask=_CASKS[(number + 3) % len(_CASKS)], what=measured),
    ]
    return {
        "reasoning": _REASONS[number % len(_REASONS)].format(cask=cask),
        "calls": calls,
        "times": 1,
    }


def _call(name: str, **arguments: object) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _said(text: str, *, thought: str) -> dict[str, Any]:
    return {"text": text, "reasoning": thought, "times": 1}

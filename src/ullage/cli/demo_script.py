"""What is said in the demonstration: the script of the model, and tools over an invented cellar."""

from __future__ import annotations

import asyncio
import random
from typing import Any, Final

from ullage.tools.functions import tool
from ullage.tools.tool import AgentTool

MODEL: Final = "cellar-small"
WINDOW: Final = 24_000
DAYS: Final = 18
"""Days of logs; each is one step with one to three calls."""

REQUEST: Final = (
    "Go through the cellar's logs day by day and tell me which casks lose more than they should. Never guess."
)
STEER: Final = "Also note every day on which the pump failed."
STORY: Final = "While you are at it: tell me the long story of cask 7."
SECOND: Final = "Never mind the story. Compare the temperatures of the second half, and sum up in two lines."

_CASKS: Final = ("3", "7", "11", "12", "19", "24")


def tools_of() -> list[AgentTool]:
    """Three tools that look at invented data: the same on every run."""

    @tool(idempotent=True)
    async def read_log(day: int) -> str:
        """Read the log of one day.

        Args:
            day: The day, from 1.
        """
        await asyncio.sleep(0.02)
        drawn = random.Random(day)
        lines = [f"Log of day {day}"]
        for hour in range(6, 20):
            cask = drawn.choice(_CASKS)
            lines.append(
                f"{hour:02}:{drawn.randrange(60):02} cask {cask}: level {drawn.uniform(87, 99):.1f} %, "
                f"temperature {drawn.uniform(11, 14):.1f} °C, checked by {drawn.choice(['Ada', 'Noor', 'Emil'])}"
            )
        if day % 5 == 2:
            lines.append("14:10 the pump failed and was started again after nine minutes")
        return "\n".join(lines)

    @tool(idempotent=True)
    async def weigh(cask: str) -> str:
        """Weigh a cask.

        Args:
            cask: Its number.
        """
        await asyncio.sleep(0.05)
        return f"Cask {cask}: {180 + int(cask) % 9} kg, {int(cask) % 4} kg less than a week ago."

    @tool(idempotent=True)
    async def measure(cask: str, what: str = "ullage") -> str:
        """Measure something of a cask.

        Args:
            cask: Its number.
            what: ullage, temperature or pressure.
        """
        await asyncio.sleep(0.03)
        return f"{what} of cask {cask}: {int(cask) * 7 % 40 / 10:.1f}"

    return [read_log, weigh, measure]


def answers() -> list[dict[str, Any]]:
    """The model's answers, in order; each is given once."""
    script = [_day(day) for day in range(1, DAYS + 1)]
    script.append(_said("The story of cask 7 is a long one. " + _STORY, contains="story of cask 7"))
    script += [_day(day, after="second half") for day in range(10, DAYS + 1)]
    first = _said(
        "Casks 7 and 11 lose more than they should: 3 kg in a week, where 1 kg is usual. The pump failed on the days 2, "
        "7, 12 and 17. Everything else is as it was.",
        reasoning="All days are read. Cask 7 and cask 11 stand out; the pump failures are noted.",
    )
    last = _said(
        "Second half: 12.4 °C on average, never above 14. Cask 11 is the warmest and the one that loses most.",
        reasoning="The temperatures of the second half are there.",
    )
    return [_SUMMARY, *script[:DAYS], first, *script[DAYS:], last]


_STORY: Final = (
    "It was made in the year of the flood, from oak that had stood in the mill pond for a summer, and for the first "
    "ten years nobody wanted it because it sang at night. Then the cooper's daughter found out that it only sang when the "
    "wind came from the east, and she put a stone on its lid. " * 3
)

_SUMMARY: Final[dict[str, Any]] = {
    "when": {"contains": "summary"},
    "reasoning": "The goal, what was found, and what is next.",
    "text": "## Goal\nFind the casks that lose more than they should, from the logs, day by day.\n"
    "## Constraints\nNever guess. Note every day on which the pump failed.\n"
    "## State\nCasks 7 and 11 lose 3 kg a week. The pump failed on the days 2, 7 and 12.\n"
    "## Next\nGo on with the next day's log.",
}

_THOUGHTS: Final = (
    "Day {day}: the levels first, then the casks that moved.",
    "Cask 7 was low again; it should be weighed beside reading day {day}.",
    "Nothing odd so far. On to day {day}.",
)


def _day(day: int, after: str = "") -> dict[str, Any]:
    calls: list[dict[str, Any]] = [{"name": "read_log", "arguments": {"day": day}}]
    if day % 2 == 0:
        calls.append({"name": "weigh", "arguments": {"cask": _CASKS[day % len(_CASKS)]}})
    if day % 3 == 0:
        calls.append({"name": "measure", "arguments": {"cask": "7", "what": "temperature"}})
    thought = _THOUGHTS[day % len(_THOUGHTS)].format(day=day)
    return {"reasoning": thought, "calls": calls, "times": 1}


def _said(text: str, *, reasoning: str = "", contains: str = "") -> dict[str, Any]:
    answer: dict[str, Any] = {"text": text, "times": 1}
    if reasoning:
        answer["reasoning"] = reasoning
    if contains:
        answer["when"] = {"contains": contains}
    return answer

"""Draws the picture of ``ullage chat`` that the documentation shows.

    uv run python -m scripts.screenshot_chat [PICTURE]

PICTURE is ``docs/images/chat.svg`` unless said otherwise. A real session against the simulator: an agent reads a log,
changes a file after it was allowed to, and is told something while it works. Nothing of the machine is in the picture.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from scripts.terminal_pictures import write
from ullage_agent.chat.app import ChatApp
from ullage_agent.chat.panels import Panel
from ullage_agent.chat.start import environment_for
from ullage_agent.cli.simulated import Simulated
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hosting import Host
from ullage_simulators import running
from ullage_simulators.scenario import read

SIZE = (100, 36)
MODEL = "anthropic:claude-sonnet-4-6"

LOG = "\n".join(
    f"day {day:2}  cask {3 + day % 4}  level {98 - day / 4:.1f} %  checked by Noor"
    for day in range(1, 31)
)
NOTES = "Casks to watch: none\n"
ANSWERS: list[dict[str, Any]] = [
    {
        "when": {"contains": "cellar", "after": "user"},
        "text": "I read the log and the notes first.",
        "calls": [
            {"name": "read", "arguments": {"path": "cellar.log"}},
            {"name": "search", "arguments": {"pattern": "to watch"}},
        ],
    },
    {
        "when": {"step": 2},
        "text": "Cask 7 sinks faster than the others:\n\n| cask | first | last |\n|---|---|---|\n"
        "| 5 | 97.5 % | 91.5 % |\n| **7** | 97.8 % | **90.2 %** |\n\nI note it in `notes.txt`.",
        "calls": [
            {
                "name": "edit",
                "arguments": {
                    "path": "notes.txt",
                    "old": "none",
                    "new": "7, from the 3rd on",
                },
            }
        ],
    },
    {"text": "Done. The pump did not fail."},
]


async def picture() -> str:
    """The screen as an SVG picture."""
    with (
        running(read({"answers": ANSWERS}), seed=3) as server,
        tempfile.TemporaryDirectory() as place,
    ):
        (Path(place) / "cellar").mkdir()
        (Path(place) / "cellar" / "cellar.log").write_text(LOG)
        (Path(place) / "cellar" / "notes.txt").write_text(NOTES)
        os.environ.pop("NO_COLOR", None)
        simulator = Simulated(
            MODEL,
            {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": server.url("anthropic")},
        )
        environment = environment_for({}, simulator)
        launch: dict[str, Any] = {
            "root": f"{place}/cellar",
            "tools": ("read", "search", "edit"),
        }
        agent = Agent(
            environment=environment,
            store=Path(place) / "sessions.db",
            config=False,
            **launch,
        )
        shared = await agent._enter()
        async with Host(agent) as host:
            session = await host.begin("cellar", {"model": MODEL, "window": 200_000})
            app = ChatApp(host, shared.store, session, environment)
            async with app.run_test(size=SIZE) as pilot:
                drawn = await _play(app, pilot)
        await agent._leave()
    return re.sub(r"terminal-\d+", "ullage-chat", drawn)


async def _play(app: ChatApp, pilot: Pilot[str]) -> str:
    async def until(is_so: Callable[[], bool]) -> None:
        while not is_so():
            await pilot.pause(0.05)

    app.prompt.put("Which cask of the cellar loses most? Put it into notes.txt.")
    await pilot.press("enter")
    await until(lambda: bool(app.approving.questions))
    app.prompt.put("And tell me whether the pump failed.")
    await pilot.press("enter")
    await until(lambda: "pump" in app.query_one("#waiting", Panel).shown.plain)
    await pilot.pause(0.2)
    return app.export_screenshot(title="ullage chat")


if __name__ == "__main__":
    write("chat.svg", asyncio.run(picture()), sys.argv[1:])

"""Draws the picture of ``ullage context --advice`` that the documentation shows.

    uv run python -m scripts.screenshot_advice [PICTURE]

PICTURE is ``docs/images/advice.svg`` unless said otherwise. The session is made up: an afternoon in a repository, with
two MCP servers of which one is never called, a long test run, a file that is read twice, and a lunch break.
"""

from __future__ import annotations

import sys

from scripts.invented_session import MINUTE, InventedSession
from scripts.terminal_pictures import svg, write
from ullage.advice.history import history_of
from ullage.advice.suggestions import advice_of
from ullage.cli.advice import advice_lines
from ullage.cli.drawing import Subject, draw_top
from ullage.display.styles import rich_text
from ullage.events import (
    Event,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import (
    SystemBlock,
    Tool,
)
from ullage.meter.meter import Meter

WIDTH = 100

TOOLS = {
    "": ("Bash", "Edit", "Grep", "Read", "Task", "TodoWrite", "WebFetch", "Write"),
    "linear": ("get_issue", "list_issues"),
    "playwright": ("click", "evaluate", "navigate", "screenshot", "snapshot", "type"),
}
WORDS = "What it is for, when it is the right one, what it takes and what it returns. "


def source(name: str, lines: int) -> str:
    """A file of code."""
    return "\n".join(
        f"{n:5}  def {name}_{n}(cask, vent):  # fills the {name} number {n}"
        for n in range(lines)
    )


def afternoon() -> list[Event]:
    """The made-up session."""
    story = InventedSession(window=200_000)
    story.put(
        SessionStarted(
            model="claude-sonnet-4-5",
            wire="messages",
            provider="anthropic",
            program="claude-code 2.1.330",
            title="The vent opens too late",
        )
    )
    rules = "\n".join(f"- Rule {n}: say what a change is for." for n in range(320))
    story.put(
        SystemChanged(
            system=(
                SystemBlock(text="You help with code. " * 400),
                SystemBlock(text=rules, kind="instructions", name="CLAUDE.md"),
            )
        )
    )
    tools: list[Tool] = []
    for server, names in TOOLS.items():
        for name in names:
            full = f"mcp__{server}__{name}" if server else name
            tools.append(Tool(name=full, description=WORDS * 20, server=server))
    story.put(ToolsChanged(tools=tuple(tools)))
    story.ask("Why does the vent open too late?")
    story.tool("mcp__linear__get_issue", '{"id":"TEA-41"}', "TEA-41: vent opens late")
    story.tool("Read", '{"file_path":"/tea/src/kettle.py"}', source("kettle", 420))
    story.tool("Read", '{"file_path":"/tea/src/samovar.py"}', source("samovar", 330))
    story.tool("Grep", '{"pattern":"vent"}', source("valve", 150))
    for _ in range(6):
        story.tool("Bash", '{"command":"git status"}', "nothing to commit")
    story.tool("Bash", '{"command":"python -m pytest -v"}', source("test", 460))
    story.answer("kettle_17 opens the vent after test_90 has begun to fill.")
    story.ask("Fix it after lunch.")
    story.answer("I start with kettle_17.", pause_s=52 * MINUTE)
    story.tool("Read", '{"file_path":"/tea/src/kettle.py"}', source("kettle", 420))
    for _ in range(9):
        story.tool("Bash", '{"command":"git status"}', "nothing to commit")
    story.answer("Done.")
    return story.events


def picture() -> str:
    """The advice as an SVG picture."""
    events = afternoon()
    meter = Meter(estimator="pretoken")
    history = history_of(events, meter)
    advice = advice_of(history, meter, events)
    subject = Subject(
        reading=meter.reading(),
        program="claude-code 2.1.330",
        title="The vent opens too late",
        calls=len(history.calls),
    )
    lines = (*draw_top(subject, WIDTH), *advice_lines(advice, history, WIDTH))
    return svg(map(rich_text, lines), "ullage context --advice", WIDTH, "ullage-advice")


if __name__ == "__main__":
    write("advice.svg", picture(), sys.argv[1:])

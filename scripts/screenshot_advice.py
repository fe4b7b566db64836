"""Draws the picture of ``ullage context --advice`` that the documentation shows.

    uv run python scripts/screenshot_advice.py [PICTURE]

PICTURE is ``docs/images/advice.svg`` unless said otherwise. The session is made up: an afternoon in a repository, with
two MCP servers of which one is never called, a long test run, a file that is read twice, and a lunch break.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from ullage.advice.history import history_of
from ullage.advice.suggestions import advice_of
from ullage.cli.advice import advice_lines
from ullage.cli.drawing import Subject, draw_top
from ullage.display.styles import rich_text
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import (
    Message,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.meter import Meter
from ullage.usage import Usage

ROOT = Path(__file__).parents[1]
WIDTH = 100
MINUTE = 60

TOOLS = {
    "": ("Bash", "Edit", "Grep", "Read", "Task", "TodoWrite", "WebFetch", "Write"),
    "linear": ("get_issue", "list_issues"),
    "playwright": ("click", "evaluate", "navigate", "screenshot", "snapshot", "type"),
}
WORDS = "What it is for, when it is the right one, what it takes and what it returns. "


class Afternoon:
    """The events of the session, billed by what a meter reads."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.meter = Meter("", window=200_000)
        self.at = 0.0
        self.calls = 0
        self.cached = 0

    def put(self, event: Event) -> None:
        """One more event."""
        self.events.append(event)
        self.meter.apply(event)

    def say(self, role: Any, *parts: Any) -> None:
        """One more message."""
        name = f"m{len(self.events)}"
        self.put(MessageAdded(message=Message(id=name, role=role, parts=parts)))

    def call(self, part: Any, pause_s: float = 20) -> None:
        """A call of the model, which answers with this. After five minutes the cache is gone."""
        self.calls += 1
        self.at += pause_s
        name = f"call-{self.calls}"
        bill = self.meter.reading().used.tokens
        cached = 0 if pause_s > 5 * MINUTE else min(self.cached, bill)
        usage = Usage(input=bill, output=60, cache_read=cached, cache_write=bill - cached)
        self.put(CallStarted(call=name, at=self.at))
        self.put(CallEnded(call=name, at=self.at, usage=usage))
        self.cached = bill
        message = Message(id=f"{name}.answer", role="assistant", parts=(part,), call=name)
        self.put(MessageAdded(message=message))

    def tool(self, name: str, arguments: str, text: str) -> None:
        """A call that asks for a tool, and its result."""
        call_id = f"t{self.calls}"
        part = ToolCallPart(
            id=f"{call_id}.call", call_id=call_id, name=name, arguments=arguments
        )
        self.call(part)
        content = TextPart(id=f"{call_id}.text", text=text)
        self.say(
            "tool",
            ToolResultPart(
                id=f"{call_id}.result", call_id=call_id, name=name, content=(content,)
            ),
        )

    def answer(self, text: str, pause_s: float = 20) -> None:
        """A call that ends a turn."""
        self.call(TextPart(id=f"a{self.calls}", text=text), pause_s)

    def ask(self, text: str) -> None:
        """A person writes."""
        self.say("user", TextPart(id=f"u{len(self.events)}", text=text))


def source(name: str, lines: int) -> str:
    """A file of code."""
    return "\n".join(
        f"{n:5}  def {name}_{n}(cask, vent):  # fills the {name} number {n}"
        for n in range(lines)
    )


def afternoon() -> list[Event]:
    """The made-up session."""
    story = Afternoon()
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
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
    )
    for line in (*draw_top(subject, WIDTH), *advice_lines(advice, history, WIDTH)):
        console.print(rich_text(line), soft_wrap=True)
    return console.export_svg(title="ullage context --advice", unique_id="ullage-advice")


def main(arguments: list[str]) -> None:
    """Write the picture."""
    out = ROOT / "docs" / "images" / "advice.svg"
    if arguments:
        out = Path(arguments[0])
    out.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

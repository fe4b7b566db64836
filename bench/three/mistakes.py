"""What mypy and pyright say to twelve mistakes, in programs with Ullage and with pydantic-ai.

    uv run python -m bench.three.mistakes

Each mistake is one line behind a program without one. A checker that says anything about it has found it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bench.environments import PYDANTIC_AI, python_of

SHARED: Final = '''
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

@dataclass
class Shop:
    name: str

@dataclass
class Bill:
    total: float

def stock(item: str) -> int:
    """How many there are."""
    return 3
'''

OURS: Final = '''
import ullage
from ullage.hooks import Hook, Output, Refusal

shop = ullage.Agent("openai:gpt-5-mini", tools=[stock], deps_type=Shop, output_type=Bill)

def of_number(context: ullage.ToolContext[int]) -> int:
    """A tool with other deps."""
    return context.deps
'''

THEIRS: Final = '''
from pydantic_ai import Agent, RunContext, ToolDefinition, ToolDenied
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ToolCallPart

shop = Agent("openai:gpt-5-mini", tools=[stock], deps_type=Shop, output_type=Bill)

def of_number(context: RunContext[int]) -> int:
    """A tool with other deps."""
    return context.deps
'''


class Mistake(NamedTuple):
    """The same mistake in both."""

    title: str
    ours: str
    theirs: str


MISTAKES: Final = (
    Mistake(
        "an argument that there is not",
        'ullage.Agent("openai:gpt-5-mini", tool=[stock])',
        'Agent("openai:gpt-5-mini", tool=[stock])',
    ),
    Mistake(
        "a misspelt setting",
        'ullage.Agent("openai:gpt-5-mini", temprature=0.1)',
        'Agent("openai:gpt-5-mini", model_settings={"temprature": 0.1})',
    ),
    Mistake(
        "a setting of another type",
        'ullage.Agent("openai:gpt-5-mini", temperature="low")',
        'Agent("openai:gpt-5-mini", model_settings={"temperature": "low"})',
    ),
    Mistake(
        "a misspelt argument of a call",
        'shop.run_sync("Hello", dep=Shop("a"))',
        'shop.run_sync("Hello", dep=Shop("a"))',
    ),
    Mistake(
        "deps of another type",
        'shop.run_sync("Hello", deps="a")',
        'shop.run_sync("Hello", deps="a")',
    ),
    Mistake(
        "no deps where they are needed",
        'shop.run_sync("Hello")',
        'shop.run_sync("Hello")',
    ),
    Mistake(
        "a tool that needs other deps",
        'ullage.Agent("openai:gpt-5-mini", tools=[of_number], deps_type=Shop)',
        'Agent("openai:gpt-5-mini", tools=[of_number], deps_type=Shop)',
    ),
    Mistake(
        "something that is no tool",
        'ullage.Agent("openai:gpt-5-mini", tools=[5])',
        'Agent("openai:gpt-5-mini", tools=[5])',
    ),
    Mistake(
        "a misspelt field of the answer",
        'shop.run_sync("Hello", deps=Shop("a")).output.totl',
        'shop.run_sync("Hello", deps=Shop("a")).output.totl',
    ),
    Mistake(
        "a missing await",
        'async def ask() -> None:\n    print(shop.ask("Hello", deps=Shop("a")).output)',
        'async def ask() -> None:\n    print(shop.run("Hello", deps=Shop("a")).output)',
    ),
    Mistake(
        "a hook that returns another type",
        """class Mine(Hook):
    async def before_tool(
        self, name: str, arguments: Mapping[str, Any] | None, call_id: str
    ) -> int:
        return 5""",
        """async def mine(
    ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
) -> int:
    return 5

Hooks(before_tool_execute=mine)""",
    ),
    Mistake(
        "a misspelt argument of a denial",
        """async def deny(session: ullage.Session) -> None:
    await session.approve("call", False, digest="d", why="no")""",
        'ToolDenied(why="no")',
    ),
)


class Side(NamedTuple):
    """A library: what its programs begin with, and the Python that has it."""

    name: str
    begin: str
    python: Path


def main() -> int:
    """Print the table and the sentences. 1 if a program without a mistake is not clean."""
    sides = (
        Side("Ullage", OURS, python_of(None)),
        Side("pydantic-ai", THEIRS, python_of(PYDANTIC_AI)),
    )
    found = {side.name: sentences(side) for side in sides}
    for name, said in found.items():
        if clean := said[""]:
            print(f"{name} without a mistake: {clean}")
            return 1
    names = [f"{side.name}, {checker}" for side in sides for checker in CHECKERS]
    print(f"| mistake | {' | '.join(names)} |\n|---{'|---' * len(names)}|")
    for mistake in MISTAKES:
        marks = [
            "found" if checker in found[side.name][mistake.title] else "not found"
            for side in sides
            for checker in CHECKERS
        ]
        print(f"| {mistake.title} | {' | '.join(marks)} |")
    for mistake in MISTAKES:
        print(f"\n{mistake.title}")
        for side in sides:
            for checker, sentence in found[side.name][mistake.title].items():
                print(f"  {side.name}, {checker}: {sentence}")
    return 0


def sentences(side: Side) -> dict[str, Mapping[str, str]]:
    """The first sentence of each checker by mistake; "" is the program without one."""
    programs = {"": ""}
    for mistake in MISTAKES:
        programs[mistake.title] = mistake.ours if side.begin is OURS else mistake.theirs
    with tempfile.TemporaryDirectory() as place:
        files: dict[str, str] = {}
        for number, (title, line) in enumerate(programs.items()):
            name = f"program_{number}.py"
            (Path(place) / name).write_text(f"{SHARED}{side.begin}\n\n{line}\n")
            files[name] = title
        said: dict[str, dict[str, str]] = {title: {} for title in programs}
        for checker, run in CHECKERS.items():
            for name, sentence in run(side.python, Path(place)):
                said[files[name]].setdefault(checker, sentence)
    return dict(said)


def _mypy(python: Path, place: Path) -> list[tuple[str, str]]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--output=json"),
            *(f"--python-executable={python}", "--config-file=", *_programs(place)),
        ],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
    return [(row["file"], row["message"]) for row in rows if row["severity"] == "error"]


def _pyright(python: Path, place: Path) -> list[tuple[str, str]]:
    """As pyright does by default: basedpyright is its twin that pip installs."""
    (place / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    done = subprocess.run(
        [
            *(sys.executable, "-m", "basedpyright", "--outputjson"),
            f"--pythonpath={python}",
        ],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    rows = json.loads(done.stdout)["generalDiagnostics"]
    return [
        (Path(row["file"]).name, re.sub(r"\s*\n\s*", " ", row["message"]))
        for row in rows
        if row["severity"] == "error"
    ]


def _programs(place: Path) -> list[str]:
    return sorted(each.name for each in place.glob("*.py"))


CHECKERS: Final = {"mypy --strict": _mypy, "pyright": _pyright}


if __name__ == "__main__":
    sys.exit(main())

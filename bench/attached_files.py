"""What attaching the files last read behind a summary saves and costs: one long session of edits, with and without.

    uv run python -m bench.attached_files
    uv run python -m bench.attached_files --window 64000 --tasks 200

A person asks for one change after the other, mostly in the same few files. The model of this script reads a file when
its line is not in the request, edits it, and looks at something else. Nothing is timed: every figure is a count of the
simulated provider.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ullage_simulators import running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.prompt import ScriptContext
from ullage_simulators.scenario import read

from bench.invented import Writer
from ullage.events import CallEnded, CompactionCommitted, ToolStarted
from ullage.messages import Request, TextPart, ToolResultPart
from ullage.meter.reading import Reading
from ullage.runtime.agent import Agent
from ullage.runtime.hooks import Hook

SEEDS = (1, 2)
BUDGETS = (0, 2_000, 5_000, 20_000)
FILES = 12
LINES = (40, 160)
"""Lines of a file, of some ten tokens each."""
STAYS = 0.75
"""The chance that the next change is in one of the last two files."""
SUMMARY = "## Goal\nSmall changes were made in the files, each as it was asked for. All are done; nothing is open."


@dataclass
class Changes:
    """The model: what it is asked to change, and whether it can see it."""

    seen: str = ""
    path: str = ""
    old: str = ""
    new: str = ""
    stage: str = ""

    def begin(self, path: str, old: str, new: str) -> None:
        self.path, self.old, self.new, self.stage = path, old, new, "edit"

    def answer(self, ask: ScriptContext) -> ScriptedAnswer:
        if self.stage == "edit" and self.old not in self.seen:
            return _calls("read", path=self.path)
        if self.stage == "edit":
            self.stage = "look"
            return _calls("edit", path=self.path, old=self.old, new=self.new)
        if self.stage == "look":
            self.stage = "done"
            return _calls("look", what=self.path)
        return ScriptedAnswer(text=f"Changed {self.path} as you asked.")


def _calls(name: str, **arguments: object) -> ScriptedAnswer:
    return ScriptedAnswer(calls=(Call(name, json.dumps(arguments)),))


class Watching(Hook):
    """Shows the model what the request holds of files: results of reading, and attached files."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def before_call(self, request: Request, reading: Reading) -> None:
        texts: list[str] = []
        for message in request.messages:
            for part in message.parts:
                if isinstance(part, ToolResultPart) and part.name == "read":
                    texts.append(part.text)
                if isinstance(part, TextPart) and message.origin == "summary":
                    texts.append(part.text)
                if getattr(part, "name", "") == "edit" and hasattr(part, "arguments"):
                    texts.append(part.arguments)
        self._changes.seen = "\n".join(texts)


class Figures(NamedTuple):
    """Counts of one session; tokens as the provider reported them."""

    calls: int = 0
    sent: int = 0
    fresh: int = 0
    compactions: int = 0
    summaries: int = 0
    reads: int = 0

    def __add__(self, other: Any) -> Figures:
        return Figures(*(one + two for one, two in zip(self, other, strict=True)))


async def session(seed: int, budget: int, window: int, tasks: int) -> Figures:
    """One session of changes."""
    chosen, writer = Random(seed), Writer(seed)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "work"
        root.mkdir()
        texts: dict[str, list[str]] = {}
        for number in range(FILES):
            lines = [
                f"line_{number}_{line} = {' '.join(writer.words(5))!r}"
                for line in range(chosen.randint(*LINES))
            ]
            texts[f"part{number}.py"] = lines
            (root / f"part{number}.py").write_text("\n".join(lines) + "\n")
        changes = Changes()

        def look(what: str) -> str:
            """Looks at what depends on a file."""
            return writer.log(chosen.randint(400, 4_000))

        script = replace(
            read(
                {"answers": [{"when": {"contains": "needed to go on"}, "text": SUMMARY}]}
            ),
            assistant=changes.answer,
        )
        with running(script) as server:
            agent = Agent(
                "openai:gpt-4.1",
                wire="chat",
                tools=["read", "edit", look],
                hooks=[Watching(changes)],
                window=window,
                root=root,
                store=Path(place) / "s.db",
                base_url=server.url("openai"),
                environment={"OPENAI_API_KEY": "x"},
                config=False,
                result_tokens=10_000,
                reattach_tokens=budget,
            )
            async with agent.session("s") as opened:
                recent = ["part0.py", "part1.py"]
                for task in range(tasks):
                    stays = chosen.random() < STAYS
                    path = chosen.choice(recent if stays else list(texts))
                    recent = [path, *(name for name in recent if name != path)][:2]
                    line = chosen.randrange(len(texts[path]))
                    old = texts[path][line]
                    texts[path][line] = f"{old.split(' = ')[0]} = {task}_{line}"
                    changes.begin(path, old, texts[path][line])
                    await opened.ask(f"Task {task}: set {old.split(' = ')[0]} in {path}.")
                events = await opened.history()
    ended = [event for event in events if isinstance(event, CallEnded)]
    usages = [event.usage for event in ended if event.usage is not None]
    return Figures(
        calls=sum(event.purpose == "main" for event in ended),
        sent=sum(usage.input or 0 for usage in usages),
        fresh=sum((usage.input or 0) - (usage.cache_read or 0) for usage in usages),
        compactions=sum(isinstance(event, CompactionCommitted) for event in events),
        summaries=sum(event.purpose == "summary" for event in ended),
        reads=sum(
            isinstance(event, ToolStarted) and event.name == "read" for event in events
        ),
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--window", type=int, default=32_000)
    options.add_argument("--tasks", type=int, default=150)
    given = options.parse_args()
    print(f"{len(SEEDS)} sessions of {given.tasks} changes, {given.window:,} tokens")
    print("| reattach_tokens | " + " | ".join(Figures._fields) + " |")
    print("|---:" * (len(Figures._fields) + 1) + "|")
    for budget in BUDGETS:
        total = Figures()
        for seed in SEEDS:
            total += asyncio.run(session(seed, budget, given.window, given.tasks))
        print(f"| {budget:,} | " + " | ".join(f"{each:,}" for each in total) + " |")


if __name__ == "__main__":
    main()

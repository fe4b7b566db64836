"""How many planted facts a session keeps whose model is told of its room, and what that costs.

    uv run python -m bench.room [--turns 120] [--windows 9000 16000] [--forgets 0.1 0.3] [--seeds 1 2 3]

Paired runs of ``Agent`` in this process, with and without ``room_note``. 30 facts are planted: 10 the user says, 10
stand in results, 10 the model concludes; ``K7 = badofigu``, words of no language. The scripted model knows only what
its request holds. A summary forgets each fact with the same chance as a list that the note asks for, and in the end it
is asked for each fact. No network.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ullage import Agent
from ullage.context.prompt import TASK
from ullage.events import CompactionCommitted
from ullage.messages import Message, Request, TextPart, ToolResultPart
from ullage.testing import FunctionModel, tool_call
from ullage_agent.runtime.room_notes import ROOM

FACT = re.compile(r"K(\d+) = ([a-z]+)")
FACTS = 30
SUMMARY = TASK.partition("{")[0]
NOTE = ROOM.partition(".")[2]
SYLLABLES = [first + second for first in "bdfgkl" for second in "aeio"]


class Kept(NamedTuple):
    """What a session came to. ``sent`` and ``notes`` are tokens of all requests, and of the notes with their lists."""

    facts: int
    compactions: int
    calls: int
    sent: int
    notes: int


class Story:
    """What is said in a session of these many turns, and what of it is a fact."""

    def __init__(self, seed: str, turns: int) -> None:
        self.dice = random.Random(seed)
        self.turns = turns
        self.facts = {number: self.word(4) for number in range(FACTS)}
        self.at: dict[int, int] = {}
        """By turn: the fact that is planted there."""
        places = self.dice.sample(range(turns * 9 // 10), FACTS)
        for number, place in enumerate(places):
            self.at[place] = number

    def word(self, syllables: int = 2) -> str:
        return "".join(self.dice.choices(SYLLABLES, k=syllables))

    def noise(self, words: int) -> str:
        return " ".join(self.word() for _ in range(words))

    def said_by(self, turn: int, who: int) -> str:
        """The fact of a turn, where it is for this one to say: 0 the user, 1 the tool, 2 the model."""
        number = self.at.get(turn)
        if number is None or number % 3 != who:
            return ""
        return f" K{number} = {self.facts[number]}. "


class Forgetful:
    """The scripted model."""

    def __init__(self, story: Story, seed: str, forget: float) -> None:
        self.story = story
        self.turn = 0
        self.notes = 0
        self._dice = random.Random(seed)
        self._forget = forget

    def answer(self, request: Request) -> object:
        messages = list(request.messages)
        known = dict(found for one in messages for found in FACT.findall(text_of(one)))
        last = text_of(messages[-1])
        if SUMMARY in last:
            return f"## State\n{self._listed(known)}"
        noted = ""
        if NOTE in last:
            noted = f"{self._listed(known)}\n"
            self.notes += (len(last) + len(noted)) // 4
            messages.pop()
        last = text_of(messages[-1])
        if last.startswith("What is "):
            name = last.removeprefix("What is K").removesuffix("?")
            return f"{noted}It is {known.get(name, 'unknown')}."
        if messages[-1].role == "tool":
            words = self.story.noise(20) + self.story.said_by(self.turn, 2)
            return noted + words
        return (
            [noted, tool_call("look", at=self.turn)]
            if noted
            else tool_call("look", at=self.turn)
        )

    def _listed(self, known: dict[str, str]) -> str:
        lines = []
        for number, value in known.items():
            if self._dice.random() >= self._forget:
                lines.append(f"K{number} = {value}")
        return "\n".join(lines)


def text_of(message: Message) -> str:
    """All text of a message, of its results too."""
    texts: list[str] = []
    for part in message.parts:
        inside = part.content if isinstance(part, ToolResultPart) else (part,)
        texts += [one.text for one in inside if isinstance(one, TextPart)]
    return "\n".join(texts)


async def run(
    seed: str, turns: int, window: int, forget: float, *, room_note: bool, folder: Path
) -> Kept:
    """One session."""
    story = Story(seed, turns)
    script = Forgetful(story, seed, forget)
    model = FunctionModel(script.answer, window=window, max_output=window // 5)

    def look(at: int) -> str:
        """Looks at the cask."""
        return story.noise(90) + story.said_by(at, 1) + story.noise(20)

    agent = Agent(
        model,
        tools=[look],
        store=folder / "s.db",
        config=False,
        room_note=room_note,
        environment={"ULLAGE_DATA": str(folder / "data")},
    )
    async with agent.session("s") as session:
        for script.turn in range(turns):
            await session.ask(story.noise(25) + story.said_by(script.turn, 0))
        right = 0
        for number, value in story.facts.items():
            result = await session.ask(f"What is K{number}?")
            right += f"It is {value}." in str(result.output)
        spend = (await session.context()).spend.all
        events = await session.history()
    compactions = sum(isinstance(event, CompactionCommitted) for event in events)
    return Kept(right, compactions, spend.calls, spend.input, script.notes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=120)
    parser.add_argument("--windows", type=int, nargs="+", default=[9_000, 16_000])
    parser.add_argument("--forgets", type=float, nargs="+", default=[0.1, 0.3])
    parser.add_argument("--seeds", nargs="+", default=["1", "2", "3"])
    args = parser.parse_args()
    print("window  forgets  note  facts of 30  compactions  calls  sent      notes")
    for window in args.windows:
        for forget in args.forgets:
            for note in (False, True):
                many = asyncio.run(
                    runs(args.seeds, args.turns, window, forget, room_note=note)
                )
                facts = ", ".join(str(one.facts) for one in many)
                means = [round(sum(row) / len(many)) for row in zip(*many, strict=True)]
                print(
                    f"{window:6,}  {forget:7.0%}  {'yes' if note else 'no':4}  {facts:11}  {means[1]:11}  "
                    f"{means[2]:5}  {means[3]:8,}  {means[4]:5,}",
                    flush=True,
                )


async def runs(
    seeds: Iterable[str], turns: int, window: int, forget: float, *, room_note: bool
) -> list[Kept]:
    """A session for each seed."""
    many = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            kept = await run(
                seed, turns, window, forget, room_note=room_note, folder=Path(folder)
            )
        many.append(kept)
    return many


if __name__ == "__main__":
    main()

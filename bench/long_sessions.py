"""Long sessions to drive an agent through: what a person says, what the model answers, what the tools give.

One is invented, and the same at every run; the other is taken from the log of any program that ``ullage context``
reads, so that a comparison can be repeated on sessions of one's own.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from bench.invented import Writer as Author
from ullage.events import MessageAdded
from ullage.importers import read
from ullage.messages import Part, TextPart, ToolCallPart, ToolResultPart

TOOL: Final = "use"
"""The only tool: ``use(number, call)`` gives the result of that number."""

SEED: Final = 4

SIZES: Final = (0, 16, 96, 172, 453, 746, 1_117, 1_718, 2_227, 3_617, 4_970, 13_050)
SHARES: Final = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Characters of a tool's result: quantiles of the 215 results in a recorded session of 800 lines of a coding agent."""

STOPPED: Final = "I stop here."

SYSTEM_LENGTH: Final = 8_000
"""Characters of the system prompt that stands before a recorded session: logs do not hold theirs."""


@dataclass(slots=True)
class LongSession:
    """``turns`` in order; ``answers`` as a scenario takes them, each given once; ``results`` by number."""

    system: str
    turns: list[str] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def answer(self, text: str, calls: Iterable[tuple[str, str]] = ()) -> None:
        """One answer; each call is what it asks for and what it will be given."""
        made = []
        for call, result in calls:
            made.append(
                {"name": TOOL, "arguments": {"number": len(self.results), "call": call}}
            )
            self.results.append(result or "(empty)")
        self.answers.append(
            {"text": text, "calls": made, "times": 1}
            if made
            else {"text": text, "times": 1}
        )


def invented(turns: int, seed: int = SEED) -> LongSession:
    """A person who has logs read: one or two calls to a turn, and now and then a look at what comes after."""
    chosen, author = random.Random(seed), Author(seed)
    made = LongSession("You look after the valves of a plant. " + author.prose(1_500))

    def call() -> tuple[str, str]:
        number = len(made.results)
        return f"read log {number}", author.prose(
            _size(chosen.random())
        ) if number % 9 else ""

    for number in range(turns):
        made.turns.append(
            f"Turn {number}: {author.prose(40 + int(_size(chosen.random()) / 12))}"
        )
        made.answer("I will look.", [call() for _ in range(2 if number % 4 == 3 else 1)])
        if number % 3 == 1:
            made.answer("There is more to see.", [call()])
        made.answer(
            "These logs show nothing out of the ordinary; the pressure in line two has to be watched. "
            * 3
        )
    return made


def _size(share: float) -> int:
    """A length with this share of all lengths below it, straight between the recorded ones."""
    points = [(0.0, 0), *zip(SHARES, SIZES, strict=True), (1.0, SIZES[-1])]
    for (low, shorter), (high, longer) in pairwise(points):
        if share <= high:
            return round(shorter + (longer - shorter) * (share - low) / (high - low))
    return SIZES[-1]


def recorded(log: Path) -> LongSession:
    """The session of a log, word for word but for its reasoning and images. Raises ``UnreadableInput``.

    Where the person interrupted, the model is given a word to end the turn with.
    """
    messages = [
        event.message for event in read(log).events if isinstance(event, MessageAdded)
    ]
    results = {
        part.call_id: _said(part.content)
        for each in messages
        for part in each.of_type(ToolResultPart)
    }
    made = LongSession("You write programs. " + Author(SEED).prose(SYSTEM_LENGTH))
    is_over = True
    for message in messages:
        text = _said(message.parts)
        if message.role == "user" and text:
            if not is_over:
                made.answer(STOPPED)
            made.turns.append(text)
            is_over = False
        elif message.role == "assistant" and not is_over:
            asked = message.of_type(ToolCallPart)
            calls = [
                (f"{part.name} {part.arguments}", results.get(part.call_id, ""))
                for part in asked
            ]
            made.answer(text or ("" if calls else STOPPED), calls)
            is_over = not calls
    if not is_over:
        made.answer(STOPPED)
    return made


def _said(parts: Iterable[Part]) -> str:
    return "\n".join(
        part.text for part in parts if isinstance(part, TextPart) and part.text
    )

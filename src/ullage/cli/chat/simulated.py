"""A model without a key: a strict double of a provider in this process, for trying things out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from ullage.errors import MissingExtra

MODEL: Final = "anthropic:claude-sonnet-4-6"
PAUSE_S: Final = 0.02
"""Seconds before each piece of an answer, so that one can watch it being written."""

WELCOME: Final = """This is a **simulated model**: it repeats what you say, and it costs nothing.

- Name a tool, as in `list the files here`, and it is called.
- Write while it works: *Enter* goes in before the next call, *Tab* when the turn is over.
- `/context` shows what fills the window, `/help` everything else.

You said: {said}"""


class Simulated(NamedTuple):
    """The model to begin with, and the variables that lead the official names of providers to the doubles."""

    model: str
    environment: Mapping[str, str]


@contextmanager
def simulated(scenario_file: str = "") -> Iterator[Simulated]:
    """Serve the double as long as the block lasts. Raises ``MissingExtra``, ``UllageError`` for a bad scenario."""
    try:
        from ullage.simulators import load, running
        from ullage.simulators.scenario import read
    except ImportError as problem:
        raise MissingExtra("The simulator needs more packages: pip install 'ullage[chat,simulators]'.") from problem
    if scenario_file:
        scenario = load(scenario_file)
    else:
        first = {
            "text": WELCOME.format(said="hello"),
            "reasoning": "A greeting.",
            "when": {"step": 1, "contains": "hello"},
        }
        scenario = read({"server": {"delay_s": PAUSE_S}, "answers": [first]})
    with running(scenario) as server:
        yield Simulated(
            MODEL,
            {
                "ANTHROPIC_API_KEY": "simulated",
                "ANTHROPIC_BASE_URL": server.url("anthropic"),
                "OPENAI_API_KEY": "simulated",
                "OPENAI_BASE_URL": server.url("openai"),
                "GEMINI_API_KEY": "simulated",
                "GOOGLE_GEMINI_BASE_URL": server.url("gemini"),
            },
        )

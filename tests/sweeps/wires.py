"""The wires of the sweeps, and the script of the turn that is killed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.sweeps.orders import Said
from ullage_simulators import Scenario, Server
from ullage_simulators.scenario import read
from ullage_simulators.server import Exchange


class Wire(NamedTuple):
    """One wire as one provider speaks it. ``serves`` is its simulator's name."""

    name: str
    model: str
    serves: str
    wire: str = ""
    params: Mapping[str, Any] = MappingProxyType({})


WIRES = (
    Wire(
        "anthropic",
        "anthropic:claude-sonnet-4-6",
        "anthropic",
        params={"max_tokens": 12_000, "thinking": {"type": "adaptive"}},
    ),
    Wire("responses", "openai:gpt-5.5", "openai", params={"reasoning": {"summary": "auto"}}),
    Wire("chat", "openai:gpt-5-mini", "openai", "chat"),
    Wire(
        "gemini",
        "google:gemini-3-flash-preview",
        "gemini",
        params={"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
    ),
    Wire("deepseek", "deepseek:deepseek-reasoner", "deepseek"),
)  # fmt: skip

STORY = (
    "The cask was filled in spring and by autumn a hand's breadth of air stood over the wine. "
    * 2
)
EASY = "That is easy."
THOUGHT = (
    "Three things are asked for; none of them waits for another, so all can be done at once. "
    * 2
)


def _calls(what: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "arguments": {"what": what}} for name in ("look", "count", "press")
    ]


def script(delay_s: float = 0.001, **more: Any) -> Scenario:
    """Three calls at once, then a story; whoever is told that calls did not run makes them again."""
    return read(
        {
            "server": {"delay_s": delay_s},
            "answers": [
                {
                    "when": {"contains": "look, count and press", "after": "user"},
                    "reasoning": THOUGHT,
                    "text": "All three at once.",
                    "calls": _calls("bungs"),
                },
                {
                    "when": {"contains": "Not run:", "after": "tool"},
                    "reasoning": THOUGHT,
                    "calls": _calls("hoops"),
                },
                {"when": {"after": "tool"}, "reasoning": THOUGHT, "text": STORY},
                {"reasoning": EASY, "text": STORY},
            ],
            **more,
        }
    )


def messages(run: str, whens: Sequence[str]) -> tuple[Said, ...]:
    """What a person says in a run: a task, a word while it is done, one for afterwards; and when."""
    return (
        Said("task", f"Run {run}: please look, count and press.", when=whens[0]),
        Said(
            "word",
            f"Word of run {run}: mind the bung when you look, count and press.",
            when=whens[1],
        ),
        Said(
            "after",
            f"Afterwards in run {run}: tell me how it went.",
            kind="follow_up",
            when=whens[2],
        ),
    )


_RUN = re.compile(r"Run ([\w-]+):")


def exchanges_by_run(server: Server) -> dict[str, list[Exchange]]:
    """The model calls that reached the simulator, by the run whose task stands in them."""
    found: dict[str, list[Exchange]] = {}
    for exchange in server.exchanges:
        named = _RUN.search(json.dumps(exchange.body)) if exchange.number else None
        found.setdefault(named.group(1) if named else "", []).append(exchange)
    return found

"""What each client is asked to do, and what the simulated model answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ullage_simulators import Scenario as Script
from ullage_simulators import read

from bench.clients.client import Client, Lane, ToolCall, Turn

FIRST_FILE, SECOND_FILE = "alpha.txt", "beta.txt"

LARGE_FILES = {
    "go-large one please": "large-1.txt",
    "go-large two please": "large-2.txt",
    "go-large three please": "large-3.txt",
    "go-large four please": "large-4.txt",
    "go-large five please": "large-5.txt",
}
"""Prompts, and the file that each lets the client read. A client may refuse to read an unchanged file again."""

LIST, BOTH, AGENT, PATCH, WAIT = (
    "go-list the files",
    "go-both files please",
    "go-agent please",
    "go-patch please",
    "go-wait a while",
)
BIG = next(iter(LARGE_FILES))

SUBTASK = "sub-task: look around"
"""The first message of a subagent, by which its requests are told from the conversation's."""

LARGE_LINES = 900

SUMMARY = (
    "<analysis>The files were listed and read.</analysis><summary>The user asked for a list of the files, and for "
    "their content. alpha.txt and beta.txt have one line each. Nothing is open.</summary>"
)

SEED = 1

DRAWN: Mapping[str, dict[str, float]] = {
    "anthropic": {"factor": 1.25},
    "openai": {"factor": 1.0},
    "gemini": {"factor": 1.05},
}
"""Tokens for each token of o200k, near what was recorded of each provider (``ullage_simulators/drawn.py``); the other
numbers are drawn with ``SEED``. The bench is to show how logs are read: how close the estimate of a text's size
is to a real tokenizer is measured on recorded calls (docs/accuracy.md)."""


class ClientScenario(NamedTuple):
    """Turns in one session. ``lane`` is that of requests that it is to bring about."""

    name: str
    turns: tuple[Turn, ...]
    small_window: bool = False
    lane: Lane = "main"


def _turns(*texts: str) -> tuple[Turn, ...]:
    return tuple(Turn(text, first=place == 0) for place, text in enumerate(texts))


_COMPACT = Turn("", deed="compact")

SCENARIOS: tuple[ClientScenario, ...] = (
    ClientScenario("text", _turns("Hello there.")),
    ClientScenario("tools", _turns(LIST)),
    ClientScenario("parallel tools", _turns(BOTH)),
    ClientScenario("custom tool", _turns(PATCH)),
    ClientScenario("subagent", _turns(AGENT, "Thank you."), lane="child"),
    ClientScenario("big result", _turns(BIG, "Thank you.")),
    ClientScenario(
        "compact",
        (*_turns(LIST, BIG), _COMPACT, Turn("What is next?"), Turn(LIST)),
        lane="summary",
    ),
    ClientScenario(
        "automatic compaction",
        _turns(LIST, *LARGE_FILES, "And now?", LIST),
        small_window=True,
        lane="summary",
    ),
    ClientScenario("resume", _turns("Hello there.", "Thank you.", BOTH)),
    ClientScenario(
        "model switch",
        (*_turns("Hello there."), Turn(BOTH, other_model=True), Turn("Thank you.")),
    ),
    ClientScenario(
        "interrupt",
        (
            *_turns("Hello there."),
            Turn(WAIT, deed="interrupt"),
            Turn("Thank you."),
            Turn(LIST),
        ),
    ),
)


def reason_against(scenario: ClientScenario, client: Client) -> str:
    """Why the client can't do the scenario; empty if it can."""
    return client.lacks.get(scenario.name, "")


def script(client: Client, project: Path) -> Script:
    """What the simulated model answers to each prompt."""
    calls = {
        LIST: [client.shell("ls")],
        BOTH: [client.read(project / FIRST_FILE), client.read(project / SECOND_FILE)],
        **{
            prompt: [client.read_large(project / name)]
            for prompt, name in LARGE_FILES.items()
        },
        SUBTASK: [client.shell(f"cat {FIRST_FILE}")],
    }
    delegated = client.subagent(SUBTASK)
    if delegated:
        calls[AGENT] = [delegated]
    patch = client.patch()
    if patch:
        calls[PATCH] = [patch]
    lines: list[dict[str, Any]] = []
    lines.append({"when": {"contains": client.summary_prompt}, "text": SUMMARY})
    lines += [_calling(prompt, called) for prompt, called in calls.items()]
    lines.append({"when": {"after": "tool"}, "reasoning": "That is it.", "text": "Done."})
    lines.append({"reasoning": "A plain question.", "text": "Here is a plain answer."})
    return read({"answers": lines, "drawn": DRAWN[client.family]})


def _calling(prompt: str, calls: list[ToolCall]) -> dict[str, Any]:
    line: dict[str, Any] = {
        "when": {"contains": prompt, "after": "user"},
        "reasoning": "The tools can tell.",
    }
    line["calls"] = [_scripted(call) for call in calls]
    return line


def _scripted(call: ToolCall) -> dict[str, Any]:
    if call.custom:
        return {"name": call.name, "input": call.custom}
    return {"name": call.name, "arguments": call.arguments}


def fill(project: Path) -> None:
    """The files that the tools read."""
    project.mkdir(parents=True, exist_ok=True)
    (project / FIRST_FILE).write_text("The first file has one line.\n", encoding="utf-8")
    (project / SECOND_FILE).write_text("The second file has one too.\n", encoding="utf-8")
    for place, name in enumerate(LARGE_FILES.values(), 1):
        lines = [
            f"{number:04} barrel {number * place * 7919 % 1000:03} holds {number * 31 % 97} litres\n"
            for number in range(LARGE_LINES)
        ]
        (project / name).write_text("".join(lines), encoding="utf-8")

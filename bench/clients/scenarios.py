"""What each client is asked to do, and what the simulated model answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from bench.clients.client import Client, Lane, ToolCall, Turn
from ullage.tokens.claude import VOCABULARIES
from ullage.tokens.text import counter_for
from ullage_simulators import Scenario as Script
from ullage_simulators import read

FIRST_FILE, SECOND_FILE = "alpha.txt", "beta.txt"

LARGE_FILES = {
    f"go-large {word} please": f"large-{number}.txt"
    for number, word in enumerate(("one", "two", "three", "four", "five"), 1)
}
"""Prompts, and the file that each lets the client read. A client may refuse to read an unchanged file again."""

LIST, BOTH = "go-list the files", "go-both files please"
AGENT, PATCH, WAIT = "go-agent please", "go-patch please", "go-wait a while"
BIG = next(iter(LARGE_FILES))

SUBTASK = "sub-task: look around"
"""The first message of a subagent, by which its requests are told from the conversation's."""

LARGE_LINES = 900

SUMMARY = (
    "<analysis>The files were listed and read.</analysis><summary>The user asked for a list of the files, and for "
    "their content. alpha.txt and beta.txt have one line each. Nothing is open.</summary>"
)

SEED = 1

Numbers = Mapping[str, float | Callable[[str], int]]
"""Fields of ``ullage_simulators.drawn.Drawn``."""


def drawn(
    factor: float, request: int, message: int, tools: int, tool: int, declared: float
) -> dict[str, float]:
    """The numbers that a simulated model charges by."""
    given = (factor, request, message, tools, tool, declared)
    names = ("factor", "request", "message", "tools", "tool", "declared")
    return dict(zip(names, given, strict=True))


_COUNTER = counter_for("bpe")


def _in_vocabulary(name: str, numbers: Numbers) -> Numbers:
    """The same for a model whose text is counted as its provider does, and not in o200k."""
    count = lru_cache(maxsize=20_000)(lambda text: int(_COUNTER.count(text, name)))
    around = {"call": 45, "result": 12} if name in VOCABULARIES else {}
    return {**numbers, **around, "count": count}


_CLAUDE = _in_vocabulary("claude", drawn(1.0, 4, 3, 497, 8, 1.0))
"""Of 4.5 and 4.6: n = 54 requests, 19 with tools: half are billed within 0.2 tokens, nine in ten within 7. What is
around a call and a result: n = 353 answers and 96 results."""

_LATER_CLAUDE = _in_vocabulary("claude-4.7", drawn(1.0, 4, 2, 290, 8, 1.0))
"""Of 4.7 and later: published bills of Opus 5 (n = 14). Declarations are taken to be as those of 4.6."""

_GPT_5 = drawn(1.0, 2, 4, 3, 0, 0.68)
"""Responses: n = 35, 6 with tools."""

_DEEPSEEK = _in_vocabulary("deepseek", drawn(1.0, 1, 4, 226, 6, 0.985))
"""n = 9, 2 with tools, whose declarations were 1.02 of o200k: 0.985 of its own vocabulary."""

_GEMINI = _in_vocabulary("gemma", drawn(1.0, 0, 0, 0, 4, 0.92))
"""2.5: n = 31, 5 with tools."""

DRAWN: Mapping[str, Numbers] = {
    **dict.fromkeys(("claude-sonnet-4-5", "claude-haiku-4-5"), _CLAUDE),
    **dict.fromkeys(("claude-opus-4-8", "claude-opus-5-5"), _LATER_CLAUDE),
    "claude-haiku-5-5": _LATER_CLAUDE,
    **dict.fromkeys(("gpt-5", "gpt-5-mini", "gpt-5.5"), _GPT_5),
    **dict.fromkeys(("deepseek-chat", "deepseek-reasoner"), _DEEPSEEK),
    **dict.fromkeys(("gemini-2.5-flash", "gemini-2.5-pro"), _GEMINI),
}
"""What a model is charged by: a robust regression of recorded bills on the pieces that the simulators' own tokenizer
counts, or the models' own vocabularies. The other numbers are drawn with ``SEED``. How close the estimate of a text's
size is to a real tokenizer is measured on recorded calls (docs/accuracy.md)."""


class ClientScenario(NamedTuple):
    """Turns in one session. ``lane`` is that of requests that it is to bring about."""

    name: str
    turns: tuple[Turn, ...]
    small_window: bool = False
    lane: Lane = "main"
    only_by_proxy: bool = False
    """What a log can't tell, and the proxy's ledger has to."""
    at_terminal: bool = False
    """All turns are typed into one run of the program, which shows and asks for what a person sees: titles too."""


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
    ClientScenario(
        "at a terminal",
        (*_turns(LIST, BIG), _COMPACT, Turn("What is next?"), Turn(LIST)),
        lane="summary",
        at_terminal=True,
    ),
    ClientScenario(
        "two at once", (Turn(BOTH, deed="twins", first=True),), only_by_proxy=True
    ),
    ClientScenario(
        "killed",
        (
            *_turns("Hello there."),
            Turn(WAIT, deed="kill"),
            Turn("Hello there.", first=True),
        ),
        only_by_proxy=True,
    ),
    ClientScenario(
        "provider breaks off",
        (*_turns("Hello there."), Turn(WAIT, deed="drop"), Turn("Thank you.")),
        only_by_proxy=True,
    ),
)


def reason_against(
    scenario: ClientScenario, client: Client, *, by_proxy: bool = True
) -> str:
    """Why the client can't do the scenario; empty if it can."""
    reason = client.lacks.get(scenario.name, "")
    return reason or (client.no_log if not by_proxy else "")


def script(client: Client, project: Path) -> Script:
    """What the simulated model answers to each prompt."""
    lines: list[dict[str, Any]] = []
    lines.append({"when": {"contains": client.summary_prompt}, "text": SUMMARY})
    if client.has_tools:
        calls = _calls(client, project)
        lines += [_calling(prompt, called) for prompt, called in calls.items()]
    if client.edit:
        lines.append({"when": {"contains": PATCH}, "text": client.edit})
    done: dict[str, Any] = {"text": "Done."}
    plain: dict[str, Any] = {"text": "Here is a plain answer."}
    if client.last_command:
        done = plain = {"calls": [_scripted(client.shell(client.last_command))]}
    lines.append({"when": {"after": "tool"}, "reasoning": "That is it.", **done})
    lines.append({"reasoning": "A plain question.", **plain})
    return replace(read({"answers": lines}), drawn=DRAWN)


def _calls(client: Client, project: Path) -> dict[str, list[ToolCall]]:
    """The calls of tools that answer each prompt."""
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
    return calls


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

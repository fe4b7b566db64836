"""Hooks, guardrails, subagents and agents as functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ullage
from ullage.hooks import Answer, Hook, Output, Reading, Refusal, Request, with_message


@dataclass
class Cellar:
    casks: dict[int, str]


@dataclass
class Finding:
    topic: str
    sources: int


class Mine(Hook):
    async def before_call(self, request: Request, reading: Reading) -> Request:
        return with_message(request, f"{reading.used.tokens} tokens")

    async def after_call(self, answer: Answer, reading: Reading) -> Answer | None:
        return answer._replace(message=answer.message)

    async def before_tool(
        self, name: str, arguments: Mapping[str, Any] | None, call_id: str
    ) -> Mapping[str, Any] | Output | Refusal | None:
        return Refusal("no") if name == "pay" else {**(arguments or {}), "limit": 3}


class Wrong(Hook):
    async def after_tool(self, name: str, output: Output, call_id: str) -> str:  # type: ignore[override]
        return output.text


def no_keys(text: str) -> Refusal | None:
    return Refusal("It holds a key.") if "sk-" in text else None


async def shorter(text: str) -> str:
    return text[:80]


def known(finding: Finding, turn: ullage.TurnContext[Cellar]) -> Finding | None:
    if finding.topic not in turn.deps.casks.values():
        raise ullage.ToolRetry("Name a topic of the cellar")
    return None


researcher = ullage.Agent(
    "anthropic:claude-haiku-4-5",
    hooks=[Mine()],
    input_guardrails=[no_keys, shorter],
    output_guardrails=[known],
    output_type=Finding,
    deps_type=Cellar,
)
plain = ullage.Agent("openai:gpt-5", output_guardrails=[no_keys, shorter])
text: str = plain.run_sync("Hello.").output
ullage.Agent("openai:gpt-5", output_type=int, output_guardrails=[shorter])  # type: ignore[list-item]
ullage.Agent("openai:gpt-5", hooks=[no_keys])  # type: ignore[list-item]


@ullage.subagent(researcher)
def research(topic: str, years: int = 5) -> str:
    """Finds out about a topic."""
    return f"{topic} in {years} years"


@ullage.subagent(researcher)  # type: ignore[arg-type]
def counts(topic: str) -> int:
    """No task."""
    return len(topic)


@ullage.tool
async def compare(one: str, context: ullage.ToolContext[Cellar]) -> int:
    """Compares."""
    found = await researcher.ask(one, within=context)
    found.output.strange  # type: ignore[attr-defined]
    number: int = (await researcher.ask(one, within=context, output_type=int)).output
    return found.output.sources + number


lead = ullage.Agent(
    "openai:gpt-5",
    tools=[
        research,
        compare,
        ullage.subagent(researcher, name="ask", description="Asks."),
    ],
)
ullage.subagent(researcher, name="ask")  # type: ignore[call-overload]


async def elsewhere() -> None:
    said: str = await researcher.as_tool(name="ask", description="Asks.")("about oak")
    also: str = researcher.as_tool(name="ask", description="Asks.", sync=True)("oak")
    print(said, also)
    await researcher.as_tool()(3)  # type: ignore[arg-type]

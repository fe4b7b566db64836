"""A research agent: asks typed sub-agents at the same time, and answers in a type."""

import sys
from dataclasses import dataclass

from pydantic_ai import Agent, RunContext


@dataclass
class Finding:
    claim: str
    source: str
    is_certain: bool


@dataclass
class Report:
    answer: str
    findings: list[Finding]


SOURCES = {"soil": "The upper field drains.", "weather": "The lower field froze."}


def read(source: str) -> str:
    """Read a source: soil or weather."""
    return SOURCES[source]


reader = Agent("openai:gpt-5-mini", tools=[read], output_type=Finding)
agent = Agent(
    "openai:gpt-5-mini",
    output_type=Report,
    instructions="You answer from findings. Have all topics researched at once.",
)


@agent.tool
async def research(ctx: RunContext[object], topic: str, years: int = 5) -> Finding:
    """Find out one thing about a topic in the last years."""
    task = f"Find out about {topic} in the last {years} years."
    result = await reader.run(task, usage=ctx.usage)
    return result.output


result = agent.run_sync(sys.argv[1])
print(result.output.answer)
for finding in result.output.findings:
    print(f"- {finding.claim} ({finding.source})")
print(result.usage)

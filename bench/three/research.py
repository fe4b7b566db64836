"""A research agent: asks typed sub-agents at the same time, and answers in a type."""

import sys
from dataclasses import dataclass

import ullage


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


reader = ullage.Agent("openai:gpt-5-mini", tools=[read], output_type=Finding)


@ullage.subagent(reader)
def research(topic: str, years: int = 5) -> str:
    """Find out one thing about a topic in the last years."""
    return f"Find out about {topic} in the last {years} years."


agent = ullage.Agent(
    "openai:gpt-5-mini",
    tools=[research],
    output_type=Report,
    system="You answer from findings. Have all topics researched at once.",
)
result = agent.run_sync(sys.argv[1])
print(result.output.answer)
for finding in result.output.findings:
    print(f"- {finding.claim} ({finding.source})")
print(result.usage)

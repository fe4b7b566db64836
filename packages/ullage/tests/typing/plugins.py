"""Each plug-in in a program of its framework."""

import pydantic_ai
from agents import Agent, RunConfig, Runner
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

import ullage
from ullage.events import Event
from ullage.plugins.google_adk import UllagePlugin
from ullage.plugins.langchain import UllageMiddleware
from ullage.plugins.litellm import UllageLogger
from ullage.plugins.openai_agents import instrument
from ullage.plugins.pydantic_ai import Ullage


def told(event: Event) -> None:
    print(event.seq + 1)


def tells_nothing(event: int) -> None: ...


capability = Ullage(window=9_000, trigger=0.7, on_event=told)
keeper = pydantic_ai.Agent("openai:gpt-4.1", capabilities=[capability])
reading: ullage.Reading | None = capability.reading("cellar")
Ullage(windows=9_000)  # type: ignore[call-arg]
Ullage(on_event=tells_nothing)  # type: ignore[arg-type]
capability.readings()  # type: ignore[attr-defined]

middleware = UllageMiddleware("gpt-4.1", store="casks.db")
graph = create_agent(ChatOpenAI(model="gpt-4.1"), [], middleware=[middleware])
found = middleware.reading("cellar")
found.used.tokens.strange  # type: ignore[attr-defined]
UllageMiddleware(window="9k")  # type: ignore[arg-type]

config: RunConfig = instrument(RunConfig(), window=9_000)
result = Runner.run_sync(Agent("keeper", model="gpt-4.1"), "Hello.", run_config=config)
instrument("config")  # type: ignore[type-var]
instrument(RunConfig(), windows=9_000)  # type: ignore[call-arg]

plugin = UllagePlugin(window=9_000)
UllagePlugin(windows=9_000)  # type: ignore[call-arg]
logger = UllageLogger("gpt-4.1", window=9_000)
UllageLogger(window="9k")  # type: ignore[arg-type]


async def main() -> None:
    answer = await keeper.run("Hello.")
    print(answer.output.upper(), result.final_output)
    await plugin.close()
    await logger.aclose()

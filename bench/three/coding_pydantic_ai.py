"""A coding agent: works in a directory, and asks before each change and each command."""

import asyncio
import sys
from dataclasses import replace

from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    PartDeltaEvent,
    PartStartEvent,
    RunContext,
    TextPart,
    TextPartDelta,
    ToolDefinition,
)
from pydantic_ai.capabilities import HandleDeferredToolCalls, LocalWorkspace, PrepareTools
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai_harness import FileSystem, Shell  # type: ignore[import-not-found,unused-ignore]

ASKED = {"write_file", "edit_file", "create_directory", "run_command", "start_command"}


async def ask_first(
    ctx: RunContext[object], tools: list[ToolDefinition]
) -> list[ToolDefinition]:
    return [
        replace(tool, kind="unapproved") if tool.name in ASKED else tool for tool in tools
    ]


async def answer(
    ctx: RunContext[object], requests: DeferredToolRequests
) -> DeferredToolResults:
    approvals: dict[str, bool] = {}
    for call in requests.approvals:
        print(call.tool_name, call.args_as_json_str())
        said = await asyncio.to_thread(input, "Allow it? [y/N] ")
        approvals[call.tool_call_id] = said == "y"
    return requests.build_results(approvals=approvals)


agent = Agent(
    "openai:gpt-5-mini",
    instructions="You mend programs. Run the tests, make the smallest change, run them again.",
    capabilities=[
        LocalWorkspace(sys.argv[1]),
        FileSystem(),
        Shell(),
        PrepareTools(ask_first),
        HandleDeferredToolCalls(answer),
    ],
)


async def main(task: str) -> None:
    async with agent.run_stream_events(task) as stream:
        async for event in stream:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    print(text, end="", flush=True)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    print(text, end="", flush=True)
                case AgentRunResultEvent(result=result):
                    print(f"\n{result.usage}")


asyncio.run(main(sys.argv[2]))

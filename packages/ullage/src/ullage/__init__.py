"""Ullage: how much room is left in a language model's context window. One ledger, one number."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ullage import compaction, encoding, errors, events
    from ullage.compactor.compactor import Compactor
    from ullage.context.compactor import Fitted
    from ullage.context.strategy import Strategy
    from ullage.errors import InputError, UllageError
    from ullage.messages import (
        FilePart,
        ImagePart,
        Message,
        Part,
        ProviderItem,
        ReasoningPart,
        Request,
        SystemBlock,
        TextPart,
        Tool,
        ToolCallPart,
        ToolResultPart,
        UnknownPart,
    )
    from ullage.meter.meter import Meter
    from ullage.meter.reading import Reading
    from ullage.meter.spend import Spend
    from ullage.plugins.attach import attach, detach
    from ullage.provider import Provider
    from ullage.reasoning import ReasoningPolicy
    from ullage.store.memory import MemoryStore
    from ullage.store.protocol import Store
    from ullage.store.sqlite.store import SqliteStore
    from ullage.store.store import Receipt
    from ullage.usage import Usage
    from ullage.user_file import user_endpoints
    from ullage_agent.runtime.agent import Agent
    from ullage_agent.runtime.hooks import Hook
    from ullage_agent.runtime.outcome import Result
    from ullage_agent.runtime.session import Session
    from ullage_agent.runtime.subagent import subagent
    from ullage_agent.runtime.telemetry import Telemetry
    from ullage_agent.runtime.text_stream import TextStream
    from ullage_agent.runtime.turn_instructions import TurnContext
    from ullage_agent.tools.builtin import builtin_tools
    from ullage_agent.tools.functions import tool
    from ullage_agent.tools.mcp import McpServer
    from ullage_agent.tools.sandbox import Sandbox
    from ullage_agent.tools.tool import (
        AgentTool,
        Output,
        ToolContext,
        ToolError,
        ToolRetry,
    )
    from ullage_server.background import http_server

# A library's log is the host's to show: without a handler here Python would print its warnings to standard error.
logging.getLogger("ullage").addHandler(logging.NullHandler())

_PLACES = {
    "Agent": "ullage_agent.runtime.agent",
    "AgentTool": "ullage_agent.tools.tool",
    "Compactor": "ullage.compactor.compactor",
    "FilePart": "ullage.messages",
    "Fitted": "ullage.context.compactor",
    "Hook": "ullage_agent.runtime.hooks",
    "ImagePart": "ullage.messages",
    "InputError": "ullage.errors",
    "McpServer": "ullage_agent.tools.mcp",
    "MemoryStore": "ullage.store.memory",
    "Message": "ullage.messages",
    "Meter": "ullage.meter.meter",
    "Output": "ullage_agent.tools.tool",
    "Part": "ullage.messages",
    "Provider": "ullage.provider",
    "ProviderItem": "ullage.messages",
    "Reading": "ullage.meter.reading",
    "ReasoningPart": "ullage.messages",
    "ReasoningPolicy": "ullage.reasoning",
    "Receipt": "ullage.store.store",
    "Request": "ullage.messages",
    "Result": "ullage_agent.runtime.outcome",
    "Sandbox": "ullage_agent.tools.sandbox",
    "Session": "ullage_agent.runtime.session",
    "Spend": "ullage.meter.spend",
    "SqliteStore": "ullage.store.sqlite.store",
    "Store": "ullage.store.protocol",
    "Strategy": "ullage.context.strategy",
    "SystemBlock": "ullage.messages",
    "Telemetry": "ullage_agent.runtime.telemetry",
    "TextPart": "ullage.messages",
    "TextStream": "ullage_agent.runtime.text_stream",
    "Tool": "ullage.messages",
    "ToolCallPart": "ullage.messages",
    "ToolContext": "ullage_agent.tools.tool",
    "ToolError": "ullage_agent.tools.tool",
    "ToolResultPart": "ullage.messages",
    "ToolRetry": "ullage_agent.tools.tool",
    "TurnContext": "ullage_agent.runtime.turn_instructions",
    "UllageError": "ullage.errors",
    "UnknownPart": "ullage.messages",
    "Usage": "ullage.usage",
    "attach": "ullage.plugins.attach",
    "builtin_tools": "ullage_agent.tools.builtin",
    "compaction": "ullage.compaction",
    "detach": "ullage.plugins.attach",
    "encoding": "ullage.encoding",
    "errors": "ullage.errors",
    "events": "ullage.events",
    "http_server": "ullage_server.background",
    "subagent": "ullage_agent.runtime.subagent",
    "tool": "ullage_agent.tools.functions",
    "user_endpoints": "ullage.user_file",
}
"""Where each name is. It is imported when it is first used: a command or a Meter loads no agent."""

__all__ = [
    "Agent",
    "AgentTool",
    "Compactor",
    "FilePart",
    "Fitted",
    "Hook",
    "ImagePart",
    "InputError",
    "McpServer",
    "MemoryStore",
    "Message",
    "Meter",
    "Output",
    "Part",
    "Provider",
    "ProviderItem",
    "Reading",
    "ReasoningPart",
    "ReasoningPolicy",
    "Receipt",
    "Request",
    "Result",
    "Sandbox",
    "Session",
    "Spend",
    "SqliteStore",
    "Store",
    "Strategy",
    "SystemBlock",
    "Telemetry",
    "TextPart",
    "TextStream",
    "Tool",
    "ToolCallPart",
    "ToolContext",
    "ToolError",
    "ToolResultPart",
    "ToolRetry",
    "TurnContext",
    "UllageError",
    "UnknownPart",
    "Usage",
    "attach",
    "builtin_tools",
    "compaction",
    "detach",
    "encoding",
    "errors",
    "events",
    "http_server",
    "subagent",
    "tool",
    "user_endpoints",
]


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'ullage' has no attribute {name!r}")
    from ullage.installation import part

    module = part(place)
    found = module if place == f"ullage.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)

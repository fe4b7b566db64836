"""Ullage: how much room is left in a language model's context window. One ledger, one number."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ullage import compaction, encoding, errors, events
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
    from ullage.reasoning import ReasoningPolicy
    from ullage.runtime.agent import Agent
    from ullage.runtime.compactor import Compactor
    from ullage.runtime.hooks import Hook
    from ullage.runtime.outcome import Result
    from ullage.runtime.session import Session
    from ullage.runtime.subagent import subagent
    from ullage.runtime.telemetry import Telemetry
    from ullage.runtime.text_stream import TextStream
    from ullage.runtime.turn_instructions import TurnContext
    from ullage.server.background import http_server
    from ullage.store.sqlite.store import SqliteStore
    from ullage.store.store import Receipt, Store
    from ullage.tools.builtin import builtin_tools
    from ullage.tools.functions import tool
    from ullage.tools.mcp import McpServer
    from ullage.tools.sandbox import Sandbox
    from ullage.tools.tool import AgentTool, Output, ToolContext, ToolError, ToolRetry
    from ullage.usage import Usage
    from ullage.user_file import user_endpoints

# A library's log is the host's to show: without a handler here Python would print its warnings to standard error.
logging.getLogger("ullage").addHandler(logging.NullHandler())

_LATER = {
    "Agent": "ullage.runtime.agent",
    "AgentTool": "ullage.tools.tool",
    "Compactor": "ullage.runtime.compactor",
    "FilePart": "ullage.messages",
    "Fitted": "ullage.context.compactor",
    "Hook": "ullage.runtime.hooks",
    "ImagePart": "ullage.messages",
    "InputError": "ullage.errors",
    "McpServer": "ullage.tools.mcp",
    "Message": "ullage.messages",
    "Meter": "ullage.meter.meter",
    "Output": "ullage.tools.tool",
    "Part": "ullage.messages",
    "ProviderItem": "ullage.messages",
    "Reading": "ullage.meter.reading",
    "ReasoningPart": "ullage.messages",
    "ReasoningPolicy": "ullage.reasoning",
    "Receipt": "ullage.store.store",
    "Request": "ullage.messages",
    "Result": "ullage.runtime.outcome",
    "Sandbox": "ullage.tools.sandbox",
    "Session": "ullage.runtime.session",
    "Spend": "ullage.meter.spend",
    "SqliteStore": "ullage.store.sqlite.store",
    "Store": "ullage.store.store",
    "Strategy": "ullage.context.strategy",
    "SystemBlock": "ullage.messages",
    "Telemetry": "ullage.runtime.telemetry",
    "TextPart": "ullage.messages",
    "TextStream": "ullage.runtime.text_stream",
    "Tool": "ullage.messages",
    "ToolCallPart": "ullage.messages",
    "ToolContext": "ullage.tools.tool",
    "ToolError": "ullage.tools.tool",
    "ToolResultPart": "ullage.messages",
    "ToolRetry": "ullage.tools.tool",
    "TurnContext": "ullage.runtime.turn_instructions",
    "UllageError": "ullage.errors",
    "UnknownPart": "ullage.messages",
    "Usage": "ullage.usage",
    "attach": "ullage.plugins.attach",
    "builtin_tools": "ullage.tools.builtin",
    "compaction": "ullage.compaction",
    "detach": "ullage.plugins.attach",
    "encoding": "ullage.encoding",
    "errors": "ullage.errors",
    "events": "ullage.events",
    "http_server": "ullage.server.background",
    "subagent": "ullage.runtime.subagent",
    "tool": "ullage.tools.functions",
    "user_endpoints": "ullage.user_file",
}
"""Names are imported when they are first used: a program that only wants a Meter does not load the runtime, nor a
command of its own what it does not use."""

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
    "Message",
    "Meter",
    "Output",
    "Part",
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
    if name not in _LATER:
        raise AttributeError(f"module 'ullage' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_LATER[name])
    found = module if module.__name__ == f"ullage.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)

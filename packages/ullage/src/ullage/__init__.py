"""Ullage: how much room is left in a language model's context window. One ledger, one number.

The names here are what most programs need. The public modules have the rest: ``messages`` and ``events``, what a
session holds; ``tools``, ``sessions``, ``measure`` and ``storage``, the types around tools, agents, a meter and stores;
``compaction``; ``errors``; ``encoding``, events as JSON; ``server``. Everything else may change.
"""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `X as X` tells type checkers that the name is public
    # isort: off
    from ullage import (
        compaction as compaction,
        encoding as encoding,
        errors as errors,
        events as events,
        hooks as hooks,
        measure as measure,
        messages as messages,
        server as server,
        sessions as sessions,
        storage as storage,
        testing as testing,
        tools as tools,
    )
    from ullage.compactor.compactor import Compactor as Compactor
    from ullage.errors import UllageError as UllageError
    from ullage.meter.meter import Meter as Meter
    from ullage.meter.reading import Reading as Reading
    from ullage.plugins.attach import attach as attach, detach as detach
    from ullage.provider import Provider as Provider
    from ullage.store.memory import MemoryStore as MemoryStore
    from ullage.store.protocol import Store as Store
    from ullage.store.sqlite.store import SqliteStore as SqliteStore
    from ullage.usage import Usage as Usage
    from ullage_agent.runtime.agent import Agent as Agent
    from ullage_agent.runtime.hooks import Hook as Hook, Refusal as Refusal
    from ullage_agent.runtime.outcome import Result as Result
    from ullage_agent.runtime.session import Session as Session
    from ullage_agent.runtime.subagent import subagent as subagent
    from ullage_agent.runtime.telemetry import Telemetry as Telemetry
    from ullage_agent.runtime.turn_instructions import TurnContext as TurnContext
    from ullage_agent.tools.builtin import builtin_tools as builtin_tools
    from ullage_agent.tools.functions import tool as tool
    from ullage_agent.tools.mcp import McpServer as McpServer
    from ullage_agent.tools.tool import (
        ToolContext as ToolContext,
        ToolError as ToolError,
        ToolRetry as ToolRetry,
    )
    from ullage_server.background import http_server as http_server
    # isort: on

# A library's log is the host's to show: without a handler here Python would print its warnings to standard error.
logging.getLogger("ullage").addHandler(logging.NullHandler())

_MODULES = (
    "compaction",
    "encoding",
    "errors",
    "events",
    "hooks",
    "measure",
    "messages",
    "server",
    "sessions",
    "storage",
    "testing",
    "tools",
)
_PLACES = {
    name: module
    for module, names in {
        "ullage.compactor.compactor": "Compactor",
        "ullage.errors": "UllageError",
        "ullage.meter.meter": "Meter",
        "ullage.meter.reading": "Reading",
        "ullage.plugins.attach": "attach detach",
        "ullage.provider": "Provider",
        "ullage.store.sqlite.store": "SqliteStore",
        "ullage.store.memory": "MemoryStore",
        "ullage.store.protocol": "Store",
        "ullage.usage": "Usage",
        "ullage_agent.runtime.agent": "Agent",
        "ullage_agent.runtime.hooks": "Hook Refusal",
        "ullage_agent.runtime.outcome": "Result",
        "ullage_agent.runtime.session": "Session",
        "ullage_agent.runtime.subagent": "subagent",
        "ullage_agent.runtime.telemetry": "Telemetry",
        "ullage_agent.runtime.turn_instructions": "TurnContext",
        "ullage_agent.tools.builtin": "builtin_tools",
        "ullage_agent.tools.functions": "tool",
        "ullage_agent.tools.mcp": "McpServer",
        "ullage_agent.tools.tool": "ToolContext ToolError ToolRetry",
        "ullage_server.background": "http_server",
    }.items()
    for name in names.split()
}
"""Where each name is. It is imported when it is first used: a command or a Meter loads no agent."""


_ELSEWHERE = {
    "RunContext": "ToolContext",
    "RunContextWrapper": "ToolContext",
    "ModelRetry": "ToolRetry",
    "function_tool": "tool",
    "Runner": "Agent",
    "TestModel": "testing.ScriptedModel",
    "UsageLimits": "Agent(budget={…})",
    "SQLiteSession": "Agent(…).session('ID')",
    "ModelSettings": "Agent(params={…})",
    "MCPServerStdio": "McpServer",
}
"""Names of other libraries."""


def __dir__() -> list[str]:
    return sorted([*_MODULES, *_PLACES])


if not TYPE_CHECKING:  # a type checker refuses what is not imported above

    def __getattr__(name: str) -> object:
        if name == "__all__":
            return __dir__()
        from ullage.installation import part

        if name in _MODULES:
            return part(f"ullage.{name}")
        if name in _PLACES:
            globals()[name] = found = getattr(part(_PLACES[name]), name)
            return found
        from ullage.similar import did_you_mean

        if name in _ELSEWHERE:
            # `from ullage import …` would hide what an AttributeError says
            raise ImportError(f"ullage.{name} is ullage.{_ELSEWHERE[name]} here.")
        meant = did_you_mean(name, __dir__()) or " docs/reference.md lists all names."
        raise AttributeError(f"module 'ullage' has no attribute {name!r}.{meant}")

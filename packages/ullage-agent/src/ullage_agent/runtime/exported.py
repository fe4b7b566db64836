"""An agent as a plain function, which other frameworks' agents and MCP clients take as a tool."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any

from ullage.errors import MissingExtra, SettingError, UllageError
from ullage.installation import extra_command
from ullage_agent.runtime.children import Asked, task_itself, task_tool, told

_ARGUMENTS = """

Args:
    task: What to do, with everything that has to be known: nothing else is seen.
"""


def function_of(
    agent: Asked, name: str, description: str, *, is_sync: bool
) -> Callable[[str], Any]:
    """A function that asks the agent in a new session, and looks like one that was written by hand.

    Raises ``SettingError`` without a name that a tool can have, or without a description.
    """
    name, description = name or agent.name, description or agent.description
    if not (name.isidentifier() and description.strip()):
        raise SettingError(
            f"A tool needs a name like a function's, and not {name!r}, and a description: give them to as_tool(), "
            "or to the agent."
        )

    async def asked(task: str) -> str:
        return told(await agent.ask(task)).text

    def asked_sync(task: str) -> str:
        return told(agent.run_sync(task)).text

    function: Any = asked_sync if is_sync else asked
    function.__name__ = function.__qualname__ = name
    function.__doc__ = description.strip() + _ARGUMENTS
    function.__annotations__ = {"task": str, "return": str}
    function.__ullage_tool__ = task_tool(
        agent, task_itself, name=name, description=description
    )
    return function  # type: ignore[no-any-return]


def mcp_server_of(agent: Asked, name: str, description: str) -> Any:
    """A server of the MCP SDK whose one tool asks the agent. Raises ``MissingExtra``, and as ``function_of``."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as problem:
        raise MissingExtra(
            f"An MCP server needs the official SDK. Install it: {extra_command('mcp')}"
        ) from problem
    function = function_of(agent, name, description, is_sync=False)

    @wraps(function)
    async def asked(task: str) -> str:
        try:
            return str(await function(task))
        except UllageError as problem:
            raise ToolError(str(problem)) from problem

    server = MCPServer(function.__name__, version=version("ullage"), log_level="ERROR")
    server.add_tool(asked, structured_output=False)
    return server

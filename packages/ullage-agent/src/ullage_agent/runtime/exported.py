"""An agent as a plain function, which other frameworks' agents and MCP clients take as a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ullage.errors import SettingError

if TYPE_CHECKING:
    from ullage_agent.runtime.agent import Agent

_ARGUMENTS = """

Args:
    task: What to do, with everything that has to be known: nothing else is seen.
"""


def function_of(
    agent: Agent[Any, Any], name: str, description: str, *, is_sync: bool
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

    async def asked(task: str) -> Any:
        return (await agent.ask(task)).output

    def asked_sync(task: str) -> Any:
        return agent.run_sync(task).output

    function: Any = asked_sync if is_sync else asked
    kind = str if agent._output is None else agent._output.kind
    function.__name__ = function.__qualname__ = name
    function.__doc__ = description.strip() + _ARGUMENTS
    function.__annotations__ = {"task": str, "return": kind}
    return function  # type: ignore[no-any-return]

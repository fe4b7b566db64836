"""An agent as a tool of another: its own session and limits, its spend counted in the parent's.

researcher = ullage.Agent("anthropic:claude-haiku-4-5", tools=[search], output_type=Finding)

@subagent(researcher)
def research(topic: str, years: int = 5) -> str:
    \"\"\"Finds out what was written about a topic.\"\"\"
    return f"What was written about {topic} in the last {years} years?"

agent = ullage.Agent("anthropic:claude-opus-4-6", tools=[research])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from ullage_agent.runtime.children import task_itself, task_tool
from ullage_agent.runtime.policy import CHILD_TASK_S
from ullage_agent.tools.tool import AgentTool

if TYPE_CHECKING:
    from ullage_agent.runtime.agent import Agent

Task = Callable[..., str | Awaitable[str]]
"""Writes the task of a subagent from the arguments that the model gives."""


@overload
def subagent(
    agent: Agent[Any, Any], *, name: str, description: str, timeout_s: float = ...
) -> AgentTool: ...


@overload
def subagent(
    agent: Agent[Any, Any], *, timeout_s: float = ...
) -> Callable[[Task], AgentTool]: ...


def subagent(
    agent: Agent[Any, Any],
    *,
    name: str = "",
    description: str = "",
    timeout_s: float = CHILD_TASK_S,
) -> AgentTool | Callable[[Task], AgentTool]:
    """A tool that gives ``agent`` a task and returns its last answer: of an ``output_type``, as JSON.

    With a ``name`` and a ``description`` it takes the task as one text. Without, it decorates a function that writes
    the task: its parameters are those of the tool, as with ``ullage.tool``.

    Its session is ``parent/call id`` in the parent's store, at the parent's place, so that it resumes after a crash.
    Each of its calls is a row of purpose ``child`` in the parent's ledger: spend of the parent, and no part of its
    reading. A cancelled parent cancels it.

    Args:
        agent: The agent that is asked. It gets the ``deps`` of the parent's session.
        name: The tool's name.
        description: What the tool does, for the model.
        timeout_s: Seconds that a task may take.
    """

    make = partial(
        task_tool, agent, name=name, description=description, timeout_s=timeout_s
    )
    return make(task_itself) if name else make

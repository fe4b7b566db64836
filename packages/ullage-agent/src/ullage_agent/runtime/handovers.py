"""Several agents in one session: the model of one hands the conversation over to another by a tool call.

billing = ullage.Agent("openai:gpt-5-mini", name="billing", description="Invoices and refunds.", tools=[refund])
agent = ullage.Agent("anthropic:claude-haiku-4-5", name="desk", handoffs=[billing])
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from ullage.display.text import quoted
from ullage.errors import SettingError, WrongType
from ullage.messages import Tool
from ullage_agent.runtime.deferring import HANDOVER
from ullage_agent.runtime.policy import MOST_HANDOVERS
from ullage_agent.runtime.tooling import CallContext
from ullage_agent.tools.tool import AgentTool, BadArguments, Output, ToolContext

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")

_SCHEMA: Final = msgspec.Raw(
    b'{"type":"object","properties":{"note":{"type":"string","description":'
    b'"What the other agent should know that the conversation does not say."}}}'
)

_MODEL: Final = ("model", "base_url", "wire", "endpoints", "fallback")
"""What an agent without a model of its own takes from the agent that the session was begun with."""

OF_THE_SESSION: Final = (
    "max_steps",
    "budget",
    "session_budget",
    "cancel_tools",
    "cancel_queue",
    "lease_ttl_s",
)
"""Settings of the session as a whole: those of the agent it was begun with hold, whichever agent continues."""


class TeamAgent(Protocol):
    """What hand-overs need of an agent."""

    name: str
    description: str

    @property
    def handoffs(self) -> Sequence[TeamAgent]: ...


def check_name(name: str) -> None:
    """Raise ``SettingError`` for a name that a tool's name can't hold."""
    if name and not _NAME.fullmatch(name):
        raise SettingError(
            f"The agent's name can't be {quoted(name)}: it becomes part of a tool's name. Use at most 40 letters, "
            "digits, '_' and '-'."
        )


def team_of(first: TeamAgent) -> dict[str, TeamAgent]:
    """All agents that a session of this one may be handed over to, by name, itself left out.

    Raises ``SettingError`` for one without a name, and for two with the same name.
    """
    team: dict[str, TeamAgent] = {}
    to_visit = [first]
    while to_visit:
        for other in to_visit.pop().handoffs:
            name = _name_of(other)
            if other is first or team.get(name) is other:
                continue
            if name in team or name == first.name:
                raise SettingError(
                    f"Two agents have the name {quoted(name)}. Give each one in `handoffs` a name of its own."
                )
            team[name] = other
            to_visit.append(other)
    return team


def _name_of(agent: object) -> str:
    name = getattr(agent, "name", None)
    if not isinstance(name, str):
        raise WrongType(
            f"`handoffs` takes agents (ullage.Agent), and not {type(agent).__name__}."
        )
    if not name:
        raise SettingError(
            "An agent in `handoffs` has no name. Give it one: Agent(…, name='billing')."
        )
    return name


def arguments_within(
    own: Mapping[str, object], first: Mapping[str, object], *, has_model: bool
) -> dict[str, object]:
    """An agent's arguments in a session of the ``first`` one."""
    taken = list(OF_THE_SESSION)
    if not has_model:
        taken += _MODEL
    arguments = {key: value for key, value in own.items() if key not in taken}
    for key in taken:
        if key in first:
            arguments[key] = first[key]
    return arguments


def handover_tools(agent: TeamAgent) -> list[AgentTool]:
    """A tool for each agent that this one may hand the conversation over to."""
    return [_handover_tool(other) for other in agent.handoffs]


def _handover_tool(other: TeamAgent) -> AgentTool:
    name = _name_of(other)

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        if not isinstance(context, CallContext):
            raise BadArguments("A conversation is handed over inside a session only.")
        loop = context.runtime.ledger.loop
        if loop.handing_over is not None:
            raise BadArguments(
                f"Nothing was done: the conversation is handed over to {loop.handing_over} already."
            )
        if loop.handovers >= MOST_HANDOVERS:
            raise BadArguments(
                f"Nothing was done: the conversation was handed over {loop.handovers} times in this turn, which is the "
                "limit. Answer the user yourself."
            )
        return Output(
            f"The agent {name} continues the conversation from here on.", agent=name
        )

    text = (
        f"Hand the conversation over to the agent {name}, who continues it in your place."
    )
    if other.description:
        text += f" {name}: {other.description}"
    declaration = Tool(name=f"{HANDOVER}{name}", description=text, schema=_SCHEMA)
    return AgentTool(
        declaration=declaration, run=run, sequential=True, idempotent=True, read_only=True
    )

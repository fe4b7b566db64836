"""What a hook that describes a session may see of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ullage.codec.blocks import PLAIN, Options
from ullage.store.store import DEFAULT_TENANT
from ullage.turns.loop import OpenCall
from ullage_agent.tools.tool import AgentTool


class SessionView(NamedTuple):
    """A session at one moment: the agent that continues it, its model, and its call under way.

    ``address`` is where the model is reached; empty where that is not known. ``first_chunk_at``, in seconds since 1970,
    and ``response_id`` are of the current call; 0 and empty before the answer has them.
    """

    agent: str = ""
    description: str = ""
    tenant: str = DEFAULT_TENANT
    provider: str = ""
    model: str = ""
    address: str = ""
    options: Options = PLAIN
    has_output_type: bool = False
    is_compacted: bool = False
    tools: Mapping[str, AgentTool] = MappingProxyType({})
    open_calls: tuple[OpenCall, ...] = ()
    first_chunk_at: float = 0.0
    response_id: str = ""


class Viewed(Protocol):
    """What gives a view of one session, whenever it is asked."""

    def view(self) -> SessionView:
        """The session as it is now."""
        ...

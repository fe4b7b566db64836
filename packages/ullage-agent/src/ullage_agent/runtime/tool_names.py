"""The names of tools in settings: each has to be a tool's, since a mistyped one would switch an approval off unseen.

The tools of an MCP server are known once it has offered them. A name that no tool has before is refused when a turn
begins, and not when it is set.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ullage.context.deferral import SEARCH
from ullage.display.text import quoted
from ullage.errors import SettingError
from ullage.similar import did_you_mean
from ullage.store.recall import RECALL
from ullage_agent.runtime.layers import Layer
from ullage_agent.runtime.policy import LONGEST_LIST
from ullage_agent.runtime.precedence import Resolved
from ullage_agent.runtime.setting_values import EVERY, MCP
from ullage_agent.tools.builtin import OPTIONS
from ullage_agent.tools.mcp import McpServer
from ullage_agent.tools.mcp_content import beginning_of_names

NAMING: Final[Mapping[str, frozenset[str]]] = {
    "approve": frozenset({EVERY, MCP}),
    "always_declare": frozenset(),
}
"""The settings that name tools, and the words that stand for several of them. ``tools`` is checked as they are made."""

ULLAGES_OWN: Final = frozenset({*OPTIONS, SEARCH, RECALL})
"""Tools that any agent may have: a file or variable for several programs may name them in all of them."""

_IN_SESSION: Final = (
    "Correct the name (in a session that exists by `session.set`, `/set` or `PATCH …/settings`): no turn runs with it, "
    "and what waits in the session is kept."
)
_ELSEWHERE: Final = "Correct the name and start again: no turn runs until then, so that no call goes unasked."


def check_names(
    resolved: Resolved,
    keys: Sequence[str],
    tools: Collection[str],
    others: Collection[str],
    missing: Sequence[McpServer],
    *,
    begins_turn: bool,
) -> None:
    """Raise ``SettingError`` where one of these settings names a tool that there is not.

    ``tools`` are those of the agent. ``others`` are those of the agents that it may hand over to: a file, a variable or
    a session may name them, for it counts for all of these agents; an argument counts for its own agent alone.
    ``missing`` are servers whose tools are not known yet: before a turn begins, a name may be one of them.
    """
    expected: tuple[str, ...] = ()
    if not begins_turn:
        expected = tuple(beginning_of_names(server.name) for server in missing)
    for key in keys:
        known = {*tools, *ULLAGES_OWN, *NAMING[key]}
        for name in getattr(resolved.settings, key):
            layer = _layer_of(resolved, key, name)
            is_others = name in others and layer is not None and layer.place != "argument"
            if not (name in known or is_others or name.startswith(expected)):
                raise _unknown_tool(layer, key, name, tools, missing)


def _unknown_tool(
    layer: Layer | None,
    key: str,
    name: str,
    tools: Collection[str],
    missing: Sequence[McpServer],
) -> SettingError:
    where = key if layer is None else layer.where(key)
    listed = ", ".join(sorted(tools)[:LONGEST_LIST]) or "none"
    more = " and others" if len(tools) > LONGEST_LIST else ""
    meant = did_you_mean(name, [*tools, *ULLAGES_OWN])
    text = f"{where}: {key} names {quoted(name)}, and this agent has no such tool.{meant} Its tools are {listed}{more}."
    for server in missing:
        text += f" The MCP server {server.name} has offered none yet: {server.problem}."
    is_session = layer is not None and layer.place == "session"
    return SettingError(f"{text} {_IN_SESSION if is_session else _ELSEWHERE}")


def _layer_of(resolved: Resolved, key: str, name: str) -> Layer | None:
    """The highest layer that sets this name."""
    for layer in resolved.layers:
        names = layer.values.get(key)
        if isinstance(names, tuple) and name in names:
            return layer
    return None

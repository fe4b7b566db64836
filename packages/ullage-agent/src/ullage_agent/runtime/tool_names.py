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
from ullage_agent.runtime.layers import Layer
from ullage_agent.runtime.precedence import Resolved
from ullage_agent.runtime.setting_values import EVERY, MCP
from ullage_agent.tools.builtin import OPTIONS
from ullage_agent.tools.mcp import McpServer

NAMING: Final[Mapping[str, frozenset[str]]] = {
    "approve": frozenset({EVERY, MCP}),
    "always_declare": frozenset(),
}
"""The settings that name tools, and the words that stand for several of them. ``tools`` is checked as they are made."""

ULLAGES_OWN: Final = frozenset({*OPTIONS, SEARCH})
"""Tools that any agent may have: a file or variable for several programs may name them in all of them."""

LONGEST_LIST: Final = 8
"""Tools that an error lists."""

_IN_SESSION: Final = (
    "Correct the name (in a session that exists by `session.set`, `/set` or `PATCH …/settings`): no turn runs with it, "
    "and what waits in the session is kept."
)
_ELSEWHERE: Final = "Correct the name and start again: no turn runs until then, so that no call goes unasked."


def unknown_name(
    resolved: Resolved,
    key: str,
    tools: Collection[str],
    others: Collection[str],
    expected: tuple[str, ...] = (),
) -> str:
    """The first name in this setting that no tool has; empty if there is none.

    ``tools`` are those of the agent. ``others`` are those of the agents that it may hand over to: a file, a variable or
    a session may name them, for it counts for all of these agents; an argument counts for its own agent alone.
    ``expected`` are the beginnings of names that servers may still offer.
    """
    known = {*tools, *ULLAGES_OWN, *NAMING[key]}
    for name in getattr(resolved.settings, key):
        layer = _layer_of(resolved, key, name)
        is_others = name in others and layer is not None and layer.place != "argument"
        is_known = name in known or is_others or name.startswith(expected)
        if not is_known:
            return str(name)
    return ""


def unknown_tool(
    resolved: Resolved,
    key: str,
    name: str,
    tools: Collection[str],
    missing: Sequence[McpServer],
) -> SettingError:
    """The error for a name that no tool has. ``missing`` are servers whose tools are not known yet."""
    layer = _layer_of(resolved, key, name)
    where = layer.where(key) if layer is not None else key
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

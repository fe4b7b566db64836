"""What a tool call was for: its tool, MCP server and file."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ullage.messages import ToolCallPart, ToolResultPart
from ullage.meter.call_names import PATHS, call_label
from ullage.meter.policy import ARGUMENTS_READ


class ResultFacts(NamedTuple):
    """What is known of a tool call, and so of its result."""

    tool: str = ""
    server: str = ""
    label: str = ""
    path: str = ""


class CallFacts:
    """The tool calls of a session by their ids, for the results that come after them."""

    def __init__(self) -> None:
        self._known: dict[str, ResultFacts] = {}

    def note(self, part: ToolCallPart) -> None:
        """Remember a call."""
        if part.call_id not in self._known:
            label = call_label(part.name, part.arguments)
            path = path_of(read_arguments(part.arguments))
            server = server_of(part.name)
            self._known[part.call_id] = ResultFacts(part.name, server, label, path)

    def of(self, part: ToolCallPart | ToolResultPart, name: str) -> ResultFacts:
        """What is known of this call, or of the call of this result; ``name`` is the tool's where nothing is."""
        found = self._known.get(part.call_id)
        if found is None:
            return ResultFacts(name, server_of(name), name)
        return found


def server_of(tool: str) -> str:
    """The MCP server in a tool's name: ``mcp__github__get_issue`` is of ``github``; empty for other names.

    Claude Code, Codex and qwen-code name them so (https://code.claude.com/docs/en/mcp).
    """
    if not tool.startswith("mcp__"):
        return ""
    server, separator, _ = tool.removeprefix("mcp__").partition("__")
    if not separator:
        return ""
    return server


def read_arguments(arguments: str) -> dict[str, Any]:
    """The arguments of a call; none where they are not a JSON object."""
    if len(arguments) > ARGUMENTS_READ:
        return {}
    try:
        read = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    if not isinstance(read, dict):
        return {}
    return read


def path_of(arguments: dict[str, Any]) -> str:
    """The file that a call is for; empty where it names none."""
    for key in PATHS:
        path = arguments.get(key)
        if isinstance(path, str) and path:
            return path
    return ""

"""What is told of an MCP server, as one sentence for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ullage.events import ToolServerNoticed

NAMED: Final = 5
"""Tools and notes that are named; of the others it is told how many there are."""


def server_sentence(event: ToolServerNoticed) -> str:
    """The sentence, without a line break of its own."""
    if event.problem:
        problem = event.problem.rstrip(".")
        return f"MCP server {event.server} can't be used, so its tools are missing: {problem}. It is tried again."
    tools = [
        f"{what} {_some(names)}"
        for what, names in (("new", event.added), ("gone", event.removed), ("changed", event.changed))
        if names
    ]
    said = f"MCP server {event.server}: " + (f"its tools changed ({'; '.join(tools)})" if tools else "")
    if event.notes:
        said += ("; " if tools else "") + _some(event.notes)
    return said if tools or event.notes else f"MCP server {event.server}: it can be used now"


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more

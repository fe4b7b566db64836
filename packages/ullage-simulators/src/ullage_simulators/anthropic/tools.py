"""Tools that load on demand: which ones a conversation names, and which ones it offers at its end.

Sources: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool and
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages#mid-conversation-tool-changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

INLINE_BETA: Final = "inline-tools-2026-09-15"
"""Tool changes, which may define a tool."""
CHANGES_BETAS: Final = (INLINE_BETA, "mid-conversation-tool-changes-2026-07-01")
CHANGES: Final = frozenset({"tool_addition", "tool_removal"})
_HOLDING: Final = ("content", "tool", "tool_references")
"""The fields of a block in which a tool may be named."""


def named_tools(block: Any) -> Iterator[Any]:
    """The names that a block refers to tools by."""
    if isinstance(block, list):
        for each in block:
            yield from named_tools(each)
    elif isinstance(block, dict):
        if block.get("type") == "tool_reference":
            yield block.get("tool_name", block.get("name"))
        for name in _HOLDING:
            yield from named_tools(block.get(name))


def definition_in(block: dict[str, Any]) -> dict[str, Any]:
    """The tool that a block defines; an empty object where it defines none."""
    tool = block.get("tool")
    defined = tool.get("definition") if isinstance(tool, dict) else None
    return defined if isinstance(defined, dict) else {}


def offered(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools that the model may call at the end of the conversation."""
    known: dict[Any, dict[str, Any]] = {}
    usable: dict[Any, bool] = {}
    for tool in body.get("tools") or []:
        name = tool.get("name")
        known[name] = tool
        usable[name] = not tool.get("defer_loading")
    for message in body["messages"]:
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            defined = definition_in(block)
            if defined:
                name = defined.get("name")
                known[name] = defined
                usable[name] = True
            is_taken = block.get("type") == "tool_removal"
            for name in named_tools(block):
                usable[name] = not is_taken
    tools = []
    for name, tool in known.items():
        if usable[name]:
            tools.append(tool)
    return tools

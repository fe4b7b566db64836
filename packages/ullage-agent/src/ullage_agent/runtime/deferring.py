"""The tools of a session and their declarations: which are deferred, and the tool that finds them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ullage.context.deferral import (
    SEARCH,
    DeferralRules,
    ToolsInUse,
    ToolSizes,
    arranged,
    deferrable,
    found_text,
    search_declaration,
)
from ullage.context.shorten import READER
from ullage.context.tool_search import find
from ullage.messages import Tool
from ullage.meter.fold import Fold
from ullage.store.recall import RECALL
from ullage.tokens.content import text_tokens
from ullage.tokens.tools import tool_tokens
from ullage_agent.runtime.recalling import with_recall
from ullage_agent.runtime.session_runtime import CountedTool, SessionRuntime
from ullage_agent.runtime.settings import Settings
from ullage_agent.tools.builtin import OPTIONS
from ullage_agent.tools.tool import AgentTool, BadArguments, Output, ToolContext

BUILTIN: Final = frozenset({*OPTIONS, READER, RECALL})
"""Tools that are never deferred, whatever they cost."""


HANDOVER: Final = "hand_over_to_"
"""How the names of tools begin that hand the conversation over to another agent. They are never deferred either."""


class ToolSet(NamedTuple):
    """The tools of a session by name, and all their declarations as the ledger records them."""

    tools: Mapping[str, AgentTool]
    declared: tuple[Tool, ...]
    deferrable: frozenset[str] = frozenset()


def tool_set(
    runtime: SessionRuntime,
    offered: Mapping[str, AgentTool],
    settings: Settings,
    fold: Fold,
) -> ToolSet:
    """The tools with these settings and in the window of this fold.

    ``offered`` are the agent's. A deferred tool stays callable: a model that calls it without a search is answered, and
    it is declared from then on. A tool of the program that has the search tool's name keeps it, and none is deferred.
    Where the provider loads tools by references, what is declared stays the same, whatever is in use.
    """
    offered = with_recall(offered, settings, fold)
    tools = tuple(tool.declaration for tool in offered.values())
    rules = DeferralRules(
        settings.defer_tools, always_declared=frozenset(settings.always_declare)
    )
    sizes = _sizes(fold, runtime.tool_tokens)
    never = BUILTIN.union(name for name in offered if name.startswith(HANDOVER))
    deferred = () if SEARCH in offered else deferrable(tools, rules, sizes, never)
    if not deferred:
        return ToolSet(offered, tools)
    search = _search_tool(search_declaration(deferred, sizes), deferred)
    in_use = runtime.memory.tools_in_use
    if fold.takes_references:
        in_use = ToolsInUse()
    before = [tool.name for tool in fold.tools or () if not tool.deferred]
    declared = arranged(
        (*tools, search.declaration),
        deferred,
        in_use,
        before,
        sizes,
    )
    names = frozenset(tool.name for tool in deferred)
    return ToolSet({**offered, SEARCH: search}, declared, names)


def undeferred(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools as their servers declare them, whether deferred or not."""
    return tuple(replace(tool, deferred=False) for tool in tools)


def _sizes(fold: Fold, known: dict[str, CountedTool]) -> ToolSizes:
    """How the fold's model counts; ``known`` is what was counted before."""
    forecaster = fold.forecaster

    def declaration(tool: Tool) -> float:
        last = known.get(tool.name)
        if last is not None and last.forecaster is forecaster and last.tool == tool:
            return last.tokens
        tokens = tool_tokens(
            tool, forecaster.template, forecaster.family, forecaster.counter
        )
        known[tool.name] = CountedTool(tool, forecaster, tokens)
        return tokens

    def text(content: str) -> float:
        return text_tokens(content, forecaster.family, forecaster.counter)

    return ToolSizes(declaration, text, fold.limits.denominators.window.tokens)


def _search_tool(declaration: Tool, deferred: tuple[Tool, ...]) -> AgentTool:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            raise BadArguments(
                "Nothing was searched: `query` must say what the tool should do."
            )
        found = await asyncio.to_thread(find, query, deferred)
        names = tuple(tool.name for tool in found)
        return Output(found_text(found, deferred), found=names)

    return AgentTool(declaration=declaration, run=run, idempotent=True, read_only=True)

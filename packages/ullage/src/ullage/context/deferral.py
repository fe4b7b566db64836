"""Which tools a request declares, and which the model has to search for first. Pure.

Claude Code defers the tools of MCP servers when they exceed 10 % of the window (``ENABLE_TOOL_SEARCH=auto``, with
another share ``auto:N``; https://code.claude.com/docs/en/mcp). Here deferred tools are not in the request at all, which
works on every wire; a tool that was found is declared, and the provider's cache begins again.

One tool more would also cost a model that binds its reasoning all of it. So on Claude models that do
(``State.takes_references``) all deferred tools are declared from the start with Anthropic's ``defer_loading``, and the
result of a search refers to those that it found: the request grows and does not change. The reading counts their
declarations in the place of the result. A tool is loaded there as long as that result is in view: it has to be found
again after a compaction that takes the result with it, and can be called without.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.context.policy import (
    DEFERRAL_SAVES,
    INDEX_MOST,
    INDEX_SHARE,
    LOADED_SHARE,
    MOST_FOUND,
    TOOL_LINE,
)
from ullage.messages import Tool

SEARCH: Final = "tool_search"
"""The name of the tool that finds deferred tools."""

Mode = Literal["auto", "always", "never"]

_SCHEMA: Final = msgspec.Raw(
    b'{"type":"object","properties":{"query":{"type":"string","description":'
    b'"What the tool should do, in a few words, or names of tools"}},"required":["query"]}'
)


class DeferralRules(NamedTuple):
    """The settings: when to defer, from which share of the window on, and the tools that never are."""

    mode: Mode = "auto"
    share: float = 0.1
    always_declared: frozenset[str] = frozenset()


class ToolsInUse(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that the model has found or called, by name, the last one last. A fold."""

    names: tuple[str, ...] = ()
    called: frozenset[str] = frozenset()
    last_found: tuple[str, ...] = ()

    def after_call(self, name: str) -> ToolsInUse:
        """With a tool that was called."""
        return replace(
            self, names=_moved(self.names, (name,)), called=self.called | {name}
        )

    def after_search(self, found: Sequence[str]) -> ToolsInUse:
        """With the tools that a search found, best first."""
        names = _moved(self.names, tuple(reversed(found)))
        return replace(self, names=names, last_found=tuple(found))

    def after_compaction(self) -> ToolsInUse:
        """Without those that were found and never called, but for the last search: its result may still be in view."""
        kept = self.called.union(self.last_found)
        return replace(self, names=tuple(filter(kept.__contains__, self.names)))


def _moved(names: Iterable[str], last: tuple[str, ...]) -> tuple[str, ...]:
    return (*(name for name in names if name not in last), *last)


class ToolSizes(NamedTuple):
    """How tools and texts are counted, and the window they are held against, in tokens; ``None`` if unknown."""

    declaration: Callable[[Tool], float]
    text: Callable[[str], float]
    window: int | None

    def of(self, tools: Iterable[Tool]) -> float:
        """What these tools cost together."""
        return sum(map(self.declaration, tools))


def deferrable(
    tools: Sequence[Tool],
    rules: DeferralRules,
    sizes: ToolSizes,
    builtin: Collection[str] = (),
) -> tuple[Tool, ...]:
    """The tools that are declared only when they are in use; none if all tools stay declared.

    Built-in tools and those that the rules name are never among them. With ``auto`` tools of MCP servers are deferred
    if all tools together exceed the share of the window, and a program's own if the rest still does.
    """
    fixed = rules.always_declared.union(builtin)
    open_to_it: list[Tool] = []
    for tool in tools:
        if tool.name not in fixed and tool.kind == "function":
            open_to_it.append(tool)
    if rules.mode == "always":
        return tuple(open_to_it)
    if rules.mode == "never" or sizes.window is None:
        return ()
    most = rules.share * sizes.window
    total = sizes.of(tools)
    deferred: list[Tool] = []
    for is_served in (True, False):
        group = [tool for tool in open_to_it if bool(tool.server) == is_served]
        tokens = sizes.of(group)
        if total > most and tokens >= DEFERRAL_SAVES:
            deferred += group
            total -= tokens
    return tuple(deferred)


def arranged(
    tools: Sequence[Tool],
    deferred: Collection[Tool],
    in_use: ToolsInUse,
    before: Sequence[str],
    sizes: ToolSizes,
) -> tuple[Tool, ...]:
    """All tools as the ledger records them: declared ones first, then the deferred ones, marked as such.

    Deferred tools in use are declared behind the others, in the order of ``before`` (those declared last), so that the
    declarations change as little as possible.
    """
    by_name = {tool.name: tool for tool in deferred}
    loaded = _loaded(by_name, in_use, sizes)
    always: list[Tool] = []
    later: list[Tool] = []
    for tool in tools:
        if tool.name not in by_name:
            always.append(tool)
        elif tool.name not in loaded:
            later.append(replace(tool, deferred=True))
    stay = [by_name[name] for name in before if name in loaded]
    new = [by_name[name] for name in loaded if name not in before]
    return (*always, *stay, *new, *later)


def _loaded(deferred: dict[str, Tool], in_use: ToolsInUse, sizes: ToolSizes) -> list[str]:
    """The tools in use that are declared, by name, the last one first. The first always is."""
    left = float("inf") if sizes.window is None else LOADED_SHARE * sizes.window
    loaded: list[str] = []
    for name in reversed(in_use.names):
        if name not in deferred:
            continue
        left -= sizes.declaration(deferred[name])
        if loaded and left < 0:
            break
        loaded.append(name)
    return loaded


def search_declaration(deferred: Sequence[Tool], sizes: ToolSizes) -> Tool:
    """The search tool as the model sees it: it lists as much of the deferred tools as little space allows."""
    room = INDEX_MOST if sizes.window is None else INDEX_SHARE * sizes.window
    room = min(room, INDEX_MOST)
    servers: dict[str, int] = {}
    for tool in deferred:
        servers[tool.server] = servers.get(tool.server, 0) + 1
    counts: list[str] = []
    for server, count in servers.items():
        counts.append(f"{count} of {server or 'this program'}")
    listings = (
        "\n".join(map(line_of, deferred)),
        ", ".join(tool.name for tool in deferred),
        ", ".join(counts),
    )
    listing = listings[-1][: 10 * TOOL_LINE]
    for longer in listings[:-1]:
        if sizes.text(longer) <= room:
            listing = longer
            break
    description = (
        f"Finds tools by what they do. {len(deferred)} more tools can be called that are not declared yet; the tools "
        f"found (at most {MOST_FOUND}) are declared from the next step on. Search before you say that something can't "
        f"be done. The tools, in their servers' words:\n{listing}"
    )
    return Tool(name=SEARCH, description=description, schema=_SCHEMA)


def line_of(tool: Tool) -> str:
    """A tool's name and the beginning of its description, on one line and without control characters."""
    text = "".join(filter(str.isprintable, " ".join(tool.description.split())))
    if len(text) > TOOL_LINE:
        text = f"{text[: TOOL_LINE - 1]}…"
    return f"- {tool.name}: {text}" if text else f"- {tool.name}"


def found_text(found: Sequence[Tool], deferred: Sequence[Tool]) -> str:
    """The result of a search for the model."""
    if found:
        lines = "\n".join(map(line_of, found))
        return f"{len(found)} of {len(deferred)} tools; they are declared now and can be called:\n{lines}"
    servers = sorted({tool.server for tool in deferred if tool.server})
    among = f" of {', '.join(servers)}" if servers else ""
    return (
        f"None of the {len(deferred)} tools{among} matches. Try other words for what the tool should do, "
        "or a word of its name."
    )[: 10 * TOOL_LINE]

"""``ullage mcp``: an MCP server that offers readings to other programs, on standard input and output.

With ``--agent`` it offers an agent of a Python module in their place.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

from ullage.cli.mcp_answers import (
    AnswerRules,
    explained,
    listed,
    measured_body,
    planned,
    reading_of,
    shown_text,
)
from ullage.cli.mcp_recall import OldText
from ullage.errors import MissingExtra, SettingError, UllageError
from ullage.installation import extra_command, part

INSTRUCTIONS: Final = (
    "How full the context window of a coding agent's or Ullage's session is, what fills it, and what can be left out. "
    "Sessions are named by the beginning or end of their id; without one, the newest of this directory is meant."
)


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends. Raises ``MissingExtra`` and ``SettingError``."""
    if args.recall and args.no_content:
        raise SettingError(
            "--recall answers with the text of the conversation, and --no-content forbids it. Leave one of them out."
        )
    rules = AnswerRules(is_here_only=args.here, no_content=args.no_content)
    server = server_of(rules, recalls=args.recall)
    if args.agent:
        part("ullage_agent.cli.mcp_agent").agent_at(args.agent).serve_mcp()
        return 0
    if sys.stdin.isatty():
        print(
            "ullage mcp speaks the Model Context Protocol on standard input: another program starts it. "
            "Ctrl-C ends it.",
            file=sys.stderr,
        )
    server.run("stdio")
    return 0


def server_of(rules: AnswerRules, *, recalls: bool = False) -> Any:
    """The server of the MCP SDK with our tools. Raises ``MissingExtra``."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as problem:
        raise MissingExtra(
            f"`ullage mcp` needs more than is installed ({problem.name}). Install it: {extra_command('mcp')}"
        ) from problem
    looks = ToolAnnotations(
        read_only_hint=True,
        destructive_hint=False,
        idempotent_hint=True,
        open_world_hint=False,
    )
    server = MCPServer(
        "ullage",
        title="Ullage",
        instructions=INSTRUCTIONS,
        version=version("ullage"),
        log_level="ERROR",
    )
    one_at_a_time = asyncio.Lock()

    async def answered(
        work: Callable[..., dict[str, Any]], *given: Any
    ) -> dict[str, Any]:
        async with one_at_a_time:
            try:
                return await asyncio.to_thread(work, rules, *given)
            except (UllageError, OSError, MemoryError, RecursionError) as problem:
                raise ToolError(_told(problem)) from problem

    @server.tool(title="List sessions", annotations=looks)
    async def list_sessions(limit: int = 20) -> dict[str, Any]:
        """The newest sessions of all programs on this machine, with the tokens in their windows."""
        return await answered(listed, limit)

    @server.tool(title="Read a session's window", annotations=looks)
    async def reading(session: str = "") -> dict[str, Any]:
        """How full a session's context window is: used tokens, limits, rows, cost."""
        return await answered(reading_of, session)

    @server.tool(title="Explain a session's window", annotations=looks)
    async def explain(session: str = "", largest: int = 10) -> dict[str, Any]:
        """What fills a session's window: rows, the largest parts, and what could be left out and how."""
        return await answered(explained, session, largest)

    @server.tool(title="Plan the next compaction", annotations=looks)
    async def plan_compaction(session: str = "") -> dict[str, Any]:
        """When a session is compacted next and what that takes out of its window. Changes nothing."""
        return await answered(planned, session)

    @server.tool(title="Measure a request", annotations=looks)
    async def measure_request(
        body: dict[str, Any], window: int | None = None
    ) -> dict[str, Any]:
        """The tokens of a request body of any API, and what a compaction would take out of it."""
        return await answered(measured_body, body, window)

    if recalls:
        old = OldText()

        @server.tool(title="Recall what left the window", annotations=looks)
        async def recall(
            query: str = "", read: str = "", session: str = "", quote: str = ""
        ) -> dict[str, Any]:
            """Exact lines of this conversation that left the window when it was compacted.

            Ask with words, names or numbers of the line (query), then read the text around a place of an answer, such
            as 12:340 (read). Where several sessions are in use, quote some words of the user's last message.
            """
            return await answered(old.recalled, query, read, session, quote)

    return server


def _told(problem: BaseException) -> str:
    """An error for the caller, without control characters and keys."""
    return shown_text(str(problem)) or type(problem).__name__

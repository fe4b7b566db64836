"""What ``run``, ``chat`` and ``serve`` make of the words of the command line that they share."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, Final

from ullage.cli.sessions import SHORTEST_ID
from ullage.display.text import quoted
from ullage.errors import InputError, SessionNotFound
from ullage.store.store import SessionStore, every_session
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.layers import Layer
from ullage_agent.runtime.precedence import left_out
from ullage_agent.runtime.session import Session

INSTRUCTIONS: Final = ("AGENTS.md",)
"""Read from the root where nobody names other files (https://agents.md)."""

LOOKING: Final = "read,list,search"
"""The built-in tools that change nothing: those of a chat or of a simulated model, where none are named."""

ASK_FIRST: Final = "write,edit,shell,mcp"
"""What needs a person's approval unless the user's files or environment say otherwise: the tools that change things,
and every tool of an MCP server. That one calls itself read-only is the server's own word, which nobody checks."""


_RANDOM_ID: Final = re.compile(r"\d{8}-[0-9a-f]{8}")
"""An id that nobody chose."""

_KEPT_WITH_SESSION: Final = ("wire", "window", "max_output", "strategy")
"""The address, and whether it is asked to count, are not stored with a session."""


def endpoint_settings(args: argparse.Namespace) -> dict[str, Any]:
    """How the model is reached, how much it may hold and say, how it is compacted and counted, where that was set."""
    said = {
        "base_url": args.base_url or None,
        "wire": args.wire or None,
        "window": args.window,
        "max_output": args.max_output,
        "strategy": args.strategy or None,
        "count": args.count,
    }
    return {name: value for name, value in said.items() if value is not None}


def session_settings(args: argparse.Namespace) -> dict[str, Any]:
    """What of the command line is stored with the session, so that it has the same model when it is opened again."""
    model = {"model": args.model} if args.model else {}
    said = endpoint_settings(args)
    return model | {name: said[name] for name in _KEPT_WITH_SESSION if name in said}


async def session_meant(agent: Agent, name: str) -> tuple[str, bool]:
    """As ``meant_in`` the agent's store."""
    if not name:
        return "", False
    shared = await agent._enter()
    try:
        return await meant_in(shared.store, name)
    finally:
        await agent._leave()


async def meant_in(store: SessionStore, name: str) -> tuple[str, bool]:
    """The id of the session that is meant, and whether there is one: its id, or the beginning or end of a random id.

    Raises ``InputError`` where several begin or end so. An id that a person chose is given whole, and a date
    may be one: it is the beginning of no other.
    """
    try:
        await store.about(name)
    except SessionNotFound:
        known = [row.id async for row in every_session(store)]
    else:
        return name, True  # without a list of all others
    alike = [
        one
        for one in known
        if _RANDOM_ID.fullmatch(one)
        and (one.endswith(name) or ("-" in name and one.startswith(name)))
    ]
    if not alike or len(name) < SHORTEST_ID:
        return name, False
    if len(alike) > 1:
        raise InputError(
            f"The id {quoted(name)} is of {len(alike)} sessions: {', '.join(alike[:5])}. Give more of it."
        )
    return alike[0], True


def tools_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The built-in tools as an argument of the agent, if they were named; ``none`` names none."""
    if not args.tools:
        return {}
    return {"tools": args.tools.split(",")}


def sandbox_settings(args: argparse.Namespace) -> dict[str, Any]:
    """How commands are confined as an argument of the agent, if that was named."""
    return {"sandbox": args.sandbox} if args.sandbox else {}


def warn_of(agent: Agent, *, yes: bool = False) -> None:
    """Say on standard error what a person should know before work begins. ``yes``: every call is allowed unasked."""
    for warning in agent.warnings():
        print(
            f"Warning: {warning}{' --yes gives it without asking.' if yes else ''}",
            file=sys.stderr,
        )


async def warn_of_left_out(session: Session) -> None:
    """Say on standard error what of an opened session does not count: settings of its own, and damaged events."""
    if line := await left_out_line(session):
        print(f"Note: {line}", file=sys.stderr)
    if damaged := (await session._look()).ledger.loop.damaged:
        rows = ", ".join(f"{seq:,}" for seq in damaged)
        print(
            f"Warning: events of this session can't be read and are left out: {rows}.",
            file=sys.stderr,
        )


async def left_out_line(session: Session) -> str:
    """What of an opened session's own settings does not count here, in one line; empty where all of them do."""
    work = await session._look()
    return left_out(work.shared.resolve(work.ledger.loop.settings))


def own_defaults(**values: object) -> Layer:
    """What a command takes where neither the user's file nor the environment says anything."""
    return Layer(place="default", values={"approve": ASK_FIRST.split(","), **values})


def agent_with_instructions(model: str = "", **given: Any) -> Agent:
    """The agent, with the usual instruction file where nobody names others. Raises ``SettingError``."""
    agent = Agent(model, **given)
    return (
        agent
        if agent.settings.instruction_files
        else Agent(model, instruction_files=INSTRUCTIONS, **given)
    )

"""What ``run``, ``chat`` and ``serve`` make of the words of the command line that they share."""

from __future__ import annotations

import argparse
from typing import Any, Final

from ullage.runtime.agent import Agent

INSTRUCTIONS: Final = ("AGENTS.md",)
"""Read from the root where nobody names other files (https://agents.md)."""

LOOKING: Final = "read,list,search"
"""The built-in tools that change nothing: those of a chat or of a simulated model, where none are named."""

ASK_FIRST: Final = "write,edit,shell"
"""What changes things asks for a person's word, unless files or the session say otherwise."""


def endpoint_settings(args: argparse.Namespace) -> dict[str, Any]:
    """How the model is reached and how much it may hold and say, as far as that was said."""
    said = {
        "base_url": args.base_url or None,
        "wire": args.wire or None,
        "window": args.window,
        "max_output": args.max_output,
    }
    return {name: value for name, value in said.items() if value is not None}


def tool_names(args: argparse.Namespace) -> tuple[str, ...] | None:
    """The built-in tools that were named; ``none`` names none, and ``None`` is nothing said."""
    names: tuple[str, ...] | None = tuple(args.tools.split(",")) if args.tools else None
    return () if names == ("none",) else names


def agent_with_instructions(model: str = "", **given: Any) -> Agent:
    """The agent, with the usual instruction file where nobody names others. Raises ``SettingError``."""
    agent = Agent(model, **given)
    return agent if agent.settings.instructions else Agent(model, instructions=INSTRUCTIONS, **given)

"""The agent of ``ullage mcp --agent``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from ullage.display.text import quoted
from ullage.errors import SettingError
from ullage_agent.runtime.agent import Agent


def agent_at(place: str) -> Agent[Any, Any]:
    """The agent at a place like ``shop.agents:seller``; modules of the working directory are found too.

    Raises ``SettingError`` where there is none; what the module raises comes as it is.
    """
    module, _, name = place.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), name or "agent", None)
    except (ModuleNotFoundError, ValueError) as problem:
        raise SettingError(f"--agent {quoted(place)}: {problem}.") from problem
    if not isinstance(found, Agent):
        raise SettingError(
            f"--agent {quoted(place)} is no ullage.Agent: name a module and a variable of it, as in shop.agents:seller."
        )
    return found

"""pi: an extension of our own (https://pi.dev), and its ``models.json``. Tried with 0.87.1."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ullage.cli.installing.plan import PlannedChange, plugin, setting, whole_file

CLIENT = "pi"
INSTALLED = "anthropic"
"""The provider whose address is changed."""


def changes(
    *, statusline: bool, hooks: bool, proxy: str, project: bool
) -> list[PlannedChange]:
    """What an installation changes. pi has no hooks besides extensions; ours is a line in its footer."""
    home = agent_directory(os.environ)
    directory = Path.cwd() / ".pi" if project else home
    planned = []
    if statusline:
        path = directory / "extensions" / "ullage.js"
        planned.append(whole_file(CLIENT, "statusline", path, plugin("pi.js")))
    if proxy:
        keys = ["providers", INSTALLED, "baseUrl"]
        path = home / "models.json"
        planned.append(setting(CLIENT, "proxy", path, keys, proxy))
    return planned


def agent_directory(environment: Mapping[str, str]) -> Path:
    """Where the user's configuration is."""
    own = environment.get("PI_CODING_AGENT_DIR", "")
    return Path(own) if own else Path.home() / ".pi" / "agent"

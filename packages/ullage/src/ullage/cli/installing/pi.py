"""pi: an extension of our own (https://pi.dev), and its ``models.json``. Tried with 0.87.1."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import AddressEntry, ClientEntry, PluginEntry

CLIENT: Final = "pi"
INSTALLED: Final = "anthropic"
"""The provider whose address is changed."""


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. pi has no hooks besides extensions; ours is a line in its footer.

    It reads addresses from the user's configuration alone.
    """
    home = agent_directory(os.environ)
    directory = Path.cwd() / ".pi" if project else home
    plugin = PluginEntry("statusline", directory / "extensions" / "ullage.js", "pi.js")
    if project:
        return [plugin]
    keys = ["providers", INSTALLED, "baseUrl"]
    return [plugin, AddressEntry(home / "models.json", keys, proxy, [INSTALLED])]


def agent_directory(environment: Mapping[str, str]) -> Path:
    """Where the user's configuration is."""
    own = environment.get("PI_CODING_AGENT_DIR", "")
    return Path(own) if own else Path.home() / ".pi" / "agent"

"""OpenCode: a plugin of our own (https://opencode.ai/docs/plugins), and its ``opencode.json``. Tried with 1.18.33."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import AddressEntry, ClientEntry, PluginEntry

CLIENT: Final = "opencode"
INSTALLED: Final = "anthropic"
"""The provider whose address is changed."""


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. OpenCode has no status line for plugins; ours is a message at two shares."""
    directory = config_directory(os.environ)
    configuration = directory / "opencode.json"
    if project:
        directory = Path.cwd() / ".opencode"
        configuration = Path.cwd() / "opencode.json"
    plugin = PluginEntry("hooks", directory / "plugins" / "ullage.js", "opencode.js")
    keys = ["provider", INSTALLED, "options", "baseURL"]
    return [plugin, AddressEntry(configuration, keys, proxy, [INSTALLED])]


def config_directory(environment: Mapping[str, str]) -> Path:
    """Where the user's configuration is."""
    shared = environment.get("XDG_CONFIG_HOME", "")
    home = Path(shared) if shared else Path.home() / ".config"
    return home / "opencode"

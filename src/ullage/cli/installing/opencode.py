"""OpenCode: a plugin of our own (https://opencode.ai/docs/plugins), and its ``opencode.json``. Tried with 1.18.33."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ullage.cli.installing.plan import PlannedChange, plugin, setting, whole_file

CLIENT = "opencode"
INSTALLED = "anthropic"
"""The provider whose address is changed."""


def changes(
    *, statusline: bool, hooks: bool, proxy: str, project: bool
) -> list[PlannedChange]:
    """What an installation changes. OpenCode has no status line for plugins; ours is a message at two shares."""
    directory = config_directory(os.environ)
    configuration = directory / "opencode.json"
    if project:
        directory = Path.cwd() / ".opencode"
        configuration = Path.cwd() / "opencode.json"
    planned = []
    if hooks:
        path = directory / "plugins" / "ullage.js"
        planned.append(whole_file(CLIENT, "hook", path, plugin("opencode.js")))
    if proxy:
        keys = ["provider", INSTALLED, "options", "baseURL"]
        planned.append(setting(CLIENT, "proxy", configuration, keys, proxy))
    return planned


def config_directory(environment: Mapping[str, str]) -> Path:
    """Where the user's configuration is."""
    shared = environment.get("XDG_CONFIG_HOME", "")
    home = Path(shared) if shared else Path.home() / ".config"
    return home / "opencode"

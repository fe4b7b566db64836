"""OpenCode: a plugin of our own (https://opencode.ai/docs/plugins), and its ``opencode.json``. Tried with 1.18.33."""

from __future__ import annotations

import os
from pathlib import Path

from ullage.cli.installing.plan import PlannedChange, json_setting, plugin, whole_file

CLIENT = "opencode"


def changes(
    *, statusline: bool, hooks: bool, proxy: str, project: bool
) -> list[PlannedChange]:
    """What an installation changes. OpenCode has no status line for plugins; ours is a message at two shares."""
    shared = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(shared) if shared else Path.home() / ".config"
    directory = home / "opencode"
    configuration = directory / "opencode.json"
    if project:
        directory = Path.cwd() / ".opencode"
        configuration = Path.cwd() / "opencode.json"
    planned = []
    if hooks:
        path = directory / "plugins" / "ullage.js"
        planned.append(whole_file(CLIENT, "hook", path, plugin("opencode.js")))
    if proxy:
        keys = ["provider", "anthropic", "options", "baseURL"]
        planned.append(json_setting(CLIENT, "proxy", configuration, keys, proxy))
    return planned

"""Claude Code: its ``settings.json`` (https://code.claude.com/docs/en/settings)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    HookEntry,
    StatusLineEntry,
    command,
)
from ullage_programs.line.places import settings_file

CLIENT: Final = "claude-code"

EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "PostToolUse": {"matcher": "*"},
    "Stop": {},
}
"""The events of the hooks, and what stands beside each."""

TOOL_SEARCH: Final = {"ENABLE_TOOL_SEARCH": "true"}


def settings_path(*, project: bool) -> Path:
    """The user's settings, or the user's own settings for this project, which are not committed."""
    if project:
        return Path.cwd() / ".claude" / "settings.local.json"
    own = os.environ.get("CLAUDE_CONFIG_DIR", "")
    directory = Path(own) if own else Path.home() / ".claude"
    return directory / "settings.json"


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed.

    A project's status line may come with a clone: it does not become the user's own, which runs everywhere.
    """
    path = settings_path(project=project)
    line = StatusLineEntry(
        path,
        ["statusLine"],
        command("claude_code.status"),
        composed=None if project else Path(settings_file()),
        usual={"padding": 0},
    )
    handler = {
        "type": "command",
        "command": command("claude_code.hook_events"),
        "timeout": 5,
    }
    hooks = [
        HookEntry(path, ["hooks", name], handler, group) for name, group in EVENTS.items()
    ]
    keys = ["env", "ANTHROPIC_BASE_URL"]
    return [line, *hooks, AddressEntry(path, keys, proxy, ["anthropic"], TOOL_SEARCH)]

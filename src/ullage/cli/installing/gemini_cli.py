"""Gemini CLI: a hook in its ``settings.json`` (https://geminicli.com/docs/hooks/reference). Tried with 0.61.0."""

from __future__ import annotations

from pathlib import Path

from ullage.cli.installing.claude_code import command
from ullage.cli.installing.plan import PlannedChange, json_item

CLIENT = "gemini-cli"
HOOK_TIMEOUT_MS = 5_000


def changes(
    *, statusline: bool, hooks: bool, proxy: str, project: bool
) -> list[PlannedChange]:
    """What an installation changes. It has no status line, and takes another address from the environment alone."""
    directory = Path.cwd() if project else Path.home()
    path = directory / ".gemini" / "settings.json"
    if not hooks:
        return []
    handler = {
        "type": "command",
        "name": "ullage",
        "command": command("gemini_cli/hook.py"),
        "timeout": HOOK_TIMEOUT_MS,
    }
    keys = ["hooks", "AfterAgent"]
    return [json_item(CLIENT, "AfterAgent hook", path, keys, {"hooks": [handler]})]

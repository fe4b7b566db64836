"""Copilot CLI: ``statusLine`` in its ``settings.json`` (``copilot help config``). Tried with 1.0.102."""

from __future__ import annotations

import os
from pathlib import Path

from ullage.cli.installing.claude_code import command
from ullage.cli.installing.plan import PlannedChange, own_status_line

CLIENT = "copilot-cli"


def changes(
    *, statusline: bool, hooks: bool, proxy: str, project: bool
) -> list[PlannedChange]:
    """What an installation changes. It takes another address from the environment alone."""
    if not statusline or project:
        return []
    own = os.environ.get("COPILOT_HOME", "")
    directory = Path(own) if own else Path.home() / ".copilot"
    path = directory / "settings.json"
    return [
        own_status_line(
            CLIENT, path, ["statusLine"], command("copilot_cli/statusline.py")
        )
    ]

"""Gemini CLI: a hook in its ``settings.json`` (https://geminicli.com/docs/hooks/reference). Tried with 0.61.0."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import ClientEntry, HookEntry, command

CLIENT: Final = "gemini-cli"


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. It has no status line, and takes another address from the environment alone."""
    directory = Path.cwd() if project else Path.home()
    path = directory / ".gemini" / "settings.json"
    handler = {
        "type": "command",
        "name": "ullage",
        "command": command("gemini_cli.turn"),
        "timeout": 5_000,
    }
    return [HookEntry(path, ["hooks", "AfterAgent"], handler)]

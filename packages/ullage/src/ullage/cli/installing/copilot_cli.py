"""Copilot CLI: ``statusLine`` in its ``settings.json`` (``copilot help config``). Tried with 1.0.102."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import ClientEntry, StatusLineEntry, command

CLIENT: Final = "copilot-cli"


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. It takes another address from the environment alone."""
    if project:
        return []
    own = os.environ.get("COPILOT_HOME", "")
    directory = Path(own) if own else Path.home() / ".copilot"
    path = directory / "settings.json"
    return [StatusLineEntry(path, ["statusLine"], command("copilot_cli.status"))]

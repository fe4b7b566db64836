"""qwen-code: its ``settings.json`` (https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/).

Tried with 0.24.4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    StatusLineEntry,
    command,
)

CLIENT: Final = "qwen-code"


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. Addresses of ``modelProviders`` come before ours.

    A project's settings are shared, so the command, which names this machine's Python, is no part of them.
    """
    directory = Path.cwd() if project else Path.home()
    path = directory / ".qwen" / "settings.json"
    keys = ["env", "OPENAI_BASE_URL"]
    address = AddressEntry(path, keys, proxy, ["openai"], above="modelProviders")
    if project:
        return [address]
    line = StatusLineEntry(path, ["ui", "statusLine"], command("qwen_code.status"))
    return [line, address]

"""Copilot CLI's status line (``copilot help config``), and the variables of a provider of one's own.

``copilot help environment``. Tried with 1.0.102.
"""

from __future__ import annotations

import os
from typing import Final

from ullage.cli.installing.entries import (
    ClientEntry,
    StatusLineEntry,
    command,
    own_directory,
)
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress, WrapRefused

ADDRESS: Final = "COPILOT_PROVIDER_BASE_URL"
KIND: Final = "COPILOT_PROVIDER_TYPE"
TRANSPORT: Final = "COPILOT_PROVIDER_TRANSPORT"
USUAL_KIND: Final = "openai"


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. It takes another address from the environment alone."""
    if project:
        return []
    path = own_directory(os.environ, "COPILOT_HOME", ".copilot") / "settings.json"
    return [StatusLineEntry(path, ["statusLine"], command("copilot_cli.status"))]


def used_address(start: Start) -> UsedAddress:
    """Raises ``WrapRefused`` where it uses GitHub's models, for which it takes no other address."""
    url = start.environment.get(ADDRESS, "")
    kind = start.environment.get(KIND) or USUAL_KIND
    if not url:
        raise WrapRefused(
            "Copilot CLI takes another address only for a provider of your own, and its calls to GitHub can't be "
            f"metered. Start `copilot` by itself, or set {ADDRESS}, {KIND} and COPILOT_PROVIDER_API_KEY."
        )
    return UsedAddress(url, ADDRESS, kind)


def setup(start: Start) -> ClientSetup:
    """One variable; and HTTP where a WebSocket is set, which can't be metered."""
    values = {ADDRESS: start.through(used_address(start))}
    if start.environment.get(TRANSPORT) != "websockets":
        return ClientSetup(values)
    values[TRANSPORT] = "http"
    return ClientSetup(values, said=[f"{TRANSPORT}=http"])

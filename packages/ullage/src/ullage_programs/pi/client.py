"""Extensions of pi: a line in its footer, and for one run other addresses of its providers.

https://pi.dev/docs. Tried with 0.87.1.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    PluginEntry,
    own_directory,
)
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress

INSTALLED: Final = "anthropic"
"""The provider whose address ``ullage install`` changes."""

FOOTER: Final = Path(__file__).parent / "footer.js"
EXTENSION: Final = Path(__file__).parent / "addresses.js"
ADDRESSES: Final = "ULLAGE_PI_ADDRESSES"
"""What the extension reads: the addresses, by provider."""

USUAL: Final[Mapping[str, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta",
}
"""The addresses of pi's own providers, as its package has them (0.87.1)."""


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. pi has no hooks besides extensions; ours is a line in its footer.

    It reads addresses from the user's configuration alone.
    """
    home = agent_directory(os.environ)
    directory = Path.cwd() / ".pi" if project else home
    path = directory / "extensions" / "ullage.js"
    about = "extension: a line in the footer, how full the window is"
    plugin = PluginEntry("statusline", about, path, FOOTER)
    if project:
        return [plugin]
    keys = ["providers", INSTALLED, "baseUrl"]
    return [plugin, AddressEntry(home / "models.json", keys, proxy, [INSTALLED])]


def agent_directory(environment: Mapping[str, str]) -> Path:
    """Where the user's configuration is."""
    return own_directory(environment, "PI_CODING_AGENT_DIR", ".pi/agent")


def used_address(start: Start) -> UsedAddress:
    """That of the provider whose address ``ullage install`` changes."""
    return used_addresses(start)[INSTALLED]


def setup(start: Start) -> ClientSetup:
    """The extension, and what it reads."""
    addresses = {}
    for name, used in used_addresses(start).items():
        addresses[name] = start.through(used)
    said = ["an extension of Ullage for this run"]
    return ClientSetup({ADDRESSES: json.dumps(addresses)}, ["-e", str(EXTENSION)], said)


def used_addresses(start: Start) -> dict[str, UsedAddress]:
    """pi's own providers, and those that have an address in ``models.json``."""
    found = {}
    for name, url in USUAL.items():
        found[name] = UsedAddress(url, name, name)
    path = agent_directory(start.environment) / "models.json"
    providers = start.setting(path, ["providers"])
    if isinstance(providers, Mapping):
        for name, entry in providers.items():
            address = entry.get("baseUrl") if isinstance(entry, Mapping) else None
            if isinstance(address, str) and address:
                where = f"providers.{name} in {path}"
                found[name] = UsedAddress(address, where, name)
    return found

"""pi: an extension for one run, which gives its providers other addresses (https://pi.dev/docs). Tried with 0.87.1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli import installing
from ullage.cli.installing.pi import INSTALLED, agent_directory
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress

EXTENSION: Final = Path(installing.__file__).parent / "plugins" / "pi_addresses.js"
ADDRESSES: Final = "ULLAGE_PI_ADDRESSES"
"""What the extension reads: the addresses, by provider."""

USUAL: Final[Mapping[str, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta",
}
"""The addresses of pi's own providers, as its package has them (0.87.1)."""


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

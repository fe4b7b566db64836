"""A plugin for OpenCode, the address in its settings, and settings in a variable for one run.

https://opencode.ai/docs/plugins, https://opencode.ai/docs/config. Tried with 1.18.33.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    PluginEntry,
    own_directory,
)
from ullage.cli.installing.files import CannotEdit, owner_of, parsed
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress, WrapRefused
from ullage.models.providers import ProviderRow, known_providers, provider_named

CONTENT: Final = "OPENCODE_CONFIG_CONTENT"
"""Settings that come before those of every file of the user's."""

KEYS: Final[Mapping[str, str]] = {"google": "GOOGLE_GENERATIVE_AI_API_KEY"}
"""Variables of keys that only OpenCode has."""

INSTALLED: Final = "anthropic"
"""The provider whose address ``ullage install`` changes."""

PLUGIN: Final = Path(__file__).parent / "plugin.js"

FILES: Final = ("opencode.json", "opencode.jsonc", "config.json")


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. OpenCode has no status line for plugins; ours is a message at two shares."""
    directory = config_directory(os.environ)
    configuration = directory / "opencode.json"
    if project:
        directory = Path.cwd() / ".opencode"
        configuration = Path.cwd() / "opencode.json"
    about = "plugin: a message once 70 % and 90 % of the window are used"
    path = directory / "plugins" / "ullage.js"
    plugin = PluginEntry("hooks", about, path, PLUGIN)
    keys = ["provider", INSTALLED, "options", "baseURL"]
    return [plugin, AddressEntry(configuration, keys, proxy, [INSTALLED])]


def config_directory(environment: Mapping[str, str]) -> Path:
    """Where the user's configuration is."""
    return own_directory(environment, "XDG_CONFIG_HOME", ".config") / "opencode"


def used_address(start: Start) -> UsedAddress:
    """That of the provider whose address ``ullage install`` changes."""
    row = provider_named(INSTALLED)
    usual = UsedAddress(row.base_url, row.name, row.name)
    return used_addresses(start).get(row.name, usual)


def setup(start: Start) -> ClientSetup:
    """Another address for each provider that it can use. One without a key would be offered as if it had one."""
    found = used_addresses(start)
    if not found:
        raise WrapRefused(
            "OpenCode has no provider whose calls can be metered: none has a key in the environment or in "
            "`opencode auth list`, or an address in opencode.json. Sign in with `opencode auth login`."
        )
    try:
        content = parsed(Path(FILES[0]), start.environment.get(CONTENT, ""))
        for name, used in found.items():
            options = owner_of(content, ["provider", name, "options"])
            options["baseURL"] = start.through(used)
    except CannotEdit as problem:
        raise WrapRefused(
            f"{CONTENT} can't be read ({problem}), so no address can be added to it. Correct it."
        ) from None
    return ClientSetup({CONTENT: json.dumps(content)})


def used_addresses(start: Start) -> dict[str, UsedAddress]:
    """The address of each provider with a key, and of each that has one in the settings."""
    found = {}
    signed_in = _signed_in(start)
    for row in known_providers():
        if row.base_url and (row.name in signed_in or _has_key(start, row)):
            found[row.name] = UsedAddress(row.base_url, row.name, row.name)
    for path, place in _files(start):
        providers = start.setting(path, ["provider"])
        if isinstance(providers, Mapping):
            found.update(_configured(path, place, providers))
    return found


def _configured(
    path: Path, place: Path | None, providers: Mapping[str, Any]
) -> Iterator[tuple[str, UsedAddress]]:
    for name, entry in providers.items():
        options = entry.get("options") if isinstance(entry, Mapping) else None
        url = options.get("baseURL") if isinstance(options, Mapping) else None
        if isinstance(url, str) and url and "{" not in url:
            yield name, UsedAddress(url, f"provider.{name} in {path}", name, place)


def _files(start: Start) -> Iterator[tuple[Path, Path | None]]:
    """The files with settings, the weakest first, and the directory of those that someone else may have written.

    OpenCode reads them without asking (1.18.33).
    """
    directory = config_directory(start.environment)
    for name in FILES:
        yield directory / name, None
    own = start.environment.get("OPENCODE_CONFIG", "")
    if own:
        yield Path(own), None
    for place in reversed(start.places):
        for name in FILES[:2]:
            yield place / name, start.unless_own(place)
    for place in start.places[:1]:
        yield place / ".opencode" / FILES[0], start.unless_own(place)


def _has_key(start: Start, row: ProviderRow) -> bool:
    variables = [*row.key_env, KEYS.get(row.name, "")]
    return any(start.environment.get(name) for name in variables)


def _signed_in(start: Start) -> frozenset[str]:
    """The providers of ``opencode auth list``, by name."""
    shared = start.environment.get("XDG_DATA_HOME", "")
    data = Path(shared) if shared else start.home / ".local" / "share"
    found = start.setting(data / "opencode" / "auth.json", [])
    return frozenset(found) if isinstance(found, Mapping) else frozenset()

"""qwen-code's status line, and its address: a variable, or those of its ``modelProviders``.

https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/. Tried with 0.24.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    StatusLineEntry,
    command,
)
from ullage.cli.installing.files import CannotEdit, parsed, text_of
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress, WrapRefused

ADDRESS: Final = "OPENAI_BASE_URL"
PROVIDER: Final = "openai"
USUAL: Final = "https://api.openai.com/v1"

SYSTEM_SETTINGS: Final = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
"""Names the file that comes before the user's settings."""

USUAL_SYSTEM_SETTINGS: Final = Path("/etc/qwen-code/settings.json")


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. Addresses of ``modelProviders`` come before ours.

    A project's settings are shared, so the command, which names this machine's Python, is no part of them.
    """
    directory = Path.cwd() if project else Path.home()
    path = directory / ".qwen" / "settings.json"
    keys = ["env", ADDRESS]
    address = AddressEntry(path, keys, proxy, [PROVIDER], above="modelProviders")
    if project:
        return [address]
    line = StatusLineEntry(path, ["ui", "statusLine"], command("qwen_code.status"))
    return [line, address]


def used_address(start: Start) -> UsedAddress:
    """The environment comes before the settings (seen with 0.24.4)."""
    url = start.environment.get(ADDRESS, "")
    used = UsedAddress(url, ADDRESS, PROVIDER)
    if not url:
        used = start.from_dotenv(used, ".qwen", lambda place: _trusts(start, place))
    for keys in (["env", ADDRESS], ["security", "auth", "baseUrl"]):
        for path, place in _settings(start):
            found = start.setting(path, keys)
            if not used.url and isinstance(found, str):
                where = f"{'.'.join(keys)} in {path}"
                used = UsedAddress(found, where, PROVIDER, place)
    return used if used.url else used._replace(url=USUAL)


def setup(start: Start) -> ClientSetup:
    """A variable; and settings with the same ``modelProviders`` at other addresses, which come before the variable."""
    values = {ADDRESS: start.through(used_address(start))}
    moved = _moved_providers(start)
    if not moved:
        return ClientSetup(values)
    settings = _system_settings(start)
    settings["modelProviders"] = moved
    said = [f"{SYSTEM_SETTINGS} with the addresses of your modelProviders"]
    return ClientSetup(values, said=said, files={SYSTEM_SETTINGS: json.dumps(settings)})


def _settings(start: Start) -> Iterator[tuple[Path, Path | None]]:
    """The files with settings, the strongest first, and the directory of those that someone else may have written."""
    for place in start.places[:1]:
        foreign = start.unless_own(place)
        trust = None if foreign is None else _trusts(start, place)
        if trust is not False:
            yield place / ".qwen" / "settings.json", None if trust else foreign
    yield start.home / ".qwen" / "settings.json", None


def _trusts(start: Start, place: Path) -> bool | None:
    """Its own question is off unless ``security.folderTrust.enabled`` is set; an answer counts in any case."""
    own = start.environment.get("QWEN_CODE_TRUSTED_FOLDERS_PATH", "")
    path = Path(own) if own else start.home / ".qwen" / "trustedFolders.json"
    return start.trusts(path, place)


def _moved_providers(start: Start) -> dict[str, Any]:
    """Those of the first file that has any; empty where none has an address."""
    for path, place in _settings(start):
        providers = start.setting(path, ["modelProviders"])
        if isinstance(providers, Mapping) and providers:
            used = UsedAddress("", f"modelProviders in {path}", "", place)
            moved = _moved(start, used, providers)
            return moved if moved != providers else {}
    return {}


def _moved(
    start: Start, used: UsedAddress, providers: Mapping[str, Any]
) -> dict[str, Any]:
    """The models, each at its address through the proxy. One without an address stays as it is."""
    moved: dict[str, Any] = {}
    for wire, models in providers.items():
        moved[wire] = models
        if not isinstance(models, list):
            continue
        of_wire = used._replace(provider=wire)
        moved[wire] = [_moved_model(start, of_wire, model) for model in models]
    return moved


def _moved_model(start: Start, used: UsedAddress, model: Any) -> Any:
    url = model.get("baseUrl") if isinstance(model, dict) else None
    if not isinstance(url, str) or not url:
        return model
    return {**model, "baseUrl": start.through(used._replace(url=url))}


def _system_settings(start: Start) -> dict[str, Any]:
    """The settings that ours take the place of."""
    own = start.environment.get(SYSTEM_SETTINGS, "")
    path = Path(own) if own else USUAL_SYSTEM_SETTINGS
    try:
        settings: dict[str, Any] = parsed(path, text_of(path))
    except CannotEdit as problem:
        raise WrapRefused(
            f"{path}: {problem}. Its settings can't be read, so nothing was started. Repair the file."
        ) from None
    return settings

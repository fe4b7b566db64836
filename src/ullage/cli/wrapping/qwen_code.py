"""qwen-code: a variable, or the addresses of its ``modelProviders``.

https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/. Tried with 0.24.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ullage.cli.installing import jsonc
from ullage.cli.installing.plan import text_of
from ullage.cli.installing.splice import CannotEdit
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress, WrapRefused

ADDRESS: Final = "OPENAI_BASE_URL"
PROVIDER: Final = "openai"
USUAL: Final = "https://api.openai.com/v1"

SYSTEM_SETTINGS: Final = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
"""Names the file that comes before the user's settings."""

USUAL_SYSTEM_SETTINGS: Final = Path("/etc/qwen-code/settings.json")


def used_address(start: Start) -> UsedAddress:
    """The environment comes before the settings (seen with 0.24.4)."""
    path = _settings(start)
    url = start.environment.get(ADDRESS) or start.from_dotenv(ADDRESS, ".qwen")
    where = ADDRESS
    for keys in (["env", ADDRESS], ["security", "auth", "baseUrl"]):
        found = start.setting(path, keys)
        if not url and isinstance(found, str):
            url = found
            where = f"{'.'.join(keys)} in {path}"
    return UsedAddress(url or USUAL, where, PROVIDER)


def setup(start: Start) -> ClientSetup:
    """A variable; and settings with the same ``modelProviders`` at other addresses, which come before the variable."""
    values = {ADDRESS: start.through(used_address(start))}
    providers = start.setting(_settings(start), ["modelProviders"])
    if not isinstance(providers, Mapping) or not providers:
        return ClientSetup(values)
    moved = _moved(start, providers)
    settings = _system_settings(start)
    settings["modelProviders"] = moved
    said = [f"{SYSTEM_SETTINGS} with the addresses of your modelProviders"]
    return ClientSetup(values, said=said, files={SYSTEM_SETTINGS: json.dumps(settings)})


def _settings(start: Start) -> Path:
    return start.home / ".qwen" / "settings.json"


def _moved(start: Start, providers: Mapping[str, Any]) -> dict[str, Any]:
    """The models, each at its address through the proxy. One without an address stays as it is."""
    moved: dict[str, Any] = {}
    for wire, models in providers.items():
        moved[wire] = models
        if not isinstance(models, list):
            continue
        moved[wire] = [_moved_model(start, wire, model) for model in models]
    return moved


def _moved_model(start: Start, wire: str, model: Any) -> Any:
    url = model.get("baseUrl") if isinstance(model, dict) else None
    if not isinstance(url, str) or not url:
        return model
    used = UsedAddress(url, f"modelProviders in {_settings(start)}", wire)
    return {**model, "baseUrl": start.through(used)}


def _system_settings(start: Start) -> dict[str, Any]:
    """The settings that ours take the place of."""
    own = start.environment.get(SYSTEM_SETTINGS, "")
    path = Path(own) if own else USUAL_SYSTEM_SETTINGS
    try:
        found = jsonc.value_at(text_of(path), [])
    except CannotEdit as problem:
        raise WrapRefused(
            f"{path}: {problem}. Its settings can't be read, so nothing was started. Repair the file."
        ) from None
    return found if isinstance(found, dict) else {}

"""Codex: its ``config.toml`` (https://developers.openai.com/codex/config-reference). Tried with 0.169.0."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import AddressEntry, ClientEntry
from ullage.cli.installing.files import CannotEdit, configured

CLIENT: Final = "codex"


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed: the address of the provider that is in use.

    Codex takes no address and no provider from a project's configuration
    (https://developers.openai.com/codex/config-advanced).
    """
    if project:
        return []
    path = config_path(os.environ)
    keys = address_keys(path)
    usual = ["openai", "openai-codex"] if len(keys) == 1 else []
    return [AddressEntry(path, keys, proxy, usual)]


def config_path(environment: Mapping[str, str]) -> Path:
    """The user's configuration."""
    own = environment.get("CODEX_HOME", "")
    directory = Path(own) if own else Path.home() / ".codex"
    return directory / "config.toml"


def address_keys(path: Path) -> list[str]:
    """The key of the address: Codex's own provider has one, and any other is a table."""
    provider = configured(path, ["model_provider"])
    if provider in (None, "openai"):
        return ["openai_base_url"]
    keys = ["model_providers", str(provider)]
    if not isinstance(configured(path, keys), dict):
        where = ".".join(keys)
        raise CannotEdit(f"{path}: it has no table [{where}]")
    return [*keys, "base_url"]

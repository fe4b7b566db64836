"""The address of Codex's provider in its ``config.toml``, and with ``-c`` for one run.

https://developers.openai.com/codex/config-reference. Tried with 0.169.0.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    HookEntry,
    command,
    own_directory,
)
from ullage.cli.installing.files import CannotEdit, configured
from ullage.cli.upstreams import CHATGPT, CHATGPT_ADDRESS
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress, WrapRefused

PROVIDER: Final = "openai"
USUAL: Final = "https://api.openai.com/v1"

ANSWERS_IN_S: Final = 10

COMPRESSION: Final = "features.enable_request_compression=false"
"""Signed in with ChatGPT, Codex compresses requests with zstd, which Python reads from 3.14 on (seen with 0.169.0)."""


TELLS_ROOM: Final = (
    "PostToolUse hook: starts a Python after every tool call (0.03 s); does nothing until tell_room is set in "
    "~/.config/ullage/line.json"
)


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed: the hook, and the address of the provider that is in use.

    Codex takes no address and no provider from a project's configuration
    (https://developers.openai.com/codex/config-advanced).
    """
    if project:
        return []
    path = config_path(os.environ)
    keys = address_keys(path)
    usual = [PROVIDER, CHATGPT] if len(keys) == 1 else []
    run = {"type": "command", "command": command("codex.hook_events"), "timeout": 5}
    hook = HookEntry(
        TELLS_ROOM, path.with_name("hooks.json"), ["hooks", "PostToolUse"], run
    )
    return [hook, AddressEntry(path, keys, proxy, usual)]


def config_path(environment: Mapping[str, str]) -> Path:
    """The user's configuration."""
    return own_directory(environment, "CODEX_HOME", ".codex") / "config.toml"


def address_keys(path: Path) -> list[str]:
    """The key of the address: Codex's own provider has one, and any other is a table."""
    provider = configured(path, ["model_provider"])
    if provider in (None, PROVIDER):
        return ["openai_base_url"]
    keys = ["model_providers", str(provider)]
    if not isinstance(configured(path, keys), dict):
        where = ".".join(keys)
        raise CannotEdit(f"{path}: it has no table [{where}]")
    return [*keys, "base_url"]


def used_address(start: Start) -> UsedAddress:
    """That of the provider in use. Codex reads no variable for it (0.169.0)."""
    path = config_path(start.environment)
    keys = _keys(start)
    url = start.setting(path, keys)
    where = f"{'.'.join(keys)} in {path}"
    if isinstance(url, str) and url:
        return UsedAddress(url, where, PROVIDER)
    if len(keys) == 1 and signed_in_with_chatgpt(start.environment):
        return UsedAddress(CHATGPT_ADDRESS, where, CHATGPT)
    return UsedAddress(USUAL, where, PROVIDER)


def setup(start: Start) -> ClientSetup:
    """Two settings for this run alone."""
    address = start.through(used_address(start))
    setting = f"{'.'.join(_keys(start))}={json.dumps(address)}"
    said = ["requests not compressed"]
    return ClientSetup({}, ["-c", setting, "-c", COMPRESSION], said)


def signed_in_with_chatgpt(environment: Mapping[str, str]) -> bool:
    """Whether calls go to ChatGPT and not to the API, as ``codex login status`` tells it."""
    try:
        ended = subprocess.run(
            ["codex", "login", "status"],  # noqa: S607 - the one that is started afterwards
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWERS_IN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"using ChatGPT" in ended.stdout + ended.stderr


def _keys(start: Start) -> list[str]:
    try:
        return address_keys(config_path(start.environment))
    except CannotEdit as problem:
        raise WrapRefused(
            f"{problem}, so the address of its provider is not known. Add it there, or remove model_provider."
        ) from None

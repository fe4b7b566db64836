"""What is put into Claude Code's settings, and how it is started so that its calls go through a proxy.

https://code.claude.com/docs/en/settings, https://code.claude.com/docs/en/env-vars. Tried with 2.1.330.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    HookEntry,
    StatusLineEntry,
    command,
    own_directory,
)
from ullage.cli.wrapping.folder_trust import accepted_dialog
from ullage.cli.wrapping.setup import (
    EXCEPTED,
    PROXIES,
    ClientSetup,
    Start,
    UsedAddress,
    WrapRefused,
    reached_directly,
)
from ullage_programs.line.places import settings_file

ADDRESS: Final = "ANTHROPIC_BASE_URL"
TOOL_SEARCH: Final = "ENABLE_TOOL_SEARCH"
"""Without it 2.1.197 declares all tools behind another address than the provider's own: 24 instead of 9, and 34,780
tokens instead of 25,275 (n=1). 2.1.330 has the same 12 tools with and without it."""

LEADING: Final = (ADDRESS, *PROXIES, *(name.lower() for name in PROXIES), *EXCEPTED)
"""Variables that lead its calls elsewhere. It takes any of these proxies for an address without TLS too (2.1.332)."""

PROVIDER: Final = "anthropic"
USUAL: Final = "https://api.anthropic.com"

CLOUDS: Final = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}
"""Variables after which it speaks to a cloud, with the cloud's own signatures and paths."""

OFF: Final = ("", "0", "false")

EACH_TOOL: Final = (
    "PostToolUse hook: starts a Python after every tool call (0.03 s); "
    "names a result that took 5 % of what was left"
)
EACH_TURN: Final = "Stop hook: the same when a turn ends"


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed.

    A project's status line may come with a clone: it does not become the user's own, which runs everywhere.
    """
    path = settings_path(project=project)
    line = StatusLineEntry(
        path,
        ["statusLine"],
        command("claude_code.status"),
        composed=None if project else Path(settings_file()),
        usual={"padding": 0},
    )
    run = command("claude_code.hook_events")
    handler = {"type": "command", "command": run, "timeout": 5}
    hooks = [
        HookEntry(EACH_TOOL, path, ["hooks", "PostToolUse"], handler, {"matcher": "*"}),
        HookEntry(EACH_TURN, path, ["hooks", "Stop"], handler),
    ]
    beside = {TOOL_SEARCH: "true"}
    return [line, *hooks, AddressEntry(path, ["env", ADDRESS], proxy, [PROVIDER], beside)]


def settings_path(*, project: bool) -> Path:
    """The user's settings, or the user's own settings for this project, which are not committed."""
    if project:
        return Path.cwd() / ".claude" / "settings.local.json"
    return own_directory(os.environ, "CLAUDE_CONFIG_DIR", ".claude") / "settings.json"


def used_address(start: Start) -> UsedAddress:
    """Its settings come before the environment (seen with 2.1.330)."""
    for path in _settings(start):
        url = start.setting(path, ["env", ADDRESS])
        if isinstance(url, str) and url:
            where = f"{ADDRESS} in {path}"
            return UsedAddress(url, where, PROVIDER, _unasked(start, path))
    url = start.environment.get(ADDRESS, "")
    return UsedAddress(url or USUAL, ADDRESS, PROVIDER)


def setup(start: Start) -> ClientSetup:
    """A variable; and where its settings have another value for it, ``--settings``, which comes before them."""
    _refuse_clouds(start)
    values = {ADDRESS: start.through(used_address(start))}
    said = []
    if _set(start, TOOL_SEARCH) is None:
        values[TOOL_SEARCH] = "true"
        said.append(
            f"{TOOL_SEARCH}=true is set, so that older versions do not send every tool"
        )
    leading = [
        f"{name} in {path}"
        for path in _settings(start)
        for name in LEADING
        if start.setting(path, ["env", name]) is not None
    ]
    if not leading:
        return ClientSetup(values, said=said)
    for word in start.arguments:
        if word.partition("=")[0] == "--settings":
            raise WrapRefused(
                f"{leading[0]} comes before the environment's, and Claude Code takes only one --settings. "
                "Take it out of these settings, or start without --settings."
            )
    values |= reached_directly(lambda name: _set(start, name))
    return ClientSetup(values, ["--settings", json.dumps({"env": values})], said)


def _settings(start: Start) -> Iterator[Path]:
    """The files with settings, the strongest first."""
    for place in start.places[:1]:
        yield place / ".claude" / "settings.local.json"
        yield place / ".claude" / "settings.json"
    yield settings_path(project=False)


def _unasked(start: Start, path: Path) -> Path | None:
    """The directory of these settings, unless its user trusts it. With ``-p`` it trusts every directory (2.1.332)."""
    own = settings_path(project=False)
    if path == own or start.directory is None:
        return None
    own = own.parent if "CLAUDE_CONFIG_DIR" in start.environment else start.home
    if accepted_dialog(own / ".claude.json", start.directory):
        return None
    return start.unless_own(start.directory)


def _set(start: Start, name: str) -> object:
    for path in _settings(start):
        value = start.setting(path, ["env", name])
        if value is not None:
            return value
    return start.environment.get(name)


def _refuse_clouds(start: Start) -> None:
    for variable, cloud in CLOUDS.items():
        value = _set(start, variable)
        if value is not None and str(value).lower() not in OFF:
            raise WrapRefused(
                f"Claude Code is set to use {cloud} ({variable}), whose requests can't be metered. "
                f"Start `claude` by itself, or unset {variable}."
            )

"""Claude Code: its ``settings.json`` (https://code.claude.com/docs/en/settings)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import ullage_programs
from ullage.cli.installing import jsonc
from ullage.cli.installing.plan import (
    PlannedChange,
    configured,
    json_item,
    own_status_line,
    setting,
)
from ullage.cli.installing.splice import Splice
from ullage_programs.line.places import settings_file

CLIENT = "claude-code"
HOOK_TIMEOUT_S = 5


def settings_path(*, project: bool) -> Path:
    """The user's settings, or the user's own settings for this project, which are not committed."""
    if project:
        return Path.cwd() / ".claude" / "settings.local.json"
    own = os.environ.get("CLAUDE_CONFIG_DIR", "")
    directory = Path(own) if own else Path.home() / ".claude"
    return directory / "settings.json"


def command(script: str) -> str:
    """How a program starts a script of ``ullage_programs``."""
    place = Path(ullage_programs.__file__).parent / script
    return f'"{sys.executable}" -I -S "{place}"'


def changes(
    *, statusline: bool, hooks: bool, proxy: str, project: bool
) -> list[PlannedChange]:
    """What an installation changes."""
    path = settings_path(project=project)
    planned = []
    if statusline and project:
        # A project's command may come with a clone: it does not become the user's own, which runs everywhere.
        keys = ["statusLine"]
        own_command = command("claude_code/statusline.py")
        planned.append(own_status_line(CLIENT, path, keys, own_command))
    elif statusline:
        earlier = _earlier_command(path)
        if earlier:
            planned.append(_composed(earlier))
        wanted = {
            "type": "command",
            "command": command("claude_code/statusline.py"),
            "padding": 0,
        }
        planned.append(setting(CLIENT, "statusline", path, ["statusLine"], wanted))
    if hooks:
        planned.append(_hook(path, "PostToolUse", {"matcher": "*"}))
        planned.append(_hook(path, "Stop", {}))
        planned.append(_hook(path, "PreCompact", {}))
    if proxy:
        for name, value in (
            ("ANTHROPIC_BASE_URL", proxy),
            ("ENABLE_TOOL_SEARCH", "true"),
        ):
            planned.append(setting(CLIENT, f"proxy ({name})", path, ["env", name], value))
    return planned


def _earlier_command(path: Path) -> str:
    """The user's own status line; empty when there is none, or it is ours."""
    found = configured(path, ["statusLine", "command"])
    if not isinstance(found, str) or "ullage_programs" in found:
        return ""
    return found


def _composed(earlier: str) -> PlannedChange:
    """The earlier status line goes on being shown, before ours."""

    def splice(text: str) -> Splice | None:
        if jsonc.value_at(text, ["compose"]):
            return None
        return jsonc.setting(text, ["compose"], earlier)

    place = Path(settings_file())
    kind = "statusline of before"
    return PlannedChange(CLIENT, kind, place, splice, ("compose",), earlier)


def _hook(path: Path, event: str, group: dict[str, Any]) -> PlannedChange:
    handler = {
        "type": "command",
        "command": command("claude_code/hooks.py"),
        "timeout": HOOK_TIMEOUT_S,
    }
    item = {**group, "hooks": [handler]}
    return json_item(CLIENT, f"{event} hook", path, ("hooks", event), item)

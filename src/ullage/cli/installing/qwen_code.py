"""qwen-code: its ``settings.json`` (https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/).

Tried with 0.24.4.
"""

from __future__ import annotations

from pathlib import Path

from ullage.cli.installing.claude_code import command
from ullage.cli.installing.plan import (
    PlannedChange,
    configured,
    own_status_line,
    setting,
)
from ullage.cli.installing.splice import CannotEdit

CLIENT = "qwen-code"


def changes(
    *, statusline: bool, hooks: bool, proxy: str, project: bool
) -> list[PlannedChange]:
    """What an installation changes. Addresses of ``modelProviders`` come before ours.

    A project's settings are shared, so the command, which names this machine's Python, is no part of them.
    """
    directory = Path.cwd() if project else Path.home()
    path = directory / ".qwen" / "settings.json"
    planned = []
    if statusline and not project:
        keys = ["ui", "statusLine"]
        planned.append(
            own_status_line(CLIENT, path, keys, command("qwen_code/statusline.py"))
        )
    if proxy:
        if configured(path, ["modelProviders"]):
            raise CannotEdit(f"{path}: the addresses of its modelProviders come first")
        keys = ["env", "OPENAI_BASE_URL"]
        planned.append(setting(CLIENT, "proxy", path, keys, proxy))
    return planned

"""Long outputs of commands."""

from __future__ import annotations

from typing import Final

from ullage.advice.lives import ItemLife
from ullage.advice.savings import SavedShare, part_of
from ullage.advice.suggestion import (
    AdviceInput,
    Suggestion,
    largest_names,
    plural,
)

SHELLS: Final = frozenset(
    {
        "bash",
        "shell",
        "local_shell",
        "exec_command",
        "container.exec",
        "run_shell_command",
        "powershell",
    }
)
"""Tools that run commands, in lower case: of Claude Code, Codex, OpenCode, pi, Gemini CLI, qwen-code, Copilot and ours.
"""

LONG: Final = 4_000
"""Tokens from which on an output is long."""

ENOUGH: Final = 2_000
"""Tokens that are taken to be enough of one: a beginning and an end."""


def long_outputs(given: AdviceInput) -> list[Suggestion]:
    """Outputs of commands above ``LONG``, as if they were cut to ``ENOUGH``."""
    shares: list[SavedShare] = []
    items: list[ItemLife] = []
    for result in given.contents.results:
        item = given.item(result.item)
        if item.tool.lower() in SHELLS and item.tokens >= LONG:
            share = 1 - ENOUGH / item.tokens
            shares.append(part_of(result.item, share))
            items.append(item)
    if not shares:
        return []
    count = len(shares)
    return [
        Suggestion(
            kind="long_output",
            title=f"{plural(count, 'command')} with an output above {LONG:,} tokens",
            text=f"saved if cut to {ENOUGH:,}: {largest_names(items)}",
            how=given.remedy("outputs"),
            items=tuple(shares),
            saving=given.costs.saving(shares),
            number=count,
        )
    ]

"""Cline's logs: below its own directory, and below that of VS Code. When it compacts is not known.

https://github.com/cline/cline, ``cline-conversation-recovery-guide.md``. Tried with 3.0.65.
"""

from __future__ import annotations

from collections.abc import Mapping

from ullage_programs.facts import (
    LogPlaces,
    ProgramFacts,
)

EDITORS = (
    ".config/Code",
    ".config/VSCodium",
    ".vscode-server/data",
    ".vscode-remote/data",
    "Library/Application Support/Code",
)


def directories(environment: Mapping[str, str], home: str) -> list[str]:
    """Its own, and that of each editor."""
    storage = "User/globalStorage/saoudrizwan.claude-dev"
    return [f"{home}/.cline/data", *(f"{home}/{each}/{storage}" for each in EDITORS)]


FACTS = ProgramFacts(
    "cline",
    "Cline",
    "cline",
    "cline",
    LogPlaces(
        directories,
        ("sessions/*/*.messages.json", "tasks/*/api_conversation_history.json"),
    ),
)

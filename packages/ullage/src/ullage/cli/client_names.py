"""The names of other programs on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CLIENTS: Final[Mapping[str, str]] = {
    "claude": "claude-code",
    "codex": "codex",
    "copilot": "copilot-cli",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "pi": "pi",
    "qwen": "qwen-code",
}
"""What each is called as a client, by its program. Every command takes both."""


def client_name(word: str) -> str:
    """The client that a word names, or the word."""
    return CLIENTS.get(word, word)

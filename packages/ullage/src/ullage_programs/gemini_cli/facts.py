"""Gemini CLI's window and compaction threshold.

``tokenLimit`` and ``compressionThreshold``: https://github.com/google-gemini/gemini-cli,
``packages/core/src/core/tokenLimits.ts``, ``packages/core/src/services/chatCompressionService.ts`` and
``docs/reference/configuration.md`` (the same in the package of 0.61.0). Google's servers may set another share.
"""

from __future__ import annotations

from collections.abc import Mapping

from ullage_programs.facts import (
    Circumstances,
    ClientLimit,
    K,
    LogPlaces,
    ProgramFacts,
    SettingsPlaces,
)

WINDOW = 1_048_576
GEMMA_WINDOW = 256 * K

SHARE = 0.5
"""Of the window; the size of the last request is compared with it."""

KEYS = ("model.compressionThreshold", "chatCompression.contextPercentageThreshold")
"""The share as it is set in newer and in older versions."""


def window(known: Circumstances) -> ClientLimit | None:
    """One window for all models but Gemma."""
    if not known.model:
        return None
    size = GEMMA_WINDOW if known.model.startswith("gemma-4") else WINDOW
    return ClientLimit(size, "documented", "Gemini CLI's own limit")


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """The share of the window that is set, else half of it."""
    for name in KEYS:
        share = known.number(name)
        if share is not None and share.value <= 1:
            return ClientLimit(int(size * share.value), "settings", share.place)
    return ClientLimit(int(size * SHARE), "documented", "half of its window")


def directories(environment: Mapping[str, str], home: str) -> list[str]:
    """https://github.com/google-gemini/gemini-cli, ``packages/core/src/utils/paths.ts``."""
    return [f"{environment.get('GEMINI_CLI_HOME') or home}/.gemini"]


FACTS = ProgramFacts(
    "gemini-cli",
    "Gemini CLI",
    "gemini",
    "@google/gemini-cli",
    LogPlaces(directories, ("tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl")),
    window,
    threshold,
    SettingsPlaces(
        logs="tmp",
        levels=2,
        own=("settings.json",),
        project=(".gemini/settings.json",),
        keys=KEYS,
    ),
)

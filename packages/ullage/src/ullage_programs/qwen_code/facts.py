"""qwen-code's window and compaction threshold.

Its log names the window (``contextWindowSize``). https://github.com/QwenLM/qwen-code,
``packages/core/src/services/chatCompressionService.ts``, and
https://qwenlm.github.io/qwen-code-docs/en/design/auto-compaction-threshold-redesign/. The package of 0.24.4 has the
same; earlier versions had another rule.
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

SHARE = 0.85
RESERVE = 33 * K
"""20,000 for the summary and 13,000 as a buffer: the threshold is never closer to the end of the window."""

KNOWN_SINCE = (0, 24)


def window(known: Circumstances) -> ClientLimit | None:
    """The window that is set."""
    chosen = known.number("model.generationConfig.contextWindowSize")
    if chosen is None:
        return None
    return ClientLimit(int(chosen.value), "settings", chosen.place)


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """A share of the window, and in smaller windows what leaves room for a summary."""
    if known.version < KNOWN_SINCE:
        return None
    chosen = known.number("context.autoCompactThreshold")
    if chosen is not None and chosen.value > 1:
        chosen = None
    point = int(size * (SHARE if chosen is None else chosen.value))
    if 0 < size - RESERVE < point:
        return ClientLimit(size - RESERVE, "documented", f"{RESERVE:,} below the window")
    if chosen is not None:
        return ClientLimit(point, "settings", chosen.place)
    return ClientLimit(
        point, "documented", f"{SHARE:.0%} of its window".replace("%", " %")
    )


def directories(environment: Mapping[str, str], home: str) -> list[str]:
    """As in the npm package ``@qwen-code/qwen-code`` 0.24.4."""
    named = environment.get("QWEN_RUNTIME_DIR") or environment.get("QWEN_HOME")
    return [named or f"{home}/.qwen"]


FACTS = ProgramFacts(
    "qwen-code",
    "qwen-code",
    "qwen",
    "@qwen-code/qwen-code",
    LogPlaces(directories, ("projects/*/chats/*.jsonl",)),
    window,
    threshold,
    SettingsPlaces(
        logs="projects",
        levels=2,
        own=("settings.json",),
        project=(".qwen/settings.json",),
        keys=(
            "context.autoCompactThreshold",
            "model.generationConfig.contextWindowSize",
        ),
    ),
)

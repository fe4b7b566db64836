"""Gemini CLI's window and compaction threshold.

``tokenLimit`` and ``compressionThreshold``: https://github.com/google-gemini/gemini-cli,
``packages/core/src/core/tokenLimits.ts``, ``packages/core/src/services/chatCompressionService.ts`` and
``docs/reference/configuration.md`` (the same in the package of 0.61.0). Google's servers may set another share.
"""

from __future__ import annotations

from ullage.clients.facts import Circumstances, ClientFacts, ClientLimit, K, number_of

WINDOW = 1_048_576
GEMMA_WINDOW = 256 * K

SHARE = 0.5
"""Of the window; the size of the last request is compared with it."""


def window(known: Circumstances) -> ClientLimit | None:
    """One window for all models but Gemma."""
    if not known.model:
        return None
    size = GEMMA_WINDOW if known.model.startswith("gemma-4") else WINDOW
    return ClientLimit(size, "documented", "Gemini CLI's own limit")


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """The share of the window that is set, else half of it."""
    for name in (
        "model.compressionThreshold",
        "chatCompression.contextPercentageThreshold",
    ):
        chosen = known.settings.get(name)
        share = number_of(chosen)
        if chosen is not None and share is not None and share <= 1:
            return ClientLimit(int(size * share), "settings", chosen.place)
    return ClientLimit(int(size * SHARE), "documented", "half of its window")


FACTS = ClientFacts("Gemini CLI", window, threshold)

"""Estimates by length, as other programs make them: for comparison, and for a caller that prefers their numbers."""

from __future__ import annotations


class QuarterCounter:
    """A token for every four characters, rounded per text, as OpenCode, Dexto and many others estimate."""

    name = "quarter"

    def count(self, text: str, vocabulary: str) -> float:
        """``round(len / 4)``, whatever the vocabulary."""
        return float(round(len(text) / 4))


ASCII_TOKENS = 0.25
OTHER_TOKENS = 1.3
"""gemini-cli's two constants
(https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/tokenCalculation.ts)."""


class GeminiCliCounter:
    """0.25 tokens for an ASCII character and 1.3 for any other, as gemini-cli estimates."""

    name = "gemini-cli"

    def count(self, text: str, vocabulary: str) -> float:
        """The sum over all characters, whatever the vocabulary."""
        if text.isascii():
            return len(text) * ASCII_TOKENS
        plain = sum(map(str.isascii, text))
        return plain * ASCII_TOKENS + (len(text) - plain) * OTHER_TOKENS

"""What other programs keep when they compact a conversation; everything else in it becomes a summary.

What every request carries (system prompt, tools) stays in all of them.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ullage_programs.limits import name_and_version


class CompactionRule(NamedTuple):
    """The newest messages that stay, in tokens or as a share of the messages; ``note`` says what else comes back."""

    tokens: int = 0
    share: float = 0.0
    of: Literal["all", "people"] = "all"
    """Whether messages of all kinds stay, or only those of a person."""
    note: str = ""


RULES: Final[dict[str, CompactionRule]] = {
    # https://code.claude.com/docs/en/context-window, "What survives compaction"
    "claude-code": CompactionRule(
        note="then up to five files that it used last come back, CLAUDE.md and skills too",
    ),
    # COMPACT_USER_MESSAGE_MAX_TOKENS in codex-rs/core/src/compact.rs of https://github.com/openai/codex
    "codex": CompactionRule(
        tokens=20_000,
        of="people",
        note="your newest messages stay, up to 20,000 tokens",
    ),
    # COMPRESSION_PRESERVE_THRESHOLD in packages/core/src/services/chatCompressionService.ts of
    # https://github.com/google-gemini/gemini-cli
    "gemini-cli": CompactionRule(
        share=0.3,
        note="the newest 30 % of the conversation stay",
    ),
    # keepRecentTokens in docs/compaction.md of @earendil-works/pi-coding-agent 0.87.1
    "pi": CompactionRule(
        tokens=20_000,
        note="the newest 20,000 tokens stay",
    ),
}
"""By the names in ``SessionStarted.program``. What is not known of a program is not listed."""


def compaction_rule_of(program: str) -> CompactionRule | None:
    """What this program keeps; ``None`` where it is not known."""
    return RULES.get(name_and_version(program)[0])

"""What a user may say about compaction, and what holds where nobody said anything."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.errors import SettingError
from ullage.events import Pruned

KEEP = 0.08
"""Share of the messages' tokens that a summary leaves as they are, the newest. Seed 003 keeps 0.3 of the messages; why
less is better: docs/why/compaction.md, measured in docs/compaction-beside.md."""

KEEP_UNREAD = 0.3
"""The same where no model has read what leaves: a digest or nothing stands for it, so more of it stays."""

PROTECT_TOKENS = 40_000
"""Newest tokens of tool results that are never cleared (OpenCode's figure, taken over by seed 003)."""

PROTECT_SHARE = 0.25
"""The same as a share of the input limit: the smaller one counts, so that a small window has something to clear."""

GOAL = 0.45
"""Share of the window that a compaction aims to leave filled, at most."""

MOST_PIECES = 6
"""Model calls that a summary in pieces may take. A longer history is shown in excerpts instead of in more calls."""

NOTICE = str(Pruned(parts=()).notice)
"""What stands in the place of a cleared result: the words of seed 000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """How a session is to be compacted. Raises ``SettingError`` for values that can't be.

    ``instructions`` are added to what a summary is always asked for; ``prompt`` replaces that altogether.
    ``own_model``: summaries are written by another model than the session's, so that its cache is of no use.
    ``summary_window``: that model's window, where it has another one.
    """

    keep: float = KEEP
    protect_tokens: int = PROTECT_TOKENS
    goal: float = GOAL
    most_pieces: int = MOST_PIECES
    instructions: str = ""
    prompt: str = ""
    own_model: bool = False
    summary_window: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.keep < 1:
            raise SettingError(f"keep={self.keep} is no share: give a number between 0 and 1.")
        if not 0 < self.goal < 1:
            raise SettingError(f"goal={self.goal} is no share: give a number between 0 and 1.")
        if self.protect_tokens < 0:
            raise SettingError(f"protect_tokens={self.protect_tokens} is below zero.")
        if self.most_pieces < 1:
            raise SettingError(f"most_pieces={self.most_pieces} leaves no call to summarise with.")

    @property
    def keep_unread(self) -> float:
        """``keep`` where no model reads what leaves (``KEEP_UNREAD``)."""
        return max(self.keep, KEEP_UNREAD)

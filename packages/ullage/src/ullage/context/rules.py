"""The settings of compaction and their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.context.policy import (
    GOAL,
    KEEP,
    KEEP_UNREAD,
    MOST_PIECES,
    PROTECT_TOKENS,
    REATTACH_TOKENS,
)
from ullage.context.shorten import READER
from ullage.errors import SettingError
from ullage.events import Pruned

ASKING = frozenset({"summary", "pieces", "server"})
"""The built-in strategies that ask a model for a summary."""

CLEARING = frozenset({"clear", "trim"})
"""The built-in strategies that only shorten contents: every message stays."""

NOTICE = str(Pruned(parts=()).notice)
"""Replaces a cleared result: Dexto's words (docs/from-the-seeds.md)."""

READABLE_NOTICE = f"[Old result cleared: {READER} {{part}}]"
"""The same for a model that has the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """How a session is compacted. Raises ``SettingError`` for impossible values.

    ``instructions`` are added to the request for a summary; ``prompt`` replaces it. ``own_model``: another model writes
    the summaries, without the session's cache. ``summary_window`` and ``summary_output``: the window of that model and
    its longest answer, if known. ``chosen`` are the names of the strategies that are tried; empty means the default
    ones.
    """

    keep: float = KEEP
    protect_tokens: int = PROTECT_TOKENS
    reattach_tokens: int = REATTACH_TOKENS
    goal: float = GOAL
    most_pieces: int = MOST_PIECES
    instructions: str = ""
    prompt: str = ""
    own_model: bool = False
    summary_window: int | None = None
    summary_output: int | None = None
    chosen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.keep < 1:
            raise SettingError(
                f"keep={self.keep} is not between 0 and 1: give a share such as 0.3."
            )
        if not 0 < self.goal < 1:
            raise SettingError(
                f"goal={self.goal} is not between 0 and 1: give a share such as 0.45."
            )
        if self.protect_tokens < 0:
            raise SettingError(
                f"protect_tokens={self.protect_tokens} is negative: give 0 or more tokens."
            )
        if self.reattach_tokens < 0:
            raise SettingError(
                f"reattach_tokens={self.reattach_tokens} is negative: give 0 or more tokens."
            )
        if self.most_pieces < 1:
            raise SettingError(
                f"most_pieces={self.most_pieces} allows no call for a summary: give 1 or more."
            )

    @property
    def keep_unread(self) -> float:
        """``keep`` if no model reads the leaving messages (``KEEP_UNREAD``)."""
        return max(self.keep, KEEP_UNREAD)

    @property
    def asks_model(self) -> bool:
        """Whether a built-in strategy that asks for a summary is among the chosen ones."""
        return not self.chosen or not ASKING.isdisjoint(self.chosen)

    @property
    def only_clears(self) -> bool:
        """Whether nothing is chosen that takes messages out of the view."""
        return bool(self.chosen) and CLEARING.issuperset(self.chosen)

"""Why a call paid again for what the provider's cache should have held."""

from __future__ import annotations

from typing import Literal

import msgspec

Witness = Literal["provider", "bodies", "log"]

CauseKind = Literal[
    "model", "tools", "tool_added", "tool_removed", "tools_replaced", "tool_changed", "tools_reordered", "system",
    "setting", "cache_key", "beta", "messages", "message_edited", "message_inserted", "messages_removed", "compaction",
    "rewind", "marks", "lookback", "pause", "provider", "unknown",
]  # fmt: skip
"""What a cause is. ``tools`` and ``messages`` are a provider's words where no name is known."""


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why one call paid again for tokens that an earlier one had sent.

    ``name`` is the tool, block, setting or message. ``by`` is whose word it is: the provider's, that of the bodies
    sent, or that of the log.
    """

    kind: CauseKind
    name: str = ""
    words: str
    quote: str = ""
    """What stands at the difference; empty where no content is shown."""
    tokens: int = 0
    """Tokens paid again."""
    usd: float | None = None
    """What that cost more than reading them, at list prices; ``None`` where no price is known."""
    by: Witness = "log"

    @property
    def line(self) -> str:
        """Its price and its words, without any content."""
        money = "" if self.usd is None else f" (${self.usd:,.3f})"
        return f"{self.tokens:,} tokens paid again{money}: {self.words}"

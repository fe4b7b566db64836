"""The compaction of pydantic-ai's harness: what its README calls a sensible default, or a summary alone.

The third argument of a peer is ``tiered`` (the README's tiers and numbers: clear tool results but 3 pairs, then
summarise all but 20 messages) or ``summary`` (the last of these alone).
"""

from __future__ import annotations

import sys
from typing import Any

from pydantic_ai_harness.compaction import (  # type: ignore[import-not-found,unused-ignore]
    ClearToolResults,
    SummarizingCompaction,
    TieredCompaction,
)


def compaction(window: int, trigger: float) -> Any:
    """The capability that the third argument names."""
    if sys.argv[3] == "summary":
        return SummarizingCompaction(
            max_fraction=trigger, context_window=window, keep_messages=20
        )
    tiers = [
        ClearToolResults(max_tokens=1, keep_pairs=3),
        SummarizingCompaction(max_messages=1, keep_messages=20),
    ]
    return TieredCompaction(tiers=tiers, target_fraction=trigger, context_window=window)

"""The strategies of compaction by name, and the ones that the setting ``strategy`` chooses.

ordered(("prune",))                  # clear, trim
ordered((KeepNewest(), "hybrid"))    # an own strategy before the built-in ones
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ullage.context.clear import ClearToolResults
from ullage.context.digest import Digests
from ullage.context.drop import DropOldest
from ullage.context.policy import NAME_SHOWN
from ullage.context.server import CompactOnServer
from ullage.context.strategy import Strategy
from ullage.context.summary import Summarize, SummarizePieces
from ullage.context.trim import Trim
from ullage.similar import similar

STRATEGIES: Final[tuple[Strategy, ...]] = (
    ClearToolResults(),
    Trim(),
    Summarize(),
    SummarizePieces(),
    Digests(),
    DropOldest(),
)
"""The strategies of ``hybrid`` in their order, behind ``FOR_THINKING``."""

FOR_THINKING: Final = CompactOnServer(for_thinking=True)
"""Comes first in ``hybrid``: what the others change would make the thinking behind it invalid."""

BUILT_IN: Final[Mapping[str, Strategy]] = {
    each.name: each for each in (*STRATEGIES, CompactOnServer())
}
"""Every strategy that can be chosen by its own name."""

NAMED_LISTS: Final[Mapping[str, tuple[Strategy, ...]]] = {
    "hybrid": (FOR_THINKING, *STRATEGIES),
    "llm": (BUILT_IN["summary"], BUILT_IN["pieces"]),
    "prune": (BUILT_IN["clear"], BUILT_IN["trim"]),
    "noop": (),
}
"""Names for usual lists of strategies."""

NOOP: Final = (
    "The setting `strategy` is noop, so nothing is compacted. Choose another strategy, such as hybrid, use a model "
    "with a larger window, or begin a new session."
)
"""What a session is told that needs a compaction where none is allowed."""


def ordered(chosen: Sequence[str | Strategy]) -> tuple[Strategy, ...]:
    """The strategies in the order in which they are tried, each once; empty for ``noop``.

    Raises ``ValueError`` for an unknown name, with the nearest one; for ``noop`` beside others; for an empty list.
    """
    if not chosen:
        raise ValueError("give at least one strategy; noop compacts nothing")
    if "noop" in chosen and len(chosen) > 1:
        raise ValueError("noop compacts nothing, so it stands alone")
    found: dict[str, Strategy] = {}
    for one in chosen:
        for strategy in _meant_by(one):
            found.setdefault(strategy.name, strategy)
    return tuple(found.values())


def _meant_by(one: str | Strategy) -> tuple[Strategy, ...]:
    """The strategies that a name stands for, or the strategy itself."""
    if not isinstance(one, str):
        return (one,)
    known = {**NAMED_LISTS} | {name: (strategy,) for name, strategy in BUILT_IN.items()}
    if one in known:
        return known[one]
    one = one[:NAME_SHOWN]
    meant = similar(one, known, cutoff=0.5)
    hint = f" (did you mean {meant!r}?)" if meant else ""
    raise ValueError(f"there is no strategy {one!r}{hint}; there are {', '.join(known)}")

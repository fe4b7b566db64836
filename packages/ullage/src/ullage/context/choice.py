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

ALONE: Final[tuple[Strategy, ...]] = (CompactOnServer(),)
"""Strategies that run everywhere only where they are chosen by name."""

BUILT_IN: Final[Mapping[str, Strategy]] = {
    each.name: each for each in (*STRATEGIES, *ALONE)
}
"""Every strategy that can be chosen by its own name."""

NAMED_LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "hybrid": (FOR_THINKING.name, *(each.name for each in STRATEGIES)),
    "llm": ("summary", "pieces"),
    "prune": ("clear", "trim"),
    "noop": (),
}
"""Names for usual lists of strategies."""

NOOP: Final = (
    "The setting `strategy` is noop, so nothing is compacted. Choose another strategy, such as hybrid, use a model "
    "with a larger window, or begin a new session."
)
"""What a session is told that needs a compaction where none is allowed."""


MOST_NAMED: Final = 100
"""Characters of an unknown name that its error shows."""


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


def _meant_by(one: str | Strategy) -> list[Strategy]:
    """The strategies that a name stands for, or the strategy itself."""
    if not isinstance(one, str):
        return [one]
    if one == "hybrid":
        return [FOR_THINKING, *STRATEGIES]
    if one in NAMED_LISTS:
        return [BUILT_IN[name] for name in NAMED_LISTS[one]]
    if one in BUILT_IN:
        return [BUILT_IN[one]]
    known = (*NAMED_LISTS, *BUILT_IN)
    one = one[:MOST_NAMED]
    meant = similar(one, known, cutoff=0.5)
    hint = f" (did you mean {meant!r}?)" if meant else ""
    raise ValueError(f"there is no strategy {one!r}{hint}; there are {', '.join(known)}")

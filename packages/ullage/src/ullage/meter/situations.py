"""What a call follows on: each situation has errors of its own, and so widths of its own."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ullage.meter.anchor import ForecastBasis
from ullage.meter.policy import SITUATION_WIDTHS

CallSituation = Literal[
    "first call",
    "second call",
    "after a compaction",
    "the call after that",
    "stated size",
    "model switch",
    "changed by the caller",
    "hosted tools",
    "after an interruption",
    "user turn",
    "user turn, reasoning before",
    "edit",
    "tool step",
    "tool step, reasoning before",
]

EDITING: Final = frozenset(
    {"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "edit", "write"}
)
"""Tools whose results are short and say the same each time, by the names of the programs that are read."""

REASONED: Final = ", reasoning before"
REASONED_FROM: Final = 20
"""Reasoning tokens of the answer before from which on it matters whether they are counted."""


AFTER_COMPACTION: Final = ("after a compaction", "the call after that")
"""The situations of the calls after a compaction, by the inputs that were reported since."""


class Opening(NamedTuple):
    """How the history began that is in view, and how many inputs were reported since."""

    is_compaction: bool = False
    reports: int = 0
    is_interrupted: bool = False
    """Whether a call was broken off since the last of these."""
    puts_back: bool = False
    """``CompactionCommitted.puts_back``."""

    @property
    def is_filled(self) -> bool:
        """Whether the next call may hold what the program puts back."""
        return self.puts_back and self.reports < len(AFTER_COMPACTION)


SESSION: Final = Opening()


def situation_of(
    basis: ForecastBasis | None, opening: Opening, *, begins_turn: bool, reasoning: float
) -> CallSituation:
    """The situation of the next call. ``reasoning`` is what the answer before is known to have had."""
    if basis is None:
        return "first call"
    if opening.is_compaction and opening.reports == 0:
        return "after a compaction"
    if basis.anchor.spread:
        return "stated size" if basis.anchor.stated_by else "model switch"
    if basis.output_left or basis.removed or basis.changed or basis.anchor.edited:
        return "changed by the caller"
    answer = basis.output.cost.answer if basis.output is not None else None
    if answer is not None and answer.items:
        return "hosted tools"
    if opening.is_interrupted:
        return "after an interruption"
    if opening.reports == 1:
        return "the call after that" if opening.is_compaction else "second call"
    has_reasoning = reasoning >= REASONED_FROM
    if begins_turn:
        return "user turn, reasoning before" if has_reasoning else "user turn"
    if basis.since.tools and EDITING.issuperset(basis.since.tools):
        return "edit"
    return "tool step, reasoning before" if has_reasoning else "tool step"


class SituationWidths(NamedTuple):
    """How many times as wide an interval is as its causes say, and tokens that may come beside, unlogged."""

    below: float = 1.0
    above: float = 1.0
    more: float = 0.0


AS_EXPECTED: Final = SituationWidths()


def widths_of(program: str, situation: CallSituation) -> SituationWidths:
    """The widths of a program whose log does not hold all that it sends; elsewhere the causes say all."""
    name = f"{program}, {situation}"
    widths = SITUATION_WIDTHS.get(name) or SITUATION_WIDTHS.get(
        name.removesuffix(REASONED)
    )
    return AS_EXPECTED if widths is None else SituationWidths(*widths)

"""What the messages of one step came to, by the actuals before and behind it.

Two actuals in a row with nothing taken out in between say what the messages between them cost, whatever they were
estimated at. When some of them leave, what is left is then known by measure, and not only in proportion: results of
tools have other wrapping than words, and a compaction leaves another mixture than it found.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

MOST_STEPS: Final = 1_024
"""Steps that are kept, the newest: few windows hold more, and what is older is scaled as all together are."""

PLAUSIBLE: Final = (0.5, 2.0)
"""Actual tokens for each estimated one, as far as that is put down to the messages. Beyond, something else came or
went with them: reasoning that was dropped, or text that no event shows."""


@dataclass(slots=True)
class Measured:
    """Steps, oldest first: the orders (``Entry.order``) between which their messages are, and what they came to."""

    behind: list[int] = field(default_factory=list)
    through: list[int] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """Actual tokens for each estimated one."""

    def note(self, behind: int, through: int, *, estimated: float, actual: float) -> None:
        """The messages behind one order and through another were estimated at so much and came to so much.

        Steps come in order; what is not plausible is not kept.
        """
        if through <= behind or estimated <= 0 or not PLAUSIBLE[0] <= actual / estimated <= PLAUSIBLE[1]:
            return
        self.behind.append(behind)
        self.through.append(through)
        self.ratios.append(actual / estimated)
        for column in (self.behind, self.through, self.ratios):
            del column[:-MOST_STEPS]

    def ratio(self, order: int) -> float | None:
        """What was measured of the message with this order; ``None`` where nothing was."""
        place = bisect_left(self.through, order)
        is_known = place < len(self.through) and self.behind[place] < order
        return self.ratios[place] if is_known else None

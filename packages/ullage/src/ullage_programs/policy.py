"""What was measured of other programs' own numbers. Judged by the tests of their importers."""

from __future__ import annotations

from typing import NamedTuple


class Measured(NamedTuple):
    """Tokens: the median, and what held all that was seen."""

    tokens: int
    low: int
    high: int


CODEX_BESIDE = Measured(3_200, 2_200, 4_200)
"""What the next request holds beside the number that Codex writes after a compaction: tools, framing (13 of 14)."""

CODEX_SEARCH = Measured(6_450, 5_050, 7_850)
"""What a search on the provider's side adds to the input of the call that it is made in, and to all later ones: 5,114
to 7,316 (8 steps with 20 searches, gpt-5.5)."""

COPILOT_COUNT_DOUBT = 0.1
"""Share of its own count of the window that this may be off: 3 % too much for one model and 3 % too little for another
(1.0.20, 1.0.64; n=2)."""

MOST_MODELS = 64
"""Models of one total that are read."""

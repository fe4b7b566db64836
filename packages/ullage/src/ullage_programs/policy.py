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

CODEX_SEARCH = Measured(4_200, 200, 12_000)
"""What a search, or a page opened on the provider's side, adds to the input of the call that it is made in and to all
later ones: 48 steps with 1 to 9 of them (gpt-5.4, gpt-5.5)."""

CODEX_SEARCH_LATER = 1_400
"""Tokens that a search may bring to the next call as well: 84 of 89 held between this and one search less."""

CODEX_APPS = Measured(12_300, 9_000, 17_600)
"""The tools of a connected GitHub: 9,600 to 17,560 (0.118 to 0.136, 31 sessions of 3 projects). From 100 tools of apps
and servers on the model looks them up instead (``codex-rs/core/src/mcp_tool_exposure.rs``): so did all of 21 sessions
with Google Drive beside it or alone."""

CODEX_BYTES = 4
"""Bytes of a token by which Codex estimates a text, and the JSON of an item
(``codex-rs/core/src/context_manager/history.rs``)."""

COPILOT_COUNT_DOUBT = 0.1
"""Share of its own count of the window that this may be off: 3 % too much for one model and 3 % too little for another
(1.0.20, 1.0.64; n=2). It was 10 to 18 % too little for Claude 4.5 at the simulators (1.0.102, n=3)."""

MOST_MODELS = 64
"""Models of one total that are read."""

CLAUDE_BEFORE = Measured(0, -2_000, 2_000)
"""What the next request holds beyond Claude Code's count before a compaction (``preTokens``): by our reading 1,309 less
to 1,823 more (n=6)."""

# --- What Claude Code puts back after a compaction (``claude_code/log_put_back.py`` names the versions read).

FILES_PUT_BACK = 5
"""Files that come back."""

FILES_KNOWN = 100
"""Files that the program remembers."""

LARGEST_FILE = 18_000
"""Characters of a file that comes back whole: 5,000 tokens of code, at 3.6 characters a token."""

SKILL_FROM = 2_000
"""Characters from which on a text of the program's own is a skill's or a command's, and no remark."""

LARGEST_SKILL = 20_000
LARGEST_SKILLS = 100_000
"""Characters of one skill and of all, since 2.1.87: 5,000 and 25,000 tokens, at four characters a token."""

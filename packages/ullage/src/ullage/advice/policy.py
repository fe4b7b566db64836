"""The policy of suggestions, as numbers.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the bench or
the test that judges it. What a provider, a program or a protocol does is no choice, and stands where it is used.
"""

from __future__ import annotations

# --- What is worth a suggestion. Judged by tests/advice: what is suggested is removed, and the session folded again.

MOST_SHOWN = 7
MOST_COSTS = 5
LEAST_TOKENS = 500
"""Tokens a call from which on anything is suggested."""

LEAST_SHARE = 0.02
LEAST_SO_FAR = 10_000
"""Share of all input so far, and tokens of it, below which nothing is suggested for what it has cost."""

# --- Its words.

LONGEST_NAME = 36

# --- What is waste.

FEWEST_REQUESTS = 8
"""Requests after which a tool that was never called counts as unused."""

LONG_OUTPUT = 4_000
"""Tokens from which on an output is long."""

ENOUGH_OUTPUT = 2_000
"""Tokens that are taken to be enough of one: a beginning and an end."""

SMALL_PICTURE = {"width": 800, "height": 600}
"""Pixels that are taken to be enough of a picture: a browser's window in which pages can still be read."""

INSTRUCTION_LINES = 200
"""Of an instruction file (https://code.claude.com/docs/en/memory names this number)."""

# --- Misses of the cache. Judged by bench.causes.

LEAST_MISSED = 1_024
"""Tokens paid again from which on a call has missed the cache: fewer are never cached (Anthropic and OpenAI), and the
end of a prompt is often not read yet."""

AROUND = 36
"""Characters of a text that are quoted where it differs."""

FEWEST_COMPACTED = 3
"""Pieces that became at most half as many, from which on that is a compaction."""

NAMED_TOOLS = 3
"""Tools or settings that a cause names."""

NAMED_CALLS = 4
"""Calls that a suggestion names."""

# --- What became of a suggestion.

FOLLOWED_SHARE = 0.5
"""Of what a suggestion promises of an item, from which on it was followed."""

HELPED_SHARE = 0.5
"""Of what was promised, below which it did not help."""

EXPECTED_OUTPUTS = 3
"""Long outputs that a later session would have at the old rate: none of them by chance 5 times in 100."""

# --- What a suggestion saves.

DENSITY_DOUBT = 0.2
"""By how much the tokens a character in one part of a text may differ from those in the rest (assumed: prose has 4 to 5
characters a token, code and tables 3 to 4)."""

# --- When the next compaction comes. Fitted on half of the sessions of bench.forecasts, judged on the other half.

NEWEST_CALLS = 20
"""Calls whose growth is taken for the present one."""

FEWEST_STEPS = 3
LONGEST_STEP = 3.0
"""Usual steps that one counts for at most: 7 of 100 are longer, and hold 45 % of all growth (n=13,115)."""

USUAL_STEPS = 5
"""Steps of the session's mean that stand beside the newest."""

SPREAD_AT_ALL = 0.3
SPREAD_A_CALL = 2.0
"""Variance of the logarithm of the calls that are left, times 1.6: at any distance, and what one call adds."""

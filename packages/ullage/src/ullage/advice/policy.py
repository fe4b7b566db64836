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

NAMED_CALLS = 4
"""Calls that a suggestion names."""

# --- What a suggestion saves.

DENSITY_DOUBT = 0.2
"""By how much the tokens a character in one part of a text may differ from those in the rest (assumed: prose has 4 to 5
characters a token, code and tables 3 to 4)."""

# --- When the next compaction comes.

NEWEST_CALLS = 20
"""Calls whose growth is taken for the present one."""

FEWEST_STEPS = 3
GROWTH_WIDTH = 2.0
"""Standard errors of the mean growth on each side: about 95 of 100."""

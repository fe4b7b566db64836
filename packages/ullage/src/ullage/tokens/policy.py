"""The policy of estimates and of what is learnt, as numbers.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the bench or
the test that judges it. What a provider, a program or a protocol does is no choice, and stands where it is used.
"""

from __future__ import annotations

# --- The regression. Judged by bench.accuracy: errors and coverage, cross-validated.

ODDS_KNOWN = 0.02
ODDS_UNKNOWN = 10.0
"""Of a model counting in another way, against as measured: in a family that was measured, and in one that was not."""

UNSHAKEN = 2.0
"""Standard deviations beyond which an error is taken for noise in proportion."""

FREEDOM = 4.0
"""Degrees of freedom of the errors: their tails are heavy."""

LEAST_LIKELY = -600.0
"""Logarithms of odds below this are the same as never, and above it ``exp`` gives a number."""

# --- What is learnt of one model. Judged by bench.evaluate: errors and coverage of pairs.

MEMORY = 32
"""Residuals that are kept."""

RATIO_RANGE = (0.5, 2.0)
"""Shares of its estimate that a text can cost: no tokenizer that was measured needs fewer than half the tokens of
another."""
CORRECTS_FROM = 2
"""Residuals before an estimate is corrected: one alone may be anything, and only widens the interval."""

NOISE = 0.25
"""Standard deviation of what no term explains, as a share of the half-width that is expected: the half-width holds 95
times in 100, and most of it is what the terms explain once they are known."""

LEAST_NOISE = 1.0
KIND_BELOW = 100.0
KIND_FROM = 4
KIND_RANGE = 60.0
"""For messages of one kind, such as the results of one tool, whose wrapping is more alike: content below which they
speak of it and get it, residuals before it is believed, and the most tokens it can be."""

STEADY = 2.0
"""A kind's offset is believed when it is above this many median absolute deviations."""

PRIOR = 3.4
"""Observations that the expected interval counts for."""

FADING = 30.0
"""Observations after which the expected width of the wrapping counts half: many calls without an error beyond a token
say that there is none."""

TAILS = (1.96, 2.4, 3.0)
"""Student's quantile at 97.5 %, by powers of one over the degrees of freedom."""

WRAPPING_ERRORS = 1.9
TEXT_ERRORS = 3.0
"""Tokens of half-width for each token of root mean square error, when nothing is left of what was expected at first.
What a text's ratio is off by differs from text to text, and is as likely at the width's end as in its middle; the
wrapping's errors are few and large, so that their root mean square already is."""

MOST_TAKEN_UP = 0.6
"""Share of a residual that terms may have taken up, at most."""

MOST_ERROR = 8.0
"""Errors beyond this many half-widths count as this many."""

SCALE_RANGE = (0.15, 8.0)
"""How many times the expected interval the learnt one may be."""

WIDTH_MISSES = 0.025
"""Share of the reports that may be beyond one end of the interval."""

WIDTH_STEP = 0.3
"""How far a report beyond an end moves it, on the logarithm of the width."""

WIDTH_RANGE = (0.4, 6.0)
"""How many times as wide as elsewhere the interval may become in a situation."""

DEVIATIONS = 1.5
"""Standard deviations of the terms that the interval holds beside its own width. The terms' part is known to be large
before they are seen, so that fewer do than the 1.96 of one that stands alone."""

FLIP_FROM = 40.0
FLIP_WITHIN = 0.15
"""A residual within this share of the hidden reasoning, of at least so many tokens, reverses a turn's rule."""

FLIP_AHEAD = 5.0
"""Logarithm of the odds from which on a rule is taken to be reversed: 150 to 1."""

FLIP_GUESS_AHEAD = 1.0
"""The same of a rule that was read from no recorded call: before any report it is as likely as its reverse, and the
residual is within ``FLIP_WITHIN`` of what the reverse says."""

SETTLED_WITHIN = 0.3
"""A residual within this share of the reasoning that a guessed rule decides about shows that the guess is right."""

FLIP_BEHIND = 6.0
"""The most by which the rule as it is may lead: so much has to be shown again if a provider changes it."""

FLIP_OPEN = 2.0
"""A lead below which the loop's rule is open, so that the turn's is not judged."""

ANEW_FROM = 4
ANEW_AHEAD = 25.0
"""Residuals that what they teach by themselves has foretold better than all that was learnt, and by how much on the
logarithm of the odds, before the latter is given up. Set so that recorded conversations, in which nothing changes, come
out nearly as without it (802 clean pairs of agent sessions: median 1.20 % for 1.19, p90 7.4 for 7.1), and a few calls
after a change the new numbers are known."""

# --- Kinds of text. Judged by bench.languages.

WORD_TOKENS = 0.21
"""Tokens of a letter of a word in the Latin alphabet."""

WORD_LETTERS = 5
"""Letters of a word of a sentence for each space between two words. Letters beyond that are of names, as in code."""

# --- Tools that run at the provider. Judged by bench.evaluate: whole requests.

UNKNOWN_HOSTED = 300.0
"""For a hosted tool of another kind; the interval says how little is known."""

# --- Bounds of time and memory. Judged by the tests of the hostile provider.

BPE_CHUNK = 16_000
"""Characters encoded at a time, which bounds memory: a run that is not cut takes time with its square (200,000 of one
letter 8 s in Gemma's vocabulary), and a cut costs a token at most."""

COMPOSED_CHARS = 4_096
"""Characters that are composed at a time, of which marks alone take 8 ms; a cut adds a token at most."""

# --- The same of the estimator without a vocabulary.

PRETOKEN_CHUNK = 1 << 16
"""Characters cut at a time, so that a text of any length needs little memory."""

PIECES_REMEMBERED = 1 << 16
"""Pieces whose weight is remembered per vocabulary."""

RUN_PARTED = 3 * 512
"""Characters at which a run without an end is cut: a multiple of the longest of each run, so that it costs the same."""

REMEMBERED_CHARS = 1 << 21
"""Characters of the runs whose tokens are remembered per vocabulary: the longest have hundreds."""

# --- The same of arguments.

DEEPEST = 64
"""Levels of nesting that are looked into; deeper values are counted as text."""

# --- The same of schemas.

SCHEMA_DEPTH = 12
"""Levels of nesting that are followed; deeper ones read ``any``."""

SCHEMA_NODES = 20_000
"""Schemas visited in one declaration, references expanded. A graph of references could unfold without end."""

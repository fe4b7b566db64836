"""The policy of compaction and of deferred tools, as numbers.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the bench or
the test that judges it. What a provider, a program or a protocol does is no choice, and stands where it is used.
"""

from __future__ import annotations

# --- What a compaction keeps. Judged by bench.compaction: facts that are recalled, and tokens.

KEEP = 0.08
"""Share of the messages' tokens, the newest, that a summary leaves unchanged. Dexto's plan keeps 0.3 of the
messages (docs/from-the-seeds.md); why less is better: docs/why/index.md#compaction, measured in
docs/compaction-beside.md."""

KEEP_UNREAD = 0.3
"""The same if no model reads the leaving messages: a digest says less than a summary, so more of them stay."""

UNREAD_RESULTS = 0.5
"""The most that results which no model has read may take of the room that a compaction leaves for messages. So they
stay whole beside the newest request and messages, and a large one is cut where it leaves no room for others."""

PROTECT_TOKENS = 40_000
"""Newest tokens of tool results that are never cleared (OpenCode's figure, docs/from-the-seeds.md)."""

PROTECT_SHARE = 0.25
"""The same as a share of the input limit: the smaller one counts, so that a small window has something to clear."""

REATTACH_TOKENS = 5_000
"""Tokens of files that are attached again behind a summary, from sessions of edits with 0, 2,000, 5,000 and 20,000."""

GOAL = 0.45
"""Share of the window that a compaction aims to leave filled, at most."""

MOST_PIECES = 6
"""The most model calls of a summary in pieces. A longer history is shown in excerpts instead."""

# --- Limits and goals. Judged by bench.compaction and tests/context/test_budget.py.

LEAST_SAVED_SHARE = 0.1
LEAST_SAVED = 2_000
LEAST_SAVED_OF_WINDOW = 0.05
"""A compaction has to save at least max(10 % of the request, min(2,000 tokens, 5 % of the window)). Of a part that a
person named it is 10 % of that part. After a failure the request has to grow by the second before the next try."""

GOAL_OF_POINT = 0.6
"""The goal is at most this share of the compaction threshold, for low triggers."""

ROOM_ABOVE_FIXED = 0.3
"""If system prompt and tools fill much of the window, the goal leaves messages this share of the rest."""

BYTES_GOAL = 0.5
"""If the request has too many bytes, a compaction aims at this share of them."""

BYTES_A_TOKEN = 6
"""Bytes of a request for each token of its text: English has 4 to 5, and JSON adds to that."""

SUMMARY_SHARE = 0.06
SUMMARY_MOST = 8_000
SUMMARY_LEAST = 250
"""A summary may take 6 % of the window, within these bounds in tokens."""

SUMMARY_OF_MESSAGES = 0.3
"""Nor more than this share of the messages: in a short conversation a long summary would save nothing."""

REFUSED_SHARE = 0.75
"""If a provider refuses a request that fits by the reading, and gives no numbers, this share is assumed to fit."""

REFUSED_UNSEEN = 1.05
"""A refused request without a count is assumed to exceed the limit by this factor."""

# --- When a compaction is not tried.

QUICK_IN_A_ROW = 3
"""After this many compactions in a row with less growth than that, the next one waits for the limit."""

# --- Requests that stay. Judged by bench.compaction.

REQUEST_SHARE = 0.75
"""A request that takes more than this share of the room below the bar is sent as head and tail."""

TASK_SHARE = 0.3
"""Share of the room for earlier requests of the unfinished task."""

# --- Messages that are dropped.

DROP_MARGIN = 0.9
"""The share of the room below the limit that a cut request may take: the rest covers the reading's uncertainty."""

# --- Messages that are cut.

OVERSIZED = 0.25
"""A message is too large by itself above this share of the input limit."""

# --- A text that is cut.

HEAD_SHARE = 2 / 3
"""The share of a shortened text that comes from its beginning."""

LEAST_CUT_CHARACTERS = 200
"""A text is never cut to less."""

CUT_ATTEMPTS = 12
"""Each attempt cuts to three quarters of the last one: 12 of them reach 3 % of the first guess."""

# --- The request for a summary. Judged by bench.compaction: summaries that fail, and calls.

SUMMARY_SAFETY = 1.3
"""How many times its estimate a new request may be. Opening requests were within 30 % in 95 of 100 cases
 (docs/accuracy.md)."""

ANSWER_SHARE = 0.2
"""The most of a window that a summary call may ask for as output, reasoning included."""

LEAST_ANSWER = 1.5
"""The least room for the answer, in lengths of the summary."""

CHARACTERS_PER_TOKEN = 3.0
"""The first guess; each piece is counted and made smaller if it is too large."""

MESSAGE_FRAME = 60
"""Characters around each message, its tags and id."""

SUMMARY_ATTEMPTS = 6
"""How many sizes are tried before each message becomes one line."""

# --- Its words.

WORDS_PER_TOKEN = 0.7
"""English words per token, roughly: models follow a limit in words better than one in tokens."""

FIRST_CHARACTERS = 300

# --- The answer that is taken for a summary. Judged by tests/context/test_accept.py: recorded bad answers.

MOST_OF_SOURCE = 0.5
"""A summary takes at most this share of its source's tokens, if the source is longer than a few lines."""

SHORT_SOURCE = 300
"""Below this many tokens of the source, a summary may be as long as the source."""

OVER_LENGTH = 2.5
"""A summary may have this many times the requested length."""

SHINGLE = 8
ECHO_SHARE = 0.5
"""An answer is an echo if the source contains at least half of its runs of eight words. Names, paths and short quotes
are shorter runs."""

LEAST_ECHO_WORDS = 24
"""A shorter answer is an echo only if the source contains all of it."""

COMPARED_CHARACTERS = 2_000_000
"""Characters of the source that an answer is compared with, half from each end."""

# --- What code copies behind a summary. Judged by bench.compaction: facts that are recalled, and tokens.

SAID_SHARE = 0.02
SAID_MOST = 6_000
"""The user's own messages, as a share of the window and in tokens. In 17 real compactions they were 1,000 in the
median, and less than 2,600 in twelve."""

OWN_WORDS_CHARACTERS = 2_000
"""Characters at the beginning and at the end of a message that count as the user's own words; the middle of a longer
message counts as pasted."""

NEWEST_OF_WORDS = 0.3
OLDEST_OF_WORDS = 0.15
"""The shares of it for the newest sentences and for the oldest. The rest is for those that state how to behave."""

REPEATED = 2
"""What comes more often, numbers aside, is a routine, a table or a flood."""

QUOTED_SHARE = 0.01
QUOTED_MOST = 800
"""Lines of tool results that may state how to behave. Judged by bench.compaction_quality."""

QUOTES_OF_ONE = 30
LONGEST_QUOTE = 200
"""Lines of one result, and characters of each."""

TRAIL_SHARE = 0.03
TRAIL_MOST = 2_000
"""The files that were read and changed."""

VALUES_SHARE = 0.04
VALUES_MOST = 1_000
"""Names and numbers. More than 1,000 tokens hold little more of what real sessions use later."""

USER_USES = 3
"""How many uses it counts that the user has written a value."""

TOOLS_OF_VALUES = 0.1
"""The most of the block for values that only tools have shown."""

STATED_OF_VALUES = 0.3
"""The most of the block for what is said in ordinary words: no path and no number."""

LONGEST_VALUE_LINE = 240
"""Characters of a line that explains a number."""

COPIES_EXPECTED = 0.25
"""The share of all this that a plan expects to be taken, before it is known."""

KEPT_LINES_SHARE = 0.5
"""Lines of an earlier summary that the new one lost, as a share of a summary's length."""

SAME_WORDS = 0.6
"""A line is lost if less than this share of its words is in the new summary."""

LONGEST_PATH = 300
"""Characters of a path in the trail."""

# --- Values. Judged by bench.compaction and tests/context/test_values.py.

VALUE_CHARACTERS = 20_000
"""Characters at the beginning and at the end of a text in which values are looked for."""

# --- Files that are attached again. Judged by bench.compaction.

FILES_ATTACHED = 5
FILE_TOKENS = 5_000
"""Files, and tokens of each: Claude Code's figures."""

LEAST_FILE_TOKENS = 100
"""A file is not cut to fewer tokens than this."""

LONGEST_EDITED = 4_000_000
"""Characters of a text that edits may make: the text that is followed here may be another one than the tool edited."""

FILES_SHARE = 0.1
"""Files take at most this share of the input limit, whatever the setting allows."""

# --- The digest that no model writes.

EARLIER_SHARE = 0.4
"""At most 40 % of the digest is for earlier summaries; lines of messages take the rest."""

# --- A line of it.

DIGEST_LINE = 160
"""Characters of one message in a digest."""

# --- Compaction by the provider. Judged by the simulators (tests/compaction).

SERVER_PROMPT = 2_000
"""Tokens that the provider's own prompt for a summary may have. None says how long it is."""

MOST_APART = 2.0
"""A reported length that differs from the estimate of a summary's text by more than this factor is not its length."""

# --- What content costs. Judged by tests/context/test_costs.py.

FRAME_BYTES = 120
"""Bytes of JSON around a part, generously."""

MOST_CORRECTED = 3.0
"""The most times its estimate that a message can cost: a larger difference does not come from messages."""

# --- Items of a caller.

SHORTEST_DATA = 16
"""Characters from which on a text in an item is looked at as the content of an image or a file."""

# --- Tools that are searched for. Judged by tests/context/test_deferral.py.

DEFERRAL_SAVES = 1_000
"""Tokens that deferring has to take out of the request: a search costs one model call more."""

LOADED_SHARE = 0.25
"""Share of the window that tools in use may take; beyond it those used longest ago have to be searched for again."""

INDEX_SHARE = 0.02
INDEX_MOST = 2_000
"""The names of deferred tools in the search tool's own description take at most 2 % of the window, 2,000 tokens."""

TOOL_LINE = 100
"""How much of a description stands in a list of tools: they come from servers, and are untrusted text."""

# --- Their search. Judged by the table of tests/context/test_tool_search.py.

MOST_FOUND = 5
"""How many tools a search returns: Anthropic's search returns 3 to 5 (see the page above)."""

QUERY_WORDS = 30
"""Words of a query that count; further ones are ignored."""

SEARCHED_CHARACTERS = 4_000
SEARCHED_PARAMETERS = 100
"""What is searched of one description, and of one tool's parameters: both are a server's, and it may send megabytes."""

IN_NAME = 4.0
IN_PARAMETER = 1.5
IN_DESCRIPTION = 1.0
"""The weight of a word by its place. Chosen on the table of ``packages/ullage/tests/context/test_tool_search.py``."""

PREFIX_WEIGHT = 0.7
"""How much a match counts where one word is only the beginning of the other."""

LEAST_OF_BEST = 0.3
"""A tool with less than this share of the best one's score is left out."""

# --- Strategies that others wrote.

STRATEGY_CALLS = 50
"""The most model calls of one strategy, whatever it asks for: more than any of ours needs with its settings."""

# --- What errors name.

NAME_SHOWN = 100
"""Characters of an unknown name that its error shows."""

LARGEST_SEQ = 2**62
"""No event has such a number, and a store can be asked for it: integers of SQL have 64 bits."""

# --- What the error of a request that can't be sent names.

LARGEST_NAMED = 5
"""How many of the largest messages an error names."""

LONGEST_NOTE = 300
"""Characters of one strategy's reason in an error."""

DECLARED_AT_MOST = 4.0
"""System prompt and tools hold at most so many times their estimate. What was reported beyond is not in the session."""

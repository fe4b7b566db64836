"""The policy of stores that a caller wrote, and of the search, as numbers.

Judged by tests/testing/test_stores.py of ullage-agent, and by bench/search.py.
"""

from __future__ import annotations

POLL_S = 0.1
"""Seconds between two looks of ``Store.wait`` where a store has nothing better."""

LOOK_S = 30.0
"""Seconds after which a watched session is looked at, whatever the store has told of it."""

CANCEL_S = 0.1
"""Seconds after which a wait is cancelled again whose store has not ended it."""

RETRY_S = 1.0
"""Seconds before a watched session is looked at again whose store has failed."""

REFUSED_S = 60.0
"""Seconds for which a write is made again because others were first. Longer means a broken store."""

OWN_KEPT = 1_000
"""Own writes that are known as such to those who watch."""

SEARCHED_CHARACTERS = 65_536
"""Of a message, from its beginning: what is behind them is not searched. A file that a tool reads has fewer, mostly."""

SEARCHED_ARGUMENTS = 1_000
"""Characters of a tool call's arguments that are searched: a path or a command, not the file that is written."""

LONGEST_WORD = 40
"""Characters of a word that are looked up. A longer one is an encoding."""

MOST_TERMS = 32
"""Words of a search that count. Each one more is another list of the index to go through."""

INDEXED_EVENTS = 128
"""Of a turn under way, after so many events their words go into the index. Each time costs a few kilobytes of writes,
however few words there are: with 8 events, a step of 600 characters would write twice as much (bench.written)."""

VOLUME_BITS = 14
"""A volume of the index has 2^14 texts, so that no lookup goes through more at once. In 10^7 texts a word that is
nowhere takes 610 lookups. PostgreSQL's ``add_texts`` and ``find_texts`` have the same number."""

PLACES_AT_ONCE = 100
"""Places that a search takes out of the index at a time."""

MOST_LOOKED_AT = 200
"""Messages that one search reads to find the words as they were typed: each takes some 0.2 ms."""

AROUND = 60
"""Characters of an excerpt on each side of the first word found."""

SCANNED_EVENTS = 1_000
"""Of a session in a store without an index, so many of its last events are searched."""

LISTED_S = 60.0
"""Seconds after which a session that is driven moves to the front of lists again. PostgreSQL's ``append_events`` has
the same number."""

STANDINGS_KEPT = 10_000
"""Sessions of which a process remembers how they stand in PostgreSQL. For a forgotten one a write asks first."""
# --- Approvals over all sessions. Judged by packages/ullage-server/tests/server/test_inbox.py.

EVENTS_BEFORE_ASKED = (16, 256)
"""Events before a question in which its call is looked for: the answer with the call mostly stands a few before it,
and what hooks did and results of other calls may stand between."""

# --- Recall of what left the window. Chosen on four real logs, judged on others by bench/recall.py.

RECALL_TOKENS = 300
"""The most tokens of an answer by default: some fifteen lines."""

RECALL_LEAST = 60
"""The fewest tokens of an answer: its first line and one more."""

RECALL_NOTE = 15
"""Tokens kept for the line behind those found."""

RECALL_LINE = 400
"""Characters of the longest line of the index: a longer one is several."""

RECALL_TEXT = 1_000_000
"""Characters of one message that are searched and can be read again."""

RECALL_CANDIDATES = 400
"""Lines that are looked at closely, those with the rarest words first."""

RECALL_CASE = 0.3
RECALL_PHRASE = 0.3
RECALL_AGE = 0.02
RECALL_LENGTH = 0.03
"""What is added to the share of the words that a line has, weighed by how rare they are, for words in the same case,
for the whole phrase and for the newest; and what is taken off for each doubling of the line."""

RECALL_KEY = 16
"""The fewest characters of what is struck out as a key: an answer holds code, whose names begin like keys."""

RECALL_LOG_BYTES = 64 * 1024 * 1024
"""The largest log of another program that is searched: its words take about as much memory as its text."""

RECALL_QUOTED = 40
"""Of so many newest messages of a session one has the words by which it is told from others."""

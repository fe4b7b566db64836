"""What a status line decides by numbers. It loads nothing: a status line starts with each message of its program."""

CELLS = 12
"""Of the bar."""

LARGE_SHARE = 0.02
"""The largest result is shown from this share of the window on."""

WIDE_SHARE = 0.1
"""The interval is shown that is wider than this share of its number."""

ASKED_FROM = 0.02
"""Share of the window that was added since the last report from which on the ledger is asked: 8 % of 545 calls in nine
real logs came after more."""

FEWEST_CALLS = 2
"""Since the start or a compaction, before which it is always asked: the second call holds more than its log as well."""

ROOM_SHARE = 0.15
"""Of the way to compaction, from which on the model is told of its room: 25,000 of 167,000 tokens, some ten calls."""

ASK_TIMEOUT_S = 10.0
LARGEST_ASKED = 16 * 1024 * 1024
"""Seconds, and bytes of the log, for which the ledger is asked: the largest of 462 public logs, of 4 MB, take 0.9 to
1.4 s, and ten times as long on a busy machine."""

COMPOSED_TIMEOUT_S = 2.0
"""For the status line of the user's own."""

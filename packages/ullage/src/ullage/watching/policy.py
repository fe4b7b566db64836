"""The policy of watching other programs, as numbers.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the bench or
the test that judges it. What a provider, a program or a protocol does is no choice, and stands where it is used.
"""

from __future__ import annotations

# --- Running sessions. Judged by bench.many (processor and memory of a look) and bench.live.

RUNNING_S = 3_600.0
"""A session runs if it was written to within so many seconds."""

PATIENCE_S = 1.0
"""Seconds after which a look begins to read no further log."""

SLICE_BYTES = 2_000_000
"""Bytes of a large log that are read at a time, until it is read whole."""

WHOLE_BYTES = 64_000_000
"""A larger log is not read whole."""

WHOLE_TOTAL_BYTES = 256_000_000
"""Bytes of the large logs that are read whole, together: their messages stay in memory."""

WATCHED_DOCUMENT_BYTES = 4_194_304
"""A log that is one JSON value is read again with each change; a larger one is listed without numbers."""

RETRY_S = 30.0
"""Seconds after which a log that can't be read is tried again, unless it changes before."""

SEARCH_SHARE = 0.01
"""The share of the time that is spent searching for sessions, where there are so many that it shows."""

# --- The cache of past calls. Judged by bench.usage.

UNUSED_S = 60 * 86_400.0
"""Seconds after which a file of the cache is deleted that belongs to no log that was found."""

# --- The status. Judged by tests/watching.

NEAR_ON = 0.8
NEAR_OFF = 0.75
"""Shares of the compaction threshold, or of the input limit: from the first on the limit is near, below the second no
longer, so that the status does not change with every token."""

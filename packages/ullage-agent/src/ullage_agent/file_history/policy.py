"""The policy of file histories, as numbers. Judged by bench.file_history and tests/file_history."""

from __future__ import annotations

MOST_FILES = 50_000
"""Files and directories of a tree that are looked at: a look takes some 5 microseconds for each, twice a step."""

LARGEST_FILE = 10_000_000
"""Bytes of a file whose content is kept. Source files are smaller; data sets and models are larger."""

LARGEST_STORE = 1_000_000_000
"""Bytes that the contents of one tree may take, compressed: a thousand steps that each change a megabyte."""

WAIT_S = 1.0
"""Seconds a step waits at most until the contents of the files are stored that it may change."""

RACY_NS = 20_000_000
"""A file may change twice within one tick of the file system's clock, 10 ms at most: its content is read again."""

STORED_S = 0.2
"""Seconds that contents are stored at once while no step runs: a step that begins waits for so long."""

LOCKED_S = 60.0
"""Seconds to wait for another process that uses the same tree, as one that stores what a long step has changed."""

DIFF_LINES = 2_000
"""Lines of a file that are compared, as comparing takes time by their square."""

DIFF_CHARS = 20_000
"""Characters of one file's diff: more than a person reads before a rewind."""

ALL_DIFFS_CHARS = 200_000
"""Characters of all diffs of a rewind: what a page or a terminal still shows at once."""

NAMED = 20
"""Paths that an event of the ledger names."""

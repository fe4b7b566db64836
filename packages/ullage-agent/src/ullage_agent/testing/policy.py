"""The policy of ``check_store``, as numbers. Judged by tests/testing/test_stores.py."""

from __future__ import annotations

LONGEST_S = 60.0
"""Seconds that one check may take."""

WOKEN_S = 5.0
"""Seconds within which a wait must end once there is something."""

WRITERS = 8
WRITES = 10
"""Of each writer of those that write at once."""

LARGE_BYTES = 3_000_000
"""Of a row and of a value: a long result of a tool, an image."""

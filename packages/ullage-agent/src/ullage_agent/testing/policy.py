"""The numbers of ``ullage.testing``. Those of ``check_store`` are judged by tests/testing/test_stores.py."""

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

WINDOW = 128_000
"""The window of a made-up model in tokens, unless the test names another one: usual, and large for most tests."""

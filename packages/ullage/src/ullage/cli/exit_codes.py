"""The exit codes of ``ullage``. docs/exit-codes.md is the table for users.

Nothing else is given on purpose: 1 is Python's own code after an unexpected exception, and a signal that ends the
process is 128 + its number in a shell. ``ullage wrap`` gives the code of the client.
"""

from typing import Final

DONE: Final = 0
"""The command did all that it was asked to do."""

FAILED: Final = 2
"""It did not, or only in part. Standard error says what is missing."""

INTERRUPTED: Final = 130
"""Ctrl-C ended it, as a shell expects: 128 + SIGINT. Of a command that serves until Ctrl-C, that is ``DONE``."""

OF_TURNS: Final = {"finished": DONE, "cancelled": INTERRUPTED}
"""The codes of a turn, by the reason of its end; any other reason is ``FAILED``."""

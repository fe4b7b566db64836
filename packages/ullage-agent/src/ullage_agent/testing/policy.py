"""Numbers that were chosen for tests."""

from typing import Final

WINDOW: Final = 128_000
"""The window of a made-up model in tokens, unless the test names another one: usual, and large for most tests."""

CHARS_PER_TOKEN: Final = 4
"""By which a made-up answer reports usage where its script names none. No tokenizer's: a round number."""

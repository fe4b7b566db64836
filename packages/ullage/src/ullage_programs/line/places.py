"""Where the status line keeps its files."""

from __future__ import annotations

import os

SESSION_LETTERS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
)


def cache_directory() -> str:
    """``ullage/line`` in the user's cache directory."""
    return os.path.join(_base("XDG_CACHE_HOME", ".cache"), "ullage", "line")


def settings_file() -> str:
    """``ullage/line.json`` in the user's configuration directory."""
    return os.path.join(_base("XDG_CONFIG_HOME", ".config"), "ullage", "line.json")


def session_file(log: str, ending: str) -> str:
    """The file about one session log: named after it, whatever its name holds."""
    name = os.path.basename(log).rsplit(".", 1)[0]
    safe = "".join(letter for letter in name if letter in SESSION_LETTERS)
    return os.path.join(cache_directory(), (safe or "session")[:80] + ending)


def _base(variable: str, inside_home: str) -> str:
    """A relative path in an XDG variable is ignored, as its specification asks."""
    given = os.environ.get(variable, "")
    if os.path.isabs(given):
        return given
    return os.path.join(os.path.expanduser("~"), inside_home)

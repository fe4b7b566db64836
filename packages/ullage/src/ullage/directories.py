"""Where the user's files are."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

_PLACES: Final = {
    "CACHE": (".cache", "LOCALAPPDATA", "Local"),
    "CONFIG": (".config", "APPDATA", "Roaming"),
    "DATA": (".local/share", "LOCALAPPDATA", "Local"),
}
"""In the home directory; on Windows the variable that names it, else its place in ``AppData``."""


def data_directory(
    environment: Mapping[str, str] = os.environ, *, platform: str = sys.platform
) -> Path:
    """Where the user's data lies: ``ULLAGE_DATA``, else ``ullage`` in ``XDG_DATA_HOME``, else in the platform's place.

    A relative ``XDG_DATA_HOME`` is ignored, as its specification asks
    (https://specifications.freedesktop.org/basedir-spec/latest/).
    """
    if own := environment.get("ULLAGE_DATA"):
        return Path(own).expanduser()
    return own_directory("DATA", environment, platform)


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where lies what can be made again: ``ullage`` in ``XDG_CACHE_HOME``, else in ``~/.cache``."""
    return own_directory("CACHE", environment, "")


def own_directory(
    kind: Literal["CACHE", "CONFIG", "DATA"],
    environment: Mapping[str, str],
    platform: str,
) -> Path:
    """The directory ``ullage`` in ``XDG_…_HOME``, else in the platform's place."""
    shared = environment.get(f"XDG_{kind}_HOME", "")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "ullage"
    home = Path(environment.get("HOME") or Path.home())
    usual, variable, windows = _PLACES[kind]
    if platform == "darwin":
        usual = "Library/Application Support"
    elif platform == "win32":
        return Path(environment.get(variable) or home / "AppData" / windows) / "ullage"
    return home / usual / "ullage"

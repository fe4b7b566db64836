"""Where the user's files are."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def data_directory(
    environment: Mapping[str, str] = os.environ, *, platform: str = sys.platform
) -> Path:
    """Where the user's data lies: ``ULLAGE_DATA``, else ``ullage`` in ``XDG_DATA_HOME``, else in the platform's place.

    A relative ``XDG_DATA_HOME`` is ignored, as its specification asks
    (https://specifications.freedesktop.org/basedir-spec/latest/).
    """
    if own := environment.get("ULLAGE_DATA"):
        return Path(own).expanduser()
    shared = environment.get("XDG_DATA_HOME", "")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "ullage"
    home = Path(environment.get("HOME") or Path.home())
    if platform == "darwin":
        return home / "Library" / "Application Support" / "ullage"
    if platform == "win32":
        return (
            Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ullage"
        )
    return home / ".local" / "share" / "ullage"


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where lies what can be made again: ``ullage`` in ``XDG_CACHE_HOME``, else in ``~/.cache``."""
    shared = environment.get("XDG_CACHE_HOME", "")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "ullage"
    home = Path(environment.get("HOME") or Path.home())
    return home / ".cache" / "ullage"

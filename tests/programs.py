"""Programs of the system that some tests need: found, else installed where that is possible, else said to be missing.

    CHROMIUM=/path/to/chromium uv run pytest tests/server/page

On Debian and Ubuntu, as root, what is missing is installed with apt-get. Where that fails the tests that need it are
skipped, and the end of the run lists in capitals what was therefore not tested.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
INSTALL_S = 600
PATIENTLY = ("-o", "DPkg::Lock::Timeout=300")
"""Another program may be installing something (seconds)."""

missing: dict[str, str] = {}
"""What was not found in this run, and what was not tested for want of it."""


def needed(package: str, what: str, *names: str, variable: str = "") -> str:
    """The path of a program. ``package`` is Debian's, ``what`` the tests that need it. Skips the test without it."""
    if package not in missing and (path := _path(package, names or (package,), variable)):
        return path
    missing[package] = what
    pytest.skip(
        f"{package} is not here and can't be installed: {what} is not tested. Install it, as root: {_how(package)}"
    )


def bring(package: str, *names: str) -> None:
    """Install a program that is missing, where that is possible."""
    _path(package, names or (package,), "")


@cache
def _path(package: str, names: tuple[str, ...], variable: str) -> str:
    if said := os.environ.get(variable, ""):
        return said
    if found := _found(names):
        return found
    with alone("install"):
        return _found(names) or (_found(names) if _installed(package) else "")


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Tests run in several processes, and what a block of this name does in one at a time."""
    place = Path(tempfile.gettempdir()) / f"ullage-tests-{what}-{os.geteuid()}"
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _found(names: tuple[str, ...]) -> str:
    return next((path for name in names if (path := shutil.which(name))), "")


def _installed(package: str) -> bool:
    """Whether apt-get could install it."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", *PATIENTLY, "update", "-q"],
        ["apt-get", *PATIENTLY, "install", "-yq", "--no-install-recommends", package],
    ):
        try:
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                timeout=INSTALL_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


def _how(package: str) -> str:
    return f"apt-get install {package}"

"""Programs of the system that some tests need, beside Python and what uv installs.

    uv run python -m tests.programs             say which are here
    uv run python -m tests.programs --bring     install those that are missing, with apt-get, as root

A run of the second tier, or of ``-m program``, says before it begins what it needs, and does not begin without it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PATIENTLY = ("-o", "DPkg::Lock::Timeout=300")
"""Another program may be installing something (seconds)."""

not_here: dict[str, str] = {}
"""What was not tested in this run, by what is not here."""


class Need(NamedTuple):
    """A program: Debian's package, the names of the program, what is tested with it, and the variable with its path."""

    package: str
    names: tuple[str, ...]
    what: str
    variable: str = ""
    is_of_linux: bool = False


NEEDS: Final = (
    Need("bubblewrap", ("bwrap",), "the sandbox", is_of_linux=True),
    Need("tmux", ("tmux",), "ullage chat in a real terminal"),
    Need("chromium", CHROMIUM_NAMES, "the page in a real browser", "CHROMIUM"),
    Need("npm", ("npm",), "durable runs with Restate, whose server npm installs"),
    Need("haproxy", ("haproxy", "/usr/sbin/haproxy"), "the deployed cluster"),
    Need("redis-server", ("redis-server",), "a store of one's own, in Redis"),
    Need("prometheus", ("prometheus",), "metrics, the dashboard and alert rules"),
    Need(
        "pgbouncer", ("pgbouncer", "/usr/sbin/pgbouncer"), "a pooler in transaction mode"
    ),
)


def path_of(need: Need) -> str:
    """Where a program is; empty where it is not here."""
    if said := os.environ.get(need.variable, ""):
        return said
    return next((path for name in need.names if (path := shutil.which(name))), "")


def missing() -> list[Need]:
    """What is not here of all that the tests need on this system."""
    is_linux = sys.platform.startswith("linux")
    wanted = (need for need in NEEDS if is_linux or not need.is_of_linux)
    return [need for need in wanted if not path_of(need)]


def needed(package: str) -> str:
    """The path of the program of Debian's package. Fails the test without it."""
    need = next(each for each in NEEDS if each.package == package)
    return path_of(need) or pytest.fail(said([need]))


def said(absent: Sequence[Need]) -> str:
    """What is missing, what for, and how it is installed."""
    lines = [f"MISSING: {need.package}, for {need.what}" for need in absent]
    names = " ".join(need.package for need in absent)
    return "\n".join([*lines, f"Install it, as root: apt-get install {names}"])


def all_named() -> str:
    """One line that names what these tests need."""
    return "These tests need: " + ", ".join(need.package for need in NEEDS)


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Tests run in several processes, and what a block of this name does in one at a time."""
    place = Path(tempfile.gettempdir()) / f"ullage-tests-{what}-{os.geteuid()}"
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def bring(absent: Sequence[Need]) -> None:
    """Install Debian's packages; fails in apt-get's words."""
    names = [need.package for need in absent]
    for command in (
        ["apt-get", *PATIENTLY, "update", "-q"],
        ["apt-get", *PATIENTLY, "install", "-yq", "--no-install-recommends", *names],
    ):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    """Say what is needed and missing, and give the exit code."""
    sys.stdout.write(f"{all_named()}\n")
    absent = missing()
    may_bring = "--bring" in sys.argv and os.geteuid() == 0 and shutil.which("apt-get")
    if absent and may_bring:
        bring(absent)
        absent = missing()
    sys.stdout.write(f"{said(absent) if absent else 'They are here.'}\n")
    return 1 if absent else 0


if __name__ == "__main__":
    sys.exit(main())

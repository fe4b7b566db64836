"""Installs clients from npm and PyPI, each version in a directory of its own in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bench.clients.client import Client

NODE = "24.21.0"
"""Three clients need 22 or newer. The npm package ``node`` brings the program."""

INSTALLED_IN_S = 900
ANSWERS_IN_S = 120
ERROR_LINES = 5


class NotInstallable(Exception):
    """npm or uv is missing, doesn't answer or can't install a package; the message says what to do."""


def default_cache() -> Path:
    """Where clients are installed: ``ULLAGE_CLIENTS``, or a directory in the user's cache."""
    chosen = os.environ.get("ULLAGE_CLIENTS", "")
    if chosen:
        return Path(chosen)
    shared = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(shared) / "ullage" / "clients"


def npm_answers() -> bool:
    """Whether the registry can be reached."""
    npm = shutil.which("npm")
    if npm is None:
        return False
    command = [npm, "ping", "--fetch-retries=0"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=ANSWERS_IN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def newest_version(client: Client) -> str:
    """The one that is installed by default. Raises ``NotInstallable``."""
    if not client.on_pypi:
        return _said("npm", "view", client.package, "version").strip()
    plain = ("--no-deps", "--no-header", "--no-annotate", "-")
    pinned = _said("uv", "pip", "compile", *plain, given=client.package)
    return pinned.strip().rpartition("==")[2]


def installed(client: Client, version: str, cache: Path) -> Path:
    """The client's program, installed if it is not there yet. Raises ``NotInstallable``."""
    directory = cache / f"{client.name}-{version}"
    if not client.on_pypi:
        return _program(directory, client.package, version, client.program)
    path = directory / "bin" / client.program
    package = f"{client.package}=={version}"
    if not path.exists():
        _said("uv", "venv", "--clear", str(directory))
        _said("uv", "pip", "install", "--python", str(directory), package)
    return _brought(path, package)


def installed_node(cache: Path) -> Path:
    """The directory with the program ``node``, installed if it is not there yet. Raises ``NotInstallable``."""
    return _program(cache / f"node-{NODE}", "node", NODE, "node").parent


def _program(directory: Path, package: str, version: str, program: str) -> Path:
    path = directory / "node_modules" / ".bin" / program
    if path.exists():
        return path
    directory.mkdir(parents=True, exist_ok=True)
    words = ["install", "--no-audit", "--no-fund", "--prefix", str(directory)]
    _said("npm", *words, f"{package}@{version}")
    return _brought(path, f"{package}@{version}")


def _brought(path: Path, package: str) -> Path:
    """The program that a package has brought. Raises ``NotInstallable``."""
    if not path.exists():
        raise NotInstallable(f"{package} brings no program {path.name!r}.")
    return path


def _said(program: str, *words: str, given: str = "") -> str:
    """What npm or uv prints, if this is given as its input. Raises ``NotInstallable``."""
    path = shutil.which(program)
    if path is None:
        raise NotInstallable(
            f"{program} is not installed, and clients are installed by it. Install it and run this again."
        )
    said = f"`{program} {' '.join(words)}`"
    try:
        done = subprocess.run(
            [path, *words],
            input=given,
            capture_output=True,
            text=True,
            timeout=INSTALLED_IN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as slow:
        raise NotInstallable(
            f"{said} did not end within {INSTALLED_IN_S // 60} minutes. "
            "Check the connection and run this again; what is installed stays."
        ) from slow
    if done.returncode:
        raise NotInstallable(
            f"{said} failed. Check the connection and the registry (`npm ping`) and run this again. "
            f"{program} said:\n{_errors(done.stderr)}"
        )
    return done.stdout


def _errors(printed: str) -> str:
    lines = printed.splitlines()
    errors = [line for line in lines if line.startswith("npm error")]
    return "\n".join((errors or lines)[:ERROR_LINES])

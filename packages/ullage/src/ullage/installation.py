"""How Ullage was installed here, and the command that adds an optional package in the same way."""

from __future__ import annotations

import os.path
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Installer(NamedTuple):
    """A program that installs Ullage. ``{extras}`` and ``{package}`` are filled in."""

    add_extra: str
    add_package: str


PIP: Final = Installer(
    "pip install 'ullage[{extras}]'", "pip install --upgrade {package}"
)
PIPX: Final = Installer(
    "pipx install --force 'ullage[{extras}]'", "pipx inject ullage {package}"
)
UV_TOOL: Final = Installer(
    "uv tool install 'ullage[{extras}]'",
    "uv tool install --upgrade 'ullage[{extras}]' --with {package}",
)
UVX: Final = Installer(
    "uvx --from 'ullage[{extras}]' ullage", "uvx --with {package} ullage"
)
UV_PROJECT: Final = Installer("uv add 'ullage[{extras}]'", "uv add {package}")
CLONE: Final = Installer(
    "uv run --extra {extras} ullage", "uv run --with {package} ullage"
)

UV_RECEIPT: Final = "uv-receipt.toml"
"""What ``uv tool`` writes into the environment of a tool: its requirements with their extras (seen with uv 0.13.9)."""

PIPX_METADATA: Final = "pipx_metadata.json"
"""What pipx writes there (https://github.com/pypa/pipx, ``pipx_metadata_file.py``)."""

UV_CACHES: Final = frozenset({"archive-v0", "environments-v2"})
"""Directories of uv's cache that hold the environments of ``uvx``."""

SOURCE: Final = os.path.dirname(os.path.realpath(__file__))


EXTRAS: Final = {
    "agent": ("ullage_agent", "run", "permissions"),
    "chat": ("chat",),
    "proxy": ("ullage_proxy", "proxy", "wrap"),
    "server": ("ullage_server", "serve", "admin"),
    "cluster": ("ullage_cluster", "asyncpg"),
    "restate": ("restate", "hypercorn"),
    "png": ("resvg_py",),
    "simulators": ("ullage_simulators", "demo", "simulate"),
}
"""The extras, and the packages and commands that each brings."""


def extra_of(name: str) -> str:
    """The extra that brings a package or a command; empty for none."""
    for extra, names in EXTRAS.items():
        if name in names:
            return extra
    return ""


def part(module: str) -> ModuleType:
    """A module that another distribution may hold. Raises ``MissingExtra`` where that is not installed.

    The only way from here to the distributions that stand on this one.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as problem:
        raise explained(problem) from problem


def explained(problem: ModuleNotFoundError) -> Exception:
    """``MissingExtra`` for a package that an extra brings, which says how to install it; else the problem itself."""
    from ullage.errors import MissingExtra

    missing = (problem.name or "").partition(".")[0]
    extra = extra_of(missing)
    if not extra:
        return problem
    return MissingExtra(
        f"This needs {missing.replace('_', '-')}. Install it: {extra_command(extra)}"
    )


def extra_command(
    extra: str, *, prefix: str = sys.prefix, source: str | Path = SOURCE
) -> str:
    """The command after which ``ullage[extra]`` is there, beside the extras that are installed already."""
    extras = ",".join(sorted({extra} | _extras_of(prefix)))
    return _installer(prefix, source).add_extra.format(extras=extras)


def package_command(
    package: str, *, prefix: str = sys.prefix, source: str | Path = SOURCE
) -> str:
    """The command that installs or updates a package that no extra names."""
    extras = ",".join(sorted(_extras_of(prefix)))
    add = _installer(prefix, source).add_package
    command = add.format(extras=extras, package=package)
    return command.replace("'ullage[]'", "ullage")


def is_temporary(prefix: str = sys.prefix) -> bool:
    """Whether this runs from uv's cache, as ``uvx`` does: no other program may rely on its files."""
    return not UV_CACHES.isdisjoint(os.path.normpath(prefix).split(os.sep))


def _installer(prefix: str, source: str | Path) -> Installer:
    from pathlib import Path  # no command pays for it that has all it needs

    home = Path(prefix)
    if (home / UV_RECEIPT).is_file():
        return UV_TOOL
    if (home / PIPX_METADATA).is_file():
        return PIPX
    if is_temporary(prefix):
        return UVX
    if (Path(source).parents[3] / "uv.lock").is_file():
        return CLONE
    if (home.parent / "uv.lock").is_file():
        return UV_PROJECT
    return PIP


def _extras_of(prefix: str) -> set[str]:
    """The extras that a tool's own environment was installed with; empty where that is not known."""
    import tomllib

    try:
        with open(os.path.join(prefix, UV_RECEIPT), "rb") as file:
            receipt = tomllib.load(file)
        for each in receipt["tool"]["requirements"]:
            if each["name"] == "ullage":
                return set(each.get("extras", ()))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return set()

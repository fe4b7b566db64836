"""How Ullage was installed here, and the command that adds an optional package in the same way."""

from __future__ import annotations

import os.path
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import Distribution


class Installer(NamedTuple):
    """A program that installs Ullage. ``{ullage}``, ``{extras}`` and ``{package}`` are filled in."""

    add_extra: str
    add_package: str


PIP: Final = Installer("pip install {ullage}", "pip install --upgrade {package}")
PIPX: Final = Installer("pipx install --force {ullage}", "pipx inject ullage {package}")
PIPX_PLACE: Final = Installer(
    "pipx runpip ullage install {ullage}", "pipx inject ullage {package}"
)
"""From a folder or an address, for which old pipx (1.1 in Debian 12) takes no extras."""
UV_PIP: Final = Installer("uv pip install {ullage}", "uv pip install --upgrade {package}")
UV_TOOL: Final = Installer(
    "uv tool install {ullage}", "uv tool install --upgrade {ullage} --with {package}"
)
UVX: Final = Installer(
    "uvx --from {ullage} ullage", "uvx --from {ullage} --with {package} ullage"
)
UV_PROJECT: Final = Installer("uv add {ullage}", "uv add {package}")
UV_PROJECT_FOLDER: Final = Installer("uv add --editable {ullage}", "uv add {package}")
"""From a folder: uv takes the other distributions there as editable, and Ullage can't be both."""
CLONE: Final = Installer(
    "uv run --no-dev --extra {extras} ullage", "uv run --no-dev --with {package} ullage"
)

BESIDE: Final = {
    "agent": "agent",
    "chat": "agent",
    "otlp": "agent",
    "telemetry": "agent",
    "proxy": "proxy",
    "server": "agent server",
    "cluster": "agent server cluster",
    "restate": "agent server cluster",
    "simulators": "agent simulators",
}
"""The distributions beside ``ullage`` that each extra brings. pip has to be told where they are; uv finds them."""

INDEX: Final = "{name}{extras}"
"""A requirement that the package index fulfils."""

UV_RECEIPT: Final = "uv-receipt.toml"
"""What ``uv tool`` writes into the environment of a tool: its requirements with their extras (seen with uv 0.13.9)."""

PIPX_METADATA: Final = "pipx_metadata.json"
"""What pipx writes there (https://github.com/pypa/pipx, ``pipx_metadata_file.py``)."""

UV_CACHES: Final = frozenset({"archive-v0", "environments-v2"})
"""Directories of uv's cache that hold the environments of ``uvx``."""


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
    extra: str, *, prefix: str = sys.prefix, installed: Distribution | None = None
) -> str:
    """The command after which ``ullage[extra]`` is there, beside the extras that are installed already.

    Where nothing stays installed (``uvx``, a clone), it is the command that is running, with what it lacks.
    """
    return _command(prefix, installed, extra=extra)


def package_command(
    package: str, *, prefix: str = sys.prefix, installed: Distribution | None = None
) -> str:
    """The command that installs or updates a package that no extra names."""
    return _command(prefix, installed, package=package)


def _command(
    prefix: str, installed: Distribution | None, extra: str = "", package: str = ""
) -> str:
    from shlex import join

    installer, source = _installed_by(prefix, installed)
    extras = _extras_of(prefix)
    if extra:
        extras.add(extra)
    template = installer.add_package if package else installer.add_extra
    ullage = _words(source, extras, installer)
    command = template.format(ullage=ullage, extras=extra, package=package)
    program, *given = sys.argv
    if installer in (UVX, CLONE) and os.path.basename(program) == "ullage":
        return f"{command} {join(given)}"
    return command


def tool_command() -> str:
    """The command that installs Ullage for good, from where this one came."""
    _, source = _installed_by(sys.prefix, None)
    return UV_TOOL.add_extra.format(ullage=_words(source, set(), UV_TOOL))


def is_temporary(prefix: str = sys.prefix) -> bool:
    """Whether this runs from uv's cache, as ``uvx`` does: no other program may rely on its files."""
    return not UV_CACHES.isdisjoint(os.path.normpath(prefix).split(os.sep))


def _installed_by(prefix: str, installed: Distribution | None) -> tuple[Installer, str]:
    """The program that installed Ullage, and where it took it from (see ``_source``)."""
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path  # no command pays for it that has all it needs

    try:
        installed = installed or distribution("ullage")
    except PackageNotFoundError:
        return PIP, INDEX
    source = _source(installed.read_text("direct_url.json") or "{}")
    home = Path(prefix)
    if (home / UV_RECEIPT).is_file():
        found = UV_TOOL
    elif (home / PIPX_METADATA).is_file():
        found = PIPX if source == INDEX else PIPX_PLACE
    elif is_temporary(prefix):
        found = UVX
    elif (home.parent / "uv.lock").is_file():
        found = UV_PROJECT_FOLDER if os.path.isabs(source) else UV_PROJECT
        if home.parent in Path(source).parents:
            found = CLONE
    elif (installed.read_text("INSTALLER") or "").strip() == "uv":
        found = UV_PIP
    else:
        found = PIP
    return found, source


def _source(direct_url: str) -> str:
    """A requirement with ``{name}`` and ``{extras}``, from a distribution's ``direct_url.json`` (PEP 610).

    It names a folder, a repository or, where there is neither, the package index.
    """
    from json import loads
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        direct = loads(direct_url)
        if "dir_info" in direct:
            folder = url2pathname(urlsplit(direct["url"]).path)
            return os.path.join(os.path.dirname(folder), INDEX)
        version = direct["vcs_info"]
        address = f"{version['vcs']}+{direct['url']}"
        if revision := version.get("requested_revision"):
            address += f"@{revision}"
        return f"{INDEX} @ {address}#subdirectory=packages/{{name}}"
    except (ValueError, LookupError, TypeError, AttributeError):
        return INDEX


def _words(source: str, extras: set[str], installer: Installer) -> str:
    """Ullage with its extras, as words of a shell; for pip also the distributions that it can't find from there."""
    from shlex import quote

    listed = f"[{','.join(sorted(extras))}]" if extras else ""
    wanted = {"ullage": listed}
    if source != INDEX and installer in (PIP, PIPX_PLACE):
        beside = " ".join(BESIDE.get(each, "") for each in extras)
        wanted |= dict.fromkeys((f"ullage-{each}" for each in beside.split()), "")
    return " ".join(
        quote(source.replace("{name}", name).replace("{extras}", brackets))
        for name, brackets in wanted.items()
    )


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

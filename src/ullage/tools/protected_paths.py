"""What Ullage itself runs, and what of it a command could change from inside the places that it can write.

The interpreter and the modules start again outside the sandbox with the next ``search`` or command, unasked. So what of
them lies in such a place is read-only for commands, and a place that lies in them can't be confined.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

_MOST_LINKS: Final = 40  # MAXSYMLINKS of Linux


class UllageCode(NamedTuple):
    """``files`` must not change. ``modules`` are the directories in which no workspace may lie either."""

    files: tuple[Path, ...] = ()
    modules: tuple[Path, ...] = ()


class ProtectedPaths(NamedTuple):
    """What of given paths lies in places that can be written.

    ``existing`` are files and directories that must not change, ``missing`` paths with nothing there, which must stay
    so. ``problem`` says what can't be protected_below as it is; empty for nothing.
    """

    existing: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()
    problem: str = ""


def ullage_code() -> UllageCode:
    """The interpreter, its environment and the modules of this process.

    The first entry of ``sys.path`` is the directory of the program that was started: the user's own.
    """
    prefixes = (sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    package = Path(__file__).parents[1]
    searched = sys.path if sys.flags.safe_path else sys.path[1:]
    paths = sysconfig.get_paths()
    modules = [Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    files = [*map(Path, (*prefixes, *searched)), package]
    return UllageCode(tuple(dict.fromkeys(map(_absolute, files))), (package, *dict.fromkeys(modules)))


def protected_below(paths: Iterable[Path], places: Iterable[Path]) -> ProtectedPaths:
    """What of these paths lies below these places, and each link on the way there. ``places`` are without links."""
    places = tuple(places)
    existing, missing, links = set[Path](), set[Path](), list[Path]()
    for path in paths:
        passed, end = _walked(path)
        links += [link for link in passed if _is_inside(link, places)]
        if _is_inside(end, places):
            (missing if _is_empty(end) else existing).add(end)
    outer = [path for path in sorted(existing) if not _is_inside(path, existing)]
    loose = next((link for link in links if not _is_inside(link, outer)), None)
    return ProtectedPaths(
        tuple(outer),
        tuple(path for path in sorted(missing) if not _is_inside(path, (*outer, *missing))),
        "" if loose is None else f"{loose} leads to what Ullage runs or keeps, and a link can be exchanged",
    )


def code_problem(code: UllageCode, places: Iterable[Path]) -> str:
    """Why one of these places can't be confined: what Ullage runs is that place, or holds it."""
    whole = {Path(os.path.realpath(path)) for path in code.files}
    modules = [Path(os.path.realpath(path)) for path in code.modules]
    for place in places:
        if place in whole or any(place.is_relative_to(each) for each in modules):
            return f"{place} holds the code that Ullage itself runs"
    return ""


def _walked(path: Path) -> tuple[list[Path], Path]:
    """The links that the path goes through, and where it ends: at what it means, or at the first part that is missing.

    Each is given by a path without links.
    """
    links: list[Path] = []
    at, parts = Path("/"), list(_absolute(path).parts[1:])
    while parts:
        part = parts.pop(0)
        at = at.parent if part == ".." else at / part
        if at.is_symlink() and len(links) < _MOST_LINKS:
            links.append(at)
            target = Path(os.readlink(at))
            at = Path("/") if target.is_absolute() else at.parent
            parts = [*(target.parts[1:] if target.is_absolute() else target.parts), *parts]
        elif not os.path.lexists(at):
            break
    return links, at


def _is_empty(path: Path) -> bool:
    """Whether there is nothing here, or a directory without entries, which may be what holds the place."""
    if not path.is_dir():
        return not os.path.lexists(path)
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def _is_inside(path: Path, places: Iterable[Path]) -> bool:
    return any(path != place and path.is_relative_to(place) for place in places)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))

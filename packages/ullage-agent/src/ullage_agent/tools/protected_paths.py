"""The files that Ullage itself runs, and which paths below writable places commands must not change.

The interpreter and the modules are loaded again outside the sandbox by the next ``search`` or command. So the parts of
them that lie in a writable place are read-only for commands, and a place inside them can't be confined.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

_MOST_LINKS: Final = 40  # MAXSYMLINKS of Linux


class UllageCode(NamedTuple):
    """``files`` must not change. ``modules`` are directories in which no workspace may lie either."""

    files: tuple[Path, ...] = ()
    modules: tuple[Path, ...] = ()


class ProtectedPaths(NamedTuple):
    """Paths below writable places that commands must not change.

    ``existing`` are files and directories; ``missing`` are paths with nothing there, which must stay missing.
    ``problem`` says what can't be protected; empty for nothing.
    """

    existing: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()
    problem: str = ""


def ullage_code() -> UllageCode:
    """The interpreter, its environment and the modules of this process.

    Leaves out the first entry of ``sys.path``, the directory of the user's own program.
    """
    prefixes = (
        sys.executable,
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        sys.base_exec_prefix,
    )
    searched = sys.path if sys.flags.safe_path else sys.path[1:]
    return _code_at((*prefixes, *searched), os.getcwd())


@lru_cache(maxsize=1)
def _code_at(names: tuple[str, ...], directory: str) -> UllageCode:
    """The code at these paths, as seen from the directory in which the process is."""
    package = Path(__file__).parents[1]
    files = [_absolute(Path(directory, name)) for name in (*names, str(package))]
    paths = sysconfig.get_paths()
    modules = [
        Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    ]
    return UllageCode(tuple(dict.fromkeys(files)), (package, *dict.fromkeys(modules)))


def protected_below(paths: Iterable[Path], places: Iterable[Path]) -> ProtectedPaths:
    """Which of these paths lie below these places, and each link on the way there. ``places`` are without links."""
    places = tuple(places)
    existing, missing, links = set[Path](), set[Path](), list[Path]()
    for path in paths:
        passed, end = _follow_links(path)
        links += [link for link in passed if _is_inside(link, places)]
        if _is_inside(end, places):
            found = missing if _is_empty(end) else existing
            found.add(end)
    outer = [path for path in sorted(existing) if not _is_inside(path, existing)]
    absent = [
        path for path in sorted(missing) if not _is_inside(path, (*outer, *missing))
    ]
    problem = ""
    for link in links:
        if not _is_inside(link, outer):
            problem = (
                f"{link} leads to what Ullage runs or keeps, and a link can be exchanged"
            )
            break
    return ProtectedPaths(tuple(outer), tuple(absent), problem)


def code_problem(code: UllageCode, places: Iterable[Path]) -> str:
    """Why one of these places can't be confined: it holds what Ullage runs, or lies inside it."""
    files = {Path(os.path.realpath(path)) for path in code.files}
    modules = [Path(os.path.realpath(path)) for path in code.modules]
    for place in places:
        if place in files or is_below(place, modules):
            return f"{place} holds the code that Ullage itself runs"
    return ""


def program_outside(name: str, places: Iterable[Path]) -> str:
    """The first program of this name on ``PATH`` that lies in none of these places, where commands could make or
    change it; empty for none."""
    writable = {Path(os.path.realpath(place)) for place in places}
    writable.discard(Path("/"))  # a workspace that is refused later
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(directory):
            continue
        program = shutil.which(name, path=directory)
        if program is None:
            continue
        ends = (Path(os.path.realpath(directory)), Path(os.path.realpath(program)))
        if not any(is_below(end, writable) for end in ends):
            return program
    return ""


def is_below(path: Path, places: Iterable[Path]) -> bool:
    """Whether the path is one of the places, or lies in one."""
    return any(path.is_relative_to(place) for place in places)


def _follow_links(path: Path) -> tuple[list[Path], Path]:
    """The links that the path goes through, and where it ends: at its target, or at the first missing part.

    All of them are paths without links.
    """
    links: list[Path] = []
    here, parts = Path("/"), list(_absolute(path).parts[1:])
    while parts:
        part = parts.pop(0)
        here = here.parent if part == ".." else here / part
        if here.is_symlink() and len(links) < _MOST_LINKS:
            links.append(here)
            target = Path(os.readlink(here))
            if target.is_absolute():
                here = Path("/")
                parts = [*target.parts[1:], *parts]
            else:
                here = here.parent
                parts = [*target.parts, *parts]
        elif not os.path.lexists(here):
            break
    return links, here


def _is_empty(path: Path) -> bool:
    """Whether nothing is here, or a directory without entries, which the sandbox may have put there."""
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

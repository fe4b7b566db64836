"""Confines paths that a model names to one directory.

A path is resolved, and what it leads to is walked a directory at a time, each opened relative to the previous and never
through a symbolic link. So the checked directory is the opened one: exchanging a directory for a link in between ends
in an error, not outside. https://man7.org/linux/man-pages/man2/open.2.html ("Rationale for openat()")
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from ullage_agent.tools.repositories import is_git_name, makes_repository
from ullage_agent.tools.tool import ToolError

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags that open a directory, and no link to one."""


class OutsideRoot(ToolError):
    """The path leads out of the directory that file tools are confined to."""


class InsideRepository(ToolError):
    """The path leads to a file of git, which decides what programs git runs outside the sandbox."""


class NarrowRoot(NamedTuple):
    """A root inside the operator's, named without links. Commands work in the operator's root and can replace a
    directory there by a link: so no link between the two is followed."""

    outer: Path
    path: Path


class ConfinedPath(NamedTuple):
    """Where a path leads: an open directory and a name in it that is no link, or ``.`` for the directory itself.

    ``shown`` is the path from the root, without links. The name may not exist.
    """

    directory: int
    name: str
    shown: str

    def open(self, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """A descriptor; never waits for the other end of a pipe. Raises ``OSError``."""
        return os.open(
            self.name,
            flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            mode,
            dir_fd=self.directory,
        )

    def stat(self) -> os.stat_result | None:
        """The status of the file; ``None`` if it does not exist."""
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open_file(self) -> int:
        """A descriptor of a plain file, for reading. Raises ``ToolError`` for anything else."""
        descriptor = self.open()
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind):
            return descriptor
        os.close(descriptor)
        what = (
            "a directory"
            if stat.S_ISDIR(kind)
            else "no plain file (a device, pipe or socket)"
        )
        raise ToolError(f"{self.shown} is {what}.")


@contextmanager
def walk_to(
    root: Path | NarrowRoot,
    path: str,
    *,
    to_write: bool = False,
    make_parents: bool = False,
) -> Iterator[ConfinedPath]:
    """The place a path leads to, open inside the block. An ``OSError`` in the block becomes a ``ToolError``.

    Absolute paths and links are followed as long as they stay inside. Raises ``OutsideRoot``, and ``ToolError`` if a
    directory on the way is missing or can't be opened. With ``to_write`` raises ``InsideRepository`` for a file of git,
    whatever links lead to it. With ``make_parents`` makes missing directories.
    """
    if "\0" in path:
        raise ToolError("A path can't hold the character NUL.")
    opened: list[int] = []
    try:
        yield _walked(root, path, opened, to_write=to_write, make_parents=make_parents)
    except OSError as error:
        raise ToolError(f"{path or '.'}: {_reason(error)}") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _walked(
    root: Path | NarrowRoot,
    path: str,
    opened: list[int],
    *,
    to_write: bool,
    make_parents: bool,
) -> ConfinedPath:
    """Links are resolved first; the walk then finds no link, but where one appeared just now."""
    named = Path(os.path.abspath(root.path if isinstance(root, NarrowRoot) else root))
    opened.append(_root_directory(root, named))
    real_root = Path(os.path.realpath(named))
    real = Path(os.path.realpath(named / path))
    if not real.is_relative_to(real_root):
        raise OutsideRoot(
            f"{path} leads out of {named}, and tools may not go there. Name a path inside it."
        )
    if to_write and any(map(is_git_name, (*real.parts, *Path(path).parts))):
        raise _inside_repository(path)
    steps = real.relative_to(real_root).parts
    for step in steps:
        here = opened[-1]
        if to_write and _is_of_git(here, step, is_root=len(opened) == 1):
            raise _inside_repository(path)
        if len(opened) == len(steps):
            break
        if make_parents:
            with suppress(FileExistsError):
                os.mkdir(step, dir_fd=here)
        opened.append(os.open(step, DIRECTORY, dir_fd=here))
    name = steps[-1] if steps else "."
    return ConfinedPath(opened[-1], name, "/".join(steps) or ".")


def _root_directory(root: Path | NarrowRoot, named: Path) -> int:
    if not isinstance(root, NarrowRoot):
        return os.open(named, DIRECTORY & ~os.O_NOFOLLOW)
    outer = os.path.realpath(root.outer)
    if not named.is_relative_to(outer):
        raise ToolError(moved(named))
    descriptor = os.open(outer, DIRECTORY)
    for step in named.relative_to(outer).parts:
        above = descriptor
        try:
            descriptor = os.open(step, DIRECTORY, dir_fd=above)
        except OSError as error:
            raise ToolError(moved(named)) from error
        finally:
            os.close(above)
    return descriptor


def _is_of_git(directory: int, step: str, *, is_root: bool) -> bool:
    """Whether a directory is a repository, or becomes one with this name.

    In the root ``HEAD`` alone is refused: a command can make the rest there.
    """
    return (is_root and step.casefold() == "head") or makes_repository(directory, step)


def _inside_repository(path: str) -> InsideRepository:
    return InsideRepository(
        f"{path} belongs to a git repository: what is there decides which programs git runs, so file tools don't write "
        "it, whatever was approved. Ask the person to make this change. For commands they can open the repository "
        "with the setting sandbox_write."
    )


def moved(root: Path) -> str:
    """The message for a narrower root that has become a link, or has disappeared."""
    return f"{root} is no longer the directory that this session was given; put it back, or give it another root."


def _reason(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT:
            return "there is no such file or directory"
        case errno.ENOTDIR:
            return "a part of the path is no directory"
        case errno.ELOOP:
            return "too many symbolic links, or one that appeared just now"
        case _:
            return error.strerror or str(error)

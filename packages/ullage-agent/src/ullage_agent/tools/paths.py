"""Confines paths that a model names to one directory.

A path is walked a directory at a time, each opened relative to the previous and never through a symbolic link; links
are read and walked the same way. So the checked directory is the opened one: exchanging a directory for a link in
between ends in an error, not outside. https://man7.org/linux/man-pages/man2/open.2.html ("Rationale for openat()")
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

_MOST_LINKS: Final = (
    40  # what Linux follows: https://man7.org/linux/man-pages/man7/path_resolution.7.html
)
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
    by any name on the way, also of links. With ``make_parents`` makes missing directories.
    """
    if "\0" in path:
        raise ToolError("A path can't hold the character NUL.")
    walk = _PathWalk(root, to_write=to_write)
    try:
        yield walk.to(path, make_parents=make_parents)
    except OSError as error:
        raise ToolError(f"{path or '.'}: {_reason(error)}") from error
    finally:
        walk.close()


class _PathWalk:
    """The open directories from the root to the current one."""

    def __init__(self, root: Path | NarrowRoot, *, to_write: bool) -> None:
        outer, named = root if isinstance(root, NarrowRoot) else (None, root)
        self._outer = outer
        self._root = Path(os.path.abspath(named))
        self._roots = (self._root, Path(os.path.realpath(named)))
        self._to_write = to_write
        self._open: list[int] = []
        self._names: list[str] = []

    def to(self, path: str, *, make_parents: bool) -> ConfinedPath:
        self._open.append(self._opened())
        if self._to_write and any(map(is_git_name, self._roots[1].parts)):
            raise _inside_repository(path)
        left = self._steps(path, path)
        links = 0
        while left:
            step = left.pop(0)
            if step == "..":
                self._up(path)
                continue
            if self._to_write and self._is_of_git(step):
                raise _inside_repository(path)
            target = self._link(step)
            if target is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                left = self._steps(target, path) + left
            elif not left:
                return ConfinedPath(self._open[-1], step, "/".join([*self._names, step]))
            else:
                self._down(step, make=make_parents)
        return ConfinedPath(self._open[-1], ".", "/".join(self._names) or ".")

    def _opened(self) -> int:
        """A descriptor of the root."""
        if self._outer is None:
            return os.open(self._root, _DIRECTORY & ~os.O_NOFOLLOW)
        outer = os.path.realpath(self._outer)
        if not self._root.is_relative_to(outer):
            raise ToolError(moved(self._root))
        descriptor = os.open(outer, _DIRECTORY)
        for step in self._root.relative_to(outer).parts:
            above = descriptor
            try:
                descriptor = os.open(step, _DIRECTORY, dir_fd=above)
            except OSError as error:
                raise ToolError(moved(self._root)) from error
            finally:
                os.close(above)
        return descriptor

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def _steps(self, path: str, asked: str) -> list[str]:
        """The names of a path or a link's target, refused before any directory is made."""
        steps = self._names_below(path, asked)
        if self._to_write and any(map(is_git_name, steps)):
            raise _inside_repository(asked)
        return steps

    def _is_of_git(self, step: str) -> bool:
        """Whether the current directory is a repository, or becomes one with this name.

        In the root ``HEAD`` alone is refused: a command can make the rest there.
        """
        if len(self._open) == 1 and step.casefold() == "head":
            return True
        return makes_repository(self._open[-1], step)

    def _names_below(self, path: str, asked: str) -> list[str]:
        """The names of a path; an absolute path inside the root starts again there."""
        if not os.path.isabs(path):
            return [step for step in path.split("/") if step not in ("", ".")]
        for root in self._roots:
            with suppress(ValueError):
                below = Path(path).relative_to(root)
                while len(self._open) > 1:
                    os.close(self._open.pop())
                self._names.clear()
                return [step for step in below.parts if step != "."]
        raise self._outside(asked)

    def _up(self, asked: str) -> None:
        if len(self._open) == 1:
            raise self._outside(asked)
        os.close(self._open.pop())
        self._names.pop()

    def _down(self, step: str, *, make: bool) -> None:
        if make:
            with suppress(FileExistsError):
                os.mkdir(step, dir_fd=self._open[-1])
        self._open.append(os.open(step, _DIRECTORY, dir_fd=self._open[-1]))
        self._names.append(step)

    def _link(self, step: str) -> str | None:
        try:
            return os.readlink(step, dir_fd=self._open[-1])
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:  # it exists and is no link
                return None
            raise

    def _outside(self, path: str) -> OutsideRoot:
        return OutsideRoot(
            f"{path} leads out of {self._root}, and tools may not go there. Name a path inside it."
        )


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

"""The files of git inside a workspace, which commands and file tools must not write.

A repository's settings, hooks, index and state decide which programs the user's next ``git status`` runs, outside the
sandbox. An index alone is enough: an entry for a submodule makes git run in a directory that a command has filled, with
the settings found there. So a command writes nothing below ``.git``, and can't make one where git would look for it.

https://git-scm.com/docs/gitrepository-layout
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from ullage_agent.tools.protected_paths import ProtectedPaths, is_below, program_outside

GIT: Final = ".git"

DEPTH: Final = 3
MOST_DIRECTORIES: Final = 2_000
"""How deep, and in how many directories, repositories are searched that are not submodules. Anthropic's
sandbox-runtime searches as deep (``DEFAULT_MANDATORY_DENY_SEARCH_DEPTH``). Warm, it takes about 10 µs a directory."""

MOST_PLACES: Final = 300
"""Each is a separate mount, for every command."""

_LARGEST_TEXT: Final = 1 << 16
_LONGEST_NAME: Final = 255  # NAME_MAX of <linux/limits.h>
_GIT_S: Final = 10.0
_SUBMODULE: Final = b"160000 "  # the mode of an entry that is a commit
_GIT_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_GIT_OPTIONS: Final = (
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=",
    "-c",
    f"core.hooksPath={os.devnull}",
)
"""What keeps git from running a program that a repository's settings name, or from fetching an object."""


def git_places(root: Path, opened: Iterable[Path] = ()) -> ProtectedPaths:
    """The files of git in the workspace and in ``opened``, further directories that commands can write.

    A directory of ``opened`` that lies in a ``.git`` was opened on purpose and stays writable.
    """
    if GIT in root.parts or _is_git_directory(root):
        return ProtectedPaths(problem=f"{root} is the inside of a repository")
    opened = [place for place in opened if place.is_dir()]
    scan = _RepositoryScan(program_outside("git", (root, *opened)))
    for place in (root, *opened):
        if GIT not in place.parts and not _is_git_directory(place):
            scan.scan(place)
    problem = scan.problem
    if not problem and len(scan.existing) + len(scan.missing) > MOST_PLACES:
        problem = f"{root} holds more than {MOST_PLACES} repositories"
    opened_git = [place for place in opened if GIT in place.parts]
    existing = tuple(path for path in scan.existing if not is_below(path, opened_git))
    return ProtectedPaths(existing, tuple(scan.missing), problem)


def is_git_name(name: str) -> bool:
    """Whether git, on any file system, reads an entry of this name as a repository or as a pointer to one."""
    return name.casefold() == GIT


def makes_repository(directory: int, name: str) -> bool:
    """Whether an open directory is a repository, or becomes one with an entry of this name."""

    def has(needed: str) -> bool:
        if name.casefold() == needed.casefold():
            return True
        try:
            os.stat(needed, dir_fd=directory, follow_symlinks=False)
        except OSError:
            return False
        return True

    return _is_repository(has)


class _RepositoryScan:
    """The paths found so far, in order and once each."""

    def __init__(self, git_program: str) -> None:
        self.git_program = git_program
        self.existing: dict[Path, None] = {}
        self.missing: dict[Path, None] = {}
        self.problem = ""
        self.place = Path()

    def scan(self, place: Path) -> None:
        """Find the files of git in one writable directory."""
        self.place = place
        self.take_worktree(place)
        git = place / GIT
        if git in self.missing or (git.is_dir() and not _is_git_directory(git)):
            # with a HEAD, git would read the directory itself as a repository
            self.take(place / "HEAD")
        for parent in place.parents:
            self.take_submodules(parent)
        # no git is run in what commands may have made
        for worktree in _nested(place):
            git = worktree / GIT
            is_known = git in self.existing or git in self.missing
            if not is_known and not git.is_symlink():  # no reason to refuse the workspace
                self.take(git)
                self.take_target(worktree)

    def take_worktree(self, worktree: Path) -> None:
        """The ``.git`` of a worktree, its target, and its submodules."""
        git = worktree / GIT
        if git in self.existing or git in self.missing:
            return
        self.take(git)
        if git in self.existing:
            self.take_submodules(worktree)

    def take_target(self, worktree: Path) -> Path | None:
        """The directory that the worktree's ``.git`` is or leads to, wherever it lies."""
        directory = git_directory(worktree / GIT)
        if (
            directory is not None
            and self.holds(directory)
            and GIT not in directory.parts
            and (directory / "HEAD").exists()
        ):
            self.take(directory)
        return directory

    def take_submodules(self, worktree: Path) -> None:
        directory = self.take_target(worktree)
        if directory is None or not self.git_program:
            return
        try:
            names = submodules(directory, self.git_program)
        except (OSError, subprocess.TimeoutExpired) as problem:
            self.problem = (
                self.problem or f"git can't list submodules in {directory} ({problem})"
            )
            return
        for name in names:
            if self.holds(worktree / name):
                self.take_submodule(worktree / name)

    def take_submodule(self, path: Path) -> None:
        """Git reads the ``.git`` at this path. A link or file on the way to it must stay there."""
        here = self.place
        for part in path.relative_to(self.place).parts:
            here /= part
            if here.is_symlink() or not here.is_dir():
                self.take(here)
                return
        self.take_worktree(path)

    def holds(self, path: Path) -> bool:
        is_possible = ".." not in path.parts and all(
            len(os.fsencode(part)) <= _LONGEST_NAME for part in path.parts
        )
        return is_possible and path != self.place and path.is_relative_to(self.place)

    def take(self, path: Path) -> None:
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            self.missing[path] = None
            return
        if stat.S_ISLNK(mode):
            self.problem = (
                self.problem
                or f"{path} is a link, which can't be kept from being exchanged"
            )
        elif stat.S_ISDIR(mode) and not _has_entries(path):
            self.missing[path] = (
                None  # an empty directory is no repository; the sandbox may have put it there
            )
        else:
            self.existing[path] = None


def git_directory(git: Path) -> Path | None:
    """The directory that a worktree's ``.git`` is, or names as a file; ``None`` if it is neither."""
    if git.is_dir():
        return git
    text = _text(git)
    if not text.startswith(b"gitdir:"):
        return None
    target = os.fsdecode(text.removeprefix(b"gitdir:").strip(b" \r\n"))
    return Path(os.path.realpath(git.parent / target))


def submodules(directory: Path, program: str) -> tuple[str, ...]:
    """The paths of submodules in a git directory's index, as git itself lists them.

    Raises ``OSError`` if it can't, ``TimeoutExpired``.
    """
    try:
        about = os.stat(directory / "index")
    except OSError:
        return ()
    state = (about.st_ino, about.st_mtime_ns, about.st_size)
    return _listed(directory, program, state)


@lru_cache(maxsize=64)
def _listed(
    directory: Path, program: str, state: tuple[int, int, int]
) -> tuple[str, ...]:
    """Read once for each ``state`` of the index."""
    listed = subprocess.run(
        [program, *_GIT_OPTIONS, f"--git-dir={directory}", "ls-files", "--stage", "-z"],
        cwd="/",
        env=_GIT_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_GIT_S,
        check=False,
    )
    if listed.returncode != 0:
        raise OSError(os.fsdecode(listed.stderr.strip()[:200]))
    entries = (each for each in listed.stdout.split(b"\0") if each.startswith(_SUBMODULE))
    names = (os.fsdecode(entry.partition(b"\t")[2]) for entry in entries)
    return tuple(dict.fromkeys(names))


def _nested(place: Path) -> Iterator[Path]:
    """The directories below that have a ``.git``, nearer ones first."""
    level, looked_at = [place], 0
    for _ in range(DEPTH):
        below: list[Path] = []
        for directory in level:
            looked_at += 1
            if looked_at > MOST_DIRECTORIES:
                return
            below += _directories(directory)
        yield from (each for each in below if os.path.lexists(each / GIT))
        level = below


def _directories(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            return [
                Path(each.path)
                for each in entries
                if each.name != GIT and each.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def _has_entries(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except OSError:
        return True  # an unreadable directory is not the sandbox's


def _is_git_directory(place: Path) -> bool:
    return _is_repository(lambda name: (place / name).exists())


def _is_repository(has: Callable[[str], bool]) -> bool:
    """By the entries that ``is_git_directory`` of git's setup.c checks; ``commondir`` replaces the other two."""
    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _text(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return (
                file.read(_LARGEST_TEXT)
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                else b""
            )
    except OSError:
        return b""

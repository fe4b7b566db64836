"""Brings paths from one state to another, below one directory and through no link.

Every directory on the way is opened relative to the one above and never as a link. A file is written beside its place
and renamed, so that it is always whole, and a hard link elsewhere keeps its content.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Final

from ullage_agent.file_history.changes import (
    FileChange,
    content_of,
    is_directory,
    is_link,
    mode_of,
    path_of,
)
from ullage_agent.file_history.policy import LARGEST_FILE
from ullage_agent.file_history.tree import Stamp, stamp_of
from ullage_agent.tools.paths import DIRECTORY

EDITED: Final = "it was changed since"
NOT_YET: Final = "it changed before its content was stored"


class Unkept(Exception):
    """The content of a file is not kept; the message says why."""


def state(mode: int, content: str) -> str:
    """The text of a state, see ``changes``. The mode of a link means nothing."""
    if stat.S_ISLNK(mode):
        mode = stat.S_IFLNK
    return f"{mode:o} {content}".rstrip()


def read_content(name: str, stamp: Stamp | None, *, parent: int | None = None) -> bytes:
    """The content of a file or link, whole and as at one time. Raises ``Unkept`` and ``OSError``.

    ``stamp`` is what was seen of it, for a file that must be the same.
    """
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stamp not in (None, stamp_of(found)):
        raise Unkept(NOT_YET)
    if stat.S_ISLNK(found.st_mode):
        return os.fsencode(os.readlink(name, dir_fd=parent))
    if not stat.S_ISREG(found.st_mode):
        raise Unkept("it is no plain file")
    if found.st_size > LARGEST_FILE:
        raise Unkept(f"it has more than {LARGEST_FILE:,} bytes")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
        data = file.read(LARGEST_FILE + 1)
        after = os.fstat(file.fileno())
    if stamp_of(after) != stamp_of(found) or len(data) != found.st_size:
        raise Unkept(NOT_YET)
    return data


def restore(
    root: str, moves: Iterable[FileChange], content: Callable[[str], bytes]
) -> dict[str, str]:
    """Bring each path from ``old`` to ``new`` if it is ``old`` now. What goes, goes before anything comes.

    The same may have been begun before: any part of it may be done. Gives the reasons for the paths that were left
    alone. Raises ``OSError`` where the root can't be opened.
    """
    todo = sorted(moves, key=path_of)
    left: dict[str, str] = {}
    top = os.open(root, DIRECTORY)
    work = _Restoring(top, content)
    try:
        for work_on, order in (
            (work.unlock, todo),
            (work.take_away, reversed(todo)),
            (work.put, todo),
            (work.set_mode, reversed(todo)),
        ):
            for move in order:
                if move.path in left:
                    continue
                try:
                    work_on(move)
                except Unkept as problem:
                    left[move.path] = str(problem)
                except OSError as problem:
                    if move.new or not isinstance(problem, FileNotFoundError):
                        left[move.path] = _reason(problem)
    finally:
        os.close(top)
    return left


class _Restoring:
    """The four passes over the moves of one restoring."""

    def __init__(self, top: int, content: Callable[[str], bytes]) -> None:
        self._top = top
        self._content = content

    def unlock(self, move: FileChange) -> None:
        """Open a directory for writing, until it goes or its own mode is set."""
        if is_directory(move.old):
            with self._place(move) as (parent, name, now):
                if is_directory(now):
                    _set_mode(parent, name, mode_of(now) | stat.S_IRWXU)

    def take_away(self, move: FileChange) -> None:
        """Remove what has no place any more, or has to be replaced by another kind."""
        if not move.old or (move.new and not _is_other_kind(move)):
            return
        with self._place(move) as (parent, name, now):
            if now == move.new or (is_directory(now) and is_directory(move.new)):
                return
            if is_directory(now):
                os.rmdir(name, dir_fd=parent)
            elif now:
                os.unlink(name, dir_fd=parent)

    def put(self, move: FileChange) -> None:
        """Make what is to be there."""
        if not move.new:
            return
        with self._place(move) as (parent, name, now):
            if not is_directory(move.new):
                if now != move.new:
                    self._write(move, parent, name)
            elif not now:
                os.mkdir(name, stat.S_IRWXU, dir_fd=parent)

    def _write(self, move: FileChange, parent: int, name: str) -> None:
        data = self._content(content_of(move.new))
        draft = f".ullage-{sha256(move.path.encode()).hexdigest()[:16]}"
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=parent)  # of a process that was killed here
        try:
            if is_link(move.new):
                os.symlink(os.fsdecode(data), draft, dir_fd=parent)
            else:
                flags = (
                    os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                )
                opened = os.open(draft, flags, 0o600, dir_fd=parent)
                with os.fdopen(opened, "wb") as file:
                    file.write(data)
                    os.fchmod(file.fileno(), stat.S_IMODE(mode_of(move.new)))
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            with suppress(OSError):
                os.unlink(draft, dir_fd=parent)
            raise

    def set_mode(self, move: FileChange) -> None:
        """Give a directory its mode, once all that is in it is there."""
        if is_directory(move.new):
            with self._place(move) as (parent, name, _):
                _set_mode(parent, name, mode_of(move.new))

    @contextmanager
    def _place(self, move: FileChange) -> Iterator[tuple[int, str, str]]:
        """The directory that a path is in, its name there, and its state: as it was, as it is to be, or in between."""
        with _parent(self._top, move.path) as (parent, name):
            now = _state_of(parent, name)
            if is_directory(now):
                is_ours = is_directory(move.old) or is_directory(move.new)
            else:
                is_ours = now in (move.old, move.new) or (
                    not now and _is_other_kind(move)
                )
            if not is_ours:
                raise Unkept(EDITED)
            yield parent, name, now


def _is_other_kind(move: FileChange) -> bool:
    return is_directory(move.old) != is_directory(move.new)


@contextmanager
def _parent(top: int, path: str) -> Iterator[tuple[int, str]]:
    """The directory that a path is in, open, and the path's name there. Raises ``OSError``, also for a link."""
    *above, name = path.split("/")
    if not name or {"", ".", ".."} & {*above, name}:
        raise OSError(errno.EINVAL, "it is no path below the root")
    here = os.dup(top)
    try:
        for step in above:
            below = os.open(step, DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def _set_mode(parent: int, name: str, mode: int) -> None:
    directory = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        os.fchmod(directory, stat.S_IMODE(mode))
    finally:
        os.close(directory)


def _state_of(parent: int, name: str) -> str:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            return state(mode, "")
        return state(mode, sha256(read_content(name, None, parent=parent)).hexdigest())
    except FileNotFoundError:
        return ""
    except (OSError, Unkept) as problem:
        return state(mode, f"-{problem}")


def _reason(problem: OSError) -> str:
    match problem.errno:
        case errno.ENOTEMPTY | errno.EEXIST:
            return "the directory holds other files"
        case errno.ELOOP | errno.ENOTDIR:
            return "a directory on the way is a link now, or no directory"
        case errno.ENOENT:
            return EDITED
        case _:
            return problem.strerror or str(problem)

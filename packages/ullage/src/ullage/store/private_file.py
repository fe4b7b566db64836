"""Small files of JSON in the user's data directory. Each changes at once or not at all, and is the user's alone.

Two processes that replace a file at once leave the later one's content, whole.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from ullage.envelope import MIB
from ullage.errors import UllageError
from ullage_programs.replacement import Replacement

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")


class UnwritableStore(UllageError):
    """A file or directory of the user's data can't be read, replaced or deleted; it is as it was."""


MOST_BYTES: Final = 32 * MIB
"""A file is not read beyond this: the largest of them, the calibration of many models, has some hundred kilobytes."""


def private_directory(directory: Path) -> None:
    """Make the directory, and those above it, where they are missing; no other user may read it. Raises ``OSError``."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)


def read_file(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file of at most ``most`` bytes. Never waits for a writer. Raises ``OSError``."""
    flags = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def read_json(path: Path, decoder: msgspec.json.Decoder[T]) -> T | None:
    """What the file holds; ``None`` where it is missing, damaged, too long or no regular file."""
    try:
        return None if path.is_symlink() else decoder.decode(read_file(path))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def write_bytes(path: Path, data: bytes, what: str) -> None:
    """Put this in the place of the file. Raises ``UnwritableStore``, which says that ``what`` can't be written."""
    try:
        private_directory(path.parent)
        replace_file(path, data)
    except OSError as problem:
        raise UnwritableStore(
            f"{what} can't be written to {path} ({problem.strerror}). "
            "Make room or allow writing there, or point ULLAGE_DATA to another directory."
        ) from problem


def delete_files(paths: Iterable[Path]) -> None:
    """Delete these files, of which some may be gone. Raises ``UnwritableStore`` at the first that can't be."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as problem:
            raise UnwritableStore(
                f"{path} can't be deleted ({problem.strerror}). Check who may write there."
            ) from problem


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only one in such a block of this file, among all processes of the machine. Raises ``OSError``.

    It locks the file's directory, which it makes, and leaves nothing there. Windows has no such lock: it takes none.
    """
    private_directory(path.parent)
    if fcntl is None:
        yield
        return
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace_file(path: Path, data: bytes, *, is_lasting: bool = True) -> None:
    """Put these bytes in the place of the file, as ``Replacement`` does. Raises ``OSError``."""
    with Replacement(str(path), is_lasting=is_lasting) as file:
        file.write(data)

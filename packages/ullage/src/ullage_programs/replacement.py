"""Files that change at once or not at all: the status line's own, and all that Ullage keeps."""

from __future__ import annotations

import io
import os


class Replacement:
    """A new content for a file, in its place at the end of a ``with`` block that gives a binary file to write.

    It is the user's alone unless ``mode`` says otherwise; its directory must exist. Of threads and processes that
    replace a file at once, the content of the last stays, whole. Nothing waits for the disk unless ``is_lasting``.
    Raises ``OSError``. The file is then as it was, as after an exception in the block, and nothing is left beside it.
    """

    def __init__(self, path: str, *, mode: int = 0o600, is_lasting: bool = True) -> None:
        directory, name = os.path.split(path)
        self.path = path
        self.mode = mode
        self.is_lasting = is_lasting
        self.beside = os.path.join(directory, f".{name}.{os.urandom(6).hex()}")
        self.file = open(self.beside, "xb", opener=_private)  # noqa: SIM115

    def __enter__(self) -> io.BufferedWriter:
        return self.file

    def __exit__(self, failure: object, *_: object) -> None:
        try:
            if failure is None:
                self._put_in_place()
        finally:
            self.file.close()
            _remove(self.beside)

    def _put_in_place(self) -> None:
        self.file.flush()
        if self.is_lasting:
            os.fsync(self.file.fileno())
        self.file.close()
        os.chmod(self.beside, self.mode)
        os.replace(self.beside, self.path)


def _private(path: str, flags: int) -> int:
    """Opens a file that nobody else may read."""
    return os.open(path, flags, 0o600)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return

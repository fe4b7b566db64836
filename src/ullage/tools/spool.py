"""What a command prints, kept without growing: the beginning on disk, the end in memory."""

from __future__ import annotations

import tempfile
from collections import deque
from types import TracebackType
from typing import IO, Final, Self

from ullage.tools.truncation import whole_characters

IN_MEMORY: Final = 1_000_000
"""Bytes of the beginning that are held in memory; above, they go to a temporary file without a name."""
TAIL: Final = 1_000_000
"""Bytes of the end that are held beside it."""


class Spool:
    """Takes any number of bytes and gives the first ``head_bytes`` and the last ``tail_bytes`` of them."""

    def __init__(self, *, head_bytes: int, tail_bytes: int = TAIL) -> None:
        self._head_left = head_bytes
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._tail_bytes = tail_bytes
        self.size_bytes = 0
        """Bytes taken so far."""
        self.problem = ""
        """Why the beginning was not kept as far as it might have been: a full disk."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, data: bytes) -> None:
        """Take more. Where the disk is full, what can't be written is left out as what is over the limit is."""
        self.size_bytes += len(data)
        while data and self._head_left:
            written = self._to_head(data[: self._head_left])
            self._head_left -= written
            data = data[written:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._tail_bytes:
            self._tail_size -= len(self._tail.popleft())

    def _to_head(self, data: bytes) -> int:
        """How many bytes were put away; none, and no more from here on, where the disk takes none."""
        if room := max(0, IN_MEMORY - len(self._memory)):
            self._memory += data[:room]
            return min(room, len(data))
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by __exit__
            return self._file.write(data)
        except OSError as error:
            self.problem = error.strerror or str(error)
            self._head_left = 0
            return 0

    def sample(self) -> bytes:
        """The first 8,000 bytes."""
        return bytes(self._memory[:8_000])

    def _head(self) -> bytes:
        if self._file is None:
            return bytes(self._memory)
        self._file.seek(0)
        return bytes(self._memory) + self._file.read()

    def text(self) -> str:
        """All there is as text; where bytes had to be left out it says how many and where."""
        head, tail = self._head(), b"".join(self._tail)
        gap = self.size_bytes - len(head) - len(tail)
        if not gap:
            return (head + tail).decode("utf-8", "replace")
        head, tail = whole_characters(head, cut="end"), whole_characters(tail, cut="start")
        missing = (
            f"\n[{self.size_bytes - len(head) - len(tail):,} bytes were not kept here, of {self.size_bytes:,} printed"
            f"{f' ({self.problem})' if self.problem else ''}: send long output to a file instead]\n"
        )
        return head.decode("utf-8", "replace") + missing + tail.decode("utf-8", "replace")

"""What a command prints, kept without growing: the beginning on disk, the end in memory."""

from __future__ import annotations

import tempfile
from collections import deque
from types import TracebackType
from typing import Final, Self

from ullage.tools.cutting import whole_characters

IN_MEMORY: Final = 1_000_000
"""Bytes of the beginning that are held in memory; above, they go to a temporary file without a name."""
TAIL: Final = 1_000_000
"""Bytes of the end that are held beside it."""


class Spool:
    """Takes any number of bytes and gives the first ``head_bytes`` and the last ``tail_bytes`` of them."""

    def __init__(self, *, head_bytes: int, tail_bytes: int = TAIL) -> None:
        self._head = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self._head_left = head_bytes
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._tail_bytes = tail_bytes
        self.size_bytes = 0
        """Bytes taken so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._head.close()

    def take(self, data: bytes) -> None:
        """Take more. Raises ``OSError`` on a full disk."""
        self.size_bytes += len(data)
        if self._head_left:
            self._head.write(data[: self._head_left])
            data, self._head_left = data[self._head_left :], max(0, self._head_left - len(data))
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._tail_bytes:
            self._tail_size -= len(self._tail.popleft())

    def sample(self) -> bytes:
        """The first 8,000 bytes."""
        self._head.seek(0)
        return self._head.read(8_000)

    def text(self) -> str:
        """All there is as text; where bytes had to be left out it says how many and where."""
        self._head.seek(0)
        head, tail = self._head.read(), b"".join(self._tail)
        gap = self.size_bytes - len(head) - len(tail)
        if not gap:
            return (head + tail).decode("utf-8", "replace")
        head, tail = whole_characters(head, cut="end"), whole_characters(tail, cut="start")
        missing = (
            f"\n[{self.size_bytes - len(head) - len(tail):,} bytes were not kept here, of {self.size_bytes:,} printed: "
            "send long output to a file instead]\n"
        )
        return head.decode("utf-8", "replace") + missing + tail.decode("utf-8", "replace")

"""Where the body of an HTTP/1 message ends, and what it holds without its transfer coding.

A body is followed while it passes; nothing of it is kept but a few bytes of a chunk's head that came in two pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ullage_relay.heads import Malformed

LINE_AT_MOST: Final = 4 * 1024
"""Bytes of a chunk's first line, or of a trailer line."""

TRAILERS_AT_MOST: Final = 64 * 1024
"""Bytes of all trailer lines."""

_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;[\t -~\x80-\xff]*)?")
_TRAILER: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*")

KeepContent = Callable[[bytes], None]
"""Takes a piece of the content."""


class FixedBody:
    """A body of a known length."""

    def __init__(self, length: int) -> None:
        self._left = length

    @property
    def is_complete(self) -> bool:
        return not self._left

    def take(self, data: bytes, at: int, keep: KeepContent | None) -> int:
        """Where the body ends in the data, or the end of the data."""
        end = min(len(data), at + self._left)
        self._left -= end - at
        if keep is not None and end > at:
            keep(data[at:end])
        return end

    def end(self) -> bool:
        """Whether the body is whole when the connection ends here."""
        return self.is_complete


class OpenBody:
    """A body that ends with the connection."""

    is_complete = False

    def take(self, data: bytes, at: int, keep: KeepContent | None) -> int:
        if keep is not None and at < len(data):
            keep(data[at:])
        return len(data)

    def end(self) -> bool:
        return True


class ChunkedBody:
    """A body in chunks, with trailers. ``take`` raises ``Malformed``."""

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the present chunk that are still to come."""
        self._line = b""
        """The beginning of a line whose end has not come yet."""
        self._state = "size"
        """``size``, ``data``, ``after`` (the end of the line after a chunk), ``trailers`` or ``complete``."""
        self._trailers = 0

    @property
    def is_complete(self) -> bool:
        return self._state == "complete"

    def end(self) -> bool:
        return self.is_complete

    def take(self, data: bytes, at: int, keep: KeepContent | None) -> int:
        while at < len(data) and not self.is_complete:
            if self._state == "data":
                at = self._take_data(data, at, keep)
            else:
                at = self._take_line(data, at)
        return at

    def _take_data(self, data: bytes, at: int, keep: KeepContent | None) -> int:
        end = min(len(data), at + self._left)
        if keep is not None:
            keep(data[at:end])
        self._left -= end - at
        if not self._left:
            self._state = "after"
        return end

    def _take_line(self, data: bytes, at: int) -> int:
        found = data.find(b"\n", at, at + LINE_AT_MOST)
        end = found + 1 if found >= 0 else min(len(data), at + LINE_AT_MOST)
        line = self._line + data[at:end]
        if len(line) >= LINE_AT_MOST:
            raise Malformed("a chunk's first line or a trailer is too long")
        if found < 0:
            self._line = line
            self._check_beginning(line)
            return end
        self._line = b""
        if not line.endswith(b"\r\n"):
            raise Malformed("a line within the chunks does not end with CR LF")
        self._line_came(line[:-2])
        return end

    def _check_beginning(self, line: bytes) -> None:
        if self._state == "after" and line != b"\r":
            raise Malformed("a chunk is longer than its size says")

    def _line_came(self, line: bytes) -> None:
        if self._state == "size":
            self._size_came(line)
        elif self._state == "after":
            self._check_beginning(line + b"\r")
            self._state = "size"
        elif not line:
            self._state = "complete"
        else:
            self._trailer_came(line)

    def _size_came(self, line: bytes) -> None:
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise Malformed("a chunk's size is no hexadecimal number")
        self._left = int(match[1], 16)
        self._state = "data" if self._left else "trailers"

    def _trailer_came(self, line: bytes) -> None:
        self._trailers += len(line)
        if _TRAILER.fullmatch(line) is None or self._trailers > TRAILERS_AT_MOST:
            raise Malformed("a trailer is no header line, or there are too many")


MessageBody = FixedBody | OpenBody | ChunkedBody

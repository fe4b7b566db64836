"""Server-sent events out of bytes, however they are cut: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

from __future__ import annotations

from typing import Final

from ullage.codec.stream import ServerEvent
from ullage.envelope import EMPTY_EVENTS, ERROR_BODY_BYTES, EVENT_BYTES
from ullage.errors import LimitExceeded

_BOM: Final = b"\xef\xbb\xbf"
_PASSED_OVER: Final = frozenset({b"id", b"retry"})


class EventReader:
    """Reads one stream. Lines end in LF, CR or CRLF; comments, ``id`` and ``retry`` are passed over.

    An event is given at the blank line that ends it. No event is lost or doubled wherever the chunks are cut.
    A line that is none of a stream's ends the reading: it is damage, or an error that was sent without a frame.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # a line that has no end yet
        self._data: list[bytes] = []
        self._name = b""
        self._begun = False
        self._skip_lf = False
        self._size = 0  # bytes of the event and the line that have no end yet
        self._comments = 0
        self.stray = b""
        """The first line that belongs to no event and what followed it, as far as it came."""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes. Raises ``LimitExceeded`` for an event that is too large."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            if chunk:
                self._pieces.append(chunk)
                self._grow(len(chunk))
            return []
        if self._pieces:
            self._pieces.append(chunk)
            chunk = b"".join(self._pieces)
            self._pieces.clear()
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events = self._read(lines)
        if rest:
            self._pieces.append(rest)
        if rest or self._size:
            self._grow(len(rest))
        return events

    def close(self) -> list[ServerEvent]:
        """At the end of the stream: the last event, where the server has left out the blank line behind it."""
        return self._read([b""]) if self.is_whole else []

    @property
    def rest(self) -> bytes:
        """The beginning of a line that has no end yet."""
        return b"".join(self._pieces)[:ERROR_BODY_BYTES]

    @property
    def is_whole(self) -> bool:
        """Whether what has been read ends with a line's end, so that nothing was cut."""
        return not self._pieces

    def _read(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        if not self._begun and lines:
            self._begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        data = self._data
        for place, line in enumerate(lines):
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._size += len(line)
            elif not line:
                self._size = 0
                if data and (len(data) > 1 or data[0]):
                    joined = data[0] if len(data) == 1 else b"\n".join(data)
                    name = self._name.decode("utf-8", "replace") if self._name else ""
                    events.append(ServerEvent(joined, name))
                data.clear()
                self._name = b""
            elif line.startswith(b"event:"):
                self._name = line[7:] if line[6:7] == b" " else line[6:]
            elif line == b"data":
                data.append(b"")
            elif line == b"event":
                self._name = b""
            elif line.startswith(b":"):
                self._count_comment()
            elif line.partition(b":")[0] not in _PASSED_OVER:
                self.stray = b"\n".join(lines[place:])[:ERROR_BODY_BYTES]
                break
        return events

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > EVENT_BYTES:
            raise LimitExceeded(
                f"One event of the answer exceeds {EVENT_BYTES:,} bytes, so the answer was stopped. "
                "Check the model and the address.",
                limit="EVENT_BYTES",
            )

    def _count_comment(self) -> None:
        self._comments += 1
        if self._comments > EMPTY_EVENTS:
            raise LimitExceeded(
                f"The answer held {EMPTY_EVENTS:,} comments, so it was stopped. Check the server.",
                limit="EMPTY_EVENTS",
            )

"""Server-sent events out of bytes, however they are cut: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

from __future__ import annotations

from typing import Final

from ullage.codec.stream import ServerEvent

_BOM: Final = b"\xef\xbb\xbf"


class EventReader:
    """Reads one stream. Lines end in LF, CR or CRLF; comments, ``id`` and ``retry`` are passed over.

    An event is given at the blank line that ends it. No event is lost or doubled wherever the chunks are cut.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # a line that has no end yet
        self._data: list[bytes] = []
        self._name = b""
        self._begun = False
        self._skip_lf = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            if chunk:
                self._pieces.append(chunk)
            return []
        if self._pieces:
            self._pieces.append(chunk)
            chunk = b"".join(self._pieces)
            self._pieces.clear()
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if rest:
            self._pieces.append(rest)
        return self._read(lines)

    def close(self) -> list[ServerEvent]:
        """At the end of the stream: the last event, where the server has left out the blank line behind it."""
        return self._read([b""]) if self.is_whole else []

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
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
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
        return events

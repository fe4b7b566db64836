"""Frames between the relay and the process that meters: a JSON header and bytes, over a pipe.

A frame is the length of its header and of its payload (4 bytes each, big-endian), the header, and the payload. The
header is a JSON object whose ``kind`` is text. The relay writes to the child's stdin, the child to its stdout.

The relay gets the child's command line and its settings from the command line of Ullage. It does not read the settings:
they are the payload of the first frame, ``{"kind": "settings"}``, which each child gets when it starts. The child ends
when its stdin ends, after it has stored what it was given.

relay to metering

- ``settings``; payload: the settings.
- ``request`` with ``call``, ``at`` (when its head came, in seconds since 1970), ``connection``, ``method``, ``path``
  (without its query), ``upstream``, ``headers``, ``session`` (the name that the user gave with ``/s/NAME/`` or
  ``x-ullage-session``, or empty); payload: the body, still encoded.
- ``answer`` with ``call``, ``at`` (its end), ``begun`` (its first byte; ``null`` for none), ``status`` (0 for none),
  ``headers``, ``outcome``, ``note``; payload: the body of the response without its transfer coding. It is cut at
  ``ANSWER_AT_MOST``; then ``cut`` is true.
- ``lost`` with ``calls``: so many calls were dropped, because too much waited for metering.

metering to relay

- ``stored`` with ``call``: this call is in the ledger, and the relay forgets it. What is not stored when the child ends
  is sent again to the next one, so a call may come twice.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

HEADER_AT_MOST: Final = 64 * 1024
"""Bytes of a frame's header. The relay's own are below 16 KB."""

PAYLOAD_AT_MOST: Final = 64 * 1024 * 1024
"""Bytes of a frame's payload: all that may wait for metering."""

LENGTHS: Final = 8
"""Bytes before the header."""


class BadFrame(ValueError):
    """What came is no frame. All that follows on the same pipe is unreadable too."""


class TapFrame(NamedTuple):
    """One message between the relay and metering."""

    header: dict[str, object]
    payload: bytes = b""

    @property
    def kind(self) -> str:
        return self.text("kind")

    def text(self, name: str) -> str:
        """A field that holds text; empty when it does not."""
        found = self.header.get(name)
        return found if isinstance(found, str) else ""


def at_of(frame: TapFrame) -> float:
    """When it happened, in seconds since 1970; 0 where the frame does not say."""
    at = frame.header.get("at")
    is_time = isinstance(at, int | float) and 0 <= at < 1e11
    return float(at) if is_time else 0.0  # type: ignore[arg-type]


def encoded(header: dict[str, object], payload: bytes = b"") -> bytes:
    """The frame as bytes. Raises ``BadFrame`` for one that ``FrameReader`` would refuse."""
    text = json.dumps(header, separators=(",", ":")).encode()
    _check_lengths(len(text), len(payload))
    lengths = len(text).to_bytes(4, "big") + len(payload).to_bytes(4, "big")
    return b"".join((lengths, text, payload))


class FrameReader:
    """Bytes in, frames out. What is kept is never more than what one frame may hold."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, data: bytes) -> list[TapFrame]:
        """The frames that are complete with these bytes. Raises ``BadFrame``: nothing that follows can be read."""
        self._kept += data
        kept = self._kept
        found: list[TapFrame] = []
        at = 0
        while len(kept) - at >= LENGTHS:
            header_size = int.from_bytes(kept[at : at + 4], "big")
            payload_size = int.from_bytes(kept[at + 4 : at + 8], "big")
            _check_lengths(header_size, payload_size)
            header_end = at + LENGTHS + header_size
            end = header_end + payload_size
            if len(kept) < end:
                break
            header = _header(bytes(kept[at + LENGTHS : header_end]))
            found.append(TapFrame(header, bytes(kept[header_end:end])))
            at = end
        del kept[:at]
        return found


def _check_lengths(header: int, payload: int) -> None:
    if header > HEADER_AT_MOST:
        raise BadFrame(
            f"A frame's header has {header} bytes; at most {HEADER_AT_MOST} are read."
        )
    if payload > PAYLOAD_AT_MOST:
        raise BadFrame(
            f"A frame's payload has {payload} bytes; at most {PAYLOAD_AT_MOST} are read."
        )


def _header(text: bytes) -> dict[str, object]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadFrame("A frame's header is no JSON.") from error
    if not isinstance(header, dict) or not isinstance(header.get("kind"), str):
        raise BadFrame("A frame's header is no object with a kind.")
    return header

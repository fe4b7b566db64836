"""How large an image is and how many pages a PDF has, from the file's own bytes."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple


class Size(NamedTuple):
    """Pixels."""

    width: int
    height: int


def image_size(data: bytes) -> Size | None:
    """Width and height from the head of a PNG, GIF, WebP, BMP or JPEG file; ``None`` when they are not in it.

    https://www.w3.org/TR/png-3/#11IHDR, https://www.w3.org/Graphics/GIF/spec-gif89a.txt,
    https://developers.google.com/speed/webp/docs/riff_container, https://www.w3.org/Graphics/JPEG/itu-t81.pdf (B.2.2).
    """
    size = None
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        size = Size(*struct.unpack(">II", data[16:24]))
    elif data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        size = Size(*struct.unpack("<HH", data[6:10]))
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        size = _webp_size(data)
    elif data[:2] == b"BM" and len(data) >= 26:
        width, height = struct.unpack(
            "<ii", data[18:26]
        )  # a negative height means rows from the top
        size = Size(abs(width), abs(height))
    elif data[:2] == b"\xff\xd8":
        size = _jpeg_size(data)
    return size if size is not None and size.width and size.height else None


def pdf_pages(data: bytes) -> int | None:
    """Pages of a PDF, from its page tree or its page objects; ``None`` when both lie in compressed objects."""
    if not data.startswith(b"%PDF-"):
        return None
    counts = re.findall(rb"/Type\s*/Pages\b[^>]{0,400}?/Count\s+(\d{1,6})", data)
    counts += re.findall(rb"/Count\s+(\d{1,6})[^>]{0,400}?/Type\s*/Pages\b", data)
    single = len(re.findall(rb"/Type\s*/Page(?![a-zA-Z])", data))
    return max([*map(int, counts), single]) or None


def _webp_size(data: bytes) -> Size | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return Size(width & 0x3FFF, height & 0x3FFF)
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            return Size(
                int.from_bytes(data[24:27], "little") + 1,
                int.from_bytes(data[27:30], "little") + 1,
            )
        case _:
            return None


def _jpeg_size(data: bytes) -> Size | None:
    """The frame header's size; the segments before it are skipped by their lengths."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Size(width, height)
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None

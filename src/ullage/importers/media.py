"""How large an image or document is, from its first bytes: pixels and pages, never the length of its encoding."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from typing import NamedTuple

from ullage.messages import FilePart, ImagePart

_HEADS = (1_024, 65_536, 4_194_304)
"""Bytes decoded in turn until the dimensions are found: a JPEG may carry a preview before them."""


class Size(NamedTuple):
    width: int
    height: int


def image_size(data: bytes) -> Size | None:
    """Width and height from the head of a PNG, GIF, WebP, BMP or JPEG file; ``None`` when they are not in it.

    Formats: https://www.w3.org/TR/png-3/#11IHDR, https://www.w3.org/Graphics/GIF/spec-gif89a.txt,
    https://developers.google.com/speed/webp/docs/riff_container, https://www.w3.org/Graphics/JPEG/itu-t81.pdf (B.2.2).
    """
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return Size(*struct.unpack(">II", data[16:24]))
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return Size(*struct.unpack("<HH", data[6:10]))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp_size(data)
    if data[:2] == b"BM" and len(data) >= 26:
        width, height = struct.unpack("<ii", data[18:26])
        return Size(abs(width), abs(height))
    if data[:2] == b"\xff\xd8":
        return _jpeg_size(data)
    return None


def _webp_size(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return Size(width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8X":
        return Size(int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1)
    return None


def _jpeg_size(data: bytes) -> Size | None:
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Size(width, height)
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
            continue
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def image_part(name: str, encoded: str, mime: str = "", *, detail: str = "") -> ImagePart:
    """An image part from Base64 text, a data URL or another URL; dimensions are ``None`` where they can't be read."""
    mime, payload = _payload(encoded, mime)
    if payload is None:
        return ImagePart(id=name, mime=mime, detail=detail, source=encoded[:2000])
    size = None
    for head in _HEADS:
        size = image_size(_decoded(payload[: head * 4 // 3 // 4 * 4]))
        if size is not None or len(payload) * 3 // 4 <= head:
            break
    return ImagePart(
        id=name,
        mime=mime,
        width=size.width if size else None,
        height=size.height if size else None,
        size_bytes=_byte_length(payload),
        detail=detail,
    )


def file_part(name: str, encoded: str, mime: str = "", *, title: str = "") -> FilePart:
    """A document, audio or video part; pages of a PDF are counted where its objects are not compressed."""
    mime, payload = _payload(encoded, mime)
    if payload is None:
        return FilePart(id=name, mime=mime, name=title, source=encoded[:2000])
    pages = None
    if mime in ("application/pdf", ""):
        data = _decoded(payload)
        pages = count_pages(data) if data[:5] == b"%PDF-" else None
    return FilePart(id=name, mime=mime, name=title, pages=pages, size_bytes=_byte_length(payload))


def count_pages(data: bytes) -> int | None:
    """Pages of a PDF, from its page tree or its page objects; ``None`` when both are inside compressed objects."""
    totals = [int(number) for number in re.findall(rb"/Type\s*/Pages\b[^>]{0,400}?/Count\s+(\d{1,6})", data)]
    totals += [int(number) for number in re.findall(rb"/Count\s+(\d{1,6})[^>]{0,400}?/Type\s*/Pages\b", data)]
    single = len(re.findall(rb"/Type\s*/Page(?![a-zA-Z])", data))
    return max([*totals, single], default=0) or None


def _payload(encoded: str, mime: str) -> tuple[str, str | None]:
    """The media type and the Base64 text; no text for a URL that only points elsewhere."""
    if encoded.startswith("data:"):
        head, comma, payload = encoded.partition(",")
        if comma and head.endswith(";base64"):
            return head[5:].split(";")[0] or mime, payload
        return mime, None
    if "://" in encoded[:12] or encoded.startswith(("file-", "file_")) or not encoded:
        return mime, None
    return mime, encoded


def _byte_length(payload: str) -> int:
    return len(payload) * 3 // 4 - payload[-2:].count("=")


def _decoded(payload: str) -> bytes:
    """The bytes of Base64 text, as far as it is well-formed."""
    try:
        return base64.b64decode(payload + "=" * (-len(payload) % 4))
    except (binascii.Error, ValueError):
        return b""

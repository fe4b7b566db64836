"""The size of an image, as far as its first bytes tell."""

from __future__ import annotations

import base64
import binascii
from typing import Final

_HEAD_BYTES: Final = 65_536
"""Of an image, in which its size is looked for."""


def pixels(data: object) -> tuple[int, int]:
    """Width and height of an image in base64, of either alphabet; 0 and 0 where its head doesn't tell.

    PNG, GIF, WebP and JPEG: https://www.w3.org/TR/png-3/#11IHDR, https://www.w3.org/Graphics/GIF/spec-gif89a.txt,
    https://developers.google.com/speed/webp/docs/riff_container, https://www.w3.org/Graphics/JPEG/itu-t81.pdf.
    """
    if not isinstance(data, str):
        return 0, 0
    text = data[: _HEAD_BYTES * 4 // 3 // 4 * 4]
    try:
        head = base64.b64decode(text.replace("-", "+").replace("_", "/"))
    except (binascii.Error, ValueError):
        return 0, 0
    return _sides(head)


def pixels_of_url(url: object) -> tuple[int, int]:
    """The same of a ``data:`` URL; of any other URL the size is not known."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return 0, 0
    return pixels(url.partition(",")[2])


def _sides(head: bytes) -> tuple[int, int]:
    if head.startswith(b"\x89PNG"):
        return _big(head[16:20]), _big(head[20:24])
    if head.startswith(b"GIF8"):
        return _little(head[6:8]), _little(head[8:10])
    if head[8:16] == b"WEBPVP8 ":
        return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF
    if head[8:16] == b"WEBPVP8L":
        bits = _little(head[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head[8:16] == b"WEBPVP8X":
        return _little(head[24:27]) + 1, _little(head[27:30]) + 1
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    return 0, 0


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        kind = head[at + 1]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            return _big(head[at + 5 : at + 7]), _big(head[at + 7 : at + 9])
        at += 2 + _big(head[at + 2 : at + 4])
    return 0, 0


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")

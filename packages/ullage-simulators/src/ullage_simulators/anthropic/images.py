"""What an image costs, and its size as far as its first bytes tell.

Source: https://platform.claude.com/docs/en/build-with-claude/vision#evaluate-image-size, and for the size to which a
large image is brought https://platform.claude.com/docs/en/build-with-claude/vision-coordinates.
"""

from __future__ import annotations

import base64
import binascii
import math
from functools import lru_cache
from typing import Any, Final

from ullage_simulators.models import Model

_PATCH: Final = 28
"""Pixels of a visual token's side."""
_FINE: Final = (2_576, 4_784)
_COARSE: Final = (1_568, 1_568)
"""The longest side in pixels and the most visual tokens: of Claude 4.7 and later, and of earlier models."""
_HEAD_BYTES: Final = 65_536  # of an image, in which its size is looked for


def visual_tokens(image: dict[str, Any], model: Model) -> int:
    """Tokens of an image block; 0 where its size is not known."""
    limits = _COARSE if "coarse-images" in model.traits else _FINE
    width, height = sides(image)
    return _fitted(width, height, *limits) if width and height else 0


@lru_cache(maxsize=1_024)
def _fitted(width: int, height: int, longest: int, most: int) -> int:
    """The patches of the largest image with these proportions that keeps both limits."""
    long = max(width, height)
    side = min(long, longest)
    while True:
        across = _patches(width * side / long)
        down = _patches(height * side / long)
        patches = across * down
        if patches <= most:
            return patches
        side -= 1


def _patches(pixels: float) -> int:
    return max(1, math.ceil(round(pixels) / _PATCH))


def sides(image: dict[str, Any]) -> tuple[int, int]:
    """Width and height of a base64 image in pixels; 0 and 0 where its head doesn't tell.

    PNG, GIF, WebP and JPEG: https://www.w3.org/TR/png-3/#11IHDR, https://www.w3.org/Graphics/GIF/spec-gif89a.txt,
    https://developers.google.com/speed/webp/docs/riff_container, https://www.w3.org/Graphics/JPEG/itu-t81.pdf.
    """
    source = image.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return 0, 0
    data = source.get("data")
    if not isinstance(data, str):
        return 0, 0
    try:
        head = base64.b64decode(data[: _HEAD_BYTES * 4 // 3 // 4 * 4])
    except (binascii.Error, ValueError):
        return 0, 0
    return _sides(head)


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

"""What an image costs: by the resolution that is asked for, and from Gemini 3 on by its proportions.

https://ai.google.dev/gemini-api/docs/media-resolution. From Gemini 3 on an image is a grid of no more tokens than its
resolution has, and one more: so it comes out in https://huggingface.co/datasets/JOHNISKING/image-token-cost. Gemini 2.5
counted 258 unasked in recorded requests; its crops are those of
https://ai.google.dev/gemini-api/docs/image-understanding#token-calculation.
"""

from __future__ import annotations

import math
from typing import Final

from ullage_simulators.body import Body
from ullage_simulators.image_size import pixels
from ullage_simulators.models import Model

_GRIDS: Final = {"LOW": 280, "MEDIUM": 560, "HIGH": 1_120, "ULTRA_HIGH": 2_240}
_UNASKED: Final = "HIGH"
_OLDER: Final = {"LOW": 66, "MEDIUM": 258}
_CROP: Final = 258
_MOST_CROPS: Final = 8


def image_tokens(
    part: Body,
    body: Body,
    model: Model,
) -> int:
    """Tokens of a part that is an image; 0 where its size is not known."""
    blob = part.get("inlineData") or {}
    mime = str(blob.get("mimeType") or blob.get("mime_type") or "")
    width, height = pixels(blob.get("data"))
    if not mime.startswith("image/") or not (width and height):
        return 0
    asked = _resolution(part, body)
    if "needs-signature" in model.traits:
        return _grid(width, height, _GRIDS.get(asked, _GRIDS[_UNASKED]))
    if asked == "HIGH":
        return _cropped(width, height)
    return _OLDER.get(asked, _OLDER["MEDIUM"])


def _resolution(part: Body, body: Body) -> str:
    of_part = part.get("mediaResolution") or {}
    config = body.get("generationConfig") or {}
    asked = of_part.get("level") or config.get("mediaResolution") or ""
    return str(asked).removeprefix("MEDIA_RESOLUTION_")


def _grid(
    width: int,
    height: int,
    most: int,
) -> int:
    across = math.floor(math.sqrt(most * width / height))
    down = math.floor(math.sqrt(most * height / width))
    return max(1, across) * max(1, down) + 1


def _cropped(width: int, height: int) -> int:
    if max(width, height) <= 384:
        return _CROP
    side = min(768, max(256, math.floor(min(width, height) / 1.5)))
    crops = math.ceil(width / side) * math.ceil(height / side)
    return _CROP * (1 + min(crops, _MOST_CROPS))

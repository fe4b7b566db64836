"""What an image costs.

Source: https://platform.claude.com/docs/en/build-with-claude/vision#evaluate-image-size, and for the size to which a
large image is brought https://platform.claude.com/docs/en/build-with-claude/vision-coordinates.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from ullage_simulators.body import Body
from ullage_simulators.image_size import pixels
from ullage_simulators.models import Model

_PATCH: Final = 28
"""Pixels of a visual token's side."""
_FINE: Final = (2_576, 4_784)
_COARSE: Final = (1_568, 1_568)
"""The longest side in pixels and the most visual tokens: of Claude 4.7 and later, and of earlier models."""


def visual_tokens(image: Body, model: Model) -> int:
    """Tokens of an image block; 0 where its size is not known."""
    limits = _COARSE if "coarse-images" in model.traits else _FINE
    width, height = sides(image)
    return _fitted(width, height, *limits) if width and height else 0


@lru_cache(maxsize=1_024)
def _fitted(
    width: int,
    height: int,
    longest: int,
    most: int,
) -> int:
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


def sides(image: Body) -> tuple[int, int]:
    """Width and height of a base64 image in pixels; 0 and 0 where its head doesn't tell."""
    source = image.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return 0, 0
    return pixels(source.get("data"))

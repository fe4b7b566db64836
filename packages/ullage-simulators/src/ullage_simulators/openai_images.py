"""What an image costs OpenAI's models: by patches of 32 pixels, or by tiles of 512.

https://developers.openai.com/api/docs/guides/images-vision#calculating-costs. Its multipliers of gpt-5-mini and
gpt-5-nano are 1.62 and 2.46; in recorded requests they were 1.2 (n = 7) and 1.5 (n = 2). The figures of GPT-5.4 and
later come out as in https://huggingface.co/datasets/JOHNISKING/image-token-cost, to the token.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

_LOW: Final = 512
"""Pixels of the side of what a model that counts patches sees with little detail; no page says it of them."""
_NONE: Final = 1_000_000


class Tiles(NamedTuple):
    """Tokens of an image, and of each tile of 512 pixels after it was made to fit 2,048 and 768."""

    base: int
    tile: int

    def tokens(
        self,
        width: int,
        height: int,
        detail: str,
    ) -> int:
        if detail == "low":
            return self.base
        scale = min(1.0, 2_048 / max(width, height))
        scale *= min(1.0, 768 / (min(width, height) * scale))
        across = math.ceil(width * scale / 512)
        return self.base + self.tile * across * math.ceil(height * scale / 512)


class Patches(NamedTuple):
    """Tokens of a patch, and the most patches: by default, and with high detail."""

    each: float
    most: int
    most_high: int

    def tokens(
        self,
        width: int,
        height: int,
        detail: str,
    ) -> int:
        if detail == "low":
            scale = min(1.0, _LOW / max(width, height))
            width, height = round(width * scale), round(height * scale)
        most = self.most_high if detail == "high" else self.most
        return math.ceil(round(self.each * _fitting(width, height, most), 6))


def _fitting(
    width: int,
    height: int,
    most: int,
) -> int:
    """The patches of an image, made smaller until there are no more than allowed."""
    across, down = width / 32, height / 32
    if math.ceil(across) * math.ceil(down) > most:
        scale = math.sqrt(most / (across * down))
        across, down = across * scale, down * scale
        whole = max(1, math.floor(across)), max(1, math.floor(down))
        shrink = min(whole[0] / across, whole[1] / down)
        across, down = across * shrink, down * shrink
    return math.ceil(round(across, 6)) * math.ceil(round(down, 6))


_OLDER: Final = 1_536
_RULES: Final[tuple[tuple[str, Tiles | Patches], ...]] = (
    ("gpt-4o-mini", Tiles(2_833, 5_667)),
    (r"gpt-4\.1-mini", Patches(1.62, _OLDER, _OLDER)),
    (r"gpt-4\.1-nano", Patches(2.46, _OLDER, _OLDER)),
    ("o4-mini", Patches(1.72, _OLDER, _OLDER)),
    (r"gpt-5(\.\d)?-mini", Patches(1.2, _OLDER, _OLDER)),
    (r"gpt-5(\.\d)?-nano", Patches(1.5, _OLDER, _OLDER)),
    (r"gpt-5\.[4-9]", Patches(1.2, 10_000, 2_500)),
    ("gpt-[6-9]", Patches(1.2, _NONE, 2_500)),
    ("gpt-5", Tiles(70, 140)),
    (r"o\d", Tiles(75, 150)),
    ("gpt-4|chatgpt", Tiles(85, 170)),
)


def image_tokens(
    model: str,
    size: tuple[int, int],
    detail: object,
) -> int:
    """Tokens of an image of this width and height; 0 where its size or the model's rule is not known."""
    width, height = size
    if not (width and height):
        return 0
    for beginning, rule in _RULES:
        if re.match(beginning, model.rpartition("/")[2]):
            return rule.tokens(width, height, str(detail or "auto"))
    return 0

"""What an image, a document, a recording or a film costs: by its pixels, pages and seconds, never by its encoding.

Two encodings of the same pixels cost the same. Where the dimensions are unknown the documented cap of the model is
taken, so that a trigger errs on the safe side. Each rule names its source; ``n`` in a comment counts recorded requests
that came out within 2 % of it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ullage.messages import FilePart, ImagePart
from ullage.models.providers import canonical


class PixelSize(NamedTuple):
    """Pixels."""

    width: int
    height: int

    def within(self, *, edge: float = math.inf, short: float = math.inf) -> PixelSize:
        """Scaled down until the long edge and the short edge fit; never scaled up."""
        scale = min(1.0, edge / max(self), short / min(self))
        return PixelSize(
            max(1, round(self.width * scale)), max(1, round(self.height * scale))
        )

    def patches(self, side: int) -> int:
        return math.ceil(self.width / side) * math.ceil(self.height / side)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRule:
    """How one family charges an image."""

    kind: Literal["tiles", "patches", "crops", "rows", "area", "flat"]
    cap: int
    """Tokens of an image of unknown size: the most that one can cost."""
    base: float = 0.0
    unit: float = 1.0
    """Tokens per tile or patch; pixels per token for ``area``."""
    side: int = 512
    """Pixels of the side of a tile or patch."""
    edge: float = math.inf
    limit: float = math.inf
    """Most patches."""
    low: float | None = None
    """With ``detail: low``."""

    def tokens(self, size: PixelSize | None, detail: str) -> float:
        if detail == "low" and self.low is not None:
            return self.low
        if self.kind == "flat":
            return self.base
        if size is None or min(size) <= 0:
            return float(self.cap)
        size = size.within(edge=self.edge)
        match self.kind:
            case "tiles":
                return self.base + self.unit * size.within(edge=2048, short=768).patches(
                    self.side
                )
            case "patches":
                return self.base + self.unit * self.fitting(size)
            case "crops":
                return self.unit * crops(size)
            case "rows":
                across, down = (
                    math.ceil(size.width / self.side),
                    math.ceil(size.height / self.side),
                )
                return self.base + down * (across + 1)
            case "area":
                return min(
                    self.base + size.width * size.height / self.unit, float(self.cap)
                )

    def fitting(self, size: PixelSize) -> int:
        """Patches after the image was scaled down to the most that are allowed."""
        patches = size.patches(self.side)
        if patches <= self.limit:
            return patches
        scale = math.sqrt(self.limit * self.side**2 / (size.width * size.height))
        across = size.width * scale / self.side
        down = size.height * scale / self.side
        scale *= min(
            max(1.0, math.floor(across)) / across, max(1.0, math.floor(down)) / down
        )
        return min(
            PixelSize(
                max(1, int(size.width * scale)), max(1, int(size.height * scale))
            ).patches(self.side),
            int(self.limit),
        )


def crops(size: PixelSize) -> int:
    """Gemini 2.0's crops: one for a small image, else a grid of crops and the whole
    (https://ai.google.dev/gemini-api/docs/image-understanding#token-calculation; n=4)."""
    if max(size) <= 384:
        return 1
    side = min(768, max(256, math.floor(min(size) / 1.5)))
    return size.patches(side) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRule:
    """How one family charges media. ``page`` is beside the text of the page, where the provider reads it as well."""

    image: ImageRule
    page: float
    audio: float
    """Per second."""
    video: float
    """Per second, a second begun counting as one where ``whole_seconds``."""
    whole_seconds: bool = False
    film: float = 0.0
    """Per film, however long it is."""
    page_in_result: float | None = None
    """In the place of ``page`` inside a tool result."""
    in_result: float = 0.0
    """Added for media inside a tool result."""
    pages_unknown: int = 3
    seconds_unknown: float = 60.0


# https://platform.openai.com/docs/guides/images-vision#calculating-costs; the multipliers of gpt-5-mini, gpt-5-nano and
# gpt-5.4 and later as measured (n=9; the last by https://huggingface.co/datasets/JOHNISKING/image-token-cost).
def _tiles(base: float, tile: float) -> ImageRule:
    return ImageRule(
        kind="tiles", base=base, unit=tile, cap=round(base + 8 * tile), low=base
    )


def _openai(image: ImageRule, page: float = 215) -> MediaRule:
    return MediaRule(image=image, page=page, audio=10.5, video=0)


def _patches(multiplier: float, limit: int = 1536) -> ImageRule:
    return ImageRule(
        kind="patches",
        side=32,
        unit=multiplier,
        limit=limit,
        edge=2048,
        cap=round(limit * multiplier),
    )


_GPT_4O: Final = _openai(_tiles(85, 170))  # n=11
_GPT_4O_MINI: Final = _openai(_tiles(2833, 5667))  # n=13
_GPT_5: Final = _openai(_tiles(70, 140))  # n=2
_GPT_54: Final = _openai(
    ImageRule(kind="patches", side=32, unit=1.2, limit=10_000, cap=12_000)
)
_RESPONSES_PAGE: Final = 10.0
"""Responses reads the text of a page; what it adds was 5 to 750 tokens, by content (n=7)."""

# Claude: patches of 28 pixels. 25 of 38 recorded requests with images come out within 6 tokens so, 10 with the width *
# height / 750 of older documentation. Limits: https://platform.claude.com/docs/en/build-with-claude/vision. A page is
# an image and its text (n=12).
_CLAUDE: Final = MediaRule(
    image=ImageRule(kind="patches", side=28, base=3, limit=1568, edge=1568, cap=1571),
    page=1600, audio=0, video=0,
)  # fmt: skip
_CLAUDE_47: Final = MediaRule(
    image=ImageRule(kind="patches", side=28, base=3, limit=4784, edge=2576, cap=4787),
    page=1600,
    audio=0,
    video=0,
)

# Gemini: https://ai.google.dev/gemini-api/docs/tokens and /media-resolution; per second as measured: 2.5 sees 263 and
# hears 32, Gemini 3 sees 66-70.
_GEMINI_25: Final = MediaRule(
    image=ImageRule(kind="flat", base=258, cap=258),
    page=258,
    audio=32,
    video=295,
    whole_seconds=True,
)
_GEMINI_3: Final = MediaRule(
    image=ImageRule(kind="flat", base=1090, cap=1090),
    page=526,
    page_in_result=1095,
    audio=25,
    video=90,
)
_GEMINI_2: Final = MediaRule(
    image=ImageRule(kind="crops", unit=258, cap=3354), page=1290, audio=25, video=258
)  # n=12

_GROK: Final = MediaRule(
    image=ImageRule(kind="flat", base=257, cap=257), page=300, audio=0, video=0
)  # n=8
_GROK_43: Final = MediaRule(
    image=ImageRule(kind="patches", side=32, base=5, limit=1792, cap=1797),
    page=300,
    audio=0,
    video=0,
)
_NOVA: Final = MediaRule(
    image=ImageRule(kind="area", unit=750, base=15, cap=1826),
    page=2590,
    audio=0,
    video=0,
    film=1690,
)
_LLAMA_4: Final = MediaRule(
    image=ImageRule(kind="patches", side=336, unit=144, base=170, limit=16, cap=2474),
    page=600,
    audio=0,
    video=0,
)
"""Tiles of 336 pixels, 144 tokens each, and one more for the whole (n=7)."""
_MISTRAL: Final = MediaRule(
    image=ImageRule(kind="rows", side=28, base=3, edge=1540, cap=3083),
    page=600,
    audio=0,
    video=0,
)
_QWEN: Final = MediaRule(
    image=ImageRule(kind="area", unit=28 * 28, base=2, edge=3584, cap=16_384),
    page=600,
    audio=25,
    video=300,
)
_OTHER: Final = MediaRule(
    image=ImageRule(kind="patches", side=28, base=5, limit=1600, cap=1605),
    page=600,
    audio=25,
    video=260,
)
"""For models without measurements: what most vision encoders do."""


class _MediaRow(NamedTuple):
    rule: MediaRule
    model: str
    wire: str = ""
    provider: str = ""


def _read(rule: MediaRule) -> MediaRule:
    return MediaRule(
        image=rule.image, page=_RESPONSES_PAGE, audio=rule.audio, video=rule.video
    )


_OPENAI: Final = (
    _MediaRow(_GPT_4O_MINI, r"gpt-4o-mini"),
    _MediaRow(_openai(_patches(1.62)), r"gpt-4\.1-mini"),  # n=2
    _MediaRow(_openai(_patches(2.46)), r"gpt-4\.1-nano"),  # n=1
    _MediaRow(_openai(_patches(1.72)), r"o4-mini"),  # n=11
    _MediaRow(_openai(_patches(1.2)), r"gpt-5(\.\d)?-mini"),  # n=7
    _MediaRow(_openai(_patches(1.5)), r"gpt-5(\.\d)?-nano"),  # n=2
    _MediaRow(_GPT_54, r"gpt-5\.[4-9]|gpt-[6-9]"),
    _MediaRow(_GPT_5, r"gpt-5"),
    _MediaRow(_openai(_tiles(75, 150)), r"(^|/)o[13]"),
    _MediaRow(_openai(_tiles(65, 129)), r"computer-use"),
    _MediaRow(_GPT_4O, r"gpt-|chatgpt"),
)
_ROWS: Final = (
    _MediaRow(
        _CLAUDE_47, r"opus-(4[-.][789]|[5-9])|(sonnet|haiku)-[5-9]|claude-[5-9]|fable"
    ),
    _MediaRow(_CLAUDE, r"claude"),
    _MediaRow(_GEMINI_2, r"gemini-(1|2\.0)"),
    _MediaRow(_GEMINI_25, r"gemini-2|gemma"),
    _MediaRow(_GEMINI_3, r"gemini"),
    *(_MediaRow(_read(row.rule), row.model, "responses") for row in _OPENAI),
    *_OPENAI,
    _MediaRow(_GROK_43, r"grok", "responses"),
    _MediaRow(_GROK, r"grok"),
    _MediaRow(_NOVA, r"nova-"),
    _MediaRow(_LLAMA_4, r"llama-?4"),
    _MediaRow(_MISTRAL, r"mistral|pixtral|magistral"),
    _MediaRow(_QWEN, r"qwen"),
    _MediaRow(_GPT_4O, r"", provider="openai"),
    _MediaRow(_GPT_4O, r"", provider="azure"),
)


@lru_cache(maxsize=512)
def media_rule_for(wire: str, provider: str, model: str) -> MediaRule:
    """How a model behind a wire charges media."""
    lowered = model.lower()
    served_by = canonical(provider)
    for row in _ROWS:
        if (
            row.wire in {"", wire}
            and row.provider in {"", served_by}
            and re.search(row.model, lowered)
        ):
            return row.rule
    return _OTHER


def image_tokens(image: ImagePart, rule: MediaRule, *, in_result: bool = False) -> float:
    """What an image costs."""
    extra = rule.in_result if in_result else 0.0
    return rule.image.tokens(_size(image), image.detail) + extra


def _size(media: ImagePart | FilePart) -> PixelSize | None:
    return PixelSize(media.width, media.height) if media.width and media.height else None


def file_tokens(file: FilePart, rule: MediaRule, *, in_result: bool = False) -> float:
    """What a document, a recording or a film costs beside its text, which is counted as text."""
    extra = rule.in_result if in_result else 0.0
    family = file.mime.partition("/")[0].lower()
    if family == "audio":
        return rule.audio * _known(file.seconds, rule.seconds_unknown) + extra
    if family == "video":
        seconds = _known(file.seconds, rule.seconds_unknown)
        # A film is sampled once a second, the first frame included.
        frames = math.ceil(seconds) if rule.whole_seconds else math.floor(seconds)
        return rule.film + rule.video * max(1, frames) + extra
    if family == "image":
        return rule.image.tokens(_size(file), "") + extra
    if family == "text" or file.text:
        # Its text is counted as text where the request shows it; where it doesn't, 4.2 bytes are a token (n=6).
        return extra if file.text else extra + (file.size_bytes or 0) / 4.2
    page, pages = rule.page, rule.pages_unknown
    if in_result and rule.page_in_result is not None:
        page = rule.page_in_result
    if file.pages and file.pages > 0:
        pages = file.pages
    return page * pages + extra


def _known(seconds: float | None, otherwise: float) -> float:
    return (
        seconds
        if seconds is not None and math.isfinite(seconds) and seconds >= 0
        else otherwise
    )

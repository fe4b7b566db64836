"""What an image, a document, a recording or a film costs: by its pixels, pages and seconds, never by its encoding.

Two encodings of the same pixels cost the same. Where the dimensions are unknown the documented cap of the model is
taken, so that a trigger errs on the safe side. Rules and their sources are in ``models/media.json``; ``n`` counts
recorded requests that came out within 2 % of one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.messages import FilePart, ImagePart
from ullage.models.facts import facts
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
    high: tuple[int, int] | None = None
    """With ``detail: high``, the most patches and pixels of the long edge."""
    low: float | None = None
    """With ``detail: low``."""

    def tokens(self, size: PixelSize | None, detail: str) -> float:
        if detail == "low" and self.low is not None:
            return self.low
        if self.kind == "flat":
            return self.base
        if detail == "high" and self.high is not None:
            limit, edge = self.high
            cap = math.ceil(self.base + self.unit * limit)
            return replace(self, limit=limit, edge=edge, cap=cap).tokens(size, "")
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


_OTHER: Final = MediaRule(
    image=ImageRule(kind="patches", side=28, base=5, limit=1600, cap=1605),
    page=600,
    audio=25,
    video=260,
)
"""For models without measurements: what most vision encoders do."""


class MediaRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule and the calls that it holds for. ``model`` is a regular expression, searched in lower case."""

    model: str
    rule: MediaRule
    wire: str = ""
    provider: str = ""
    note: str = ""


_rows: Final = msgspec.json.Decoder(list[MediaRow])


@lru_cache(maxsize=1)
def media_rows() -> list[MediaRow]:
    """The rows of ``models/media.json``."""
    return facts("media", _rows)


@lru_cache(maxsize=512)
def media_rule_for(wire: str, provider: str, model: str) -> MediaRule:
    """How a model behind a wire charges media."""
    lowered = model.lower()
    served_by = canonical(provider)
    for row in media_rows():
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

"""Which files each wire takes inside a request, and how large they may be. A file that it does not take is an error."""

from __future__ import annotations

from typing import Final, NamedTuple

_MB: Final = 1_000_000
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PDF: Final = frozenset({"application/pdf"})


class AcceptedFiles(NamedTuple):
    """What one wire takes. ``image_base64_bytes`` is the most of one image as it is written in the request."""

    types: frozenset[str]
    most_bytes: int
    source: str
    image_base64_bytes: int | None = None
    image_side: int | None = None


_MESSAGES: Final = AcceptedFiles(
    _IMAGES | _PDF,
    32 * _MB,
    "https://platform.claude.com/docs/en/build-with-claude/vision",
    # "image exceeds 5 MB maximum: 5272940 bytes > 5242880 bytes" (https://github.com/daya0576/pi-imessage/issues/5)
    image_base64_bytes=5_242_880,
    image_side=8_000,
)
_RESPONSES: Final = AcceptedFiles(
    _IMAGES | _PDF, 50 * _MB, "https://developers.openai.com/api/docs/guides/file-inputs"
)
_CHAT: Final = AcceptedFiles(
    _IMAGES | _PDF | {"audio/wav", "audio/mp3"},
    50 * _MB,
    "https://platform.openai.com/docs/api-reference/chat/create",
)
_GEMINI: Final = AcceptedFiles(
    frozenset(
        {
            *("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
            *("audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg"),
            *("audio/flac", "video/mp4", "video/mpeg", "video/mov", "video/avi"),
            *("video/x-flv", "video/webm", "video/3gpp", "application/pdf"),
        }
    ),
    # the whole request, as base64: https://ai.google.dev/gemini-api/docs/document-processing
    15 * _MB,
    "https://ai.google.dev/gemini-api/docs/audio",
)

ACCEPTED: Final = {
    "messages": _MESSAGES,
    "responses": _RESPONSES,
    "chat": _CHAT,
    "generateContent": _GEMINI,
}


def not_accepted(wire: str, mime: str, size: int, side: int = 0) -> str:
    """Why a wire does not take a file of this type, size in bytes and longest side in pixels; empty if it does."""
    rules = ACCEPTED.get(wire)
    if rules is None:
        return ""
    if mime not in rules.types:
        taken = ", ".join(sorted(rules.types))
        return (
            f"is {mime}, which the model's API does not take. It takes text and {taken}"
        )
    if size > rules.most_bytes:
        return f"has {size:,} bytes, and the model's API takes {rules.most_bytes:,}"
    if not mime.startswith("image/"):
        return ""
    base64 = (size + 2) // 3 * 4
    if rules.image_base64_bytes is not None and base64 > rules.image_base64_bytes:
        most = rules.image_base64_bytes
        return f"has {base64:,} bytes as base64, and the model's API takes images of {most:,}"
    if rules.image_side is not None and side > rules.image_side:
        most = rules.image_side
        return f"has a side of {side:,} pixels, and the model's API takes images up to {most:,}"
    return ""

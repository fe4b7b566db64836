"""What a file is, by its own bytes: its type, whether it is whole, its pages and seconds. Nothing of it is decoded."""

from __future__ import annotations

import re
import zlib
from typing import Final

from ullage.codec.dimensions import pdf_pages

PDF: Final = "application/pdf"

INFLATED_BYTES: Final = 16_000_000
"""Bytes of the object streams of one PDF that are read, packed and unfolded; the pages of a larger one are unknown."""

_HEADS: Final = (
    (b"%PDF-", PDF),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"ID3", "audio/mp3"),
    (b"\xff\xfb", "audio/mp3"),
    (b"\xff\xf3", "audio/mp3"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"\xff\xf1", "audio/aac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"FLV\x01", "video/x-flv"),
    (b"\0\0\x01\xba", "video/mpeg"),
)
_RIFF: Final = {b"WAVE": "audio/wav", b"WEBP": "image/webp", b"AVI ": "video/avi"}
_BRANDS: Final = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"qt  ": "video/mov",
    b"3gp4": "video/3gpp",
    b"3gp5": "video/3gpp",
    b"M4A ": "audio/mp4",
}
"""Of an ISO media file (https://mp4ra.org/registered-types/brands); every other brand is taken for MP4."""

_OBJECT_STREAM: Final = re.compile(rb"/Type\s*/ObjStm\b[^>]{0,400}?>>\s*stream\r?\n")


def file_type(data: bytes) -> str:
    """The MIME type by the first bytes, as Gemini names it; empty if they tell none."""
    for head, mime in _HEADS:
        if data.startswith(head):
            return mime
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "")
    if data[:4] == b"FORM" and data[8:12] in (b"AIFF", b"AIFC"):
        return "audio/aiff"
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    return ""


def missing_end(data: bytes, mime: str) -> str:
    """What a cut file lacks; empty for a whole one, and for a type whose end is not known.

    https://www.w3.org/TR/png-3/#5DataRep, https://www.w3.org/Graphics/JPEG/itu-t81.pdf (B.1.1.3).
    """
    if mime == "image/png" and b"IEND" not in data:
        return "its last chunk (IEND)"
    if mime == "image/jpeg" and b"\xff\xd9" not in data:
        return "its end marker (EOI)"
    return ""


def document_pages(data: bytes) -> int | None:
    """Pages of a PDF, also where its page tree lies in compressed object streams; ``None`` if they are unknown.

    Object streams are unfolded up to ``INFLATED_BYTES`` together (ISO 32000-1, 7.5.7).
    """
    pages = pdf_pages(data)
    if pages is not None or not data.startswith(b"%PDF-"):
        return pages
    room = INFLATED_BYTES
    found: list[bytes] = [b"%PDF-"]
    for stream in _OBJECT_STREAM.finditer(data):
        begin = stream.end()
        end = data.find(b"endstream", begin, begin + room)
        if end < 0:
            return None
        room -= end - begin
        try:
            unfolded = zlib.decompressobj().decompress(data[begin:end], room)
        except zlib.error:
            continue
        found.append(unfolded)
        room -= len(unfolded)
        if room <= 0:
            return None
    return pdf_pages(b"\n".join(found))


def wav_seconds(data: bytes) -> float | None:
    """Seconds of a WAV file, from the byte rate in its head; ``None`` if it has none."""
    rate = int.from_bytes(data[28:32], "little")
    if data[:4] != b"RIFF" or data[8:16] != b"WAVEfmt " or not rate:
        return None
    return len(data) / rate

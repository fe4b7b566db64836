"""Whatever a tool gives back, as a result for the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ullage.bounds import value_excess
from ullage.codec.dimensions import image_size
from ullage.envelope import JSON_DEPTH, PICTURE_BYTES, PICTURE_SIDE, PICTURES
from ullage.messages import ImagePart
from ullage.tools.tool import Output, Picture, ToolError

NOTHING: Final = "(done; the tool gives nothing back)"
HEAD_BYTES: Final = 8_000
"""Bytes looked at to tell text from binary data, as many as Git looks at (``buffer_is_binary``,
https://github.com/git/git/blob/master/xdiff-interface.c)."""

_HEADS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"BM", "image/bmp"),
)
_TOO_DEEP: Final = f"The tool's result is nested deeper than {JSON_DEPTH} levels, or holds itself: it was dropped."
_SHOWN: Final = 16  # bytes of binary data that are shown
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"


def as_output(value: Any) -> Output:
    """The value as text: a string as it is, bytes as what they are, anything else as JSON. Never raises for plain data.

    What JSON has no form for is spelt by ``str``, which may raise what its class likes.
    """
    match value:
        case Output():
            return _limited(value)
        case None:
            return Output(NOTHING)
        case str():
            return Output(str(value))
        case bytes() | bytearray() | memoryview():
            return from_bytes(bytes(value))
        case Picture():
            return _limited(Output("", (value,)))
        case _:
            return Output(_as_json(value))


def _limited(output: Output) -> Output:
    shown, left_out = within_limits(output.pictures)
    if not left_out:
        return output
    return output._replace(text="\n".join(filter(None, [output.text, *left_out])), pictures=shown)


def _as_json(value: Any) -> str:
    if value_excess(value):
        raise ToolError(
            f"The tool's result is nested deeper than {JSON_DEPTH} levels, or holds itself: it was dropped."
        )
    try:
        return msgspec.json.encode(value, enc_hook=_spelt).decode()
    except RecursionError as error:
        raise ToolError(_TOO_DEEP) from error


def within_limits(pictures: Sequence[Picture]) -> tuple[tuple[Picture, ...], list[str]]:
    """The pictures that a model can be given, and a line for each of the others.

    Judged by their bytes and the pixels their headers name: nothing is decoded, so a small file that unfolds to
    gigabytes costs nothing here.
    """
    shown: list[Picture] = []
    left_out: list[str] = []
    for each in pictures:
        part, size = each.part, len(each.data)
        if size > PICTURE_BYTES:
            left_out.append(f"[an image, {part.mime}, of {size:,} bytes, which is too large to show]")
        elif max(part.width or 0, part.height or 0) > PICTURE_SIDE:
            pixels = f"{part.width:,}x{part.height:,} pixels"
            left_out.append(f"[an image, {part.mime}, of {pixels}, which is too large to show]")
        elif len(shown) == PICTURES:
            left_out.append(f"[an image, {part.mime}, of {size:,} bytes: a result can hold {PICTURES} images]")
        else:
            shown.append(each)
    return tuple(shown), left_out


def from_bytes(data: bytes) -> Output:
    """Text where the bytes are text, a picture where they are an image, else a description of them."""
    if picture := as_picture(data):
        size = f"{picture.part.width}x{picture.part.height} pixels, " if picture.part.width else ""
        return _limited(Output(f"[{picture.part.mime}, {size}{len(data):,} bytes]", (picture,)))
    if not is_binary(data):
        return Output(data.decode())
    return Output(f"[binary data, {len(data):,} bytes, beginning with {data[:_SHOWN].hex(' ')}]")


def as_picture(data: bytes, name: str = "") -> Picture | None:
    """The bytes as an image that models take; ``None`` for other bytes. ``name`` becomes the part's id."""
    mime = next((mime for head, mime in _HEADS if data.startswith(head)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        mime = "image/webp"
    size = image_size(data) if mime else None
    if size is None:
        return None
    part = ImagePart(id=name, mime=mime, width=size.width, height=size.height, size_bytes=len(data))
    return Picture(data, part)


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text: not UTF-8, or with control characters that no text has."""
    if data.translate(None, _CONTROLS) != data:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def looks_binary(data: bytes) -> bool:
    """Whether the beginning of a file is no text: it holds NUL, or more than a third of it is unreadable."""
    if b"\0" in data:
        return True
    odd = data.decode("utf-8", "replace").count("\ufffd")
    return odd * 3 > len(data) > 0


def _spelt(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)

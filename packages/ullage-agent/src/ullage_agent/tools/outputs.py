"""Turns what a tool returns into a result for the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ullage.bounds import value_excess
from ullage.codec.dimensions import image_size
from ullage.envelope import JSON_DEPTH, PICTURE_BYTES, PICTURE_SIDE, PICTURES
from ullage.messages import ImagePart
from ullage_agent.tools.tool import Output, Picture, ToolError

NOTHING: Final = "(done; the tool gives nothing back)"
HEAD_BYTES: Final = 8_000
"""Bytes examined to tell text from binary data, as many as Git examines (``buffer_is_binary``,
https://github.com/git/git/blob/master/xdiff-interface.c)."""

_IMAGE_HEADS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"BM", "image/bmp"),
)
_TOO_DEEP: Final = f"The tool's result is nested deeper than {JSON_DEPTH} levels, or holds itself: it was dropped."
_SHOWN: Final = 16  # bytes of binary data that are shown
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"


def as_output(value: Any) -> Output:
    """The value as a result: strings as they are, bytes as ``from_bytes`` shows them, anything else as JSON.

    Values without a JSON form are shown by ``str``, which may raise.
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
    shown, notes = within_limits(output.pictures)
    if not notes:
        return output
    if output.text:
        notes.insert(0, output.text)
    return output._replace(text="\n".join(notes), pictures=shown)


def _as_json(value: Any) -> str:
    if value_excess(value):
        raise ToolError(_TOO_DEEP)
    try:
        return msgspec.json.encode(value, enc_hook=_json_form).decode()
    except RecursionError as error:
        raise ToolError(_TOO_DEEP) from error


def _json_form(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)  # of a pydantic model
    return dump(mode="json") if callable(dump) else str(value)


def within_limits(pictures: Sequence[Picture]) -> tuple[tuple[Picture, ...], list[str]]:
    """The pictures that a model can be given, and a note for each of the others.

    Only sizes and the dimensions in the headers are checked. Nothing is decoded, so a small file that unfolds to
    gigabytes costs nothing here.
    """
    shown: list[Picture] = []
    notes: list[str] = []
    for picture in pictures:
        part = picture.part
        size = f"{len(picture.data):,} bytes"
        side = max(part.width or 0, part.height or 0)
        if len(picture.data) > PICTURE_BYTES:
            notes.append(
                f"[an image, {part.mime}, of {size}, which is too large to show]"
            )
        elif side > PICTURE_SIDE:
            pixels = f"{part.width:,}x{part.height:,} pixels"
            notes.append(
                f"[an image, {part.mime}, of {pixels}, which is too large to show]"
            )
        elif len(shown) == PICTURES:
            notes.append(
                f"[an image, {part.mime}, of {size}: a result can hold {PICTURES} images]"
            )
        else:
            shown.append(picture)
    return tuple(shown), notes


def from_bytes(data: bytes) -> Output:
    """Text if the bytes are text, a picture if they are an image, otherwise a description."""
    picture = as_picture(data)
    if picture is not None:
        part = picture.part
        pixels = f"{part.width}x{part.height} pixels, " if part.width else ""
        return _limited(Output(f"[{part.mime}, {pixels}{len(data):,} bytes]", (picture,)))
    if not is_binary(data):
        return Output(data.decode())
    return Output(
        f"[binary data, {len(data):,} bytes, beginning with {data[:_SHOWN].hex(' ')}]"
    )


def as_picture(data: bytes, name: str = "") -> Picture | None:
    """The bytes as an image that models accept; ``None`` for other bytes. ``name`` becomes the part's id."""
    mime = _image_type(data)
    size = image_size(data) if mime else None
    if size is None:
        return None
    part = ImagePart(
        id=name, mime=mime, width=size.width, height=size.height, size_bytes=len(data)
    )
    return Picture(data, part)


def _image_type(data: bytes) -> str:
    for head, mime in _IMAGE_HEADS:
        if data.startswith(head):
            return mime
    is_webp = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    return "image/webp" if is_webp else ""


def is_binary(data: bytes) -> bool:
    """Whether the bytes are not text: not UTF-8, or with control characters that text does not hold."""
    if data.translate(None, _CONTROLS) != data:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def looks_binary(data: bytes) -> bool:
    """Whether the beginning of a file is not text: it holds NUL, or more than a third of it is unreadable."""
    if b"\0" in data:
        return True
    unreadable = data.decode("utf-8", "replace").count("\ufffd")
    return unreadable * 3 > len(data) > 0

"""The pieces that a user's message is made of: text, and files as they are given."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final, NamedTuple

from ullage.codec.accepted import not_accepted
from ullage.codec.dimensions import image_size
from ullage.codec.file_types import (
    PDF,
    document_pages,
    file_type,
    missing_end,
    wav_seconds,
)
from ullage.errors import InputError
from ullage.messages import FilePart, ImagePart, Part, clean_text
from ullage_agent.runtime.policy import FILE_BYTES, TEXT_BYTES
from ullage_agent.tools.outputs import is_binary


class NamedFile(NamedTuple):
    """The bytes of an image or file, and the name that the model sees."""

    name: str
    data: bytes


MessageInput = str | bytes | Path | NamedFile | Part
"""A piece of a message: text, the bytes of an image or file, with a name or without, the path of one, or a part."""

_UNSENT: Final = "Nothing was stored."


def read_file(path: Path) -> bytes:
    """The bytes of a regular file of at most ``FILE_BYTES``; no more is ever read. Raises ``InputError``."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"{path} is no regular file. {_UNSENT}")
        if about.st_size <= FILE_BYTES:
            with path.open("rb") as file:
                data = file.read(FILE_BYTES + 1)
            if len(data) <= FILE_BYTES:
                return data
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise InputError(f"{path} can't be read: {why}. {_UNSENT}") from problem
    raise InputError(
        f"{path} has more than {FILE_BYTES:,} bytes, the most a message can hold. Send a part of it, or let a tool "
        f"read it. {_UNSENT}"
    )


def file_part(
    data: bytes, *, id: str, name: str, wire: str, source: str
) -> ImagePart | FilePart:
    """The part for a file's bytes, which are kept under ``source``. Text becomes a part that holds it.

    Its type is told by its bytes, whatever its name says. Raises ``InputError`` for a file that is empty, cut off, of
    no known type, or that the wire does not take.
    """
    shown = f"{name}: the file" if name else "The file"
    if not data:
        raise InputError(f"{shown} is empty. {_UNSENT}")
    mime = file_type(data)
    size = image_size(data)
    if mime.startswith("image/") and size is None and not mime.startswith("image/hei"):
        mime = ""
    if not mime and not is_binary(data):
        if len(data) > TEXT_BYTES:
            raise InputError(
                f"{shown} has {len(data):,} bytes of text, which no window holds. Send a part of it, or let a tool "
                f"read it. {_UNSENT}"
            )
        text = clean_text(data.decode()).text
        return FilePart(
            id=id,
            mime="text/plain",
            name=clean_text(name).text,
            size_bytes=len(data),
            text=text,
        )
    if not mime:
        raise InputError(
            f"{shown} is neither text nor an image, PDF, audio or video that can be told by its bytes (they begin with "
            f"{data[:8].hex(' ')}). {_UNSENT}"
        )
    if lacking := missing_end(data, mime):
        raise InputError(
            f"{shown} is {mime} and cut off: {lacking} is missing. {_UNSENT}"
        )
    side = 0 if size is None else max(size)
    if refusal := not_accepted(wire, mime, len(data), side):
        raise InputError(f"{shown} {refusal}. {_UNSENT}")
    if mime.startswith("image/"):
        return ImagePart(
            id=id,
            mime=mime,
            width=None if size is None else size.width,
            height=None if size is None else size.height,
            size_bytes=len(data),
            source=source,
        )
    return FilePart(
        id=id,
        mime=mime,
        name=clean_text(name).text,
        pages=document_pages(data) if mime == PDF else None,
        seconds=wav_seconds(data) if mime == "audio/wav" else None,
        size_bytes=len(data),
        source=source,
    )

"""Images and files from where their ``source`` says they are: inline bytes, an address, or a provider's file."""

from __future__ import annotations

import base64
import re
from typing import Final, NamedTuple

from ullage.codec.blocks import Blocks, Sending
from ullage.codec.parts import data_url
from ullage.messages import FilePart, ImagePart

_FILE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,255}")
"""A name of a file that a provider holds: ``file-abc`` (OpenAI), ``file_abc`` (Anthropic), ``files/abc`` (Gemini)."""


class Held(NamedTuple):
    """Where the content is: ``data`` is base64, ``url`` an address, ``file_id`` a file the provider holds."""

    mime: str
    data: str = ""
    url: str = ""
    file_id: str = ""

    @property
    def address(self) -> str:
        """One address for either: a ``data:`` URL for inline content."""
        return f"data:{self.mime};base64,{self.data}" if self.data else self.url


def locate(sending: Sending, part: ImagePart | FilePart) -> Held | None:
    """The content of a part; ``None`` when its bytes are not here."""
    mime = part.mime if part.mime and "*" not in part.mime else _mime(part)
    source = part.source
    held = sending.options.media.get(source)
    if held is not None:
        return Held(mime, data=base64.b64encode(held).decode())
    inline_mime, data = data_url(source)
    if data:
        return Held(inline_mime or mime, data=data)
    if source.startswith(("https://", "http://", "gs://")):
        return Held(mime, url=source)
    if not _FILE_ID.fullmatch(source):  # nothing, a hash, bytes that are not kept here, a path of this machine
        return None
    return Held(mime, file_id=source)


def stand_in(blocks: Blocks, part: ImagePart | FilePart) -> str:
    """A line of text where content can't be sent. The same part gives the same line."""
    blocks.miss(f"content of {part.id}")
    kind = "image" if isinstance(part, ImagePart) else "file"
    size = f", {part.width}×{part.height}" if part.width and part.height else ""
    name = f" {part.name}" if isinstance(part, FilePart) and part.name else ""
    return f"[{kind}{name}{f', {part.mime}' if part.mime else ''}{size}: its content is not available]"


def named_text(part: FilePart) -> str:
    """A document that is text, under its name."""
    return f"[{part.name}]\n{part.text}" if part.name else part.text


def _mime(part: ImagePart | FilePart) -> str:
    return "image/png" if isinstance(part, ImagePart) else "application/pdf"

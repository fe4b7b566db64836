"""What an MCP server declares and answers, in our words.

https://modelcontextprotocol.io/specification/2025-11-25/server/tools
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ullage.codec.foreign import to_raw
from ullage.messages import ImagePart, Tool, clean_text
from ullage.tools.outputs import NOTHING, as_picture
from ullage.tools.tool import Output, Picture

if TYPE_CHECKING:
    from mcp import types as theirs

LONGEST_NAME: Final = 64
"""Characters of a tool's name that every provider takes
(https://platform.openai.com/docs/api-reference/chat/create, ``tools[].function.name``)."""


class Offered(NamedTuple):
    """A tool of a server: how it is declared to the model, and how the server calls it."""

    declaration: Tool
    name: str
    is_idempotent: bool


def offered(tools: Iterable[theirs.Tool], server: str) -> tuple[Offered, ...]:
    """The tools under names of their own, ``server__tool``.

    ``readOnlyHint`` and ``idempotentHint`` make one idempotent: running it twice is declared to do no harm.
    """
    taken: set[str] = set()
    made: list[Offered] = []
    for each in tools:
        name = _name_of(server, each.name, taken)
        taken.add(name)
        hints = each.annotations
        declaration = Tool(
            name=name,
            description=clean_text(each.description or "").text,
            schema=to_raw(each.input_schema),
            server=server,
        )
        made.append(Offered(declaration, each.name, bool(hints and (hints.read_only_hint or hints.idempotent_hint))))
    return tuple(made)


def as_output(result: theirs.CallToolResult) -> Output:
    """The blocks of a result in order: text, pictures, and a line for what a model can't be given.

    Structured content is given where there is no text, which the specification asks to say the same.
    """
    texts: list[str] = []
    pictures: list[Picture] = []
    for block in result.content:
        match block.type:
            case "text":
                texts.append(block.text)
            case "image":
                pictures += _picture(block.data, block.mime_type, texts)
            case "audio":
                texts.append(f"[audio, {block.mime_type}, {_size(block.data):,} bytes]")
            case "resource_link":
                texts.append(_link(block))
            case "resource":
                _embedded(block.resource, texts, pictures)
    if result.structured_content is not None and not any(block.type == "text" for block in result.content):
        texts.append(msgspec.json.encode(result.structured_content, enc_hook=str).decode())
    if not texts and not pictures:
        texts.append("(the tool failed and says no more)" if result.is_error else NOTHING)
    return Output("\n".join(texts), tuple(pictures), is_error=bool(result.is_error))


def _name_of(server: str, tool: str, taken: set[str]) -> str:
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}__{tool}")
    if len(name) > LONGEST_NAME or name in taken:
        digest = hashlib.sha256(f"{server}\n{tool}".encode()).hexdigest()[:8]
        name = f"{name[: LONGEST_NAME - 9]}_{digest}"
    return name


def _picture(data: str, mime: str, texts: list[str]) -> list[Picture]:
    decoded = _decoded(data)
    if decoded is None:
        texts.append(f"[an image, {mime}, whose data can't be read]")
        return []
    known = as_picture(decoded)
    return [known or Picture(decoded, ImagePart(id="", mime=mime, size_bytes=len(decoded)))]


def _embedded(resource: Any, texts: list[str], pictures: list[Picture]) -> None:
    """A resource that came along: its text, or its picture, or a description."""
    mime = resource.mime_type or ""
    text = getattr(resource, "text", None)
    if text is not None:
        texts.append(f"[{resource.uri}]\n{text}")
    elif mime.startswith("image/"):
        texts.append(f"[{resource.uri}]")
        pictures += _picture(resource.blob, mime, texts)
    else:
        texts.append(f"[{resource.uri}: {mime or 'binary data'}, {_size(resource.blob):,} bytes]")


def _link(link: theirs.ResourceLink) -> str:
    more = [link.title or link.name, link.mime_type, f"{link.size:,} bytes" if link.size is not None else None]
    described = f": {link.description}" if link.description else ""
    return f"[a resource, {link.uri} ({', '.join(each for each in more if each)}){described}]"


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _size(data: str) -> int:
    return len(data.rstrip("=")) * 3 // 4

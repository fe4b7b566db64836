"""Converts the declarations and results of an MCP server.

https://modelcontextprotocol.io/specification/2025-11-25/server/tools
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ullage.bounds import value_excess
from ullage.codec.foreign import to_raw
from ullage.envelope import (
    JSON_DEPTH,
    MCP_DECLARED_BYTES,
    MCP_DESCRIPTION_CHARS,
    MCP_SCHEMA_BYTES,
    MCP_TOOL_NAME_CHARS,
    MCP_TOOLS,
    PICTURE_BYTES,
    RESULT_BLOCKS,
)
from ullage.messages import ImagePart, Tool, clean_text
from ullage_agent.tools.outputs import NOTHING, as_picture, within_limits
from ullage_agent.tools.tool import Output, Picture

if TYPE_CHECKING:
    from mcp import types as theirs

LONGEST_NAME: Final = 64
"""Characters of a tool's name that every provider accepts
(https://platform.openai.com/docs/api-reference/chat/create, ``tools[].function.name``)."""

_LONGEST_MIME: Final = 100  # characters of what a server says an image is


class Offered(NamedTuple):
    """A tool of a server: its declaration for the model, and its name on the server."""

    declaration: Tool
    name: str
    is_idempotent: bool
    is_read_only: bool = False


class Offer(NamedTuple):
    """The usable tools of a server, and notes on what is left out of its declarations."""

    tools: tuple[Offered, ...]
    notes: tuple[str, ...] = ()


def offered(tools: Sequence[theirs.Tool], server: str) -> Offer:
    """The tools, named ``server__tool``.

    ``readOnlyHint`` and ``idempotentHint`` make a tool idempotent: the server declares that running it twice does no
    harm. A tool that no request could carry (its name, its schema) is left out; a long description is cut.
    """
    taken: set[str] = set()
    made: dict[str, Offered] = {}
    notes: list[str] = []
    size = 0
    for each in tools[:MCP_TOOLS]:
        shown = clean_text(each.name[:MCP_TOOL_NAME_CHARS]).text
        schema = to_raw(each.input_schema)
        description = _description(each, shown, notes)
        size += len(description) + len(bytes(schema))
        problem = _problem(each, schema)
        if each.name in made:
            problem = "it is declared twice"
        elif not problem and size > MCP_DECLARED_BYTES:
            problem = (
                f"all declarations together have more than {MCP_DECLARED_BYTES:,} bytes"
            )
        if problem:
            notes.append(f"{shown or 'a tool without a name'} is left out: {problem}")
            continue
        name = _name_of(server, each.name, taken)
        taken.add(name)
        hints = each.annotations
        declaration = Tool(
            name=name, description=description, schema=schema, server=server
        )
        is_read_only = bool(hints and hints.read_only_hint)
        is_idempotent = is_read_only or bool(hints and hints.idempotent_hint)
        made[each.name] = Offered(declaration, each.name, is_idempotent, is_read_only)
    if len(tools) > MCP_TOOLS:
        notes.append(f"it declares more than {MCP_TOOLS} tools: the others are left out")
    return Offer(tuple(made.values()), tuple(notes))


def _description(tool: theirs.Tool, shown: str, notes: list[str]) -> str:
    text = clean_text(tool.description or "").text
    if len(text) <= MCP_DESCRIPTION_CHARS:
        return text
    notes.append(f"the description of {shown} is cut: it has {len(text):,} characters")
    return f"{text[:MCP_DESCRIPTION_CHARS]} [cut here]"


def _problem(tool: theirs.Tool, schema: msgspec.Raw) -> str:
    """Why a tool can't be declared to a model; empty if it can."""
    if not tool.name or len(tool.name) > MCP_TOOL_NAME_CHARS:
        return f"its name has {len(tool.name):,} characters"
    if value_excess(tool.input_schema, most=JSON_DEPTH // 2):  # a request nests it deeper
        return "its schema is nested too deep"
    if len(bytes(schema)) > MCP_SCHEMA_BYTES:
        return f"its schema has {len(bytes(schema)):,} bytes"
    return ""


def as_output(result: theirs.CallToolResult) -> Output:
    """The blocks of a result in order: text, pictures, and a note for each block a model can't be given.

    Structured content is used if there is no text; the specification requires both to have the same meaning.
    """
    texts: list[str] = []
    pictures: list[Picture] = []
    for block in result.content[:RESULT_BLOCKS]:
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
    if len(result.content) > RESULT_BLOCKS:
        texts.append(
            f"[{len(result.content) - RESULT_BLOCKS:,} more blocks of this result are left out]"
        )
    if result.structured_content is not None and not any(
        block.type == "text" for block in result.content
    ):
        texts.append(bytes(to_raw(result.structured_content)).decode())
    shown, left_out = within_limits(pictures)
    texts += left_out
    if not texts and not shown:
        texts.append("(the tool failed and says no more)" if result.is_error else NOTHING)
    return Output("\n".join(texts), shown, is_error=bool(result.is_error))


def beginning_of_names(server: str) -> str:
    """What the names of all tools of a server begin with."""
    return _legal(f"{server}__")[: LONGEST_NAME - 9]


def _legal(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


def _name_of(server: str, tool: str, taken: set[str]) -> str:
    name = _legal(f"{server}__{tool}")
    if len(name) > LONGEST_NAME or name in taken:
        digest = hashlib.sha256(f"{server}\n{tool}".encode()).hexdigest()[:8]
        name = f"{name[: LONGEST_NAME - 9]}_{digest}"
    return name


def _picture(data: str, mime: str, texts: list[str]) -> list[Picture]:
    named = mime[:_LONGEST_MIME]
    if _size(data) > PICTURE_BYTES:
        texts.append(
            f"[an image, {named}, of {_size(data):,} bytes, which is too large to show]"
        )
        return []
    decoded = _decoded(data)
    if decoded is None:
        texts.append(f"[an image, {named}, whose data can't be read]")
        return []
    known = as_picture(decoded)
    return [
        known or Picture(decoded, ImagePart(id="", mime=named, size_bytes=len(decoded)))
    ]


def _embedded(resource: Any, texts: list[str], pictures: list[Picture]) -> None:
    """An embedded resource: its text, or its picture, or a description."""
    mime = resource.mime_type or ""
    text = getattr(resource, "text", None)
    if text is not None:
        texts.append(f"[{resource.uri}]\n{text}")
    elif mime.startswith("image/"):
        texts.append(f"[{resource.uri}]")
        pictures += _picture(resource.blob, mime, texts)
    else:
        texts.append(
            f"[{resource.uri}: {mime or 'binary data'}, {_size(resource.blob):,} bytes]"
        )


def _link(link: theirs.ResourceLink) -> str:
    description = f": {link.description}" if link.description else ""
    return f"[a resource, {link.uri} ({link.title or link.name}){description}]"


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _size(data: str) -> int:
    return len(data.rstrip("=")) * 3 // 4

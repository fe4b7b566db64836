"""Parts made from a provider's JSON. Fields that our types lack are kept beside them as provider data."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from ullage.codec.dimensions import image_size, pdf_pages
from ullage.codec.foreign import to_raw
from ullage.codec.reminders import with_names
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    Request,
    ResultContent,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)

_SIZE = 8  # bytes: two of 100,000 different parts share a digest once in four billion sessions


class Namer:
    """Hands out ids for one request, in the order its parts are read."""

    def __init__(self, earlier: Namer | None = None) -> None:
        self._earlier = earlier  # what it named counts too; it is not changed
        self._seen: dict[str, int] = {}

    def note(self, messages: Iterable[Message]) -> None:
        """Take note of the names in these messages, as if they had been given here."""
        for message in messages:
            self._number(message.id.partition("~")[0])
            for part in message.parts:
                self._number(part.id.partition("~")[0])
                for inner in part.content if isinstance(part, ToolResultPart) else ():
                    self._number(inner.id.partition("~")[0])

    def _number(self, base: str) -> int:
        """How many things have this name, with one more."""
        number = self._seen[base] = self._count(base) + 1
        return number

    def _count(self, base: str) -> int:
        if base in self._seen or self._earlier is None:
            return self._seen.get(base, 0)
        return self._earlier._count(base)

    def name(self, kind: str, *pieces: str) -> str:
        """An id for content of this kind, made of these pieces."""
        state = blake2b(digest_size=_SIZE)
        for piece in (kind, *pieces):
            data = piece.encode("utf-8", "surrogatepass")
            state.update(b"%d:" % len(data))
            state.update(data)
        base = f"{kind}-{state.hexdigest()}"
        number = self._number(base)
        return base if number == 1 else f"{base}~{number}"

    def message(self, role: Role, parts: tuple[Part, ...]) -> Message:
        """A message named by its parts; reasoning is left out of the name, as a loop may not send it back."""
        visible = [part for part in parts if not isinstance(part, ReasoningPart)] or parts
        name = self.name(role, *(part.id for part in visible))
        if role == "user":
            parts = with_names(parts)
        return Message(id=name, role=role, parts=parts)


Json = dict[str, Any]

READABLE = frozenset(
    [
        "text",
        "title",
        "url",
        "query",
        "queries",
        "code",
        "output",
        "stdout",
        "stderr",
        "input",
        "name",
        "arguments",
        "content",
        "thinking",
        "results",
        "action",
        "source",
        "summary",
        "refusal",
        "transcript",
    ]
)
"""Keys under which a provider item holds text that can be read."""

MCP_PREFIX = "mcp__"
"""How agents name a tool of an MCP server: ``mcp__server__tool`` (https://code.claude.com/docs/en/mcp)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMaker:
    """Makes the parts of one body. Ids come from ``namer``; opaque data is tagged with where it came from."""

    namer: Namer
    wire: str
    provider: str = ""
    model: str = ""

    def request(
        self,
        body: Mapping[str, Any],
        system: Iterable[SystemBlock],
        tools: Iterable[Tool],
        read: Iterable[str],
        *,
        chained: str = "",
    ) -> Request:
        """The body of a call without its messages; fields that are not among ``read`` are parameters."""
        return Request(
            wire=self.wire,
            model=self.model,
            provider=self.provider,
            system=tuple(system),
            tools=tuple(tools),
            params=without(body, *read),
            stream=body.get("stream") is True,
            chained=chained,
        )

    def opaque(self, rest: Mapping[str, Any]) -> ProviderData | None:
        """The fields that our types lack, as JSON; ``None`` when there are none. Nulls and empty lists are left out."""
        kept = {key: value for key, value in rest.items() if value not in (None, [], {})}
        if not kept:
            return None
        return ProviderData(
            data=to_raw(kept), provider=self.provider, wire=self.wire, model=self.model
        )

    def text(self, text: object, rest: Mapping[str, Any] = {}) -> TextPart:
        clean, raw = clean_text(as_text(text))
        return TextPart(
            id=self.namer.name("text", clean),
            text=clean,
            raw=raw,
            provider=self.opaque(rest),
        )

    def reasoning(
        self, text: str, rest: Mapping[str, Any], *, redacted: bool = False
    ) -> ReasoningPart:
        clean, _ = clean_text(text)
        data = self.opaque(rest)
        mark = "" if data is None else bytes(data.data).decode()
        return ReasoningPart(
            id=self.namer.name("reasoning", clean, mark),
            text=clean,
            redacted=redacted,
            opaque_size=opaque_size(rest),
            provider=data,
        )

    def call(
        self,
        call_id: object,
        name: object,
        arguments: object,
        rest: Mapping[str, Any] = {},
    ) -> ToolCallPart:
        """``arguments`` is kept as written when it is text, else as compact JSON."""
        written = clean_text(
            arguments if isinstance(arguments, str) else as_json(arguments)
        ).text
        size = opaque_size(rest)
        called, named = as_text(call_id), as_text(name)
        return ToolCallPart(
            id=self.namer.name("call", called, named, written, str(size)),
            call_id=called,
            name=named,
            arguments=written,
            opaque_size=size,
            provider=self.opaque(rest),
        )

    def result(
        self,
        call_id: object,
        content: Iterable[ResultContent],
        *,
        name: object = "",
        is_error: bool = False,
        rest: Mapping[str, Any] = {},
    ) -> ToolResultPart:
        held = tuple(content)
        called = as_text(call_id)
        return ToolResultPart(
            id=self.namer.name(
                "result", called, "1" if is_error else "", *(part.id for part in held)
            ),
            call_id=called,
            name=as_text(name),
            content=held,
            is_error=is_error,
            provider=self.opaque(rest),
        )

    def media(
        self,
        mime: object,
        *,
        data: str = "",
        url: str = "",
        name: object = "",
        detail: object = "",
        text: str = "",
        rest: Mapping[str, Any] = {},
    ) -> ImagePart | FilePart:
        """An image or a file, from inline base64 or from where it lies. The bytes themselves are not kept."""
        kind = as_text(mime) or mime_of(data)
        source = source_of_data(data) if data else url
        content = decode_base64(data) if data else None
        size = len(content) if content is not None else None
        if kind.startswith("image/") or (not kind and not text):
            pixels = image_size(content) if content is not None else None
            return ImagePart(
                id=self.namer.name("image", source, as_text(detail)),
                mime=kind,
                width=None if pixels is None else pixels.width,
                height=None if pixels is None else pixels.height,
                size_bytes=size,
                detail=as_text(detail),
                source=source,
                provider=self.opaque(rest),
            )
        return FilePart(
            id=self.namer.name("file", source, as_text(name), text),
            mime=kind,
            name=as_text(name),
            pages=None if content is None else pdf_pages(content),
            size_bytes=size,
            text=clean_text(text).text,
            source=source,
            provider=self.opaque(rest),
        )

    def item(self, block: Mapping[str, Any]) -> ProviderItem:
        """An item without a word of its own, kept whole."""
        data = ProviderData(
            data=to_raw(block), provider=self.provider, wire=self.wire, model=self.model
        )
        kind = as_text(block.get("type")) or next(iter(block), "")
        return ProviderItem(
            id=self.namer.name("item", bytes(data.data).decode()),
            kind=kind,
            text=clean_text("\n".join(readable(block))).text,
            provider=data,
        )


def tool(
    name: object,
    description: object,
    schema: object,
    *,
    kind: str = "function",
    deferred: bool = False,
) -> Tool:
    """A tool's declaration. An MCP server is read from the name, where it is written there."""
    named = as_text(name)
    server = (
        named.removeprefix(MCP_PREFIX).partition("__")[0]
        if named.startswith(MCP_PREFIX)
        else ""
    )
    return Tool(
        name=named,
        description=clean_text(as_text(description)).text,
        schema=to_raw(schema if schema is not None else {}),
        server=server,
        kind=kind,
        deferred=deferred,
    )


def as_text(value: object) -> str:
    """The value as text: empty for nothing, JSON for what is no text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else as_json(value)


def as_json(value: object) -> str:
    """The value as compact JSON text, keys in the order they came."""
    return bytes(to_raw(value if value is not None else {})).decode()


def as_list(value: object) -> list[Any]:
    """A list as it is, one value as a list of one, nothing as an empty one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def objects(value: object) -> list[Json]:
    """The objects in a list; anything else in it is left out."""
    return [one for one in as_list(value) if isinstance(one, dict)]


def blocks(value: object) -> list[Json]:
    """The objects in a list of blocks; a bare string is one block of text."""
    return [
        one if isinstance(one, dict) else {"type": "text", "text": as_text(one)}
        for one in as_list(value)
    ]


def without(block: Mapping[str, Any], *known: str) -> Json:
    """The fields of a block that the caller has not read."""
    return {key: value for key, value in block.items() if key not in known}


OPAQUE = (
    "signature",
    "data",
    "encrypted_content",
    "thoughtSignature",
    "thought_signature",
    "redacted_thinking",
)


def opaque_size(value: object, named: bool = False) -> int:
    """Characters of signatures and encrypted content anywhere in a foreign value."""
    if isinstance(value, str):
        return len(value) if named else 0
    if isinstance(value, Mapping):
        return sum(opaque_size(item, key in OPAQUE) for key, item in value.items())
    return (
        sum(opaque_size(item, named) for item in value) if isinstance(value, list) else 0
    )


def readable(value: object, key: str = "text") -> list[str]:
    """All text a person could read in a provider item, in order."""
    if isinstance(value, str):
        return [value] if key in READABLE and value else []
    if isinstance(value, Mapping):
        return [text for name, item in value.items() for text in readable(item, name)]
    return (
        [text for item in value for text in readable(item, key)]
        if isinstance(value, list)
        else []
    )


def data_url(url: str) -> tuple[str, str]:
    """The mime type and base64 of a ``data:`` URL; two empty strings for any other."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return "", ""
    return head.removeprefix("data:").partition(";")[0], data


def decode_base64(data: str) -> bytes | None:
    """The bytes, or ``None`` when it is no base64. google-genai writes the URL-safe alphabet, others the usual one."""
    try:
        return base64.b64decode(data.translate(_URL_SAFE))
    except (binascii.Error, ValueError):
        return None


_URL_SAFE: Final = str.maketrans("-_", "+/")

_MAGIC = (
    ("iVBOR", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lG", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBER", "application/pdf"),
)


def mime_of(data: str) -> str:
    """The mime type that the first bytes of base64 give away; empty when they don't."""
    return next((mime for start, mime in _MAGIC if data.startswith(start)), "")


def source_of_data(data: str) -> str:
    """The source of a part whose content stands in the request: a digest of its base64."""
    return f"blake2b:{_digest(data)}"


def _digest(data: str) -> str:
    return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

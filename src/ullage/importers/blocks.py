"""Content blocks of Anthropic's Messages format, as parts. Claude Code and plain request bodies hold them.

https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

import msgspec

from ullage.importers import fields as f
from ullage.importers.media import file_part, image_part
from ullage.messages import (
    FilePart,
    ImagePart,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    ResultContent,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)

CLEARED = "[Old tool result content cleared]"
"""What stands in the place of a tool result that was pruned, in Claude Code and in OpenCode."""


class Blocks:
    """Turns blocks into parts, naming them after their message and where they came from."""

    def __init__(self, message: str, *, provider: str = "anthropic", model: str = "", first: int = 0) -> None:
        self.message = message
        self.provider = provider
        self.model = model
        self.next = first

    def parts(self, content: object, tool_names: dict[str, str] | None = None) -> list[Part]:
        """All parts of a message's content, which is text or a list of blocks; what is neither is left out."""
        if isinstance(content, str):
            return [self.text(content)] if content else []
        if not isinstance(content, list):
            return []
        found: list[Part] = []
        for block in content:
            if isinstance(block, str):
                found.append(self.text(block))
            elif isinstance(block, dict):
                found.append(self.part(block, tool_names or {}))
        return found

    def part(self, block: f.Fields, tool_names: dict[str, str]) -> Part:
        """One block as a part; a block of an unknown type is kept whole."""
        match f.text(block, "type"):
            case "thinking":
                return self.reasoning(block, f.text(block, "thinking"), f.text(block, "signature"))
            case "redacted_thinking":
                return self.reasoning(block, "", f.text(block, "data"), redacted=True)
            case "tool_use":
                return self.tool_call(f.text(block, "id"), f.text(block, "name"), block.get("input"))
            case "tool_result":
                return self.tool_result(block, tool_names)
            case _:
                return self.content(block)

    def content(self, block: f.Fields) -> ResultContent:
        """A block that may also stand inside a tool result."""
        match f.text(block, "type"):
            case "text":
                return self.text(f.text(block, "text"))
            case "image":
                return self.image(f.mapping(block, "source"))
            case "document":
                return self.document(block)
            case _:
                return self.item(block)

    def name(self) -> str:
        self.next += 1
        return f"{self.message}/{self.next - 1}"

    def text(self, text: str) -> TextPart:
        clean = clean_text(text)
        return TextPart(id=self.name(), text=clean.text, raw=clean.raw)

    def reasoning(self, block: f.Fields, text: str, opaque: str, *, redacted: bool = False) -> ReasoningPart:
        return ReasoningPart(
            id=self.name(),
            text=clean_text(text).text,
            redacted=redacted,
            opaque_size=len(opaque),
            provider=self.data({key: value for key, value in block.items() if key not in ("type", "thinking")}),
        )

    def tool_call(self, call_id: str, name: str, arguments: object) -> ToolCallPart:
        written = arguments if isinstance(arguments, str) else f.as_json({} if arguments is None else arguments)
        return ToolCallPart(id=self.name(), call_id=call_id, name=name, arguments=clean_text(written).text)

    def tool_result(self, block: f.Fields, tool_names: dict[str, str]) -> ToolResultPart:
        call_id = f.text(block, "tool_use_id")
        name = self.name()
        inside = Blocks(name, provider=self.provider, model=self.model)
        content = block.get("content")
        parts: tuple[ResultContent, ...]
        if isinstance(content, str):
            parts = (inside.text(content),) if content else ()
        else:
            parts = tuple(inside.content(each) for each in f.objects(block, "content"))
        return ToolResultPart(
            id=name,
            call_id=call_id,
            name=tool_names.get(call_id, ""),
            content=parts,
            is_error=block.get("is_error") is True,
            cleared=len(parts) == 1 and isinstance(parts[0], TextPart) and parts[0].text == CLEARED,
        )

    def image(self, source: f.Fields) -> ImagePart:
        where = f.text(source, "data") or f.text(source, "url") or f.text(source, "file_id")
        return image_part(self.name(), where, f.text(source, "media_type"))

    def document(self, block: f.Fields) -> FilePart:
        source = f.mapping(block, "source")
        title = f.text(block, "title")
        if f.text(source, "type") == "text":
            text = clean_text(f.text(source, "data")).text
            return FilePart(id=self.name(), mime="text/plain", name=title, text=text, size_bytes=len(text.encode()))
        where = f.text(source, "data") or f.text(source, "url") or f.text(source, "file_id")
        return file_part(self.name(), where, f.text(source, "media_type"), title=title)

    def item(self, block: f.Fields) -> ProviderItem:
        """A block without a word of its own: server tools and their results, references, citations."""
        kind = f.text(block, "type")
        return ProviderItem(id=self.name(), kind=kind, text=_readable(block), provider=self.data(block))

    def data(self, value: f.Fields) -> ProviderData | None:
        if not value:
            return None
        return ProviderData(
            data=msgspec.Raw(f.raw_json(value)), provider=self.provider, wire="messages", model=self.model
        )


_UNREADABLE = ("encrypted_content", "encrypted_index", "encrypted_stdout", "signature", "id", "tool_use_id", "type")


def _readable(value: object, depth: int = 0) -> str:
    """What of an unknown block can be read: all its text, without ids and encrypted content."""
    if depth > 8:
        return ""
    if isinstance(value, str):
        return clean_text(value).text
    if isinstance(value, list):
        return "\n".join(filter(None, (_readable(each, depth + 1) for each in value)))
    if isinstance(value, dict):
        parts = (_readable(each, depth + 1) for key, each in value.items() if key not in _UNREADABLE)
        return "\n".join(filter(None, parts))
    return ""

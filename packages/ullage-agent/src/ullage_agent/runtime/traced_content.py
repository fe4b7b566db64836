"""Messages, tools and results as attributes of a span: the JSON of OpenTelemetry's GenAI conventions.

https://github.com/open-telemetry/semantic-conventions-genai/tree/v0.1.0/model/gen-ai has the schemas
``gen-ai-input-messages.json``, ``gen-ai-output-messages.json``, ``gen-ai-system-instructions.json`` and
``gen-ai-tool-definitions.json``. Bytes of images and files are not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from ullage.masking import Secrets
from ullage.messages import (
    COMPACTION,
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from ullage_agent.runtime.policy import TRACED_MESSAGES, TRACED_TEXT
from ullage_agent.runtime.traced_names import Attributes

_MODALITIES: Final = ("image", "video", "audio")

_Json = dict[str, Any]


class TracedContent:
    """Content as JSON text, without these secrets and of bounded length."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def messages(self, messages: Sequence[Message], finish: str = "") -> str:
        """Messages of a request; with ``finish``, why the model stopped, those of an answer. The oldest are left out
        where all would be too long."""
        found: list[str] = []
        left = TRACED_MESSAGES
        for message in reversed(messages):
            value: _Json = {"role": message.role, "parts": list(self._parts(message))}
            if finish:
                value["finish_reason"] = finish
            text = _encoded(value)
            left -= len(text)
            if left < 0:
                missing = f"[{len(messages) - len(found)} earlier messages are left out]"
                found.append(_encoded({"role": "system", "parts": [_text_part(missing)]}))
                break
            found.append(text)
        return f"[{','.join(reversed(found))}]"

    def request(self, request: Request) -> Attributes:
        """The attributes of a request; of declarations that are too long together only the names."""
        texts = [_text_part(self.text(block.text)) for block in request.system]
        is_short = (
            sum(len(tool.schema) + len(tool.description) for tool in request.tools)
            < TRACED_MESSAGES
        )
        tools = [
            {"type": tool.kind, "name": tool.name}
            | (
                {"description": self.text(tool.description), "parameters": tool.schema}
                if is_short
                else {}
            )
            for tool in request.tools
        ]
        found: Attributes = {"gen_ai.input.messages": self.messages(request.messages)}
        if texts:
            found["gen_ai.system_instructions"] = _encoded(texts)
        if tools:
            found["gen_ai.tool.definitions"] = _encoded(tools)
        return found

    def value(self, text: str) -> str:
        """Arguments or the result of a tool call: JSON where it is."""
        value = self._arguments(text)
        return value if isinstance(value, str) else _encoded(value)

    def text(self, text: str) -> str:
        """Any text."""
        # Masked before it is cut: no piece of a secret is left at the end.
        masked = self._secrets.masked(text)
        if max(len(text), len(masked)) <= TRACED_TEXT:
            return masked
        return (
            f"{masked[:TRACED_TEXT]} [{len(text) - TRACED_TEXT} characters are left out]"
        )

    def _arguments(self, text: str) -> Any:
        if len(text) > TRACED_TEXT:
            return self.text(text)
        try:
            return self._secrets.masked_value(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError):
            return self.text(text)

    def _parts(self, message: Message) -> Iterator[_Json]:
        for part in message.parts:
            yield self._part(part)
            if isinstance(part, ToolResultPart):
                for content in part.content:
                    if isinstance(content, ImagePart | FilePart):
                        yield _media(content)

    def _part(self, part: Part) -> _Json:
        match part:
            case TextPart():
                return _text_part(self.text(part.text))
            case ReasoningPart():
                return {"type": "reasoning", "content": self.text(part.text)}
            case ToolCallPart():
                return {
                    "type": "tool_call",
                    "id": part.call_id,
                    "name": part.name,
                    "arguments": self._arguments(part.arguments),
                }
            case ToolResultPart():
                return {
                    "type": "tool_call_response",
                    "id": part.call_id,
                    "name": part.name,
                    "response": self.text(part.text),
                }
            case FilePart() if part.is_text:
                return _text_part(self.text(part.text))
            case ImagePart() | FilePart():
                return _media(part)
            case ProviderItem():
                kind = "compaction" if part.kind == COMPACTION else part.kind
                return {"type": kind or "provider_item", "content": self.text(part.text)}
            case UnknownPart():
                return {"type": "unknown"}


def _text_part(text: str) -> _Json:
    return {"type": "text", "content": text}


def _media(part: ImagePart | FilePart) -> _Json:
    """Where the bytes are, without them."""
    kind = "image" if isinstance(part, ImagePart) else part.mime.partition("/")[0]
    found = {
        "modality": kind if kind in _MODALITIES else "document",
        "mime_type": part.mime,
    }
    if part.source.startswith(("https://", "http://")):
        return {"type": "uri", **found, "uri": part.source}
    return {"type": "file", **found, "file_id": part.source}


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()

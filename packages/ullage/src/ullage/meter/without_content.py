"""Requests and answers without their content: sizes and digests, of which the same readings are made.

Kept are the names of tools and of MCP servers, the kinds of parts, ids of calls and what an image or a document costs
by (pixels, pages); everything that a person, a model or a program has written is left out.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from ullage.meter.forecast import Forecaster
from ullage.meter.measured import as_measured
from ullage.meter.policy import LONGEST_WORD
from ullage.meter.same_content import bare_fields

KEPT_PARAMS: Final = frozenset(
    {
        "context_management",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "output_config",
        "reasoning",
        "reasoning_effort",
        "service_tier",
        "temperature",
        "thinking",
        "thinkingConfig",
        "tool_choice",
        "toolConfig",
        "top_p",
        "generationConfig",
    }
)
"""Parameters that are kept, as far as they are settings."""

_SPOKEN: Final = frozenset({"description", "name", "title"})
"""Fields inside of parameters that hold what somebody has written."""

_KIND: Final = re.compile(r"[a-z][A-Za-z0-9]*(_[a-z0-9]+)*")
"""Kinds of parts as the providers write them, such as ``web_search_call`` and ``executableCode``."""


class ContentRemover:
    """Takes the content out of one conversation's requests and answers. What came before is done once."""

    def __init__(self) -> None:
        self._forecaster: Forecaster | None = None
        self._done: list[tuple[Message, Message]] = []
        self._tool_names: dict[str, str] = {}

    def request(self, request: Request) -> Request:
        """The request without its content."""
        forecaster = self._forecaster_for(request)
        known, self._done = self._done, []
        for place, message in enumerate(request.messages):
            if place < len(known) and known[place][0] is message:
                self._done.append(known[place])
            else:
                self._done.append(
                    (
                        message,
                        self._bare(
                            message,
                            forecaster,
                        ),
                    )
                )
        return replace(
            request,
            system=tuple(
                _block(
                    each,
                    forecaster,
                )
                for each in request.system
            ),
            tools=tuple(
                _tool(
                    each,
                    forecaster,
                )
                for each in request.tools
            ),
            messages=tuple(bare_one for _, bare_one in self._done),
            params=_params(request.params),
        )

    def answer(
        self,
        message: Message,
        request: Request,
    ) -> Message:
        """An answer to a request without its content."""
        return self._bare(message, self._forecaster_for(request))

    def _forecaster_for(self, request: Request) -> Forecaster:
        wanted = (request.wire, request.provider, request.model)
        known = self._forecaster
        if known is None or (known.wire, known.provider, known.model) != wanted:
            known = self._forecaster = Forecaster(*wanted, "auto")
            self._done = []
        return known

    def _bare(
        self,
        message: Message,
        forecaster: Forecaster,
    ) -> Message:
        for part in message.of_type(ToolCallPart):
            self._tool_names[part.call_id] = part.name
        cost = forecaster.message(message, self._tool_names)
        parts = tuple(_without(part) for part in message.parts)
        return replace(message, parts=parts, measured=as_measured(cost))


def _without(part: Part) -> Part:
    mark = ProviderData(data=_digest(msgspec.json.encode(bare_fields(part))))
    match part:
        case TextPart():
            return replace(part, text="", raw=None, provider=mark)
        case ReasoningPart():
            return replace(part, text="", provider=mark)
        case ToolCallPart():
            return replace(part, arguments="", provider=mark)
        case ToolResultPart():
            return replace(part, content=(), provider=mark)
        case ImagePart():
            return replace(part, source="", provider=mark)
        case FilePart():
            return replace(
                part,
                name="",
                text="",
                source="",
                provider=mark,
            )
        case ProviderItem():
            # A body that breaks its wire's rules may hold a user's words where a kind belongs.
            kind = part.kind if _KIND.fullmatch(part.kind) else ""
            return replace(part, kind=kind, text="", provider=mark)
        case UnknownPart():
            return ProviderItem(
                id=part.id,
                revision=part.revision,
                provider=mark,
            )


def _digest(data: bytes) -> msgspec.Raw:
    name = blake2b(data, digest_size=16).hexdigest()
    return msgspec.Raw(msgspec.json.encode({"digest": name, "size": len(data)}))


def _block(block: SystemBlock, forecaster: Forecaster) -> SystemBlock:
    """A block of the system prompt. Its last character decides a token of the tools that follow it."""
    if not block.text:
        return replace(block, provider=None)
    data = _digest(block.text.encode("utf-8", "replace"))
    return replace(
        block,
        text="x" if block.text[-1].isalnum() else ".",
        provider=ProviderData(data=data),
        measured=forecaster.text(block.text),
    )


def _tool(tool: Tool, forecaster: Forecaster) -> Tool:
    described = tool.description.encode("utf-8", "replace")
    return replace(
        tool,
        description="",
        schema=_digest(described + bytes(tool.schema)),
        measured=forecaster.tool(tool),
    )


def _params(params: dict[str, object]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in params.items():
        if name in KEPT_PARAMS:
            kept[name] = _settings_in(value)
    return kept


def _settings_in(value: object) -> object:
    """Numbers, switches and short words; what else is written is left out."""
    if isinstance(value, dict):
        found: dict[str, object] = {}
        for name, inner in value.items():
            if name not in _SPOKEN and not name.lower().endswith("schema"):
                found[name] = _settings_in(inner)
        return found
    if isinstance(value, list):
        return [_settings_in(inner) for inner in value]
    if isinstance(
        value,
        str,
    ) and (len(value) > LONGEST_WORD or " " in value):
        return ""
    return value

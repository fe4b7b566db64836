"""Requests for Gemini generateContent: the inverse of ``read.py``.

https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/thought-signatures. Each part goes
back by itself, with the signature it came with, and nothing is joined. Results of one step are one content, as the
API wants as many of them as there were calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ullage.codec.blocks import (
    JSON_HEADERS,
    Blocks,
    CacheMarks,
    Encoded,
    Held,
    MessageWriter,
    Options,
    Sending,
    json_object,
    locate,
    merged,
    named_text,
    nested,
    result_ids,
    stand_in,
    wire_message,
)
from ullage.codec.draft import MINTED
from ullage.codec.foreign import parse
from ullage.codec.wires.gemini.rules import PARAMS
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.models.providers import provider_named

_PART_FIELDS: Final = frozenset(
    {
        "thoughtSignature",
        "thought_signature",
        "thought",
        "partMetadata",
        "videoMetadata",
        "mediaResolution",
    }
)
"""Fields of a part; other fields that came with a call are the call's. https://ai.google.dev/api/caching#Part"""
_SAFE: Final = re.compile(rb"[^A-Za-z0-9._~/@:-]")
_SHOWS_RESULTS: Final = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that take media inside a result: https://ai.google.dev/gemini-api/docs/function-calling#multimodal"""


def encode_head(sending: Sending) -> Encoded:
    """One generateContent call without its contents; the model is in the path."""
    request, options, blocks = sending.request, sending.options, Blocks()
    body = _body(request, options, blocks)
    method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return blocks.encoded(f"/{_name(request)}:{method}", JSON_HEADERS, body)


def encode_count(request: Request, encoded: Encoded) -> Encoded:
    """The ``countTokens`` call for an encoded request, system prompt and tools included.

    Only ``generateContentRequest`` counts them: https://ai.google.dev/api/tokens#method:-models.counttokens.
    """
    name = _name(request)
    return encoded._replace(
        path=f"/{name}:countTokens",
        body={"generateContentRequest": {"model": name, **encoded.body}},
    )


def _name(request: Request) -> str:
    model = request.model if "/" in request.model else f"models/{request.model}"
    return _SAFE.sub(lambda found: b"%%%02X" % ord(found[0]), model.encode()).decode()


def _body(request: Request, options: Options, blocks: Blocks) -> dict[str, object]:
    system = [
        blocks.add("system", {"text": block.text})
        for block in request.system
        if block.text
    ]
    tools = list(_tools(request.tools, blocks))
    body: dict[str, object] = {"contents": []}
    if system:
        body["systemInstruction"] = {"parts": system}
    if tools:
        body["tools"] = tools
    return merged(
        {**body, **PARAMS.unowned(request.params)},
        [("generationConfig", _generation(request, options))],
    )


class _GeminiTurn(NamedTuple):
    """The content that the next message may be joined to."""

    name: str
    written: list[msgspec.Raw]


class GeminiWriter(MessageWriter):
    """The contents of a generateContent call."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, str] = {}
        self._asked: set[str] = set()  # ids whose names may have been looked up
        self._last: _GeminiTurn | None = None

    def know(self, sending: Sending, messages: Sequence[Message]) -> None:
        self._names |= _call_names(messages)

    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        names = _call_names(messages)
        if any(
            one in self._asked and self._names.get(one) != name
            for one, name in names.items()
        ):
            return False
        self._names |= names
        self._asked.update(result_ids(messages))
        for message in messages:
            turn = _turn_of(message)
            if self._last is None or self._last.name != turn:
                for item in self._open_items(None):
                    self._final += item
                self._last = _GeminiTurn(turn, [])
            for part in _parts_of(sending, message, self._names, self.blocks):
                self._last.written.append(self.blocks.add(turn, part))
        return True

    def _open_items(self, marks: CacheMarks | None) -> Iterator[bytes]:
        if self._last is not None and self._last.written:
            role = "model" if self._last.name == "model" else "user"
            yield wire_message(role, "parts", self._last.written)
            yield b","


def _call_names(messages: Sequence[Message]) -> dict[str, str]:
    """The tools that were called, by the ids of their calls."""
    return {
        part.call_id: part.name
        for message in messages
        for part in message.of_type(ToolCallPart)
    }


def _turn_of(message: Message) -> str:
    """Answers in a row are one content, and so are results; a user's words stay apart from them."""
    if message.role == "assistant":
        return "model"
    return "results" if message.role == "tool" else f"user {message.id}"


def _generation(request: Request, options: Options) -> dict[str, object] | None:
    said: list[tuple[str, object]] = [
        ("maxOutputTokens", options.max_output),
        ("temperature", options.temperature),
    ]
    config = merged(nested(request.params, "generationConfig"), said)
    thinking = nested(config, "thinkingConfig")
    if options.thinking_budget is not None:
        thinking |= {
            "thinkingBudget": options.thinking_budget,
            "includeThoughts": options.thinking_budget != 0,
        }
    elif options.effort == "none":
        thinking["thinkingBudget"] = 0
    elif options.effort is not None:
        thinking |= {"thinkingLevel": options.effort, "includeThoughts": True}
    if thinking:
        config["thinkingConfig"] = thinking
    return config or None


def _tools(
    tools: tuple[Tool, ...], blocks: Blocks
) -> Iterator[dict[str, object] | msgspec.Raw]:
    declared = [
        blocks.add("tool", _declaration(tool))
        for tool in tools
        if tool.kind == "function"
    ]
    if declared:
        yield {"functionDeclarations": declared}
    for tool in tools:
        if tool.kind == "function":
            continue
        settings = parse(tool.schema)
        if isinstance(settings, dict) and set(settings) == {tool.kind}:
            yield blocks.add("tool", tool.schema)
        else:
            blocks.miss(f"tool {tool.name}")


def _declaration(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    schema = (
        {}
        if bytes(tool.schema) in (b"{}", b"null")
        else {"parametersJsonSchema": tool.schema}
    )
    return {"name": tool.name, **described, **schema}


def _parts_of(
    sending: Sending, message: Message, names: Mapping[str, str], blocks: Blocks
) -> Iterator[Any]:
    """The parts of one message; ``names`` are those of ``_call_names``."""
    for part in message.parts:
        if message.role == "system" and isinstance(part, TextPart):
            yield {"text": f"<system>\n{part.text}\n</system>"}
        elif isinstance(part, ToolResultPart):
            yield from _result(sending, part, names, blocks)
        elif (made := _part(sending, part, blocks)) is not None:
            yield made


def _part(
    sending: Sending, part: Part, blocks: Blocks
) -> dict[str, Any] | msgspec.Raw | None:
    match part:
        case TextPart():
            fields = sending.fields(part.provider)
            return {"text": part.text, **fields} if part.text or fields else None
        case ReasoningPart():
            fields = sending.reasoning(part) or {}
            return (
                {"text": part.text, "thought": True, **fields}
                if part.text and fields
                else fields or None
            )
        case ToolCallPart():
            return _call(sending, part)
        case ImagePart() | FilePart():
            return _media(sending, part, blocks)
        case ProviderItem():
            return sending.item(part.provider)
        case _:
            return None


def _call(sending: Sending, part: ToolCallPart) -> dict[str, Any]:
    fields = sending.fields(part.provider)
    call: dict[str, Any] = {
        "name": part.name,
        "args": json_object(part.arguments),
        **_id(sending, part.call_id),
    }
    call |= {name: raw for name, raw in fields.items() if name not in _PART_FIELDS}
    return {
        "functionCall": call,
        **{name: raw for name, raw in fields.items() if name in _PART_FIELDS},
    }


def _id(sending: Sending, call_id: str) -> dict[str, str]:
    """A call's id where the API takes one."""
    if (
        not call_id
        or call_id.startswith(MINTED)
        or not provider_named(sending.request.provider).takes_call_ids
    ):
        return {}
    return {"id": call_id}


def _result(
    sending: Sending, part: ToolResultPart, names: Mapping[str, str], blocks: Blocks
) -> Iterator[Any]:
    media = [
        _media(sending, one, blocks)
        for one in part.content
        if isinstance(one, ImagePart | FilePart)
    ]
    name = part.name or names.get(part.call_id) or part.call_id
    response: dict[str, Any] = {
        "name": name,
        **_id(sending, part.call_id),
        "response": _response(part),
    }
    if media and _SHOWS_RESULTS.search(sending.request.model):
        response["parts"] = [
            one for one in media if "inlineData" in one or "fileData" in one
        ]
        media = [one for one in media if "text" in one]
    fields = sending.fields(part.provider)
    response |= {key: raw for key, raw in fields.items() if key not in _PART_FIELDS}
    yield {
        "functionResponse": response,
        **{key: raw for key, raw in fields.items() if key in _PART_FIELDS},
    }
    yield from media


def _response(part: ToolResultPart) -> object:
    """A result is an object on this wire: one that a tool wrote as such goes as it is, text under a name."""
    text = "".join(
        one.text for one in part.content if isinstance(one, TextPart | ProviderItem)
    )
    if (
        not part.is_error
        and text.startswith("{")
        and isinstance(parse(text.encode("utf-8", "replace")), dict)
    ):
        return json_object(text)
    return {"error" if part.is_error else "output": text}


def _media(
    sending: Sending, part: ImagePart | FilePart, blocks: Blocks
) -> dict[str, Any]:
    fields = sending.fields(part.provider)
    if "inlineData" in fields:  # the model made it: the bytes are what came
        return fields
    if isinstance(part, FilePart) and part.is_text:
        return {"text": named_text(part)}
    held = locate(sending, part)
    return (
        {"text": stand_in(blocks, part)} if held is None else {**_source(held), **fields}
    )


def _source(held: Held) -> dict[str, Any]:
    if held.data:
        return {"inlineData": {"mimeType": held.mime, "data": held.data}}
    return {"fileData": {"mimeType": held.mime, "fileUri": held.url or held.file_id}}

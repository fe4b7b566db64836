"""Requests for OpenAI Responses: the inverse of ``read.py``.

https://platform.openai.com/docs/api-reference/responses/create. Everything is sent each time and nothing kept on the
other side, unless the request continues a stored one: ``store`` is false and reasoning comes encrypted. An item that
names itself is refused without the reasoning that stood before it, so it loses its id where that is kept back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from ullage.codec.blocks import (
    JSON_HEADERS,
    Blocks,
    Encoded,
    MessageWriter,
    Sending,
    drop,
    is_true,
    is_whole,
    locate,
    named_text,
    nested,
    result_ids,
    stand_in,
    with_options,
)
from ullage.codec.foreign import text_of
from ullage.codec.held import CONTINUING, is_conversation
from ullage.codec.wires.responses.rules import PARAMS
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
from ullage.models.gpt import has_new_cache
from ullage.models.providers import provider_named

_BLOCK_FIELDS: Final = frozenset({"annotations", "logprobs", "refusal"})
"""Fields of a text that belong to its block of content; all others belong to the message around it."""
_COUNTED: Final = frozenset(
    {"parallel_tool_calls", "reasoning", "text", "tool_choice", "truncation"}
)
"""https://platform.openai.com/docs/api-reference/responses/input-tokens"""
_COUNTED_FIELDS: Final = (
    "model",
    "instructions",
    "tools",
    "input",
    *CONTINUING["responses"],
)
_COMPACTED_FIELDS: Final = (
    "model",
    "instructions",
    "input",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "service_tier",
)
_ENCRYPTED: Final = "reasoning.encrypted_content"

Item = dict[str, Any] | msgspec.Raw


def encode_head(sending: Sending) -> Encoded:
    """One Responses call with no items but those of the system prompt."""
    request, options, blocks = sending.request, sending.options, Blocks()
    body = _body(sending, blocks)
    own = PARAMS.unowned(request.params)
    params = with_options(
        own, sending, blocks, most="max_output_tokens", thinking="reasoning"
    )
    is_background = options.background and request.stream
    if is_background:
        params["background"] = True
    if options.stateless and not request.chained:
        params["store"] = is_background
        included = params.get("include")
        listed = list(included) if isinstance(included, list) else []
        params["include"] = listed if _ENCRYPTED in listed else [*listed, _ENCRYPTED]
    if request.stream:
        params["stream"] = True
    before = options.compare_with or ""
    is_told = provider_named(request.provider).tells_misses
    if is_told and has_new_cache(request.model) and before.startswith("resp_"):
        given = nested(request.params, "prompt_cache_options")
        params["prompt_cache_options"] = {"comparison_response_id": before, **given}
    return blocks.encoded("/responses", JSON_HEADERS, {**body, **params})


def encode_count(request: Request, encoded: Encoded) -> Encoded:
    """The ``input_tokens`` call for an encoded request."""
    body = encoded.only(_COUNTED_FIELDS)
    params = {
        name: value
        for name, value in PARAMS.unowned(request.params).items()
        if name in _COUNTED
    }
    return encoded._replace(path="/responses/input_tokens", body={**body, **params})


def encode_compaction(encoded: Encoded, instructions: str) -> Encoded:
    """The call of ``POST /responses/compact`` for an encoded request; it takes no instructions of its own.

    https://developers.openai.com/api/docs/guides/compaction, ``response_compact_params.py`` in openai 3.52.
    """
    body = encoded.only(_COMPACTED_FIELDS)
    return encoded._replace(path="/responses/compact", body=body)


def _body(sending: Sending, blocks: Blocks) -> dict[str, object]:
    request = sending.request
    body: dict[str, object] = {"model": request.model}
    plain: list[str] = []
    items: list[msgspec.Raw] = []
    for block in request.system:
        role = text_of(sending.fields(block.provider), "role")
        if role:
            content = [{"type": "input_text", "text": block.text}]
            items.append(
                blocks.add(
                    "system", {"type": "message", "role": role, "content": content}
                )
            )
        elif block.text:
            blocks.add("system", block.text)
            plain.append(block.text)
    if plain:
        body["instructions"] = "\n\n".join(plain)
    tools = [
        blocks.add("tool", tool)
        for one in request.tools
        if (tool := _tool(one, blocks)) is not None
    ]
    if tools:
        body["tools"] = tools
    body["input"] = items
    if request.chained:
        is_named = is_conversation(request.chained)
        name = "conversation" if is_named else "previous_response_id"
        body[name] = request.chained
    return body


class ResponsesWriter(MessageWriter):
    """The messages of a Responses call."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[str, str] = {}
        self._answered: set[str] = set()

    def know(
        self,
        sending: Sending,
        messages: Sequence[Message],
    ) -> None:
        self._kinds |= _call_kinds(sending, messages)

    def add(
        self,
        sending: Sending,
        messages: Sequence[Message],
    ) -> bool:
        kinds = _call_kinds(sending, messages)
        if any(one in self._answered and one not in self._kinds for one in kinds):
            return False
        self._kinds |= kinds
        self._answered.update(result_ids(messages))
        for message in messages:
            for item in _items_of(sending, message, self._kinds, self.blocks):
                self._write(self.blocks.add("item", item))
        return True


def _tool(tool: Tool, blocks: Blocks) -> dict[str, Any] | msgspec.Raw | None:
    """A function is not strict unless its schema was made for it; strict is this wire's default and changes schemas."""
    described = {"description": tool.description} if tool.description else {}
    if tool.kind == "custom":
        form = {} if bytes(tool.schema) in (b"{}", b"null") else {"format": tool.schema}
        return {"type": "custom", "name": tool.name, **described, **form}
    if tool.kind != "function":
        if not is_whole(tool):
            blocks.miss(f"tool {tool.name}")
            return None
        return tool.schema
    strict = (tool.extra or {}).get("strict", msgspec.Raw(b"false"))
    declared = {
        "type": "function",
        "name": tool.name,
        **described,
        "parameters": tool.schema,
        "strict": strict,
    }
    return {**declared, "defer_loading": True} if tool.deferred else declared


def _call_kinds(sending: Sending, messages: Sequence[Message]) -> dict[str, str]:
    """Call ids of custom tools, whose results are items of another kind."""
    return {
        part.call_id: "custom_tool_call_output"
        for message in messages
        for part in message.of_type(ToolCallPart)
        if part.provider is not None
        and text_of(sending.fields(part.provider), "type") == "custom_tool_call"
    }


def _items_of(
    sending: Sending, message: Message, kinds: Mapping[str, str], blocks: Blocks
) -> Iterator[Item]:
    """One message as the items of this wire; ``kinds`` are those of ``_call_kinds``."""
    if message.role == "assistant":
        yield from _answer(sending, message, blocks)
        return
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    for part in results:
        kind = kinds.get(part.call_id, "function_call_output")
        own = drop(sending.fields(part.provider), "type")
        yield {
            "type": kind,
            "call_id": part.call_id,
            "output": _output(sending, part, blocks),
            **own,
        }
    others = [part for part in message.parts if not isinstance(part, ToolResultPart)]
    if message.role == "tool":
        yield from (
            item for part in others if (item := _whole(sending, part)) is not None
        )
        return
    if message.origin == "summary":  # the items of a compaction stand by themselves
        yield from (
            item for part in others if (item := _whole(sending, part)) is not None
        )
        others = [part for part in others if not isinstance(part, ProviderItem)]
    content = [
        made for part in others if (made := _content(sending, part, blocks)) is not None
    ]
    if content:
        yield {
            "type": "message",
            "role": "system" if message.role == "system" else "user",
            "content": content,
        }


def _whole(sending: Sending, part: Part) -> Item | None:
    return sending.item(part.provider) if isinstance(part, ProviderItem) else None


def _answer(
    sending: Sending,
    message: Message,
    blocks: Blocks,
) -> Iterator[Item]:
    """The items of one answer: texts of one message together, everything else by itself."""
    bare = False
    entries: list[tuple[bytes, Item | dict[str, Any]]] = []
    for part in message.parts:
        if isinstance(part, ReasoningPart):
            fields = sending.reasoning(part)
            bare = fields is None
            if fields is not None:
                entries.append((b"", _reasoning(part, fields)))
        elif isinstance(part, TextPart):
            if part.text:
                entries.append(_text(sending, part, bare=bare))
        elif (item := _other(sending, part, blocks, bare=bare)) is not None:
            entries.append((b"", item))
    for key, run in groupby(entries, key=lambda entry: entry[0]):
        if not key:
            yield from (item for _, item in run)
            continue
        content = [item for _, item in run]
        shared = msgspec.json.decode(key, type=dict[str, msgspec.Raw])
        yield {"type": "message", "role": "assistant", "content": content, **shared}


def _reasoning(part: ReasoningPart, fields: Mapping[str, Any]) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "reasoning", **drop(fields, "type")}
    if (
        "summary" not in item
    ):  # it was left out because the text gives it back, or because it was empty
        said = part.text and "content" not in item
        item["summary"] = [{"type": "summary_text", "text": part.text}] if said else []
    return item


def _text(
    sending: Sending, part: TextPart, *, bare: bool
) -> tuple[bytes, dict[str, Any]]:
    """A block of content, under the fields of the message it belongs to."""
    fields = sending.fields(part.provider)
    if bare:
        fields = drop(fields, "id")
    own = {name: raw for name, raw in fields.items() if name in _BLOCK_FIELDS}
    shared = {
        name: raw
        for name, raw in fields.items()
        if name not in _BLOCK_FIELDS and name != "type"
    }
    if is_true(fields, "refusal"):
        return msgspec.json.encode(shared), {"type": "refusal", "refusal": part.text}
    kind = text_of(fields, "type") or "output_text"
    return msgspec.json.encode(shared), {
        "type": kind,
        "text": part.text,
        **drop(own, "refusal"),
    }


def _other(
    sending: Sending,
    part: Part,
    blocks: Blocks,
    *,
    bare: bool,
) -> Item | None:
    match part:
        case ToolCallPart():
            fields = sending.fields(part.provider)
            if bare:
                fields = drop(fields, "id")
            if text_of(fields, "type") in ("custom_tool_call", "custom"):
                call = {
                    "type": "custom_tool_call",
                    "call_id": part.call_id,
                    "name": part.name,
                    "input": part.arguments,
                }
            else:
                call = {
                    "type": "function_call",
                    "call_id": part.call_id,
                    "name": part.name,
                    "arguments": part.arguments or "{}",
                }
            return {**call, **drop(fields, "type")}
        case ProviderItem():
            return sending.item(part.provider)
        case ImagePart() | FilePart():
            text = {"type": "output_text", "text": stand_in(blocks, part)}
            return {"type": "message", "role": "assistant", "content": [text]}
        case ToolResultPart():
            return {
                "type": "function_call_output",
                "call_id": part.call_id,
                "output": _output(sending, part, blocks),
            }
        case _:
            return None


def _output(
    sending: Sending,
    part: ToolResultPart,
    blocks: Blocks,
) -> str | list[Item]:
    """Plain text as a string, anything else as a list of content."""
    if all(isinstance(one, TextPart) and one.provider is None for one in part.content):
        return part.text
    return [
        made
        for one in part.content
        if (made := _content(sending, one, blocks)) is not None
    ]


def _content(
    sending: Sending,
    part: Part,
    blocks: Blocks,
) -> Item | None:
    match part:
        case TextPart():
            return {"type": "input_text", "text": part.text} if part.text else None
        case ImagePart() | FilePart():
            return _media(sending, part, blocks)
        case ProviderItem():
            return sending.item(part.provider)
        case _:
            return None


def _media(
    sending: Sending, part: ImagePart | FilePart, blocks: Blocks
) -> dict[str, Any]:
    if isinstance(part, FilePart) and part.is_text:
        return {"type": "input_text", "text": named_text(part)}
    held = locate(sending, part)
    if held is None:
        return {"type": "input_text", "text": stand_in(blocks, part)}
    if isinstance(part, ImagePart):
        where = {"file_id": held.file_id} if held.file_id else {"image_url": held.address}
        return {"type": "input_image", **where, "detail": part.detail or "auto"}
    if held.mime.startswith("audio/"):
        form = held.mime.removeprefix("audio/")
        return {"type": "input_audio", "input_audio": {"data": held.data, "format": form}}
    if held.file_id:
        return {"type": "input_file", "file_id": held.file_id}
    if held.url:
        return {"type": "input_file", "file_url": held.url}
    return {
        "type": "input_file",
        "filename": part.name or "file.pdf",
        "file_data": held.address,
    }

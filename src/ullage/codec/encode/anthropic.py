"""Requests for Anthropic Messages: the inverse of ``codec.bodies.anthropic``.

https://platform.claude.com/docs/en/api/messages. Messages that stand next to each other and are the user's on this wire
(tool results, user messages, the program's notes) are one wire message, results first; so are answers in a row, which
the API joins itself. A block is one content block, so that a message that grows extends the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

import msgspec

from ullage.codec.encode.blocks import (
    EVERYTHING,
    PLAIN,
    Blocks,
    CacheMarks,
    Encoded,
    Options,
    Sending,
    drop,
    is_whole,
    json_object,
    merged,
    nested,
    params_of,
)
from ullage.codec.encode.media import Held, locate, named_text, stand_in
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    ResultContent,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from ullage.reasoning import ReasoningPolicy

VERSION: Final = "2023-06-01"
"""https://platform.claude.com/docs/en/api/versioning"""
MAX_OUTPUT: Final = 16_000
"""Tokens, where nobody says: the field is required. The reserve that the meter keeps by default."""
MOST_MARKS: Final = 4
"""Cache markers in one request: https://platform.claude.com/docs/en/build-with-claude/prompt-caching."""
_UNCOUNTED: Final = frozenset(
    {"max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier", "container"}
)
"""Parameters that https://platform.claude.com/docs/en/api/messages-count-tokens does not take."""

Block = dict[str, Any] | msgspec.Raw
"""A content block to be; one that goes out as it came is bytes already."""


def encode(request: Request, *, policy: ReasoningPolicy = EVERYTHING, options: Options = PLAIN) -> Encoded:
    """The body of one Messages call."""
    blocks = Blocks()
    request, options = settle(request, options)
    body = _body(request, policy, options, blocks)
    said: list[tuple[str, object]] = [("max_tokens", options.max_output), ("temperature", options.temperature)]
    if options.effort is not None:
        said.append(("output_config", {**nested(request.params, "output_config"), "effort": options.effort}))
    params = merged({"max_tokens": MAX_OUTPUT, **params_of(request)}, said)
    if request.stream:
        params["stream"] = True
    return Encoded("/messages", _headers(options), {**body, **params}, tuple(blocks.made), tuple(blocks.unsent))


def settle(request: Request, options: Options) -> tuple[Request, Options]:
    """The same call with thinking among its parameters, where the validator sees whether its history allows it."""
    thinking: dict[str, object] | None = None
    if options.effort == "none":
        thinking = {"type": "disabled"}
    elif options.thinking_budget is not None:
        thinking = {"type": "enabled", "budget_tokens": options.thinking_budget}
    if thinking is None:
        return request, options
    effort = None if options.effort == "none" else options.effort
    asked = msgspec.structs.replace(request, params={**request.params, "thinking": thinking})
    return asked, replace(options, thinking_budget=None, effort=effort)


def encode_count(request: Request, *, policy: ReasoningPolicy = EVERYTHING, options: Options = PLAIN) -> Encoded:
    """The body of a ``count_tokens`` call for the same request."""
    blocks = Blocks()
    body = _body(request, policy, options, blocks)
    params = {name: value for name, value in params_of(request).items() if name not in _UNCOUNTED}
    return Encoded(
        "/messages/count_tokens", _headers(options), {**body, **params}, tuple(blocks.made), tuple(blocks.unsent)
    )


def _headers(options: Options) -> dict[str, str]:
    headers = {"anthropic-version": VERSION, "content-type": "application/json"}
    return {**headers, "anthropic-beta": ",".join(options.betas)} if options.betas else headers


def _body(request: Request, policy: ReasoningPolicy, options: Options, blocks: Blocks) -> dict[str, object]:
    sending = Sending.of(request, policy, options)
    system = [_system(sending, block) for block in request.system if block.text]
    tools = [tool for one in request.tools if (tool := _tool(one, blocks)) is not None]
    turns = [
        (role, [block for message in run for block in content_of(sending, message, blocks)])
        for role, run in groupby(request.messages, key=speaker)
    ]
    written_system = [blocks.add("system", block) for block in system]
    written_tools = [blocks.add("tool", tool) for tool in tools]
    written = [(role, content, [blocks.add(role, block) for block in content]) for role, content in turns if content]
    if options.cache is not None:
        _mark_head(options.cache, system, written_system, tools, written_tools)
        mark_turns(options.cache, written)
    body: dict[str, object] = {"model": request.model}
    if written_system:
        body["system"] = written_system
    if written_tools:
        body["tools"] = written_tools
    body["messages"] = [{"role": role, "content": raw} for role, _, raw in written]
    return body


def speaker(message: Message) -> str:
    """Whose a message is on this wire: neighbours of one speaker are one wire message."""
    return "assistant" if message.role == "assistant" else "user"


def _system(sending: Sending, block: SystemBlock) -> dict[str, Any]:
    return {"type": "text", "text": block.text, **_own(sending, block.provider)}


def _own(sending: Sending, data: Any) -> dict[str, Any]:
    """A part's own fields; its cache marker only where we set none."""
    if data is None:
        return {}
    fields = sending.fields(data)
    return drop(fields, "cache_control") if sending.options.cache is not None else fields


def _tool(tool: Tool, blocks: Blocks) -> dict[str, Any] | msgspec.Raw | None:
    if tool.kind != "function":
        if not is_whole(tool):
            blocks.miss(f"tool {tool.name}")
            return None
        return tool.schema
    declared: dict[str, Any] = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    declared["input_schema"] = tool.schema
    return {**declared, "defer_loading": True} if tool.deferred else declared


def content_of(sending: Sending, message: Message, blocks: Blocks) -> Iterator[Block]:
    """The content blocks of one message."""
    for part in message.parts:
        if message.role == "system" and isinstance(part, TextPart):
            yield {"type": "text", "text": f"<system>\n{part.text}\n</system>"}
            continue
        block = _part(sending, part, blocks)
        if block is not None:
            yield block


def _part(sending: Sending, part: Part, blocks: Blocks) -> Block | None:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text, **_own(sending, part.provider)} if part.text else None
        case ReasoningPart():
            return _reasoning(sending, part)
        case ToolCallPart():
            block = {"type": "tool_use", "id": part.call_id, "name": part.name, "input": json_object(part.arguments)}
            return {**block, **_own(sending, part.provider)}
        case ToolResultPart():
            return _result(sending, part, blocks)
        case ImagePart() | FilePart():
            return _media(sending, part, blocks)
        case ProviderItem():
            return sending.item(part.provider)
        case UnknownPart():
            blocks.miss(f"part {part.id}")
            return None


def _reasoning(sending: Sending, part: ReasoningPart) -> Block | None:
    fields = sending.reasoning(part)
    if fields is None:
        return None
    if part.redacted:
        return {"type": "redacted_thinking", **fields} if "data" in fields else None
    if sending.target.signed_thinking and bytes(fields.get("signature", b'""')) in (b'""', b"null"):
        return None
    return {"type": "thinking", "thinking": part.text, **fields}


def _result(sending: Sending, part: ToolResultPart, blocks: Blocks) -> Block:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": part.call_id}
    content = [made for one in part.content if (made := _content(sending, one, blocks)) is not None]
    if len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"type", "text"}:
        block["content"] = content[0]["text"]
    elif content:
        block["content"] = content
    if part.is_error:
        block["is_error"] = True
    return {**block, **_own(sending, part.provider)}


def _content(sending: Sending, one: ResultContent, blocks: Blocks) -> Block | None:
    return _part(sending, one, blocks)


def _media(sending: Sending, part: ImagePart | FilePart, blocks: Blocks) -> Block:
    """https://platform.claude.com/docs/en/build-with-claude/vision, …/pdf-support: the kinds of ``source``."""
    own = _own(sending, part.provider)
    title = {"title": part.name} if isinstance(part, FilePart) and part.name else {}
    if isinstance(part, FilePart) and part.text and not part.source:
        source: dict[str, Any] = {"type": "text", "media_type": "text/plain", "data": part.text}
        return {"type": "document", "source": source, **title, **own}
    held = locate(sending, part)
    kind = "image" if isinstance(part, ImagePart) else "document"
    if held is None or (kind == "document" and not held.mime.startswith(("application/pdf", "text/"))):
        text = named_text(part) if isinstance(part, FilePart) and part.text else stand_in(blocks, part)
        return {"type": "text", "text": text}
    return {"type": kind, "source": _source(held), **title, **own}


def _source(held: Held) -> dict[str, Any]:
    if held.data:
        return {"type": "base64", "media_type": held.mime, "data": held.data}
    if held.url:
        return {"type": "url", "url": held.url}
    return {"type": "file", "file_id": held.file_id}


def _mark_head(
    marks: CacheMarks,
    system: list[dict[str, Any]],
    written_system: list[msgspec.Raw],
    tools: list[dict[str, Any] | msgspec.Raw],
    written_tools: list[msgspec.Raw],
) -> None:
    marker = _marker(marks)
    if marks.system and system:
        _mark_last(system, written_system, marker)
    elif marks.system and tools:
        _mark_last(tools, written_tools, marker)


def mark_turns(marks: CacheMarks, turns: list[tuple[str, list[Block], list[msgspec.Raw]]]) -> None:
    """Puts the markers on the written blocks of wire messages: their speaker, their blocks, and these as written."""
    marker = _marker(marks)
    left = min(marks.messages, MOST_MARKS - 1 if marks.system else MOST_MARKS)
    for role, content, written in reversed(turns):
        if left and role == "user" and _mark_last(content, written, marker):
            left -= 1


def _marker(marks: CacheMarks) -> Mapping[str, str]:
    return {"type": "ephemeral"} if marks.ttl == "5m" else {"type": "ephemeral", "ttl": marks.ttl}


def can_be_marked(block: Block) -> bool:
    """Whether a block can carry a marker: thinking can't, nor can one that goes out as it came."""
    return isinstance(block, dict) and block.get("type") not in ("thinking", "redacted_thinking")


def _mark_last(blocks: list[Any], written: list[msgspec.Raw], marker: Mapping[str, str]) -> bool:
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if can_be_marked(block):
            written[at] = msgspec.Raw(msgspec.json.encode({**block, "cache_control": marker}))
            return True
    return False

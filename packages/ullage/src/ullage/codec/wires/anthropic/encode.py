"""Requests for Anthropic Messages: the inverse of ``read.py``.

https://platform.claude.com/docs/en/api/messages. Adjacent messages that are the user's on this wire
(tool results, user messages, the program's notes) are one wire message, results first; so are answers in a row, which
the API joins itself. A block is one content block, so that a message that grows extends the request.

A system message is one where the model takes it: behind a user's, with an answer or nothing behind it
(https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages). Anywhere else it is text of
the user's. Which of the two is settled by the answer behind it, before any reasoning depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from ullage.codec.blocks import (
    Blocks,
    CacheMarks,
    Encoded,
    Held,
    JsonBlock,
    MessageWriter,
    Options,
    Sending,
    drop,
    is_whole,
    json_object,
    locate,
    named_text,
    stand_in,
    wire_message,
    with_options,
)
from ullage.codec.repair_calls import legal_name
from ullage.codec.tool_references import referenced
from ullage.codec.wires.anthropic.rules import PARAMS
from ullage.messages import (
    COMPACTION,
    TOOL_REFERENCE,
    FilePart,
    ImagePart,
    Message,
    Part,
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
from ullage.models.binding import binding_of, takes_claude_fields
from ullage.models.claude_thinking import (
    ADAPTS_ALONE,
    ALWAYS_THINKS,
    THINKS_BETWEEN_TOOLS,
)
from ullage.models.providers import provider_named

HEADERS: Final = {"anthropic-version": "2023-06-01", "content-type": "application/json"}
"""https://platform.claude.com/docs/en/api/versioning"""
MAX_OUTPUT: Final = 16_000
"""Tokens, unless it is set: the field is required. The reserve that the meter keeps by default."""
MOST_MARKS: Final = 4
"""Cache markers in one request: https://platform.claude.com/docs/en/build-with-claude/prompt-caching."""
COMPACTION_BETA: Final = "compact-2026-09-04"
"""Goes with a request for a compaction, and with every later one that carries a signed block
(https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand)."""
THREADS_BETA: Final = "message-threads-2026-08-12"
"""Goes with each request of a thread (https://platform.claude.com/docs/en/build-with-claude/message-threads)."""
BINDING: Final = "block_binding"
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
"""The field of ``thinking`` that says what happens to thinking behind a changed prefix, and the beta that it needs
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation)."""
CLEARING: Final = "context_management"
CLEARING_BETA: Final = "context-management-2025-06-27"
"""The parameter by which the server clears tool results and thinking, and the beta that it needs
(https://platform.claude.com/docs/en/build-with-claude/context-editing)."""
_NOT_COMPACTED: Final = ("stop_sequences", CLEARING, "stream")
"""Fields that a request for a compaction may not have; the same page."""
_UNCOUNTED: Final = frozenset(
    {
        "max_tokens",
        "stream",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "metadata",
        "service_tier",
        "container",
    }
)
"""Parameters that https://platform.claude.com/docs/en/api/messages-count-tokens does not take."""
_COUNTED_FIELDS: Final = ("model", "system", "tools", "messages")
_BETAS: Final = "anthropic-beta"


def encode_head(sending: Sending) -> Encoded:
    """One Messages call without its messages."""
    request, options, blocks = sending.request, sending.options, Blocks()
    body = _body(sending, blocks)
    own = {"max_tokens": MAX_OUTPUT, **PARAMS.unowned(request.params)}
    params = with_options(
        own, sending, blocks, most="max_tokens", thinking="output_config"
    )
    if request.stream:
        params["stream"] = True
    headers = _headers(options)
    if CLEARING in params:
        headers = with_beta(headers, CLEARING_BETA)
    if request.chained:
        headers = with_beta(headers, THREADS_BETA)
        body = drop(
            body, "system", "tools"
        )  # the provider holds them, and refuses them here
        body["thread"] = {"type": "continue", "previous_message_id": request.chained}
    if options.drops_unbound and _is_bound(request):
        thinking = _dropping_unbound(params.get("thinking"))
        if thinking is not None:
            params["thinking"] = thinking
            headers = with_beta(headers, BINDING_BETA)
    before = options.compare_with
    if before is not None and provider_named(request.provider).tells_misses:
        known = before if before.startswith("msg_") else None
        params.setdefault("diagnostics", {"previous_message_id": known})
    return blocks.encoded("/messages", headers, {**body, **params})


def _is_bound(request: Request) -> bool:
    """Whether the model binds thinking to what is in front of it, at a provider that is known to take the field."""
    is_taken = takes_claude_fields(request.provider)
    return is_taken and binding_of(request.wire, request.model) is not None


def _dropping_unbound(given: object) -> dict[str, object] | None:
    """``thinking`` with the wish to drop what would be refused; ``None`` for a type that does not take it.

    These models think adaptively where a request does not say how.
    """
    thinking: dict[str, object] = {"type": "adaptive"}
    if isinstance(given, Mapping):
        thinking = dict(given)
    if thinking.get("type") not in ("adaptive", "enabled"):
        return None
    return {BINDING: {"prefix_mismatch_behavior": "drop_block"}, **thinking}


def settle(request: Request, options: Options) -> tuple[Request, Options]:
    """The same call with thinking among its parameters, where the validator sees whether its history allows it."""
    thinking: dict[str, object]
    effort, budget, model = options.effort, options.thinking_budget, request.model.lower()
    if effort == "none":
        thinking, effort = {"type": "disabled"}, None
        if ALWAYS_THINKS.search(model):
            thinking, effort = {"type": "adaptive"}, "low"
        elif THINKS_BETWEEN_TOOLS.search(model):
            thinking = {"type": "between_tools"}
        budget = None
    elif budget is None:
        return request, options
    elif ADAPTS_ALONE.search(model):
        thinking = {"type": "adaptive"}
    else:
        thinking, budget = {"type": "enabled", "budget_tokens": budget}, None
    asked = msgspec.structs.replace(
        request, params={**request.params, "thinking": thinking}
    )
    return asked, replace(options, thinking_budget=budget, effort=effort)


def encode_count(request: Request, encoded: Encoded) -> Encoded:
    """The ``count_tokens`` call for an encoded request."""
    params = drop(PARAMS.unowned(request.params), *_UNCOUNTED)
    body = encoded.only(_COUNTED_FIELDS) | params | encoded.only(["thinking"])
    return encoded._replace(path="/messages/count_tokens", body=body)


def encode_compaction(encoded: Encoded, instructions: str) -> Encoded:
    """The call that summarises all messages of an encoded request and gives one signed block.

    https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
    """
    body = drop(encoded.body, *_NOT_COMPACTED)
    choice = body.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") in ("any", "tool"):
        del body["tool_choice"]
    output = body.get("output_config")
    if isinstance(output, Mapping):
        body["output_config"] = drop(output, "format")
    asked = {"type": "summarize"}
    if instructions:
        asked["instructions"] = instructions
    headers = with_beta(encoded.headers, COMPACTION_BETA)
    return encoded._replace(headers=headers, body={**body, "compaction": asked})


def with_beta(headers: Mapping[str, str], beta: str) -> dict[str, str]:
    """The headers with one more beta."""
    named = [name for name in headers.get(_BETAS, "").split(",") if name]
    if beta not in named:
        named.append(beta)
    return {**headers, _BETAS: ",".join(named)}


def _headers(options: Options) -> dict[str, str]:
    headers = dict(HEADERS)
    if options.betas:
        headers[_BETAS] = ",".join(options.betas)
    return headers


def _body(sending: Sending, blocks: Blocks) -> dict[str, object]:
    request, options = sending.request, sending.options
    system = [_system(sending, block) for block in request.system if block.text]
    tools = [tool for one in request.tools if (tool := _tool(one, blocks)) is not None]
    written_system = [blocks.add("system", block) for block in system]
    written_tools = [blocks.add("tool", tool) for tool in tools]
    if options.cache is not None:
        _mark_head(options.cache, system, written_system, tools, written_tools)
    body: dict[str, object] = {"model": request.model}
    if written_system:
        body["system"] = written_system
    if written_tools:
        body["tools"] = written_tools
    body["messages"] = []
    return body


class _Turn:
    """A wire message that may still grow or be marked: whose it is, its blocks, and these as they are written."""

    __slots__ = ("content", "is_markable", "speaker", "written")

    def __init__(self, speaker: str) -> None:
        self.speaker = speaker
        self.content: list[JsonBlock] = []
        self.written: list[msgspec.Raw] = []
        self.is_markable = False


class AnthropicWriter(MessageWriter):
    """The messages of a Messages call."""

    def __init__(self) -> None:
        super().__init__()
        self._recent: list[_Turn] = []  # the last of them is the one that may grow
        self._markable = 0  # how many of them can be marked
        self._has_compaction = False

    def headers(self, head: Mapping[str, str]) -> dict[str, str]:
        return with_beta(head, COMPACTION_BETA) if self._has_compaction else dict(head)

    def add(
        self,
        sending: Sending,
        messages: Sequence[Message],
    ) -> bool:
        recent = self._recent
        marks = sending.options.cache
        if recent and recent[-1].speaker == "system" and not _is_answered(messages):
            return False
        for at, message in enumerate(messages):
            # Neighbours of one speaker are one wire message.
            speaker = "assistant" if message.role == "assistant" else "user"
            if message.role == "system" and sending.target.system_messages:
                before = recent[-1] if recent else _Turn("assistant")
                is_behind = before.speaker != "assistant" and before.content
                if is_behind and _is_answered(messages[at:]):
                    speaker = "system"
            if not recent or recent[-1].speaker != speaker:
                if recent and not recent[-1].content:
                    recent.pop()  # nothing of it is sent, but its neighbours were not joined
                if marks is None or marks.messages >= 0:
                    self._close()
                recent.append(_Turn(speaker))
            turn = recent[-1]
            if any(is_signed_compaction(part) for part in message.parts):
                self._has_compaction = True
            for block in _content_of(sending, message, self.blocks, speaker):
                turn.content.append(block)
                if not turn.is_markable and speaker == "user" and _can_be_marked(block):
                    turn.is_markable = True
                    self._markable += 1
                turn.written.append(self.blocks.add(speaker, block))
        return True

    def _close(self) -> None:
        """Write what no marker can reach any more."""
        recent = self._recent
        while recent:
            left = self._markable - recent[0].is_markable
            if left < MOST_MARKS:
                return
            self._markable = left
            turn = recent.pop(0)
            self._write(wire_message(turn.speaker, "content", turn.written))

    def _open_items(self, marks: CacheMarks | None) -> Iterator[bytes]:
        turns = [turn for turn in self._recent if turn.content]
        left = _most_marked(marks)
        items: list[bytes] = []
        for turn in reversed(turns):
            written = turn.written
            if marks is not None and left and turn.is_markable:
                written = list(written)
                _mark_last(turn.content, written, _marker(marks))
                left -= 1
            items += (b",", wire_message(turn.speaker, "content", written))
        yield from reversed(items)


def _is_answered(messages: Sequence[Message]) -> bool:
    """Whether the first of these that is no system message is an answer, or there is none."""
    following = (message.role for message in messages if message.role != "system")
    return next(following, "assistant") == "assistant"


def is_signed_compaction(part: Part) -> bool:
    """Whether a part is the block of a compaction that was asked for; others belong to ``context_management``."""
    if not isinstance(part, ProviderItem) or part.kind != COMPACTION:
        return False
    return part.provider is not None and b'"signature"' in bytes(part.provider.data)


def _most_marked(marks: CacheMarks | None) -> int:
    """How many user turns are marked, the newest first; a negative number marks every turn."""
    if marks is None:
        return 0
    return min(marks.messages, MOST_MARKS - 1 if marks.system else MOST_MARKS)


def _system(sending: Sending, block: SystemBlock) -> dict[str, Any]:
    return {"type": "text", "text": block.text, **_own(sending, block.provider)}


def _own(sending: Sending, data: Any) -> dict[str, Any]:
    """A part's own fields; its cache marker only where we set none."""
    if data is None:
        return {}
    fields = sending.fields(data)
    return drop(fields, "cache_control") if sending.options.cache is not None else fields


def _tool(tool: Tool, blocks: Blocks) -> JsonBlock | None:
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


def _content_of(
    sending: Sending, message: Message, blocks: Blocks, speaker: str
) -> Iterator[JsonBlock]:
    """The content blocks of one message."""
    for part in message.parts:
        is_note = message.role == "system" and speaker != "system"
        if is_note and isinstance(part, TextPart):
            yield {"type": "text", "text": f"<system>\n{part.text}\n</system>"}
            continue
        block = _part(sending, part, blocks)
        if block is not None:
            yield block


def _part(
    sending: Sending,
    part: Part,
    blocks: Blocks,
) -> JsonBlock | None:
    match part:
        case TextPart():
            return (
                {"type": "text", "text": part.text, **_own(sending, part.provider)}
                if part.text
                else None
            )
        case ReasoningPart():
            return _reasoning(sending, part)
        case ToolCallPart():
            block = {
                "type": "tool_use",
                "id": part.call_id,
                "name": part.name,
                "input": json_object(part.arguments),
            }
            return {**block, **_own(sending, part.provider)}
        case ToolResultPart():
            return _result(sending, part, blocks)
        case ImagePart() | FilePart():
            return _media(sending, part, blocks)
        case ProviderItem():
            if part.kind == TOOL_REFERENCE:
                return None
            return sending.item(part.provider)
        case UnknownPart():  # the repair has left it out
            return None


def _reasoning(sending: Sending, part: ReasoningPart) -> JsonBlock | None:
    fields = sending.reasoning(part)
    if fields is None:
        return None
    if part.redacted:
        return {"type": "redacted_thinking", **fields} if "data" in fields else None
    if sending.target.signed_thinking and bytes(fields.get("signature", b'""')) in (
        b'""',
        b"null",
    ):
        return None
    return {"type": "thinking", "thinking": part.text, **fields}


def _result(
    sending: Sending,
    part: ToolResultPart,
    blocks: Blocks,
) -> JsonBlock:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": part.call_id}
    content: list[JsonBlock] = _references(sending, part)
    if not content:
        for one in part.content:
            made = _part(sending, one, blocks)
            if made is not None:
                content.append(made)
    if (
        len(content) == 1
        and isinstance(content[0], dict)
        and content[0].keys() == {"type", "text"}
    ):
        block["content"] = content[0]["text"]
    elif content:
        block["content"] = content
    if part.is_error:
        block["is_error"] = True
    return {**block, **_own(sending, part.provider)}


def _references(sending: Sending, part: ToolResultPart) -> list[JsonBlock]:
    """The deferred tools of this request that a result refers to. One that is not declared would be refused."""
    wanted = list(referenced(part.content))
    if not wanted:
        return []
    legal = sending.target.tool_names
    deferred: set[str] = set()
    for tool in sending.request.tools:
        if tool.deferred:
            deferred.add(legal_name(tool.name, legal))
    found: list[JsonBlock] = []
    for tool_name in wanted:
        name = legal_name(tool_name, legal)
        if name in deferred:
            found.append({"type": TOOL_REFERENCE, "tool_name": name})
    return found


def _media(
    sending: Sending,
    part: ImagePart | FilePart,
    blocks: Blocks,
) -> JsonBlock:
    """https://platform.claude.com/docs/en/build-with-claude/vision, …/pdf-support: the kinds of ``source``."""
    own = _own(sending, part.provider)
    title = {"title": part.name} if isinstance(part, FilePart) and part.name else {}
    if isinstance(part, FilePart) and part.is_text:
        source: dict[str, Any] = {
            "type": "text",
            "media_type": "text/plain",
            "data": part.text,
        }
        return {"type": "document", "source": source, **title, **own}
    held = locate(sending, part)
    kind = "image" if isinstance(part, ImagePart) else "document"
    if held is None or (
        kind == "document" and not held.mime.startswith(("application/pdf", "text/"))
    ):
        text = (
            named_text(part)
            if isinstance(part, FilePart) and part.text
            else stand_in(blocks, part)
        )
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
    tools: list[JsonBlock],
    written_tools: list[msgspec.Raw],
) -> None:
    marker = _marker(marks)
    if marks.system and system:
        _mark_last(system, written_system, marker)
    elif marks.system and tools:
        _mark_last(tools, written_tools, marker)


def _marker(marks: CacheMarks) -> Mapping[str, str]:
    return (
        {"type": "ephemeral"}
        if marks.ttl == "5m"
        else {"type": "ephemeral", "ttl": marks.ttl}
    )


def _can_be_marked(block: JsonBlock) -> bool:
    """Whether a block can carry a marker: thinking and deferred tools can't, nor can one that goes out as it came.

    On deferred tools see https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool#prompt-caching.
    """
    return (
        isinstance(block, dict)
        and block.get("type") not in ("thinking", "redacted_thinking")
        and "defer_loading" not in block
    )


def _mark_last(
    blocks: list[Any], written: list[msgspec.Raw], marker: Mapping[str, str]
) -> None:
    """Put the marker on the last block that can carry one."""
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if _can_be_marked(block):
            written[at] = msgspec.Raw(
                msgspec.json.encode({**block, "cache_control": marker})
            )
            return

"""Requests for OpenAI-compatible Chat Completions: the inverse of ``read.py``.

https://platform.openai.com/docs/api-reference/chat/create. One message has one text: several texts of an answer are
joined. The system prompt is one message, for many models' templates take no second one. Reasoning goes back under the
names it came with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ullage.codec.blocks import (
    JSON_HEADERS,
    Blocks,
    Encoded,
    JsonBlock,
    MessageWriter,
    Options,
    Sending,
    drop,
    is_true,
    is_whole,
    locate,
    merged,
    named_text,
    nested,
    stand_in,
)
from ullage.codec.foreign import text_of
from ullage.codec.wires.chat.rules import PARAMS
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
from ullage.reasoning import family_of

_THOUGHT: Final = ("reasoning_content", "reasoning", "reasoning_details")


def encode_head(sending: Sending) -> Encoded:
    """One Chat call with no messages but the system prompt."""
    request, options, blocks = sending.request, sending.options, Blocks()
    messages = [blocks.add("system", one) for one in _system(sending)]
    tools = [blocks.add("tool", _tool(tool)) for tool in request.tools]
    body: dict[str, object] = {"model": request.model, "messages": messages}
    if tools:
        body["tools"] = tools
    params = merged(PARAMS.unowned(request.params), _said(request, options, blocks))
    if request.stream:
        params["stream"] = True
        if options.include_usage:
            params["stream_options"] = {
                **nested(request.params, "stream_options"),
                "include_usage": True,
            }
        else:
            params.pop("stream_options", None)
    return blocks.encoded("/chat/completions", JSON_HEADERS, {**body, **params})


class ChatWriter(MessageWriter):
    """The messages of a Chat call."""

    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        for message in messages:
            for item in _items_of(sending, message, self.blocks):
                self._write(self.blocks.add("message", item))
        return True


def _is_openais(request: Request) -> bool:
    """Whether a request without a provider names a model that only OpenAI and Azure serve."""
    if request.provider or "oss" in request.model.lower():
        return False
    return family_of(request.model) == "gpt"


def _said(
    request: Request, options: Options, blocks: Blocks
) -> Iterator[tuple[str, object]]:
    served_by = provider_named(request.provider)
    # OpenAI's reasoning models refuse max_tokens, Mistral the other one:
    # https://github.com/editor-code-assistant/eca/issues/231
    is_openai = served_by.openai_rules or _is_openais(request)
    usual = "max_completion_tokens" if is_openai else "max_tokens"
    limit = next(
        (
            name
            for name in ("max_completion_tokens", "max_tokens")
            if name in request.params
        ),
        usual,
    )
    yield limit, options.max_output
    yield "temperature", options.temperature
    if served_by.nests_effort:
        asked = {"effort": options.effort, "max_tokens": options.thinking_budget}
        reasoning = {name: value for name, value in asked.items() if value is not None}
        yield (
            "reasoning",
            {**nested(request.params, "reasoning"), **reasoning} if reasoning else None,
        )
        return
    yield "reasoning_effort", options.effort
    if options.thinking_budget is not None:
        blocks.miss("thinking_budget")


def _system(sending: Sending) -> Iterator[dict[str, Any]]:
    """Plain blocks joined to one message; one with fields of its own (a role, a name) by itself."""
    joined: list[str] = []
    for block in sending.request.system:
        fields = sending.fields(block.provider)
        if not fields:
            joined += [block.text] if block.text else []
            continue
        if joined:
            yield {"role": "system", "content": "\n\n".join(joined)}
            joined = []
        yield {"role": "system", "content": block.text, **fields}
    if joined:
        yield {"role": "system", "content": "\n\n".join(joined)}


def _tool(tool: Tool) -> JsonBlock:
    if tool.kind == "function":
        described = {"description": tool.description} if tool.description else {}
        return {
            "type": "function",
            "function": {"name": tool.name, **described, "parameters": tool.schema},
        }
    return tool.schema if is_whole(tool) else {"type": tool.kind, tool.kind: tool.schema}


def _items_of(
    sending: Sending, message: Message, blocks: Blocks
) -> Iterator[dict[str, Any]]:
    """One message as the messages of this wire."""
    if message.role == "assistant":
        answer = _answer(sending, message, blocks)
        if answer is not None:
            yield answer
        yield from _results(sending, message, blocks)
        return
    yield from _results(sending, message, blocks)
    rest = [part for part in message.parts if not isinstance(part, ToolResultPart)]
    content = _content(sending, rest, blocks)
    if content:
        role = "system" if message.role == "system" else "user"
        yield {"role": role, "content": content}


def _answer(sending: Sending, message: Message, blocks: Blocks) -> dict[str, Any] | None:
    """One answer as one message; ``None`` when nothing of it can be sent."""
    answer: dict[str, Any] = {"role": "assistant", "content": None}
    texts: list[str] = []
    listed: list[Any] = []
    is_list = False
    calls: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case ReasoningPart():
                fields = sending.reasoning(part)
                if fields is not None and "thinking" in fields:
                    is_list = True
                    listed.append(_thinking(part, fields))
                elif fields is not None:
                    answer |= _thought(part, fields)
            case TextPart():
                fields = sending.fields(part.provider)
                if is_true(fields, "refusal"):
                    answer["refusal"] = part.text
                elif part.text:
                    is_list = is_list or bool(fields)
                    texts.append(part.text)
                    listed.append({"type": "text", "text": part.text, **fields})
            case ToolCallPart():
                calls.append(_call(sending, part))
            case ProviderItem():
                item = sending.item(part.provider)
                if item is not None and part.kind == "message_fields":
                    answer |= drop(sending.fields(part.provider), "type")
                elif item is not None:
                    is_list = True
                    listed.append(item)
            case ImagePart() | FilePart():
                texts.append(stand_in(blocks, part))
                listed.append({"type": "text", "text": texts[-1]})
    if listed:
        answer["content"] = listed if is_list else "\n\n".join(texts)
    if calls:
        answer["tool_calls"] = calls
    if len(answer) == 2 and answer["content"] is None:
        return None
    if answer["content"] is None and not calls:
        answer["content"] = ""
    return answer


def _thought(part: ReasoningPart, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields reasoning came in. Null means the part's text; ``reasoning`` that repeats the details is left out."""
    sent = {
        name: part.text if bytes(raw) == b"null" else raw
        for name, raw in fields.items()
        if name in _THOUGHT and bytes(raw) not in (b'""', b"[]")
    }
    if "reasoning_details" in sent:
        sent.pop("reasoning", None)
    return sent


def _thinking(part: ReasoningPart, fields: dict[str, Any]) -> dict[str, Any]:
    """Mistral's chunk of thinking: https://docs.mistral.ai/capabilities/reasoning."""
    thinking = fields["thinking"]
    if bytes(thinking) == b"null":
        thinking = [{"type": "text", "text": part.text}]
    return {"type": "thinking", "thinking": thinking, **drop(fields, "thinking")}


def _call(sending: Sending, part: ToolCallPart) -> dict[str, Any]:
    fields = sending.fields(part.provider)
    kind = text_of(fields, "type") or "function"
    written = {"input" if kind == "custom" else "arguments": part.arguments}
    return {
        "id": part.call_id,
        "type": kind,
        kind: {"name": part.name, **written},
        **drop(fields, "type"),
    }


def _results(
    sending: Sending, message: Message, blocks: Blocks
) -> Iterator[dict[str, Any]]:
    """Results first, in order; what of them is no text follows as the user's, for this wire's results are text."""
    shown: list[Any] = []
    for part in message.of_type(ToolResultPart):
        texts: list[Any] = []
        for one in part.content:
            made = _block(sending, one, blocks)
            if isinstance(made, dict) and made["type"] == "text":
                texts.append(made)
            elif made is not None:
                shown += [
                    {"type": "text", "text": f"[from the result of {part.call_id}]"},
                    made,
                ]
        plain = all(block.keys() == {"type", "text"} for block in texts)
        content = "".join(block["text"] for block in texts) if plain else texts
        yield {
            "role": "tool",
            "tool_call_id": part.call_id,
            "content": content,
            **sending.fields(part.provider),
        }
    if shown:
        yield {"role": "user", "content": shown}


def _content(sending: Sending, parts: Sequence[Part], blocks: Blocks) -> str | list[Any]:
    """One plain text as a string, anything else as a list of blocks."""
    made = [
        block for part in parts if (block := _block(sending, part, blocks)) is not None
    ]
    if (
        len(made) == 1
        and isinstance(made[0], dict)
        and made[0].keys() == {"type", "text"}
    ):
        return str(made[0]["text"])
    return made


def _block(sending: Sending, part: Part, blocks: Blocks) -> JsonBlock | None:
    match part:
        case TextPart():
            return (
                {"type": "text", "text": part.text, **sending.fields(part.provider)}
                if part.text
                else None
            )
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
        return {"type": "text", "text": named_text(part)}
    held = locate(sending, part)
    if held is None or (held.file_id and isinstance(part, ImagePart)):
        return {"type": "text", "text": stand_in(blocks, part)}
    fields = sending.fields(part.provider)
    if isinstance(part, ImagePart):
        detail = {"detail": part.detail} if part.detail else {}
        return {
            "type": "image_url",
            "image_url": {"url": held.address, **detail},
            **fields,
        }
    if held.mime.startswith("audio/") and held.data:
        return {
            "type": "input_audio",
            "input_audio": {
                "data": held.data,
                "format": held.mime.removeprefix("audio/"),
            },
        }
    if held.mime.startswith("video/"):
        return {"type": "video_url", "video_url": {"url": held.address}, **fields}
    if held.file_id:
        return {"type": "file", "file": {"file_id": held.file_id}}
    named = {"filename": part.name or "file.pdf"}
    return {"type": "file", "file": {**named, "file_data": held.address}}

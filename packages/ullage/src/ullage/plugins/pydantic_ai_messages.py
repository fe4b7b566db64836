"""pydantic-ai's messages as items of a Chat body, and back to the very same objects.

    sent = chat_request(messages, parameters, model="gpt-4.1", settings=None)
    sent.body                       # what a Compactor takes: one item a part of a request, one a response
    sent.messages(fitted.plan)      # the messages that a plan keeps are the same objects

The form is Chat's for every provider, as pydantic-ai's own OpenAI model writes it. What Chat has no field for, such as
the calls of a provider's own tools, stands in the item as JSON, so that it is counted and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
from pydantic import TypeAdapter
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    FileUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ullage.codec.foreign import as_plain
from ullage.context.caller_items import Insert, ItemPlan, Keep, Replace

ChatItem = dict[str, Any]

REASONING: Final = "reasoning_content"
"""The field of reasoning that goes back as text."""

KEPT: Final = "pydantic_ai_parts"
"""The field of an answer's parts that Chat has no field for."""

_encoder: Final = msgspec.json.Encoder(enc_hook=as_plain)
_sorted_encoder: Final = msgspec.json.Encoder(enc_hook=as_plain, order="sorted")

_HEAD: Final = -1
"""The number of the message that instructions belong to: none."""


class _Place(NamedTuple):
    """What an item was made from: the number of the message, and of the part in a request."""

    message: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A model request of pydantic-ai as a Chat body, and the way back."""

    body: dict[str, Any]
    sent: Sequence[ModelMessage]
    places: tuple[_Place, ...]

    def texts(self) -> list[str]:
        """A text for each item, by which a conversation is known again."""
        return [_encoder.encode(item).decode() for item in self.body["messages"]]

    def messages(self, plan: ItemPlan) -> list[ModelMessage]:
        """The messages that a plan leaves: a message whose parts are all kept is the same object.

        A request that loses parts is a new one with those that stay; what a plan inserts is a request of its own.
        """
        made = _Rebuilt(self.sent)
        for step in plan:
            if isinstance(step, Insert):
                made.insert(step.body)
                continue
            place = self.places[step.item]
            if place.message == _HEAD:
                continue  # instructions go beside the messages
            found = self.sent[place.message]
            if isinstance(found, ModelResponse):
                made.add_response(found, step)
            else:
                part = found.parts[place.part]
                made.add_part(place.message, _kept_part(part, step))
        return made.finish()

    def summary_messages(self, items: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
        """The messages of a request for a summary: items that are this request's become its own objects again."""
        own = self.body["messages"]
        numbers = {id(item): number for number, item in enumerate(own)}
        by_text: dict[bytes, int] = {}
        plan: list[Keep | Insert] = []
        for item in items:
            found = numbers.get(id(item))
            if found is None:
                by_text = by_text or _by_text(own)
                found = by_text.get(_sorted_encoder.encode(item))
            plan.append(Insert(dict(item)) if found is None else Keep(found))
        return self.messages(tuple(plan))


def _by_text(items: Sequence[Mapping[str, Any]]) -> dict[bytes, int]:
    """The number of the first item with each JSON."""
    found: dict[bytes, int] = {}
    for number, item in enumerate(items):
        found.setdefault(_sorted_encoder.encode(item), number)
    return found


class _Rebuilt:
    """Messages as a plan leaves them, made one after the other."""

    def __init__(self, sent: Sequence[ModelMessage]) -> None:
        self._sent = sent
        self._made: list[ModelMessage] = []
        self._request = _HEAD
        self._parts: list[ModelRequestPart] = []

    def add_part(self, request: int, part: ModelRequestPart) -> None:
        """Add a part of the request with this number."""
        if request != self._request:
            self._close()
            self._request = request
        self._parts.append(part)

    def add_response(self, response: ModelResponse, step: Keep | Replace) -> None:
        """Add a response, changed if it is replaced."""
        self._close()
        if isinstance(step, Replace):
            response = replace(response, parts=_changed_parts(response, step.body))
        self._made.append(response)

    def insert(self, item: ChatItem) -> None:
        """Add what a plan inserts."""
        self._close()
        self._made.append(message_of(item))

    def finish(self) -> list[ModelMessage]:
        """All messages."""
        self._close()
        return self._made

    def _close(self) -> None:
        if not self._parts:
            return
        found = self._sent[self._request]
        assert isinstance(found, ModelRequest), "parts belong to a request"
        parts, self._parts, self._request = self._parts, [], _HEAD
        is_whole = len(parts) == len(found.parts) and all(
            map(_is_same, parts, found.parts)
        )
        self._made.append(found if is_whole else replace(found, parts=parts))


def _is_same(one: object, other: object) -> bool:
    return one is other


# -- out --


def chat_request(
    messages: Sequence[ModelMessage],
    parameters: ModelRequestParameters,
    *,
    model: str,
    settings: ModelSettings | None = None,
) -> ChatRequest:
    """A model request as a Chat body: instructions, tools and the form of the output as the parameters have them."""
    items: list[ChatItem] = []
    places: list[_Place] = []
    for number, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            items.append(response_item(message))
            places.append(_Place(number))
            continue
        for at, part in enumerate(message.parts):
            items.append(_part_item(part))
            places.append(_Place(number, at))
    head = _system_items(items)
    for text in reversed(_instructions(messages, parameters)):
        items.insert(head, {"role": "system", "content": text})
        places.insert(head, _Place(_HEAD))
    body: dict[str, Any] = {"model": model, "messages": items}
    tools = [tool_item(tool) for tool in parameters.declared_tool_defs.values()]
    if tools:
        body["tools"] = tools
    if parameters.output_mode == "native" and parameters.output_object is not None:
        body["response_format"] = _json_schema(parameters.output_object)
    most = (settings or {}).get("max_tokens")
    if most is not None:
        body["max_completion_tokens"] = most
    return ChatRequest(body, messages, tuple(places))


def response_item(response: ModelResponse) -> ChatItem:
    """A response as the assistant's message of a Chat body."""
    texts, thoughts, calls, others = [], [], [], []
    for part in response.parts:
        if isinstance(part, TextPart):
            texts.append(part.content)
        elif isinstance(part, ThinkingPart):
            thoughts.append(part.content or part.signature or "")
        elif isinstance(part, ToolCallPart):
            calls.append(_call_item(part))
        else:
            others.append(_as_json(part))
    item: ChatItem = {
        "role": "assistant",
        "content": "\n\n".join(filter(None, texts)) or None,
    }
    if any(thoughts):
        item[REASONING] = "\n\n".join(thoughts)
    if calls:
        item["tool_calls"] = calls
    if others:
        item[KEPT] = others
    return item


def completion(response: ModelResponse) -> dict[str, Any]:
    """A response as a Chat completion: what a summary's request gives back."""
    stop = response.finish_reason or "stop"
    choice = {
        "index": 0,
        "message": response_item(response),
        "finish_reason": _STOPS.get(stop, stop),
    }
    return {
        "id": response.provider_response_id or "",
        "object": "chat.completion",
        "model": response.model_name or "",
        "choices": [choice],
        "usage": usage_json(response.usage),
    }


_STOPS: Final = {"tool_call": "tool_calls"}
"""Reasons of pydantic-ai that Chat has another name for."""


def usage_json(usage: Any) -> dict[str, Any] | None:
    """Reported usage as Chat has it; ``None`` if the provider reported none, which pydantic-ai gives as zeros.

    pydantic-ai's input holds what was read from and written to the cache, for every provider.
    """
    if not (usage.input_tokens or usage.output_tokens):
        return None
    reasoning = (usage.details or {}).get("reasoning_tokens")
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": reasoning or 0},
    }


def tool_item(tool: ToolDefinition) -> ChatItem:
    """A tool as Chat declares it."""
    function: ChatItem = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _system_items(items: Sequence[ChatItem]) -> int:
    """How many items are system messages before the first other one."""
    for number, item in enumerate(items):
        if item["role"] != "system":
            return number
    return len(items)


def _instructions(
    messages: Sequence[ModelMessage], parameters: ModelRequestParameters
) -> list[str]:
    """The instructions that the model adds to the system prompt: of the parameters, or of the newest request."""
    if parameters.instruction_parts is not None:
        return [part.content for part in parameters.instruction_parts]
    for message in reversed(messages):
        if isinstance(message, ModelRequest) and message.instructions:
            return [message.instructions]
    return []


def _json_schema(output: Any) -> ChatItem:
    schema = {"name": output.name or "final_result", "schema": output.json_schema}
    return {"type": "json_schema", "json_schema": schema}


def _part_item(part: ModelRequestPart) -> ChatItem:
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        return {"role": "user", "content": _content(part.content)}
    if isinstance(part, ToolReturnPart):
        text, files = part.model_response_str_and_user_content()
        content: Any = text
        if files:
            content = [{"type": "text", "text": text}, *_blocks(files)]
        return _result_item(part.tool_call_id, part.tool_name, content)
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return _result_item(part.tool_call_id, part.tool_name, part.model_response())
    if isinstance(part, RetryPromptPart):
        return {"role": "user", "content": part.model_response()}
    return {
        "role": "user",
        "content": [{"type": part.part_kind, "value": _as_json(part)}],
    }


def _result_item(call: str, name: str, content: Any) -> ChatItem:
    return {"role": "tool", "tool_call_id": call, "name": name, "content": content}


def _call_item(part: ToolCallPart) -> ChatItem:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else list(_blocks(content))


def _blocks(content: Iterable[Any]) -> Iterator[ChatItem]:
    for one in content:
        if isinstance(one, str):
            yield {"type": "text", "text": one}
        elif isinstance(one, TextContent):
            yield {"type": "text", "text": one.content}
        elif isinstance(one, BinaryContent):
            yield _data_block(one)
        elif isinstance(one, ImageUrl):
            yield {"type": "image_url", "image_url": {"url": one.url}}
        elif isinstance(one, FileUrl):
            yield {"type": "document_url", "document_url": one.url}
        elif isinstance(one, UploadedFile):
            yield {"type": "file", "file": {"file_id": one.file_id}}
        elif not isinstance(one, CachePoint):
            yield {"type": "value", "value": _as_json(one)}


def _data_block(content: BinaryContent) -> ChatItem:
    if content.is_image:
        return {"type": "image_url", "image_url": {"url": content.data_uri}}
    if content.is_audio:
        _, _, form = content.media_type.partition("/")
        return {
            "type": "input_audio",
            "input_audio": {"data": content.base64, "format": form},
        }
    held = {"filename": content.identifier, "file_data": content.data_uri}
    return {"type": "file", "file": held}


def _as_json(part: Any) -> Any:
    return _ANY.dump_python(part, mode="json", exclude_none=True, warnings=False)


_ANY: Final = TypeAdapter(Any)


# -- back --


def message_of(item: Mapping[str, Any]) -> ModelMessage:
    """A message of a Chat body as pydantic-ai's: text alone for what is not a call, as compaction writes it."""
    text = text_of(item.get("content"))
    if item["role"] == "assistant":
        return ModelResponse(parts=list(_made_parts(item)))
    if item["role"] == "tool":
        return ModelRequest(parts=[_result_part(item, text)])
    if item["role"] == "user":
        return ModelRequest(parts=[UserPromptPart(text)])
    return ModelRequest(parts=[SystemPromptPart(text)])


def text_of(content: Any) -> str:
    """The text in the content of a Chat message."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in content or ():
        if block.get("type") == "text":
            texts.append(block["text"])
        else:
            texts.append(f"[{block.get('type')}]")
    return "\n".join(texts)


def _result_part(item: Mapping[str, Any], text: str) -> ToolReturnPart:
    return ToolReturnPart(item.get("name") or "tool", text, item["tool_call_id"])


def _made_parts(item: Mapping[str, Any]) -> Iterator[ModelResponsePart]:
    text = text_of(item.get("content"))
    if text:
        yield TextPart(text)
    yield from _made_calls(item).values()


def _made_calls(item: Mapping[str, Any]) -> dict[str, ToolCallPart]:
    made: dict[str, ToolCallPart] = {}
    for call in item.get("tool_calls") or ():
        function = call["function"]
        part = ToolCallPart(function["name"], function["arguments"], call["id"])
        made[call["id"]] = part
    return made


def _kept_part(part: ModelRequestPart, step: Keep | Replace) -> ModelRequestPart:
    """The part of a request, with another content if the plan replaces it."""
    if isinstance(step, Keep):
        return part
    text = text_of(step.body.get("content"))
    if isinstance(part, ToolReturnPart):
        changed: dict[str, Any] = {"content": text, "outcome": "success"}
        return replace(part, **changed)
    if isinstance(part, SystemPromptPart):
        return replace(part, content=text)
    if step.body["role"] == "tool":
        return _result_part(step.body, text)
    return UserPromptPart(text)


def _changed_parts(
    response: ModelResponse, item: Mapping[str, Any]
) -> list[ModelResponsePart]:
    """The parts of a response as a replaced item has them: what is not changed is the same object."""
    before = response_item(response)
    calls = _made_calls(item)
    text = text_of(item.get("content"))
    is_same_text = text == text_of(before["content"])
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, TextPart):
            if is_same_text:
                parts.append(part)
            elif text:
                parts.append(TextPart(text))
                text = ""
        elif isinstance(part, ToolCallPart):
            call = calls.pop(part.tool_call_id, None)
            if call is not None:
                is_same = call.args == part.args_as_json_str()
                changed: dict[str, Any] = {"args": call.args}
                parts.append(part if is_same else replace(part, **changed))
        elif isinstance(part, ThinkingPart):
            if item.get(REASONING):
                parts.append(part)
        elif item.get(KEPT):
            parts.append(part)
    if text and not is_same_text:
        parts.insert(0, TextPart(text))
    return parts

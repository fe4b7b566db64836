"""The body that a LangChain chat model would send, and the way back: from the body's items to LangChain's messages.

langchain-openai and langchain-anthropic build the body in a method that they share by name, which gives it exactly. For
other chat models the messages are converted to OpenAI's format by langchain-core itself: what was added since the last
answer is then estimated in that format, and all else comes from the usage that the model reports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.utils.function_calling import convert_to_openai_tool

from ullage.codec.held import continued_in

FIELDS: Final = ("input", "messages", "contents")
"""Of a body: the field that holds its items, on one wire or another."""

MOST_OUTPUT: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Parameters that bound an answer, on one wire or another."""


class _SharedItems(NamedTuple):
    """Messages that stand in the same items of the body: indices of both."""

    messages: tuple[int, ...]
    items: tuple[int, ...]


@dataclass(frozen=True)
class ModelBody:
    """The body for these messages, and how its items follow from them. ``is_exact``: the chat model itself made it.

    ``settings`` are what the chat model was bound with: tools, and parameters of the call.
    """

    body: dict[str, Any]
    messages: Sequence[BaseMessage]
    groups: Sequence[_SharedItems]
    settings: Mapping[str, Any]
    is_exact: bool

    @property
    def field(self) -> str:
        """The field that holds the items."""
        return _field(self.body)

    def messages_of(self, body: Mapping[str, Any]) -> list[BaseMessage]:
        """The messages for another body, whose kept items are the same objects as those of this one.

        A message all of whose items are kept is the same object as here; what else there is, is made from the items.
        """
        places = {id(item): place for place, item in enumerate(self.body[self.field])}
        group_of: dict[int, _SharedItems] = {}
        for group in self.groups:
            for place in group.items:
                group_of[place] = group
        made: list[BaseMessage] = []

        def group_at(item: Any) -> _SharedItems | None:
            return group_of.get(places.get(id(item), -1))

        for found, run in groupby(body[self.field], key=group_at):
            items = list(run)
            kept = tuple(places.get(id(item), -1) for item in items)
            if found is not None and kept == found.items:
                made += [self.messages[index] for index in found.messages]
            else:
                made += messages_from(items)
        system = body.get("system") or body.get("instructions")
        if system and not any(isinstance(each, SystemMessage) for each in made):
            made.insert(0, SystemMessage(content=system))
        return made


def body_of(
    model: BaseChatModel, messages: Sequence[BaseMessage], settings: Mapping[str, Any]
) -> ModelBody:
    """The body that the chat model sends for these messages. Raises what the chat model raises for them."""
    payload: Callable[..., Any] | None = getattr(model, "_get_request_payload", None)
    if payload is not None:
        body = payload(list(messages), **settings)
        if continued_in("responses", body):
            return ModelBody(body, messages, (), settings, True)
        groups = _groups(payload, messages, body)
        if groups is not None:
            return ModelBody(body, messages, groups, settings, True)
    items = convert_to_openai_messages(list(messages))
    tools = [convert_to_openai_tool(tool) for tool in settings.get("tools", ())]
    body = {"model": _model_name(model), "messages": items}
    if tools:
        body["tools"] = tools
    each = [_SharedItems((index,), (index,)) for index in range(len(messages))]
    return ModelBody(body, messages, each, settings, False)


def summary_settings(body: ModelBody, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the chat model is called with for a summary: the same tools, so that the cache holds, and the longest."""
    found: dict[str, Any] = {}
    if asked.get("tools") and "tools" in body.settings:
        found["tools"] = body.settings["tools"]
    for name in MOST_OUTPUT:
        if asked.get(name) is not None and body.is_exact:
            found[name] = asked[name]
    return found


def messages_from(items: Iterable[Mapping[str, Any]]) -> list[BaseMessage]:
    """LangChain's messages for items of Chat, Responses or Messages."""
    made: list[BaseMessage] = []
    for item in items:
        kind = item.get("type")
        content = item.get("content")
        if kind == "function_call_output":
            made.append(
                ToolMessage(_result(item["output"]), tool_call_id=item["call_id"])
            )
        elif kind in ("function_call", "reasoning"):
            made.append(_with_item(made, item))
        elif "tool_calls" in item or item.get("role") in ("tool", "system", "developer"):
            made += convert_to_messages([dict(item)])
        elif item.get("role") == "assistant":
            made.append(_answer(content))
        else:
            made += _said(content)
    return made


def _said(content: Any) -> list[BaseMessage]:
    """A person's message, after the results of tools that Messages has in the same item."""
    if not isinstance(content, list):
        return [HumanMessage(content=content or "")]
    made: list[BaseMessage] = []
    rest: list[Any] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else ""
        if kind == "tool_result":
            result = _result(block.get("content", ""))
            status = "error" if block.get("is_error") else "success"
            call = block["tool_use_id"]
            made.append(ToolMessage(result, tool_call_id=call, status=status))
        else:
            rest.append(_block(block))
    return [*made, HumanMessage(content=rest)] if rest else made


def _answer(content: Any) -> AIMessage:
    """An answer with the calls that Messages has in its content."""
    if not isinstance(content, list):
        return AIMessage(content=content or "")
    blocks = [_block(block) for block in content]
    calls = []
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            call = {"name": block["name"], "args": block["input"], "id": block["id"]}
            calls.append(call)
    return AIMessage(content=blocks, tool_calls=calls)


def _with_item(made: list[BaseMessage], item: Mapping[str, Any]) -> AIMessage:
    """The answer that a call or reasoning of Responses belongs to: the last message, if that is one."""
    last = made.pop() if made and isinstance(made[-1], AIMessage) else AIMessage("")
    blocks: list[Any] = []
    calls = list(last.tool_calls) if isinstance(last, AIMessage) else []
    if isinstance(last.content, list):
        blocks += last.content
    elif last.content:
        blocks.append({"type": "text", "text": last.content})
    if item["type"] == "reasoning":
        blocks.append(dict(item))
    else:
        arguments = json.loads(item.get("arguments") or "{}")
        calls.append({"name": item["name"], "args": arguments, "id": item["call_id"]})
    return AIMessage(content=blocks, tool_calls=calls)


def _block(block: Any) -> Any:
    """A text of Responses as LangChain has texts; all else as it is."""
    if isinstance(block, dict) and block.get("type") in ("input_text", "output_text"):
        return {"type": "text", "text": block["text"]}
    return block


def _result(output: Any) -> Any:
    if isinstance(output, list):
        return [_block(block) for block in output]
    return output


def _field(body: Mapping[str, Any]) -> str:
    for name in FIELDS:
        if isinstance(body.get(name), list):
            return name
    return FIELDS[1]


def _groups(
    payload: Callable[..., Any],
    messages: Sequence[BaseMessage],
    body: Mapping[str, Any],
) -> list[_SharedItems] | None:
    """Which messages stand in which items; ``None`` where that can't be told."""
    field = _field(body)
    if field not in body:
        return None
    count = len(body[field])
    each: list[tuple[int, ...]] = [(index,) for index in range(len(messages))]
    if field == "input":
        sizes = [len(payload([message]).get("input", ())) for message in messages]
        runs = each
    elif count == len(messages):
        sizes = [1] * count
        runs = each
    else:
        runs = _merged(messages)
        sizes = [1] * len(runs)
    if sum(sizes) != count:
        return None
    groups: list[_SharedItems] = []
    begin = 0
    for run, size in zip(runs, sizes, strict=True):
        groups.append(_SharedItems(tuple(run), tuple(range(begin, begin + size))))
        begin += size
    return groups


def _merged(messages: Sequence[BaseMessage]) -> list[tuple[int, ...]]:
    """As langchain-anthropic has it: what a person and tools say in a row is one message, the system prompt is none."""
    runs: list[tuple[int, ...]] = []
    is_open = False
    for index, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            continue
        is_input = isinstance(message, HumanMessage | ToolMessage)
        if is_input and is_open:
            runs[-1] = (*runs[-1], index)
        else:
            runs.append((index,))
        is_open = is_input
    return runs


def _model_name(model: BaseChatModel) -> str:
    for name in ("model_name", "model", "model_id"):
        found = getattr(model, name, None)
        if isinstance(found, str) and found:
            return found.removeprefix("models/")
    return type(model).__name__

"""Providers that hold conversations, in a few lines: a token is a word, and what no provider takes is refused.

``KINDS`` are the ways of holding, on the four wires; a ``Program`` is a user's loop that talks in one of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import httpx2

from tests.context.sessions import words

Json = dict[str, Any]

SYSTEM: Final = "You keep the cellar and its ledger. " * 10
SCHEMA: Final = {"type": "object", "properties": {"cask": {"type": "string"}}}
CACHED: Final = 600
"""Tokens of the content that Gemini has in its cache, or OpenAI in a stored prompt."""
TOOL_PROMPT: Final = 350
"""Tokens that Anthropic adds where tools are declared."""
CALL: Final = 45
"""Tokens of the XML tags around a call on Anthropic's wire (15 + 16 + 14.8 for one parameter: n = 353 answers)."""
NAMES: Final = frozenset(
    {"type", "role", "id", "call_id", "tool_use_id", "tool_call_id", "name", "status"}
)
"""Fields that are no content."""


class Kind(NamedTuple):
    """A way of holding; with ``is_whole`` each body has the whole history all the same."""

    name: str
    wire: str
    path: str
    model: str
    field: str
    is_whole: bool = False


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("previous_response_id", "responses", "/v1/responses", "gpt-5", "input"),
        Kind("conversation", "responses", "/v1/responses", "gpt-5", "input"),
        Kind("thread", "messages", "/v1/messages", "claude-haiku-4-5", "messages"),
        Kind(
            "cachedContent",
            "generateContent",
            "/v1beta/models/gemini-2.5-flash:generateContent",
            "gemini-2.5-flash",
            "contents",
            is_whole=True,
        ),
        Kind("prompt", "responses", "/v1/responses", "gpt-5", "input", is_whole=True),
        Kind(
            "container",
            "messages",
            "/v1/messages",
            "claude-haiku-4-5",
            "messages",
            is_whole=True,
        ),
        Kind(
            "chat",
            "chat",
            "/v1/chat/completions",
            "gpt-4.1",
            "messages",
            is_whole=True,
        ),
    )
}


class Refused(Exception):
    """What a provider says to a request that it does not take."""


# -- a wire's own forms --


def asked(kind: Kind, text: str) -> Json:
    if kind.wire == "generateContent":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}


def called(kind: Kind, id: str) -> list[Json]:
    """The items of an answer that calls a tool, as they come back in a history."""
    match kind.wire:
        case "responses":
            arguments = '{"cask": "nine"}'
            call: Json = {"type": "function_call", "call_id": id, "arguments": arguments}
            return [{**call, "name": "look", "id": f"fc_{id}"}]
        case "messages":
            given = {"cask": "nine"}
            block: Json = {"type": "tool_use", "id": id, "name": "look", "input": given}
            return [{"role": "assistant", "content": [block]}]
        case "generateContent":
            call = {"name": "look", "args": {"cask": "nine"}, "id": id}
            return [{"role": "model", "parts": [{"functionCall": call}]}]
        case _:
            function = {"name": "look", "arguments": '{"cask": "nine"}'}
            call = {"id": id, "type": "function", "function": function}
            return [{"role": "assistant", "content": None, "tool_calls": [call]}]


def said(kind: Kind, text: str, id: str) -> list[Json]:
    match kind.wire:
        case "responses":
            block = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "role": "assistant", "id": f"m_{id}"}
            return [{**item, "status": "completed", "content": [block]}]
        case "messages":
            block = {"type": "text", "text": text}
            return [{"role": "assistant", "content": [block]}]
        case "generateContent":
            return [{"role": "model", "parts": [{"text": text}]}]
        case _:
            return [{"role": "assistant", "content": text}]


def result(kind: Kind, id: str, text: str) -> Json:
    match kind.wire:
        case "responses":
            return {"type": "function_call_output", "call_id": id, "output": text}
        case "messages":
            block = {"type": "tool_result", "tool_use_id": id, "content": text}
            return {"role": "user", "content": [block]}
        case "generateContent":
            back = {"name": "look", "id": id, "response": {"result": text}}
            return {"role": "user", "parts": [{"functionResponse": back}]}
        case _:
            return {"role": "tool", "tool_call_id": id, "content": text}


def head_of(kind: Kind) -> Json:
    """System prompt and one tool."""
    tool: Json = {"name": "look", "description": "Looks at a cask in the cellar."}
    match kind.wire:
        case "responses":
            declared = {"type": "function", **tool, "parameters": SCHEMA}
            return {"instructions": SYSTEM, "tools": [declared]}
        case "messages":
            return {"system": SYSTEM, "tools": [{**tool, "input_schema": SCHEMA}]}
        case "generateContent":
            return {}  # in the cached content
        case _:
            declared = {"type": "function", "function": {**tool, "parameters": SCHEMA}}
            return {"tools": [declared]}


def wrapped(kind: Kind, items: list[Json], id: str, input: int, output: int) -> Json:
    """An answer as the API gives it."""
    usage: Json = {"input_tokens": input, "output_tokens": output}
    match kind.wire:
        case "responses":
            usage["total_tokens"] = input + output
            usage["input_tokens_details"] = {"cached_tokens": 0}
            usage["output_tokens_details"] = {"reasoning_tokens": 0}
            response: Json = {"id": id, "object": "response", "status": "completed"}
            response |= {"created_at": 1, "parallel_tool_calls": True, "tools": []}
            response |= {"tool_choice": "auto", "error": None}
            return {**response, "model": kind.model, "output": items, "usage": usage}
        case "messages":
            content = items[0]["content"]
            message: Json = {"id": id, "type": "message", "role": "assistant"}
            stop = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
            message |= {"stop_reason": stop, "stop_sequence": None}
            return {**message, "model": kind.model, "content": content, "usage": usage}
        case "generateContent":
            counts: Json = {"promptTokenCount": input, "candidatesTokenCount": output}
            counts |= {"totalTokenCount": input + output}
            counts |= {"cachedContentTokenCount": CACHED}
            candidate = {"content": items[0], "finishReason": "STOP"}
            return {"candidates": [candidate], "usageMetadata": counts}
        case _:
            usage = {"prompt_tokens": input, "completion_tokens": output}
            usage |= {"total_tokens": input + output}
            choice = {"index": 0, "message": items[0], "finish_reason": "stop"}
            whole = {"id": id, "object": "chat.completion", "model": kind.model}
            return {**whole, "choices": [choice], "usage": usage}


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in NAMES:
                yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def size_of(*values: object) -> int:
    return sum(len(re.findall(r"\w+", text)) for text in texts_in(list(values)))


def framed(kind: Kind, items: list[Json]) -> int:
    """Tokens of items, with what is around each."""
    calls = json.dumps(items).count('"tool_use"') if kind.wire == "messages" else 0
    return size_of(items) + 8 * len(items) + CALL * calls


def ids_in(items: list[Json], *names: str) -> set[str]:
    """The ids of calls or results, wherever an item has them."""
    found: set[str] = set()
    for item in items:
        for name, inner in item.items():
            if name in names and isinstance(inner, str):
                found.add(inner)
            elif isinstance(inner, dict):
                found |= ids_in([inner], *names)
            elif isinstance(inner, list):
                found |= ids_in([one for one in inner if isinstance(one, dict)], *names)
    return found


# -- both sides --


@dataclass
class Provider:
    """``bills`` are the input and output of each call; ``held`` the history behind each name."""

    kind: Kind
    bills: list[tuple[int, int]] = field(default_factory=list)
    held: dict[str, list[Json]] = field(default_factory=dict)
    heads: dict[str, int] = field(default_factory=dict)
    continued: set[str] = field(default_factory=set)
    calls: int = 0

    @property
    def next_input(self) -> int:
        """Tokens of the next request of the conversation, without what it adds."""
        return sum(self.bills[-1])

    @property
    def spent(self) -> tuple[int, int]:
        return sum(bill[0] for bill in self.bills), sum(bill[1] for bill in self.bills)

    def answer(self, body: Json, text: str = "") -> Json:
        """The answer: a text, or a call of the tool without one. Raises ``Refused``."""
        items, head = self._whole(body)
        results = ids_in(items, "tool_use_id", "tool_call_id") | {
            item["call_id"] for item in items if item.get("type", "").endswith("_output")
        }
        calls = ids_in(items, "id") | {
            item["call_id"] for item in items if item.get("type") == "function_call"
        }
        if not items or not results <= calls:
            raise Refused(f"no call for {results - calls}")
        number = len(self.bills) + 1
        id = f"{'resp' if self.kind.wire == 'responses' else 'msg'}_{number:03}"
        call = f"call_{number}"
        made = said(self.kind, text, id) if text else called(self.kind, call)
        own = head + framed(self.kind, items)
        output = framed(self.kind, made)
        self.bills.append((own, output))
        name = _named(body.get("conversation")) or id
        self.held[name] = [*items, *made]
        self.heads[name] = head
        return wrapped(self.kind, made, id, own, output)

    def _whole(self, body: Json) -> tuple[list[Json], int]:
        """The history of a request with what is held of it, and the size of what is in front."""
        items = body.get(self.kind.field, [])
        if isinstance(items, str):
            items = [asked(self.kind, items)]
        head = size_of({name: body.get(name) for name in head_of(self.kind)})
        if self.kind.wire == "messages":
            head += TOOL_PROMPT
        if body.get("cachedContent") or body.get("prompt"):
            head += CACHED
        thread = body.get("thread", {})
        if thread.get("type") == "continue":
            name = thread["previous_message_id"]
            if not body.keys().isdisjoint({"system", "tools"}) or name in self.continued:
                raise Refused("a thread keeps system and tools, and goes on once")
            self.continued.add(name)
            return [*self._kept(name), *items], self.heads[name]
        name = body.get("previous_response_id") or ""
        if name:
            return [*self._kept(name), *items], head
        name = _named(body.get("conversation"))
        return [*self.held.get(name, []), *items], head

    def handle(self, sent: httpx2.Request) -> httpx2.Response:
        """The answer to a request of an SDK: the first ones call the tool, where ``calls`` says so."""
        body = json.loads(sent.content)
        step = len(self.bills)
        try:
            answer = self.answer(body, "" if step < self.calls else words(30, 100 + step))
        except Refused as why:
            return httpx2.Response(400, json={"error": {"message": str(why)}})
        return httpx2.Response(200, json=answer)

    def _kept(self, name: str) -> list[Json]:
        if name not in self.held:
            raise Refused(f"{name} is not held")
        return self.held[name]


def _named(conversation: Any) -> str:
    """The id of a conversation, in either of its forms."""
    found = conversation.get("id") if isinstance(conversation, dict) else conversation
    return str(found or "")


@dataclass
class Program:
    """A loop of a user. ``step`` is the next body, for what the model is asked or a tool gave back."""

    kind: Kind
    history: list[Json] = field(default_factory=list)
    last: str = ""

    def step(self, item: Json) -> Json:
        self.history.append(item)
        return self.body([item])

    def body(self, new: list[Json]) -> Json:
        kind = self.kind
        body: Json = {"model": kind.model, kind.field: new, **head_of(kind)}
        match kind.name:
            case "conversation":
                body["conversation"] = "conv_1"
            case "previous_response_id" if self.last:
                body["previous_response_id"] = self.last
            case "thread":
                body["max_tokens"] = 500
                body["thread"] = {"type": "create"}
                if self.last:
                    del body["system"], body["tools"]
                    named = {"previous_message_id": self.last}
                    body["thread"] = {"type": "continue", **named}
            case "cachedContent":
                body["cachedContent"] = "cachedContents/1"
            case "prompt":
                body["prompt"] = {"id": "pmpt_1"}
            case "container":
                body |= {"max_tokens": 500, "container": "container_1"}
        if kind.is_whole:
            body[kind.field] = list(self.history)
        return body

    def take(self, answer: Json, provider: Provider) -> None:
        """An answer goes into the program's own copy of the history."""
        self.last = str(answer.get("id", ""))
        name = "conv_1" if self.kind.name == "conversation" else self.last
        if self.kind.wire == "generateContent":
            self.history.append(answer["candidates"][0]["content"])
        else:
            self.history.append(provider.held[name][-1])


STEPS: Final = 8
CALLING: Final = 2
"""The step whose answer is a call of the tool."""


def item_of(kind: Kind, step: int, size: int = 300) -> Json:
    """What the program sends in a step: a question, or behind a call its result."""
    text = words(size, step)
    if step == CALLING + 1:
        return result(kind, f"call_{CALLING + 1}", text)
    return asked(kind, text)


def text_of(step: int) -> str:
    """What the model says in a step; empty where it calls the tool."""
    return "" if step == CALLING else words(30, 100 + step)

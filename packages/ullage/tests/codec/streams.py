"""Streams as servers send them, and what to play them with."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from ullage.codec.decode import decoder_for
from ullage.codec.stream import (
    Answer,
    CallDelta,
    PartDone,
    ReasoningDelta,
    ServerEvent,
    StreamEvent,
    TextDelta,
)
from ullage.messages import (
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    Request,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

HOSTS = {
    "messages": "anthropic",
    "chat": "openai",
    "responses": "openai",
    "generateContent": "google",
}
MODELS = {
    "messages": "claude-opus-4-6",
    "chat": "gpt-5",
    "responses": "gpt-5",
    "generateContent": "gemini-3-pro",
}


class Played(NamedTuple):
    events: list[StreamEvent]
    answer: Answer

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.answer.message.parts

    def shown(self) -> dict[str, str]:
        """What the deltas showed, by part."""
        said: dict[str, str] = {}
        for event in self.events:
            if isinstance(event, TextDelta | ReasoningDelta | CallDelta):
                said[event.part] = said.get(event.part, "") + event.text
        return said

    @property
    def briefs(self) -> list[tuple[object, ...]]:
        return [brief(part) for part in self.parts]

    def done(self) -> list[Part]:
        return [event.part for event in self.events if isinstance(event, PartDone)]


def request(
    wire: str, *messages: Message, provider: str = "", model: str = "", **more: Any
) -> Request:
    """A request to the wire's own host, or to another."""
    return Request(
        wire=wire,
        model=model or MODELS[wire],
        provider=provider or HOSTS[wire],
        messages=messages,
        **more,
    )


def user(text: str = "go", id: str = "u1") -> Message:
    return Message(id=id, role="user", parts=(TextPart(id=f"{id}.1", text=text),))


def message(name: str, role: Role, *parts: Part) -> Message:
    return Message(id=name, role=role, parts=parts)


def text(words: str, id: str = "t", provider: ProviderData | None = None) -> TextPart:
    return TextPart(id=id, text=words, provider=provider)


def call(call_id: str = "c", name: str = "f", arguments: str = "{}") -> ToolCallPart:
    return ToolCallPart(
        id=f"call {call_id}", call_id=call_id, name=name, arguments=arguments
    )


def result(call_id: str, *content: Any, **more: Any) -> ToolResultPart:
    return ToolResultPart(
        id=f"result {call_id}", call_id=call_id, content=content, **more
    )


def fields(part: object) -> Any:
    """What the provider added to a part."""
    held = getattr(part, "provider", None)
    return None if held is None else json.loads(bytes(held.data))


def brief(part: Part) -> tuple[object, ...]:
    """A part in short: its kind, what it says, and what the provider added to it."""
    match part:
        case TextPart():
            said: tuple[object, ...] = ("text", part.text)
        case ReasoningPart():
            said = ("redacted" if part.redacted else "reasoning", part.text)
        case ToolCallPart():
            said = ("call", part.call_id, part.name, part.arguments)
        case ToolResultPart():
            said = ("result", part.call_id, part.text)
        case ProviderItem():
            said = ("item", part.kind)
        case _:
            said = (type(part).__name__,)
    added = fields(part)
    return said if added is None else (*said, added)


def play(
    wire: str,
    events: Iterable[object],
    *,
    complete: bool = True,
    provider: str = "",
    model: str = "",
) -> Played:
    """Feeds the events (JSON text, bytes, or values) and finishes."""
    decoder = decoder_for(
        request(wire, provider=provider, model=model), message_id="m1", call="c1"
    )
    out: list[StreamEvent] = []
    for event in events:
        out += decoder.feed(
            event if isinstance(event, ServerEvent) else ServerEvent(data(event))
        )
    return Played(out, decoder.finish(complete))


def read_answer(
    asked: Request, body: bytes, *, message_id: str, call: str | None = None
) -> Answer:
    """The answer in the body of a call that was not streamed."""
    return decoder_for(asked, message_id=message_id, call=call).read(body)


def data(event: object) -> bytes:
    if isinstance(event, bytes):
        return event
    return (
        event.encode("utf-8", "surrogatepass")
        if isinstance(event, str)
        else json.dumps(event).encode()
    )


def sse(events: Iterable[object]) -> bytes:
    """The bytes of a stream."""
    return b"".join(b"data: " + data(event) + b"\n\n" for event in events)


def split(stream: bytes) -> list[ServerEvent]:
    """The events of a stream as transport hands them on: those that are whole."""
    whole = stream.split(b"\n\n")[:-1]
    return [ServerEvent(line.removeprefix(b"data: ")) for line in whole]


BEGUN = {"type": "message_start", "message": {}}
BLOCK = {"type": "text", "text": ""}
PART = {"type": "content_block_start", "index": 0, "content_block": BLOCK}
ADDED = {
    "type": "response.output_item.added",
    "output_index": 0,
    "item": {"type": "message"},
}


def deltas(wire: str, said: str) -> list[Any]:
    """The beginning of an answer that says this, and no more."""
    match wire:
        case "messages":
            delta: object = {"type": "text_delta", "text": said}
            return [
                BEGUN,
                PART,
                {"type": "content_block_delta", "index": 0, "delta": delta},
            ]
        case "responses":
            kind = "response.output_text.delta"
            place = {"output_index": 0, "content_index": 0}
            return [ADDED, {"type": kind, **place, "delta": said}]
        case "chat":
            return [{"choices": [{"index": 0, "delta": {"content": said}}]}]
        case _:
            return [{"candidates": [{"content": {"parts": [{"text": said}]}}]}]


def ending(wire: str, reason: str) -> list[Any]:
    """The end of such an answer."""
    match wire:
        case "messages":
            delta = {"type": "message_delta", "delta": {"stop_reason": reason}}
            stop = {"type": "content_block_stop", "index": 0}
            return [stop, delta, {"type": "message_stop"}]
        case "responses":
            status, _, why = reason.partition(": ")
            details = {"incomplete_details": {"reason": why}} if why else {}
            return [
                {"type": f"response.{status}", "response": {"status": status, **details}}
            ]
        case "chat":
            return [
                {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                b"[DONE]",
            ]
        case _:
            return [{"candidates": [{"content": {"parts": []}, "finishReason": reason}]}]


MESSAGES: list[object] = [
    '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6",'
    '"content":[],"stop_reason":null,"usage":{"input_tokens":25,"cache_read_input_tokens":1000,'
    '"cache_creation_input_tokens":100,"output_tokens":1,"service_tier":"standard"}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}',
    '{"type":"ping"}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look."}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCkYIBRgC+/=="}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3=="}}',
    '{"type":"content_block_stop","index":1}',
    '{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":""}}',
    '{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"omitted+text=="}}',
    '{"type":"content_block_stop","index":2}',
    '{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}',
    '{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"Zürich, "}}',
    '{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"dann 🦉."}}',
    '{"type":"content_block_stop","index":3}',
    '{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather",'
    '"input":{}}}',
    '{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}',
    '{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\\"city\\": \\"Z"}}',
    '{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"RH\\", '
    '\\"n\\": 1.0}"}}',
    '{"type":"content_block_stop","index":4}',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}',
    '{"type":"message_stop"}',
]

CHAT: list[object] = [
    '{"id":"c-1","object":"chat.completion.chunk","model":"gpt-5-0807","choices":[{"index":0,"delta":{"role":"assistant",'
    '"content":null,"reasoning_content":"Let me "},"finish_reason":null}],"usage":null}',
    '{"id":"c-1","choices":[{"index":0,"delta":{"reasoning_content":"look."},"finish_reason":null}]}',
    '{"id":"c-1","choices":[{"index":0,"delta":{"content":"Zürich, "},"finish_reason":null}]}',
    '{"id":"c-1","choices":[{"index":0,"delta":{"content":"dann 🦉."},"finish_reason":null}]}',
    '{"id":"c-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":'
    '{"name":"weather","arguments":""}}]},"finish_reason":null}]}',
    '{"id":"c-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\\"city\\": '
    '\\"Z"}}]}}]}',
    '{"id":"c-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"RH\\"}"}}]}}]}',
    '{"id":"c-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":'
    '{"name":"clock","arguments":"{}"}}]}}]}',
    '{"id":"c-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
    '{"id":"c-1","choices":[],"usage":{"prompt_tokens":40,"completion_tokens":30,"total_tokens":70,'
    '"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":12}}}',
    b"[DONE]",
]

RESPONSES: list[object] = [
    '{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"gpt-5-0807","status":"in_progress"}}',
    '{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1"}}',
    '{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_1","type":"reasoning",'
    '"summary":[],"encrypted_content":"gAAA-early"}}',
    '{"type":"response.reasoning_summary_part.added","sequence_number":3,"output_index":0,"summary_index":0}',
    '{"type":"response.reasoning_summary_text.delta","sequence_number":4,"output_index":0,"summary_index":0,'
    '"delta":"First."}',
    '{"type":"response.reasoning_summary_text.delta","sequence_number":5,"output_index":0,"summary_index":1,'
    '"delta":"Then."}',
    '{"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":{"id":"rs_1","type":"reasoning",'
    '"summary":[{"type":"summary_text","text":"First."},{"type":"summary_text","text":"Then."}],'
    '"encrypted_content":"gAAA-whole/+=="}}',
    '{"type":"response.output_item.added","sequence_number":7,"output_index":1,"item":{"id":"msg_1","type":"message",'
    '"status":"in_progress","role":"assistant","content":[]}}',
    '{"type":"response.output_text.delta","sequence_number":8,"output_index":1,"content_index":0,"delta":"Zürich, "}',
    '{"type":"response.output_text.delta","sequence_number":9,"output_index":1,"content_index":0,"delta":"dann 🦉."}',
    '{"type":"response.output_item.done","sequence_number":10,"output_index":1,"item":{"id":"msg_1","type":"message",'
    '"status":"completed","phase":"commentary","role":"assistant","content":[{"type":"output_text","annotations":[],'
    '"logprobs":[],"text":"Zürich, dann 🦉."}]}}',
    '{"type":"response.output_item.added","sequence_number":11,"output_index":2,"item":{"id":"fc_1",'
    '"type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"weather"}}',
    '{"type":"response.function_call_arguments.delta","sequence_number":12,"output_index":2,"delta":"{\\"city\\": "}',
    '{"type":"response.function_call_arguments.delta","sequence_number":13,"output_index":2,"delta":"\\"ZRH\\"}"}',
    '{"type":"response.output_item.done","sequence_number":14,"output_index":2,"item":{"id":"fc_1",'
    '"type":"function_call","status":"completed","arguments":"{\\"city\\": \\"ZRH\\"}","call_id":"call_1",'
    '"name":"weather"}}',
    '{"type":"response.completed","sequence_number":15,"response":{"id":"resp_1","status":"completed",'
    '"model":"gpt-5-0807","output":[],"usage":{"input_tokens":75,"input_tokens_details":{"cached_tokens":8},'
    '"output_tokens":40,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":115}}}',
]

GEMINI: list[object] = [
    '{"candidates":[{"content":{"parts":[{"text":"Let me ","thought":true}],"role":"model"}}],'
    '"usageMetadata":{"promptTokenCount":17,"totalTokenCount":20,"thoughtsTokenCount":3},"modelVersion":"gemini-3-pro-001",'
    '"responseId":"r1"}',
    '{"candidates":[{"content":{"parts":[{"text":"look.","thought":true}],"role":"model"}}]}',
    '{"candidates":[{"content":{"parts":[{"text":"Zürich, "}],"role":"model"}}]}',
    '{"candidates":[{"content":{"parts":[{"text":"dann 🦉."}],"role":"model"}}]}',
    '{"candidates":[{"content":{"parts":[{"text":" Ende.","thoughtSignature":"text/sig+=="}],"role":"model"}}]}',
    '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"weather","args":{"city": "ZRH", "n": 1.0}},'
    '"thoughtSignature":"CiQBcsjafd=="},{"functionCall":{"name":"clock","args":{},"id":"fx-2"}}],"role":"model"}}]}',
    '{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"last=="}],"role":"model"},"finishReason":"STOP"}],'
    '"usageMetadata":{"promptTokenCount":17,"cachedContentTokenCount":4,"candidatesTokenCount":30,"thoughtsTokenCount":17,'
    '"totalTokenCount":64},"modelVersion":"gemini-3-pro-001","responseId":"r1"}',
]

GOLDEN = {
    "messages": MESSAGES,
    "chat": CHAT,
    "responses": RESPONSES,
    "generateContent": GEMINI,
}

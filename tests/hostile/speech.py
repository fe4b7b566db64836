"""How each of the four wires writes an answer: as bytes, without any check.

Nothing of the package's codecs is used here, and no framework. Numbers of a usage are texts, so that they can be
``NaN`` or have five thousand digits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple, TypeAlias

PIECE = 1 << 16
"""Bytes of one piece of a huge value."""


_answers = count(1)


def new_tag() -> str:
    """What makes the ids of one answer differ from those of all others."""
    return f"{next(_answers):08d}"


def frame(data: str | bytes, name: str = "") -> bytes:
    """One server-sent event."""
    payload = data.encode() if isinstance(data, str) else data
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + payload + b"\n\n"


def quoted(text: str) -> str:
    return json.dumps(text)


def repeated(text: str, size: int) -> Iterator[str]:
    """``size`` characters of ``text``, in pieces."""
    block = text * max(1, PIECE // len(text))
    left = size
    while left > 0:
        yield block[:left]
        left -= len(block)


class Counts(NamedTuple):
    """A usage: JSON numbers as text."""

    input: str = "12"
    output: str = "3"


USUAL = Counts()


class MessagesSpeaker:
    """Anthropic Messages: https://platform.claude.com/docs/en/build-with-claude/streaming."""

    def __init__(self) -> None:
        self._tag = new_tag()
        self._index = -1
        self._kind = ""
        self._stop = "end_turn"

    def begin(self, counts: Counts = USUAL) -> bytes:
        usage = f'{{"input_tokens":{counts.input},"output_tokens":1}}'
        head = (
            f'"id":"msg_{self._tag}","type":"message","role":"assistant","model":"claude"'
        )
        message = f'{{{head},"content":[],"usage":{usage}}}'
        return frame(f'{{"type":"message_start","message":{message}}}', "message_start")

    def text(self, piece: str) -> bytes:
        return self._part("text", '{"type":"text","text":""}') + self._delta(
            f'{{"type":"text_delta","text":{quoted(piece)}}}'
        )

    def reasoning(self, piece: str) -> bytes:
        opening = '{"type":"thinking","thinking":"","signature":""}'
        delta = f'{{"type":"thinking_delta","thinking":{quoted(piece)}}}'
        return self._part("thinking", opening) + self._delta(delta)

    def call(
        self, name: str, arguments: Iterable[str], call_id: str = "toolu_1"
    ) -> Iterator[bytes]:
        self._stop = "tool_use"
        block = f'{{"type":"tool_use","id":{quoted(call_id)},"name":{quoted(name)},"input":{{}}}}'
        yield self.close() + self._part("tool_use", block)
        for piece in arguments:
            yield self._delta(
                f'{{"type":"input_json_delta","partial_json":{quoted(piece)}}}'
            )
        yield self.close()

    def end(self, counts: Counts = USUAL) -> bytes:
        delta = f'{{"stop_reason":"{self._stop}","stop_sequence":null}}'
        usage = f'{{"output_tokens":{counts.output}}}'
        last = frame(
            f'{{"type":"message_delta","delta":{delta},"usage":{usage}}}', "message_delta"
        )
        return self.close() + last + frame('{"type":"message_stop"}', "message_stop")

    def failure(self, said: str) -> bytes:
        return frame(self.refusal(said), "error")

    def whole(self, text: str, counts: Counts = USUAL) -> bytes:
        usage = f'{{"input_tokens":{counts.input},"output_tokens":{counts.output}}}'
        content = f'[{{"type":"text","text":{quoted(text)}}}]'
        head = f'"id":"msg_{self._tag}","type":"message","role":"assistant","model":"claude","stop_reason":"end_turn"'
        return f'{{{head},"content":{content},"usage":{usage}}}'.encode()

    def refusal(self, said: str) -> bytes:
        error = f'{{"type":"overloaded_error","message":{quoted(said)}}}'
        return f'{{"type":"error","error":{error}}}'.encode()

    def close(self) -> bytes:
        """The end of the open part."""
        if not self._kind:
            return b""
        self._kind = ""
        return frame(
            f'{{"type":"content_block_stop","index":{self._index}}}', "content_block_stop"
        )

    def _part(self, kind: str, block: str) -> bytes:
        if self._kind == kind:
            return b""
        closed = self.close()
        self._index += 1
        self._kind = kind
        opening = f'{{"type":"content_block_start","index":{self._index},"content_block":{block}}}'
        return closed + frame(opening, "content_block_start")

    def _delta(self, delta: str) -> bytes:
        data = f'{{"type":"content_block_delta","index":{self._index},"delta":{delta}}}'
        return frame(data, "content_block_delta")


class ResponsesSpeaker:
    """OpenAI Responses: https://platform.openai.com/docs/api-reference/responses-streaming."""

    def __init__(self) -> None:
        self._tag = new_tag()
        self._number = -1
        self._index = -1
        self._kind = ""
        self._items: list[str] = []
        self._text = ""

    def begin(self, counts: Counts = USUAL) -> bytes:
        head = f'"id":"resp_{self._tag}","object":"response","status":"in_progress","model":"gpt"'
        response = f'{{{head},"output":[],"usage":null}}'
        return self._event("response.created", f'"response":{response}')

    def text(self, piece: str) -> bytes:
        opened = self._item("message", "msg", '"role":"assistant","content":[]')
        self._text += piece
        where = f'"output_index":{self._index},"content_index":0,"item_id":"msg_{self._tag}_{self._index}"'
        return opened + self._event(
            "response.output_text.delta", f'{where},"delta":{quoted(piece)}'
        )

    def reasoning(self, piece: str) -> bytes:
        opened = self._item("reasoning", "rs", '"summary":[]')
        where = f'"output_index":{self._index},"summary_index":0,"item_id":"rs_{self._tag}_{self._index}"'
        return opened + self._event(
            "response.reasoning_summary_text.delta", f'{where},"delta":{quoted(piece)}'
        )

    def call(
        self, name: str, arguments: Iterable[str], call_id: str = "call_1"
    ) -> Iterator[bytes]:
        closed = self._close()
        self._index += 1
        identity = f'"id":"fc_{self._tag}_{self._index}","call_id":{quoted(call_id)}'
        head = f'{identity},"type":"function_call","name":{quoted(name)}'
        opening = f'{{{head},"arguments":""}}'
        yield closed + self._event(
            "response.output_item.added", f'"output_index":{self._index},"item":{opening}'
        )
        where = f'"output_index":{self._index},"item_id":"fc_{self._tag}_{self._index}"'
        written: list[str] = []
        for piece in arguments:
            written.append(piece)
            yield self._event(
                "response.function_call_arguments.delta",
                f'{where},"delta":{quoted(piece)}',
            )
        item = f'{{{head},"status":"completed","arguments":{quoted("".join(written))}}}'
        yield self._event(
            "response.output_item.done", f'"output_index":{self._index},"item":{item}'
        )
        self._items.append(item)

    def end(self, counts: Counts = USUAL) -> bytes:
        closed = self._close()
        usage = f'{{"input_tokens":{counts.input},"output_tokens":{counts.output}}}'
        head = f'"id":"resp_{self._tag}","object":"response","status":"completed","model":"gpt"'
        response = f'{{{head},"output":[{",".join(self._items)}],"usage":{usage}}}'
        return closed + self._event("response.completed", f'"response":{response}')

    def failure(self, said: str) -> bytes:
        return self._event(
            "error", f'"code":"server_error","message":{quoted(said)},"param":null'
        )

    def whole(self, text: str, counts: Counts = USUAL) -> bytes:
        usage = f'{{"input_tokens":{counts.input},"output_tokens":{counts.output}}}'
        head = f'"id":"resp_{self._tag}","object":"response","status":"completed","model":"gpt"'
        return f'{{{head},"output":[{self._message(text)}],"usage":{usage}}}'.encode()

    def refusal(self, said: str) -> bytes:
        return f'{{"error":{{"type":"server_error","code":"server_error","message":{quoted(said)}}}}}'.encode()

    def _message(self, text: str) -> str:
        content = f'[{{"type":"output_text","text":{quoted(text)},"annotations":[]}}]'
        identity = f'"id":"msg_{self._tag}_{self._index}","type":"message"'
        return (
            f'{{{identity},"role":"assistant","status":"completed","content":{content}}}'
        )

    def _item(self, kind: str, prefix: str, fields: str) -> bytes:
        if self._kind == kind:
            return b""
        closed = self._close()
        self._kind = kind
        self._index += 1
        item = f'{{"id":"{prefix}_{self._tag}_{self._index}","type":"{kind}",{fields}}}'
        return closed + self._event(
            "response.output_item.added", f'"output_index":{self._index},"item":{item}'
        )

    def _close(self) -> bytes:
        kind, self._kind = self._kind, ""
        if not kind:
            return b""
        item = f'{{"id":"rs_{self._tag}_{self._index}","type":"reasoning","summary":[]}}'
        if kind == "message":
            item = self._message(self._text)
            self._text = ""
        self._items.append(item)
        return self._event(
            "response.output_item.done", f'"output_index":{self._index},"item":{item}'
        )

    def _event(self, kind: str, fields: str) -> bytes:
        self._number += 1
        return frame(
            f'{{"type":"{kind}","sequence_number":{self._number},{fields}}}', kind
        )


class ChatSpeaker:
    """OpenAI Chat: https://platform.openai.com/docs/api-reference/chat-streaming."""

    def __init__(self) -> None:
        self._calls = -1
        self._stop = "stop"

    def begin(self, counts: Counts = USUAL) -> bytes:
        return self._chunk('{"role":"assistant","content":""}')

    def text(self, piece: str) -> bytes:
        return self._chunk(f'{{"content":{quoted(piece)}}}')

    def reasoning(self, piece: str) -> bytes:
        return self._chunk(f'{{"reasoning_content":{quoted(piece)}}}')

    def call(
        self, name: str, arguments: Iterable[str], call_id: str = "call_1"
    ) -> Iterator[bytes]:
        self._stop = "tool_calls"
        self._calls += 1
        head = f'"index":{self._calls},"id":{quoted(call_id)},"type":"function"'
        function = f'{{"name":{quoted(name)},"arguments":""}}'
        yield self._chunk(f'{{"tool_calls":[{{{head},"function":{function}}}]}}')
        for piece in arguments:
            function = f'{{"arguments":{quoted(piece)}}}'
            yield self._chunk(
                f'{{"tool_calls":[{{"index":{self._calls},"function":{function}}}]}}'
            )

    def end(self, counts: Counts = USUAL) -> bytes:
        usage = f'{{"prompt_tokens":{counts.input},"completion_tokens":{counts.output}}}'
        last = f'{{"id":"c","choices":[{{"index":0,"delta":{{}},"finish_reason":"{self._stop}"}}]}}'
        return (
            frame(last)
            + frame(f'{{"id":"c","choices":[],"usage":{usage}}}')
            + frame("[DONE]")
        )

    def failure(self, said: str) -> bytes:
        return frame(self.refusal(said))

    def whole(self, text: str, counts: Counts = USUAL) -> bytes:
        usage = f'{{"prompt_tokens":{counts.input},"completion_tokens":{counts.output}}}'
        message = f'{{"role":"assistant","content":{quoted(text)}}}'
        choice = f'{{"index":0,"message":{message},"finish_reason":"stop"}}'
        return f'{{"id":"c","object":"chat.completion","choices":[{choice}],"usage":{usage}}}'.encode()

    def refusal(self, said: str) -> bytes:
        return f'{{"error":{{"type":"server_error","code":"overloaded","message":{quoted(said)}}}}}'.encode()

    def _chunk(self, delta: str) -> bytes:
        choice = f'{{"index":0,"delta":{delta},"finish_reason":null}}'
        return frame(
            f'{{"id":"c","object":"chat.completion.chunk","choices":[{choice}]}}'
        )


class GeminiSpeaker:
    """Gemini generateContent, streamed as events: https://ai.google.dev/api/generate-content."""

    def begin(self, counts: Counts = USUAL) -> bytes:
        usage = f'{{"promptTokenCount":{counts.input}}}'
        return frame(
            f'{{"responseId":"r","modelVersion":"gemini","usageMetadata":{usage}}}'
        )

    def text(self, piece: str) -> bytes:
        return self._part(f'{{"text":{quoted(piece)}}}')

    def reasoning(self, piece: str) -> bytes:
        return self._part(f'{{"text":{quoted(piece)},"thought":true}}')

    def call(
        self, name: str, arguments: Iterable[str], call_id: str = ""
    ) -> Iterator[bytes]:
        """This wire has no pieces of arguments: the whole call is one event, and one line."""
        identity = f'"id":{quoted(call_id)},' if call_id else ""
        yield b'data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":'
        yield f'{{{identity}"name":{quoted(name)},"args":'.encode()
        for piece in arguments:
            yield piece.encode("utf-8", "surrogatepass")
        yield b"}}]}}]}\n\n"

    def end(self, counts: Counts = USUAL) -> bytes:
        usage = f'{{"promptTokenCount":{counts.input},"candidatesTokenCount":{counts.output}}}'
        candidate = (
            '{"index":0,"content":{"role":"model","parts":[]},"finishReason":"STOP"}'
        )
        return frame(f'{{"candidates":[{candidate}],"usageMetadata":{usage}}}')

    def failure(self, said: str) -> bytes:
        return frame(self.refusal(said))

    def whole(self, text: str, counts: Counts = USUAL) -> bytes:
        usage = f'{{"promptTokenCount":{counts.input},"candidatesTokenCount":{counts.output}}}'
        content = f'{{"role":"model","parts":[{{"text":{quoted(text)}}}]}}'
        candidate = f'{{"index":0,"content":{content},"finishReason":"STOP"}}'
        return f'{{"candidates":[{candidate}],"usageMetadata":{usage}}}'.encode()

    def refusal(self, said: str) -> bytes:
        return f'{{"error":{{"code":503,"status":"UNAVAILABLE","message":{quoted(said)}}}}}'.encode()

    def _part(self, part: str) -> bytes:
        return frame(
            f'{{"candidates":[{{"index":0,"content":{{"role":"model","parts":[{part}]}}}}]}}'
        )


Speaker: TypeAlias = MessagesSpeaker | ResponsesSpeaker | ChatSpeaker | GeminiSpeaker
"""One answer of one wire as it is written, checked by nothing."""


class HostileWire(NamedTuple):
    """One wire: the model that is asked for on it, the simulator that serves it, and who writes its answers."""

    name: str
    model: str
    serves: str
    speaker: Callable[[], Speaker]
    wire: str = ""
    version: str = "v1"


WIRES = (
    HostileWire("messages", "anthropic:claude-fable-5-2", "anthropic", MessagesSpeaker),
    HostileWire("responses", "openai:gpt-5.5", "openai", ResponsesSpeaker),
    HostileWire("chat", "openai:gpt-5-mini", "openai", ChatSpeaker, wire="chat"),
    HostileWire("generateContent", "google:gemini-3-flash-preview", "gemini", GeminiSpeaker, version="v1beta"),
)  # fmt: skip
WIRES_BY_NAME = {wire.name: wire for wire in WIRES}

"""Anthropic Messages: the events of a stream, and whole answers.

https://platform.claude.com/docs/en/build-with-claude/streaming. A thinking block's signature comes in an event of its
own before the block stops; a redacted one has its data on the event that starts it; a block of the provider's own
tools comes whole on its start, or grows like a call. Text between tool calls may come back in thinking blocks.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ullage.codec.decode.draft import Draft, Growing
from ullage.codec.problems import problem_in_stream
from ullage.codec.raw import Fields, fields_of, get_object, get_text, items_of, parse, parse_object, text_of, written
from ullage.codec.stream import Answer, ServerEvent, Stop, StreamEvent, StreamFailed, UsageSeen
from ullage.errors import ProviderError

_STOPS: Final[dict[str, Stop]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "refused",
    "pause_turn": "paused",
    "compaction": "paused",
    "model_context_window_exceeded": "context_full",
}
"""https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons"""


class AnthropicDecoder:
    """One answer of the Messages wire. See ``codec.stream.Decoder``."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.is_done = False
        self._blocks: dict[int, Growing] = {}
        self._error: ProviderError | None = None
        self._said = ""
        self._model = ""
        self._id = ""

    def feed(self, event: ServerEvent) -> list[StreamEvent]:
        fields = parse_object(event.data)
        match fields.get("type"):
            case "content_block_delta":
                return self._delta(fields)
            case "content_block_start":
                return self._start(_index(fields), fields_of(event.data).get("content_block"))
            case "content_block_stop":
                return self._stop(_index(fields))
            case "message_start":
                return self._begin(get_object(fields, "message"))
            case "message_delta":
                self._said = get_text(get_object(fields, "delta"), "stop_reason") or self._said
                return self._usage(fields.get("usage"))
            case "message_stop":
                self.is_done = True
            case "error":
                self._error = self._error or problem_in_stream(self.draft.origin.wire, fields)
                return [StreamFailed(self._error)]
        return []

    def finish(self, complete: bool) -> Answer:
        done = self.is_done
        return self.draft.answer(
            finished=done,
            stop=_STOPS.get(self._said, "other") if self._said and done else "",
            model=self._model,
            response_id=self._id,
            said=self._said,
            error=self._error,
        )

    def read(self, body: bytes) -> Answer:
        """A whole answer, not streamed."""
        fields = parse_object(body)
        whole = fields_of(body)
        self._begin({**fields, "usage": None})
        self.draft.note_usage(fields.get("usage"), whole.get("usage"))
        for index, block in enumerate(items_of(whole.get("content"))):
            self._start(index, block)
            self._stop(index)
        self._said = get_text(fields, "stop_reason")
        self.is_done = fields.get("type") == "message" or "content" in fields
        return self.finish(True)

    def _begin(self, message: dict[str, Any]) -> list[StreamEvent]:
        self._model = get_text(message, "model") or self._model
        self._id = get_text(message, "id") or self._id
        return self._usage(message.get("usage"))

    def _usage(self, usage: object) -> list[StreamEvent]:
        if not isinstance(usage, dict) or not usage:
            return []
        self.draft.note_usage(usage)
        return [UsageSeen(self.draft.usage(complete=False))]

    def _start(self, index: int, raw: msgspec.Raw | None) -> list[StreamEvent]:
        if index in self._blocks or raw is None:
            return []
        growing, text = self._open(raw)
        self._blocks[index] = growing
        return (growing.begun() if growing.kind == "call" else []) + growing.add(text)

    def _open(self, raw: msgspec.Raw) -> tuple[Growing, str]:
        """The part for a block, and what text it already brings."""
        block = fields_of(raw)
        match text_of(block, "type"):
            case "text":
                growing = self.draft.open("text")
                growing.rest = _without(block, "type", "text")
                return growing, text_of(block, "text")
            case "thinking":
                growing = self.draft.open("reasoning")
                growing.rest = _without(block, "type", "thinking")
                return growing, text_of(block, "thinking")
            case "redacted_thinking":
                growing = self.draft.open("reasoning")
                growing.redacted = True
                growing.rest = _without(block, "type")
                return growing, ""
            case "tool_use":
                growing = self.draft.open_call(text_of(block, "id"), text_of(block, "name"))
                growing.rest = _without(block, "type", "id", "name", "input")
                arguments = block.get("input")
                if arguments is None or parse(arguments) in ({}, None):
                    return growing, ""
                return growing, bytes(arguments).decode("utf-8", "replace")
            case _:
                growing = self.draft.open_item(raw)
                growing.rest = dict(block)
                return growing, ""

    def _delta(self, fields: dict[str, Any]) -> list[StreamEvent]:
        growing = self._blocks.get(_index(fields))
        delta = fields.get("delta")
        if growing is None or growing.is_whole or not isinstance(delta, dict):
            return []
        match delta.get("type"):
            case "text_delta" if growing.kind == "text":
                return growing.add(get_text(delta, "text"))
            case "thinking_delta" if growing.kind == "reasoning":
                return growing.add(get_text(delta, "thinking"))
            case "input_json_delta" if growing.kind in ("call", "item"):
                return growing.add(get_text(delta, "partial_json"))
            case "signature_delta" if growing.kind == "reasoning" and delta.get("signature"):
                growing.rest["signature"] = delta["signature"]
            case "citations_delta":
                held = growing.rest.get("citations")
                before = parse(held) if isinstance(held, msgspec.Raw) else held
                growing.rest["citations"] = [*(before if isinstance(before, list) else []), delta.get("citation")]
            case _ if growing.kind == "item":
                _grow(growing, delta)
        return []

    def _stop(self, index: int) -> list[StreamEvent]:
        growing = self._blocks.get(index)
        if growing is None or growing.is_whole:
            return []
        if growing.kind == "item" and growing.flow.text:
            growing.rest["input"] = _whole_json(growing.flow.text)
            growing.bytes = None
        if growing.kind == "reasoning" and growing.flow.text and not growing.redacted:
            # A whole block without a signature is what look-alikes of this wire send: they want it back all the same.
            growing.rest.setdefault("signature", "")
        return self.draft.close(growing)


def _grow(growing: Growing, delta: dict[str, Any]) -> None:
    """A delta of a kind this version doesn't know: text is joined to what the field holds, the rest replaces it."""
    for key, value in delta.items():
        if key == "type":
            continue
        held = growing.rest.get(key)
        growing.bytes = None
        before = parse(held) if isinstance(held, msgspec.Raw) else held
        growing.rest[key] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _whole_json(text: str) -> msgspec.Raw:
    """The input of a provider's own tool as it was written; as text when it was cut."""
    return msgspec.Raw(text.encode()) if parse(text.encode()) is not None else written(text)


def _without(block: Fields, *known: str) -> dict[str, object]:
    """The fields that have no word. Nulls say nothing, and no text between quotes either: a block starts with those."""
    return {key: raw for key, raw in block.items() if key not in known and bytes(raw) not in (b"null", b'""')}


def _index(fields: dict[str, Any]) -> int:
    index = fields.get("index")
    return index if isinstance(index, int) else 0

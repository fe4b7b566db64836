"""Anthropic Messages: the events of a stream, and whole answers.

https://platform.claude.com/docs/en/build-with-claude/streaming. A thinking block's signature comes in an event of its
own before the block stops; a redacted one has its data on the event that starts it; a block of the provider's own
tools comes whole on its start, or grows like a call. Text between tool calls may come back in thinking blocks.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ullage.codec.applied_edits import read_applied_edits
from ullage.codec.cache_verdicts import read_verdict
from ullage.codec.draft import Draft, Growing
from ullage.codec.foreign import (
    Fields,
    are_objects,
    fields_of,
    get_object,
    get_text,
    items_of,
    parse,
    text_of,
    written,
)
from ullage.codec.stream import Answer, ServerEvent, Stop, StreamEvent, UsageSeen

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


_TEXTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "text_delta": ("text", ("text",)),
    "thinking_delta": ("thinking", ("reasoning",)),
    "input_json_delta": ("partial_json", ("call", "item")),
}
"""Deltas of text: the field that holds it, and the kinds of part it belongs to."""


class AnthropicDecoder:
    """One answer of the Messages wire. See ``codec.wire.Decoder``."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.is_done = False
        self._has_begun = False
        self._blocks: dict[int, Growing] = {}

    def feed(self, event: ServerEvent) -> list[StreamEvent]:
        fields = self.draft.read(event.data)
        if fields is None:
            return []
        kind = fields.get("type")
        if kind == "content_block_delta":
            return self._delta(fields, event)
        match kind:
            case "content_block_start":
                return self._begun(fields, event)
            case "content_block_stop":
                index = fields.get("index")
                if not isinstance(index, int) or index not in self._blocks:
                    return self.draft.damage(
                        f"the block {index!r} ends that never began", event.data
                    )
                return self._stop(index)
            case "message_start":
                self._has_begun = True
                return self._begin(get_object(fields, "message"))
            case "message_delta":
                self.draft.said = (
                    get_text(get_object(fields, "delta"), "stop_reason")
                    or self.draft.said
                )
                self._cleared(fields)
                if "input_transformations" in fields:  # of a model that took over
                    self._transformed(fields)
                return self._usage(fields.get("usage"))
            case "message_stop":
                return self._end()
            case "error":
                return self.draft.fail(fields)
            case str():
                return []
        if fields.get("error"):
            return self.draft.fail(fields)
        return self.draft.damage("a frame names no type", event.data)

    def _begun(self, fields: dict[str, Any], event: ServerEvent) -> list[StreamEvent]:
        """A block begins. Blocks are numbered in order, so a number that is left out tells of a lost frame."""
        index, block = fields.get("index"), fields_of(event.data).get("content_block")
        if not self._has_begun:
            return self.draft.damage("a block begins before the message does", event.data)
        if isinstance(index, int) and index in self._blocks:
            return []
        if index != len(self._blocks):
            return self.draft.damage(
                f"the block {index!r} follows {len(self._blocks)} others", event.data
            )
        if not isinstance(fields.get("content_block"), dict) or block is None:
            return self.draft.damage("a block begins without its content", event.data)
        self.draft.tally.hold(len(block))
        return self._start(len(self._blocks), block)

    def _end(self) -> list[StreamEvent]:
        """The end of the message. A server may leave out the end of a block, but not why the message ends."""
        if not self.draft.said:
            return self.draft.damage("it ends without a reason to stop")
        self.is_done = True
        # Reasoning that was not ended may lack its signature: as a whole thought it would be refused.
        left = [
            index
            for index, growing in self._blocks.items()
            if growing.kind != "reasoning"
        ]
        return [event for index in left for event in self._stop(index)]

    def finish(self, complete: bool) -> Answer:
        said = self.draft.said
        return self.draft.answer(
            finished=self.is_done, stop=_STOPS.get(said, "other") if said else ""
        )

    def read(self, body: bytes) -> Answer:
        """A whole answer, not streamed."""
        fields = self.draft.read(body)
        if fields is None:
            return self.finish(False)
        if fields.get("type") == "error" or (
            fields.get("error") and "content" not in fields
        ):
            self.draft.fail(fields)
            return self.finish(False)
        whole = fields_of(body)
        self._begin({**fields, "usage": None})
        self.draft.note_usage(fields.get("usage"), whole.get("usage"))
        content = fields.get("content")
        if not are_objects(content):
            self.draft.damage("its content is no list of blocks", body)
            return self.finish(False)
        for index, block in enumerate(items_of(whole.get("content"))):
            self.draft.tally.hold(len(block))
            self._start(index, block)
            self._stop(index)
            if self.draft.tally.broken is not None:
                break
        self.draft.said = get_text(fields, "stop_reason")
        self.is_done = fields.get("type") == "message" or "content" in fields
        return self.finish(True)

    def _begin(self, message: dict[str, Any]) -> list[StreamEvent]:
        self.draft.name(get_text(message, "model"), get_text(message, "id"))
        self._cleared(message)
        self._transformed(message)
        return self._usage(message.get("usage"))

    def _cleared(self, fields: dict[str, Any]) -> None:
        cleared = read_applied_edits(fields.get("context_management"))
        self.draft.cleared = cleared or self.draft.cleared
        self.draft.verdict = read_verdict(fields) or self.draft.verdict

    def _transformed(self, fields: dict[str, Any]) -> None:
        self.draft.unbound = _left_out(fields.get("input_transformations"))

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
                growing = self.draft.open_call(
                    text_of(block, "id"), text_of(block, "name")
                )
                growing.rest = _without(block, "type", "id", "name", "input")
                arguments = block.get("input")
                if arguments is None or parse(arguments) in ({}, None):
                    return growing, ""
                return growing, bytes(arguments).decode("utf-8", "replace")
            case _:
                growing = self.draft.open_item(raw)
                growing.rest = dict(block)
                return growing, ""

    def _delta(self, fields: dict[str, Any], event: ServerEvent) -> list[StreamEvent]:
        index, delta = fields.get("index"), fields.get("delta")
        growing = self._blocks.get(index) if isinstance(index, int) else None
        if growing is None or growing.is_whole:
            return self.draft.damage(
                f"text comes for the block {index!r}, which is not open", event.data
            )
        if not isinstance(delta, dict) or not isinstance(kind := delta.get("type"), str):
            return self.draft.damage("a piece of a block names no type", event.data)
        place = _TEXTS.get(kind)
        if place is not None:
            name, fitting = place
            text = delta.get(name)
            if not isinstance(text, str) or growing.kind not in fitting:
                return self.draft.damage(f"a {kind} does not fit its block", event.data)
            return growing.add(text)
        self.draft.tally.hold(len(event.data))
        match kind:
            case "signature_delta":
                if growing.kind == "reasoning" and delta.get("signature"):
                    growing.rest["signature"] = delta["signature"]
            case "citations_delta":
                _cite(growing, delta.get("citation"))
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


def _left_out(transformations: object) -> int:
    """How many thinking blocks were dropped for good; those that another model reads come back with it.

    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking, and anthropic 2.14
    (``types/beta/beta_thinking_dropped_input_transformation.py``).
    """
    left_out = 0
    for one in transformations if isinstance(transformations, list) else ():
        if isinstance(one, dict) and one.get("type") == "thinking_dropped":
            left_out += one.get("reason") != "model_binding_mismatch"
    return left_out


def _cite(growing: Growing, citation: object) -> None:
    """One more citation of a text. The list is the block's own from the first one on, so that it can grow in place."""
    held = growing.rest.get("citations")
    if isinstance(held, list):
        held.append(citation)
        return
    before = parse(held) if isinstance(held, msgspec.Raw) else None
    growing.rest["citations"] = [*(before if isinstance(before, list) else []), citation]


def _grow(growing: Growing, delta: dict[str, Any]) -> None:
    """A delta of a kind this version doesn't know: text is joined to what the field holds, the rest replaces it."""
    for key, value in delta.items():
        if key == "type":
            continue
        held = growing.rest.get(key)
        growing.bytes = None
        before = parse(held) if isinstance(held, msgspec.Raw) else held
        growing.rest[key] = (
            before + value
            if isinstance(before, str) and isinstance(value, str)
            else value
        )


def _whole_json(text: str) -> msgspec.Raw:
    """The input of a provider's own tool as it was written; as text when it was cut."""
    return (
        msgspec.Raw(text.encode()) if parse(text.encode()) is not None else written(text)
    )


def _without(block: Fields, *known: str) -> dict[str, object]:
    """The fields that our types lack, without nulls and empty texts: a block starts with those."""
    return {
        key: raw
        for key, raw in block.items()
        if key not in known and bytes(raw) not in (b"null", b'""')
    }

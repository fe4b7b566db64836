"""OpenAI-compatible Chat Completions: the chunks of a stream, and whole answers.

https://platform.openai.com/docs/api-reference/chat-streaming, and what others put on it: ``reasoning_content``
(https://api-docs.deepseek.com/guides/thinking_mode), ``reasoning_details``
(https://openrouter.ai/docs/use-cases/reasoning-tokens), thinking chunks
(https://docs.mistral.ai/capabilities/reasoning), ``extra_content`` (https://ai.google.dev/gemini-api/docs/openai).
Usage may come in any chunk: with the last choice, in a chunk of its own without choices, inside a choice (Moonshot),
under ``x_groq`` (Groq), or in every chunk.

Provider data of reasoning names the fields it came in; a field that held exactly the part's text is null there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from ullage.codec.draft import Draft, Growing
from ullage.codec.foreign import are_objects, fields_of, get_object, get_text, written
from ullage.codec.parts import as_list
from ullage.codec.stream import Answer, ServerEvent, Stop, StreamEvent, UsageSeen

_STOPS: Final[dict[str, Stop]] = {
    "stop": "stop",
    "eos": "stop",  # Together: https://docs.together.ai/reference/chat-completions-1
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "sensitive": "refused",  # GLM: https://docs.z.ai/api-reference/llm/chat-completion
    "refusal": "refused",
    "model_length": "context_full",  # Mistral: https://docs.mistral.ai/api/endpoint/chat
    "model_context_window_exceeded": "context_full",  # GLM
}
_FAILURES: Final = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Finish reasons that are no end: OpenRouter and Mistral, GLM, DeepSeek."""
_CUT: Final = frozenset({"abort"})
"""vLLM and SGLang, when the request was aborted on the server."""

_TEXTS: Final = ("reasoning_content", "reasoning")
_READ: Final = frozenset(
    {
        "role",
        "content",
        "tool_calls",
        "refusal",
        "annotations",
        "reasoning_details",
        *_TEXTS,
    }
)
_PLAIN: Final = frozenset({"role", "content", "refusal", "tool_calls", *_TEXTS})
"""Fields of a delta that hold text alone; what comes in others is kept beside it."""
_CALL_READ: Final = frozenset(
    {"id", "index", "type", "function", "custom", "name", "arguments", "input"}
)


class ChatDecoder:
    """One answer of the Chat wire. See ``codec.wire.Decoder``."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.is_done = False
        self._open: Growing | None = None
        self._thought: Growing | None = None
        self._reasoning_field = ""
        self._details: list[dict[str, Any]] = []
        self._calls: dict[int, Growing] = {}
        self._latest: Growing | None = None
        self._fields: dict[str, Any] = {}
        self._refused = False

    def feed(self, event: ServerEvent) -> list[StreamEvent]:
        if self.draft.tally.broken is not None:
            return []
        data = event.data
        if data.strip() == b"[DONE]":
            self.is_done = True
            return self._close_all()
        chunk = self.draft.read(data)
        if chunk is None:
            return []
        if chunk.get("error") or chunk.get("object") == "error":
            return self.draft.fail(chunk)
        events: list[StreamEvent] = []
        choice = _first_choice(chunk)
        if choice is None:
            if not isinstance(chunk.get("choices"), list | None):
                return self.draft.damage("its choices are no list", data)
        else:
            delta = choice.get("delta")
            if isinstance(delta, dict):
                events = self._delta(delta, len(data))
            elif delta is not None:
                return self.draft.damage("a delta is no object", data)
            if choice.get("finish_reason"):
                events += self._end(get_text(choice, "finish_reason"), chunk)
        if not self.draft.model:
            self.draft.model = get_text(chunk, "model")
        if not self.draft.response_id:
            self.draft.response_id = get_text(chunk, "id")
        if (
            "usage" in chunk
            or "x_groq" in chunk
            or (choice is not None and "usage" in choice)
        ):
            events += self._usage(chunk, data, choice)
        return events

    def finish(self, complete: bool) -> Answer:
        self._settle()
        # Some servers never say why they stop, but end with [DONE]; others say why and leave [DONE] out.
        ended = (self.is_done and bool(self.draft.said or self.draft.parts)) or (
            complete and bool(self.draft.said)
        )
        return self.draft.answer(
            finished=ended and self.draft.said not in _CUT, stop=self._stop()
        )

    def read(self, body: bytes) -> Answer:
        """A whole answer, not streamed."""
        answer = self.draft.read(body)
        if answer is None:
            return self.finish(False)
        if (answer.get("error") or answer.get("object") == "error") and not answer.get(
            "choices"
        ):
            self.draft.fail(answer)
            return self.finish(False)
        choice = _first_choice(answer)
        if choice is not None and not isinstance(choice.get("message", {}), dict):
            self.draft.damage("a message is no object", body)
            return self.finish(False)
        self._usage(answer, body, choice)
        self.draft.name(get_text(answer, "model"), get_text(answer, "id"))
        if choice is not None:
            message = get_object(choice, "message")
            calls = message.get("tool_calls") or []
            if not are_objects(calls):
                self.draft.damage("its tool calls are no list of objects", body)
                return self.finish(False)
            self._delta(
                {
                    **message,
                    "tool_calls": [{**one, "index": at} for at, one in enumerate(calls)],
                },
                len(body),
            )
            self._end(get_text(choice, "finish_reason"), answer)
            self.is_done = bool(message)
        self._close_all()
        return self.finish(True)

    def _delta(self, delta: dict[str, Any], size: int) -> list[StreamEvent]:
        """One delta of a chunk that has ``size`` bytes."""
        content = delta.get("content")
        if len(delta) == 1 and isinstance(content, str):
            return self._content("text", content)
        events: list[StreamEvent] = []
        if not delta.keys() <= _PLAIN:
            self.draft.tally.hold(size)
            if not delta.keys() <= _READ:
                self._keep(delta)
        if (
            delta.get("reasoning_content")
            or delta.get("reasoning")
            or delta.get("reasoning_details")
        ):
            events += self._reasoning(delta)
        if isinstance(content, str):
            events += self._content("text", content)
        elif isinstance(content, list):
            for block in content:
                events += self._block(block)
                if self.draft.tally.broken is not None:
                    return events
        elif content is not None:
            self.draft.damage("the content of a delta is no text")
        if delta.get("refusal"):
            self._refused = True
            events += self._content("text", get_text(delta, "refusal"), {"refusal": True})
        calls = delta.get("tool_calls")
        if calls:
            events += self._calls_of(calls)
        return events

    def _calls_of(self, calls: object) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        if not isinstance(calls, list):
            return self.draft.damage("its tool calls are no list")
        for call in calls:
            events += (
                self._call(call)
                if isinstance(call, dict)
                else self.draft.damage("a tool call is no object")
            )
            if self.draft.tally.broken is not None:
                break
        return events

    def _reasoning(self, delta: Mapping[str, Any]) -> list[StreamEvent]:
        """Reasoning beside the content: one part, for this wire has one place for it."""
        listed = as_list(delta.get("reasoning_details"))
        details = [one for one in listed if isinstance(one, dict)]
        merge_details(self._details, details)
        field = self._reasoning_field or next(
            (name for name in _TEXTS if get_text(delta, name)), ""
        )
        if field:
            self._reasoning_field, text = field, get_text(delta, field)
        else:
            text = "".join(
                get_text(one, "text") or get_text(one, "summary") for one in details
            )
        if self._thought is None:
            self._thought = self.draft.open("reasoning")
        if field:
            self._thought.rest[field] = None
        if self._details:
            self._thought.rest["reasoning_details"] = self._details
        return self._thought.add(text)

    def _block(self, block: object) -> list[StreamEvent]:
        """A chunk of content that is an object: Mistral's thinking, text, or something new."""
        if not isinstance(block, dict):
            return self._content("text", block) if isinstance(block, str) else []
        match block.get("type"):
            case "text":
                return self._content("text", get_text(block, "text"))
            case "thinking":
                thinking = block.get("thinking")
                inner = thinking if isinstance(thinking, list) else [{"text": thinking}]
                text = "".join(
                    get_text(one, "text") for one in inner if isinstance(one, dict)
                )
                rest = {
                    key: value
                    for key, value in block.items()
                    if key not in ("type", "thinking")
                }
                return self._content("reasoning", text, {"thinking": None, **rest})
            case _:
                events = self._close_open()
                growing = self.draft.open("item")
                growing.rest = block
                return events + self.draft.close(growing)

    def _content(
        self,
        kind: Literal["text", "reasoning"],
        text: str,
        rest: Mapping[str, object] = {},
    ) -> list[StreamEvent]:
        """More of the content: of the open part if it is of this kind, else of a new one."""
        if not text:
            return []
        now = self._open
        if (
            now is not None
            and now.kind == kind
            and ("refusal" in now.rest) == ("refusal" in rest)
        ):
            if rest:
                now.rest.update(rest)
            return now.add(text)
        events = self._close_open()
        now = self._open = self.draft.open(kind)
        now.rest.update(rest)
        return events + now.add(text)

    def _close_open(self) -> list[StreamEvent]:
        now, self._open = self._open, None
        return [] if now is None else self.draft.close(now)

    def _call(self, call: dict[str, Any]) -> list[StreamEvent]:
        kind = get_text(call, "type") or "function"
        inner = (
            get_object(call, kind)
            or get_object(call, "function")
            or get_object(call, "custom")
        )
        growing, events = self._call_for(call, inner)
        if not growing.name and get_text(inner, "name"):
            growing.name = self.draft.named(get_text(inner, "name"))
        for key, value in {**call, **inner}.items():
            if key not in _CALL_READ and key != kind and value is not None:
                growing.rest[key] = value
        if kind != "function":
            growing.rest["type"] = kind
        arguments = inner.get("arguments", inner.get("input"))
        if isinstance(arguments, str):
            return events + (growing.add(arguments) if arguments else [])
        return (
            events
            if arguments is None
            else events + growing.add(bytes(written(arguments)).decode())
        )

    def _call_for(
        self, call: dict[str, Any], inner: Mapping[str, Any]
    ) -> tuple[Growing, list[StreamEvent]]:
        """The call a piece belongs to. Some servers number all calls 0, or none, and tell them apart by id alone."""
        call_id, index = get_text(call, "id"), call.get("index")
        known = self._calls.get(index) if isinstance(index, int) else self._latest
        differs = (
            known is not None
            and call_id not in ("", known.call_id)
            and bool(get_text(inner, "name"))
        )
        if known is not None and not differs:
            return known, []
        name = get_text(inner, "name")
        if not call_id and not name:
            self.draft.damage(f"arguments come for the call {index!r}, which never began")
        growing = self.draft.open_call(call_id, name)
        self._latest = growing
        if isinstance(index, int):
            self._calls[index] = growing
        return growing, growing.begun()

    def _keep(self, delta: Mapping[str, Any]) -> None:
        """Fields of the message that our types lack, joined over the chunks."""
        for key, value in delta.items():
            if key in _READ or not value or not isinstance(value, dict | list):
                continue
            held = self._fields.get(key)
            if isinstance(held, list) and isinstance(value, list):
                held += value
            elif isinstance(held, dict) and isinstance(value, dict):
                held |= value
            else:
                self._fields[key] = value

    def _end(self, said: str, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        self.draft.said = said or self.draft.said
        if said not in _FAILURES:
            return []
        return self.draft.fail({"error": {"code": said}, **chunk})

    def _close_all(self) -> list[StreamEvent]:
        self._settle()
        return [
            event for growing in self.draft.parts for event in self.draft.close(growing)
        ]

    def _settle(self) -> None:
        """The fields that our types lack as an item at the end, once."""
        if self._fields:
            self.draft.open("item").rest = {"type": "message_fields", **self._fields}
            self._fields = {}

    def _usage(
        self, chunk: Mapping[str, Any], data: bytes, choice: Mapping[str, Any] | None
    ) -> list[StreamEvent]:
        usage, raw = chunk.get("usage"), None
        if isinstance(usage, dict) and usage:
            raw = fields_of(data).get("usage")
        else:
            inside = choice.get("usage") if choice is not None else None
            usage = inside or get_object(chunk, "x_groq").get("usage")
        if not isinstance(usage, dict):
            return []
        self.draft.note_usage(usage, raw)
        return [UsageSeen(self.draft.usage(complete=False))] if self.draft.said else []

    def _stop(self) -> Stop:
        said: Stop = _STOPS.get(self.draft.said, "other") if self.draft.said else ""
        if said not in ("stop", ""):
            return said
        if self.draft.holds_call():
            return "tool_calls"
        return "refused" if self._refused else said


def _first_choice(chunk: Mapping[str, Any]) -> dict[str, Any] | None:
    """The first choice; ``None`` where there is none."""
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return None
    for choice in choices:
        if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
            return choice
    return None


_GROWING = ("text", "summary", "data")


def merge_details(held: list[dict[str, Any]], pieces: list[dict[str, Any]]) -> None:
    """Adds the pieces to the details held so far. A piece that fits the last detail makes it longer."""
    for piece in pieces:
        last = held[-1] if held else None
        if last is not None and _is_same(last, piece):
            _extend(last, piece)
        else:
            held.append(dict(piece))


def _is_same(detail: dict[str, Any], piece: dict[str, Any]) -> bool:
    if detail.get("type") != piece.get("type") or detail.get("index") != piece.get(
        "index"
    ):
        return False
    if detail.get("index") is None and piece.get("type") == "reasoning.encrypted":
        return False
    return not (detail.get("id") and piece.get("id") and detail["id"] != piece["id"])


def _extend(detail: dict[str, Any], piece: dict[str, Any]) -> None:
    for key, value in piece.items():
        before = detail.get(key)
        if key in _GROWING and isinstance(before, str) and isinstance(value, str):
            detail[key] = before + value
        elif value is not None:
            detail[key] = value

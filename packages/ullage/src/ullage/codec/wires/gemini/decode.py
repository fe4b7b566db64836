"""Gemini generateContent: the chunks of a stream, and whole answers.

https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/thought-signatures: a signature
belongs to the part it came on, so a part that carries one (or anything else without a word) is never joined to another;
text without any grows from chunk to chunk. The stream has no closing event: the chunk with a ``finishReason`` is the
last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from ullage.codec.draft import Draft, Growing
from ullage.codec.foreign import (
    Fields,
    fields_of,
    get_object,
    get_text,
    items_of,
    text_of,
)
from ullage.codec.stream import (
    Answer,
    PartDone,
    ServerEvent,
    Stop,
    StreamEvent,
    UsageSeen,
)

_STOPS: Final[dict[str, Stop]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "refused",
    "RECITATION": "refused",
    "LANGUAGE": "refused",
    "BLOCKLIST": "refused",
    "PROHIBITED_CONTENT": "refused",
    "SPII": "refused",
    "IMAGE_SAFETY": "refused",
    "IMAGE_PROHIBITED_CONTENT": "refused",
    "IMAGE_RECITATION": "refused",
    "MODEL_ARMOR": "refused",
}
"""https://ai.google.dev/api/generate-content#FinishReason"""

_WORDS: Final = frozenset({"text", "thought", "functionCall"})
_UNSAID: Final = frozenset({"", "FINISH_REASON_UNSPECIFIED"})
_PLAIN: Final = frozenset({"text", "thought"})
"""Fields of a part that holds text and nothing beside it."""


class GeminiDecoder:
    """One answer of the generateContent wire. See ``codec.wire.Decoder``."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.is_done = False
        self._open: Growing | None = None
        self._whole = False
        self._blocked = False
        self._latest = b""

    def feed(self, event: ServerEvent) -> list[StreamEvent]:
        data = event.data
        if (
            data == self._latest
        ):  # its running counts make every chunk another one: this is the same, sent twice
            return []
        self._latest = data
        chunk = self.draft.read(data)
        if chunk is None:
            return []
        if chunk.get("error"):
            return self.draft.fail(chunk)
        return self._chunk(chunk, data)

    def finish(self, complete: bool) -> Answer:
        return self.draft.answer(finished=self.is_done, stop=self._stop())

    def read(self, body: bytes) -> Answer:
        """A whole answer, not streamed: its parts stay as they were cut."""
        self._whole = True
        self.feed(ServerEvent(body))
        return self.finish(True)

    def _chunk(self, chunk: Mapping[str, Any], data: bytes) -> list[StreamEvent]:
        candidates = chunk.get("candidates") or [{}]
        candidate = candidates[0] if isinstance(candidates, list) else None
        content = (
            (candidate.get("content") or {}) if isinstance(candidate, dict) else None
        )
        parts = (content.get("parts") or []) if isinstance(content, dict) else None
        if candidate is None or not isinstance(parts, list):
            return self.draft.damage("a candidate holds no list of parts", data)
        events: list[StreamEvent] = []
        raw: list[msgspec.Raw] = []
        for index, part in enumerate(parts):
            if not isinstance(part, dict) or not isinstance(part.get("text", ""), str):
                return self.draft.damage("a part is no object, or its text no text", data)
            if ("text" in part and len(part) == 1) or part.keys() <= _PLAIN:
                events += self._plain(part)
                continue
            raw = raw or _raw_parts(data)
            self.draft.tally.hold(len(raw[index]))
            events += self._close_open()
            events += self._single(part, raw[index])
            if self.draft.tally.broken is not None:
                return events
        if "finishReason" in candidate or "promptFeedback" in chunk:
            events += self._end(candidate, chunk)
        self.draft.name(get_text(chunk, "modelVersion"), get_text(chunk, "responseId"))
        usage = chunk.get("usageMetadata")
        if isinstance(usage, dict) and usage:
            self.draft.note_usage(
                usage, fields_of(data).get("usageMetadata") if self.is_done else None
            )
            if self.is_done:
                events.append(UsageSeen(self.draft.usage(complete=True)))
        return events

    def _end(
        self, candidate: Mapping[str, Any], chunk: Mapping[str, Any]
    ) -> list[StreamEvent]:
        """What a chunk says of the answer's end: why the model stopped, or that the question was refused."""
        said = get_text(candidate, "finishReason")
        blocked = get_text(get_object(chunk, "promptFeedback"), "blockReason")
        if said in _UNSAID and not blocked:
            return []
        self._blocked = self._blocked or bool(blocked)
        self.draft.said = blocked or said
        self.is_done = True
        return self._close_open()

    def _plain(self, part: Mapping[str, Any]) -> list[StreamEvent]:
        """Text without anything beside it: of the open part if that is of its kind."""
        kind: Literal["text", "reasoning"] = (
            "reasoning" if part.get("thought") is True else "text"
        )
        text = get_text(part, "text")
        if not text:
            return []
        now = self._open
        if now is not None and now.kind == kind and not self._whole:
            return now.add(text)
        events = self._close_open()
        now = self._open = self.draft.open(kind)
        if (
            kind == "reasoning"
        ):  # what tells it apart goes back with it, for the answer goes back as it came
            now.rest["thought"] = True
        return events + now.add(text)

    def _single(self, part: Mapping[str, Any], whole: msgspec.Raw) -> list[StreamEvent]:
        """A part that stays by itself, with what came on it."""
        raw = fields_of(whole)
        rest: dict[str, object] = {
            key: value for key, value in raw.items() if key not in _WORDS
        }
        if isinstance(part.get("functionCall"), dict):
            return self._call(fields_of(raw["functionCall"]), rest)
        if isinstance(part.get("inlineData"), dict):
            return self._media(get_object(part, "inlineData"), rest)
        if "text" in part or part.keys() <= {"thoughtSignature", "thought"}:
            bare = part.get("thought") is True or "text" not in part
            growing = self.draft.open("reasoning" if bare else "text")
            # A reasoning part without text is a signature alone: how it was written is kept whole.
            growing.rest = dict(raw) if bare and not part.get("text") else rest
            return growing.add(get_text(part, "text")) + self.draft.close(growing)
        return self.draft.close(self.draft.open_item(whole))

    def _call(self, call: Fields, rest: dict[str, object]) -> list[StreamEvent]:
        growing = self.draft.open_call(text_of(call, "id"), text_of(call, "name"))
        growing.rest = {
            **rest,
            **{
                key: raw for key, raw in call.items() if key not in ("id", "name", "args")
            },
        }
        arguments = call.get("args")
        text = "" if arguments is None else bytes(arguments).decode("utf-8", "replace")
        return growing.begun() + growing.add(text) + self.draft.close(growing)

    def _media(
        self, inline: Mapping[str, Any], rest: dict[str, object]
    ) -> list[StreamEvent]:
        growing = self.draft.open("item")
        growing.is_whole = True
        growing.done = self.draft.media(
            growing.id, inline.get("mimeType"), get_text(inline, "data"), rest
        )
        return [PartDone(growing.done)]

    def _close_open(self) -> list[StreamEvent]:
        now, self._open = self._open, None
        return [] if now is None else self.draft.close(now)

    def _stop(self) -> Stop:
        if self.draft.said == "STOP" and self.draft.holds_call():
            return "tool_calls"
        return "refused" if self._blocked else _STOPS.get(self.draft.said, "other")


def _raw_parts(data: bytes) -> list[msgspec.Raw]:
    """The parts of the first candidate, as bytes."""
    candidates = items_of(fields_of(data).get("candidates"))
    content = fields_of(candidates[0]).get("content") if candidates else None
    return items_of(fields_of(content).get("parts"))

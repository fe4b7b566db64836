"""OpenAI Responses: the events of a stream, and whole answers.

https://platform.openai.com/docs/api-reference/responses-streaming. What is stored is the item of ``output_item.done``,
not the one that was ``added``: that one's encrypted content may be incomplete
(https://platform.openai.com/docs/api-reference/responses/object, ``encrypted_content``). Events carry a number, so one
that comes twice is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

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
)
from ullage.codec.stream import (
    Answer,
    ResponseHeld,
    ServerEvent,
    Stop,
    StreamEvent,
    UsageSeen,
)
from ullage.errors import ModelLoading

_INCOMPLETE: Final[dict[str, Stop]] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "max_prompt_tokens": "context_full",
}
"""``incomplete_details.reason``: https://platform.openai.com/docs/api-reference/responses/object"""

_TEXT_DELTAS: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})
_CALL_DELTAS: Final = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)
_REASONING_DELTAS: Final = {
    "response.reasoning_summary_text.delta": "summary_index",
    "response.reasoning_text.delta": "content_index",
}
_DELTAS: Final = _TEXT_DELTAS | _CALL_DELTAS | _REASONING_DELTAS.keys()
_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
_UNDER_WAY: Final = frozenset({"queued", "in_progress"})
_LAST: Final = _ENDS | {"error", "response.error"}
"""Events that are taken whatever their number is: gateways that make them themselves do not count."""
_CALLS: Final = frozenset({"function_call", "custom_tool_call"})
COMPACTED: Final = "response.compaction"
"""``object`` of an answer of ``/responses/compact``: ``compacted_response.py`` in openai 3.52."""


class ResponsesDecoder:
    """One answer of the Responses wire. See ``codec.wire.Decoder``."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.is_done = False
        self._parts: dict[tuple[int, int], Growing] = {}
        self._sections: dict[int, tuple[str, int]] = {}
        self._items: set[int] = set()
        self._places: dict[str, int] = {}
        self._number = -1
        self._has_gap = False
        self._lacks_beginning = False
        self._refused = False

    def feed(self, event: ServerEvent) -> list[StreamEvent]:
        fields = self.draft.read(event.data)
        if fields is None:
            return []
        kind = fields.get("type")
        if not isinstance(kind, str) or not kind:
            kind = event.name
        if not kind and fields.get("error"):
            return self.draft.fail(fields)
        if not kind:
            return self.draft.damage("a frame names no type", event.data)
        number = fields.get("sequence_number")
        if number == self._number + 1 and number:
            self._number = number
        elif isinstance(number, int) and self._is_repeated(number, is_last=kind in _LAST):
            return []
        if "output_index" not in fields:
            fields = self._placed(fields)
        if kind in _DELTAS:
            return self._delta(kind, fields, event)
        match kind:
            case "response.output_item.added":
                return self._added(_index(fields), get_object(fields, "item"))
            case "response.output_item.done":
                if not isinstance(fields.get("output_index"), int) or not isinstance(
                    fields.get("item"), dict
                ):
                    return self.draft.damage(
                        "an item ends without its content", event.data
                    )
                return self._done(_index(fields), fields_of(event.data).get("item"))
            case "response.created" | "response.in_progress" | "response.queued":
                return self._begun(get_object(fields, "response"))
            case "error" | "response.error":
                return self.draft.fail(fields)
            case _ if kind in _ENDS:
                if not isinstance(fields.get("response"), dict):
                    return self.draft.damage("it ends without its response", event.data)
                return self._end(
                    fields_of(event.data).get("response") or b"",
                    get_object(fields, "response"),
                )
        return []

    def _is_repeated(self, number: int, *, is_last: bool) -> bool:
        """Whether an event of this number came before. A number that is left out tells of a lost event.

        A lost event is harmless where the items that end the answer say all of it again; ``_end`` decides that. Some
        gateways number every event 0 (https://github.com/BerriAI/litellm/pull/28899) or leave numbers out
        (https://github.com/ENTERPILOT/GoModel/pull/953).
        """
        if number == 0 and (is_last or self._number == 0):
            return False
        if number <= self._number:
            self._has_gap = self._has_gap or number not in (
                self._number,
                self._number - 1,
            )
            return not is_last
        self._has_gap = self._has_gap or (
            self._number >= 0 and number != self._number + 1
        )
        self._number = number
        return False

    def _placed(self, fields: dict[str, Any]) -> dict[str, Any]:
        """An event with the place of its item, by the item's id.

        llama.cpp (Debian's package of 2026) names items by their ids alone, and calls by ``call_id``.
        """
        item = get_object(fields, "item")
        name = (
            get_text(fields, "item_id")
            or get_text(item, "id")
            or get_text(item, "call_id")
        )
        if not name:
            return fields
        index = self._places.setdefault(name, len(self._places))
        return {**fields, "output_index": index}

    def _delta(
        self, kind: str, fields: Mapping[str, Any], event: ServerEvent
    ) -> list[StreamEvent]:
        """A piece of a part that has not ended. Where its beginning was lost, the item itself must say it again."""
        index, text = fields.get("output_index"), fields.get("delta")
        if not isinstance(index, int) or not isinstance(text, str):
            return self.draft.damage(
                "a piece of text names no item or holds no text", event.data
            )
        if index in self._items:
            return self.draft.damage(
                f"text comes for the item {index}, which has ended", event.data
            )
        growing = self._parts.get((index, 0))
        if growing is None:
            self._lacks_beginning = True
        if kind in _TEXT_DELTAS:
            content = _index(fields, "content_index")
            part = (
                self._text_part(index, content) if content or growing is None else growing
            )
            if kind == "response.refusal.delta":
                self._refused = True
                part.rest["refusal"] = True
            return part.add(text)
        if kind in _CALL_DELTAS:
            if growing is None:
                return []
            if growing.kind != "call":
                return self.draft.damage(
                    f"arguments come for the item {index}, which is no call", event.data
                )
            return growing.add(text)
        return self._reasoning(fields, _REASONING_DELTAS[kind])

    def finish(self, complete: bool) -> Answer:
        return self.draft.answer(
            finished=self.is_done and self.draft.said != "cancelled", stop=self._stop()
        )

    def read(self, body: bytes) -> Answer:
        """A whole answer, not streamed."""
        response = self.draft.read(body)
        if response is None:
            return self.finish(False)
        if (
            response.get("error") or response.get("type") == "error"
        ) and not response.get("output"):
            self.draft.fail(response)
            return self.finish(False)
        output = response.get("output")
        if response.get("object") == COMPACTED:
            return self._compacted(body, response)
        if not are_objects(output):
            self.draft.damage("its output is no list of items", body)
            return self.finish(False)
        if not output and response.get("status") in _UNDER_WAY:
            self._name(response)
            self.draft.error = ModelLoading(
                "The answer is not complete yet. Ask for it again."
            )
            return self.finish(False)
        self._end(body, response)
        return self.finish(True)

    def _compacted(self, body: bytes, response: Mapping[str, Any]) -> Answer:
        """A compacted conversation: its items as they are, for they go back as they came."""
        whole = fields_of(body)
        self._name(response)
        for raw in items_of(whole.get("output")):
            self.draft.tally.hold(len(raw))
            self.draft.close(self.draft.open_item(raw))
        self.draft.note_usage(response.get("usage"), whole.get("usage"))
        self.draft.said = "completed"
        self.is_done = True
        return self.finish(True)

    def _name(self, response: Mapping[str, Any]) -> None:
        self.draft.name(get_text(response, "model"), get_text(response, "id"))

    def _begun(self, response: Mapping[str, Any]) -> list[StreamEvent]:
        self._name(response)
        if self.draft.is_held or response.get("background") is not True:
            return []
        self.draft.is_held = True
        return [ResponseHeld(self.draft.response_id)]

    def _text_part(self, item: int, content: int) -> Growing:
        growing = self._parts.get((item, content))
        if growing is None:
            growing = self._parts[item, content] = self.draft.open("text")
        return growing

    def _reasoning(self, fields: Mapping[str, Any], counter: str) -> list[StreamEvent]:
        """Readable reasoning: the summary's sections, or the text itself, whichever comes first."""
        item, section = _index(fields), _index(fields, counter)
        growing = self._parts.get((item, 0))
        if growing is None:
            growing = self._parts[item, 0] = self.draft.open("reasoning")
        before = self._sections.setdefault(item, (counter, section))
        if before[0] != counter or growing.kind != "reasoning":
            return []
        self._sections[item] = (counter, section)
        gap = "\n\n" if section != before[1] and counter == "summary_index" else ""
        return growing.add(gap + get_text(fields, "delta"))

    def _added(self, index: int, item: Mapping[str, Any]) -> list[StreamEvent]:
        """Keeps the item's place. Calls are shown at once, for their name; the rest when it says something."""
        if (index, 0) in self._parts or index in self._items:
            return []
        match get_text(item, "type"):
            case "reasoning":
                self._parts[index, 0] = self.draft.open("reasoning")
            case "message":
                self._parts[index, 0] = self.draft.open("text")
            case kind if kind in _CALLS:
                growing = self.draft.open_call(
                    get_text(item, "call_id"), get_text(item, "name")
                )
                self._parts[index, 0] = growing
                return growing.begun()
        return []

    def _done(self, index: int, raw: msgspec.Raw | None) -> list[StreamEvent]:
        """The item as it is kept. Text that no delta brought is shown now."""
        item = fields_of(raw)
        if raw is None or index in self._items or not item:
            return []
        self._items.add(index)
        self.draft.tally.hold(len(raw))
        match text_of(item, "type"):
            case "message":
                return self._message_done(index, item)
            case "reasoning":
                growing = self._parts.get((index, 0)) or self.draft.open("reasoning")
                text, rest = _reasoning_of(item)
                growing.rest = rest
                return self._settle(growing, text)
            case kind if kind in _CALLS:
                written = text_of(
                    item, "arguments" if kind == "function_call" else "input"
                )
                growing = self._parts.get((index, 0)) or self.draft.open_call(
                    text_of(item, "call_id"), text_of(item, "name")
                )
                known = (
                    ("call_id", "name", "arguments", "type")
                    if kind == "function_call"
                    else ("call_id", "name", "input")
                )
                growing.rest = _without(item, *known)
                return self._settle(growing, written)
            case _:
                return self.draft.close(self.draft.open_item(raw))

    def _message_done(self, index: int, item: Fields) -> list[StreamEvent]:
        """One part a block of content; each carries the message's own fields: id, status, phase."""
        events: list[StreamEvent] = []
        shared = _without(item, "type", "role", "content")
        for at, raw in enumerate(items_of(item.get("content"))):
            block = fields_of(raw)
            match text_of(block, "type"):
                case "output_text" | "text" as kind:
                    text, rest = text_of(block, "text"), _without(block, "type", "text")
                    rest |= {} if kind == "output_text" else {"type": kind}
                case "refusal":
                    self._refused = True
                    text, rest = text_of(block, "refusal"), {"refusal": True}
                case _:
                    growing = self.draft.open("item")
                    growing.rest = {**item, "content": [raw]}
                    events += self.draft.close(growing)
                    continue
            growing = self._text_part(index, at)
            growing.rest = {**rest, **shared} if text else {}
            events += self._settle(growing, text)
        return events

    def _settle(self, growing: Growing, text: str) -> list[StreamEvent]:
        """Closes a part with the text of its terminal item, showing what of it no delta brought."""
        if growing.is_whole:
            return []
        shown = growing.flow.original
        if text.startswith(shown):
            return growing.add(text[len(shown) :]) + self.draft.close(growing)
        growing.restart(text)
        return self.draft.close(growing)

    def _end(self, data: bytes, response: Mapping[str, Any]) -> list[StreamEvent]:
        """The response as a whole: items whose own events were left out, usage, and why it ended."""
        whole = fields_of(data)
        self._name(response)
        self.draft.verdict = read_verdict(response)
        events: list[StreamEvent] = []
        output = items_of(whole.get("output"))
        for index, raw in enumerate(output):
            events += self._done(index, raw)
            if self.draft.tally.broken is not None:
                return events
        if response.get("status") != "failed" and self._has_lost(len(output)):
            return [
                *events,
                *self.draft.damage(
                    "an event was lost, and its end does not say all of it again"
                ),
            ]
        self.draft.note_usage(response.get("usage"), whole.get("usage"))
        reason = get_text(get_object(response, "incomplete_details"), "reason")
        self.draft.said = reason or get_text(response, "status") or "completed"
        self.is_done = True
        if self.draft.usages:
            events.append(UsageSeen(self.draft.usage(complete=True)))
        if response.get("status") == "failed" or response.get("error"):
            events += self.draft.fail(response)
        return events

    def _has_lost(self, items: int) -> bool:
        """Whether an event was lost and the response that ends the answer, with ``items`` items, does not make up."""
        if not self._has_gap and not self._lacks_beginning:
            return False
        is_whole = all(growing.is_whole for growing in self.draft.parts)
        return not is_whole or (self._has_gap and items == 0)

    def _stop(self) -> Stop:
        if self.draft.said in _INCOMPLETE:
            return _INCOMPLETE[self.draft.said]
        if self.draft.said != "completed":
            return "other"
        if self.draft.holds_call():
            return "tool_calls"
        return "refused" if self._refused else "stop"


def _reasoning_of(item: Fields) -> tuple[str, dict[str, object]]:
    """The readable text, and the rest. A summary that the text gives back exactly is left out of the rest."""
    rest = _without(item, "type", "status")
    summary = parse(item["summary"]) if "summary" in item else None
    sections = (
        [get_text(one, "text") for one in summary if isinstance(one, dict)]
        if isinstance(summary, list)
        else []
    )
    text = "\n\n".join(sections)
    if (
        summary == ([{"type": "summary_text", "text": text}] if text else [])
        and "content" not in rest
    ):
        del rest["summary"]
    if not text and "content" in item:
        content = parse(item["content"])
        blocks = content if isinstance(content, list) else []
        text = "".join(get_text(one, "text") for one in blocks if isinstance(one, dict))
    return text, rest


def _without(item: Fields, *known: str) -> dict[str, object]:
    """The fields that our types lack, without nulls; an empty list may be required."""
    return {
        key: raw
        for key, raw in item.items()
        if key not in known and bytes(raw) != b"null"
    }


def _index(fields: Mapping[str, Any], name: str = "output_index") -> int:
    index = fields.get(name)
    return index if isinstance(index, int) else 0

"""Messages in a wire's own form, each answer with what its call used beside it: plain JSON, and logs like it."""

from __future__ import annotations

from typing import Final

import msgspec

import ullage.importers.fields as f
from ullage.codec.bodies import detect_wire, read_body_items
from ullage.codec.dialects import dialect_for, normalise
from ullage.codec.wires import WIRES
from ullage.errors import InvalidRequest
from ullage.importers.fields import JsonObject
from ullage.importers.reader import Reader
from ullage.messages import Message, SystemBlock, TextPart, clean_text
from ullage.models.providers import NO_PROVIDER, provider_named, vendors_of
from ullage.usage import Usage

ITEM_KINDS: Final = (
    "function_call",
    "function_call_output",
    "reasoning",
    "custom_tool_call",
    "custom_tool_call_output",
)

_BESIDE: Final = (
    "usage",
    "usageMetadata",
    "model",
    "provider",
    "timestamp",
    "created_at",
    "stop_reason",
    "finish_reason",
)
"""Fields that logs put on a message and that no request holds there."""


class ConversationReader(Reader):
    """Collects messages, and reads them as one request's when all are there: only then is their wire known.

    What a program's own reader adds to an answer: ``usage`` in the reader's ``dialect`` (else in the wire's),
    ``model``, ``provider`` (empty: the model's vendor), ``timestamp``. A message that is no answer has a ``usage`` if
    it stands in place of one that was not kept.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[JsonObject] = []
        self.model = ""

    def use_prompt(self, text: str) -> None:
        """The system prompt; none if empty."""
        if text:
            self.rows.unlogged = ("tools",)
            self.rows.use_system([SystemBlock(text=clean_text(text).text)])

    def close(self) -> None:
        raw, self.messages = self.messages, []
        if not raw:
            return
        items = any(f.text(each, "type") in ITEM_KINDS for each in raw)
        bare = [
            {key: value for key, value in each.items() if key not in _BESIDE}
            for each in raw
        ]
        body: JsonObject = {"input" if items else "messages": bare}
        try:
            wire = detect_wire({**body, "model": self.model, "max_tokens": 1})
            read = read_body_items(body, wire=wire, model=self.model)
        except InvalidRequest as why:
            self.skip(f"messages of no known wire: {str(why)[:80]}")
            return
        request, rows = read.request, self.rows
        asked = next((each for each in raw if "provider" in each), None)
        if asked is None:
            model = self.model or rows.model or "unknown"
            rows.use_model(model, request.wire, request.provider)
        else:
            self._ask(asked)
        has_system = rows.system or request.system
        rows.unlogged = ("tools",) if has_system else ("system", "tools")
        rows.use_system([*rows.system, *request.system])
        for message, places in zip(request.messages, read.items, strict=True):
            told = [raw[place] for place in places]
            self._say(message, next((each for each in told if "usage" in each), told[0]))

    def _ask(self, raw: JsonObject) -> None:
        """The model that an answer names, on the wire of who serves it."""
        model = f.text(raw, "model")
        served = provider_named(f.text(raw, "provider"))
        if not served.name:
            served = next(vendors_of(model), NO_PROVIDER)
        wire = served.wire if served.wire in WIRES else "chat"
        self.rows.use_model(model, wire, served.name)

    def _say(self, message: Message, raw: JsonObject) -> None:
        rows = self.rows
        rows.at = f.seconds(raw.get("timestamp", raw.get("created_at"))) or rows.at
        if message.id in rows.messages:
            message = msgspec.structs.replace(message, id=rows.unique(message.id))
        if "provider" in raw:
            self._ask(raw)
        usage = self.usage_of(raw)
        is_answer = usage is not None and message.role == "assistant"
        if usage is not None:
            rows.call(
                f.text(raw, "id"),
                message if is_answer else None,
                usage,
                model=f.text(raw, "model"),
                stop=stop_of(raw),
                stream=False,
            )
        if not is_answer:
            rows.add(message)
            self.notice(message)

    def usage_of(self, response: JsonObject) -> Usage | None:
        """What the call of an answer used; ``None`` where it does not say."""
        raw = f.mapping(response, "usage") or f.mapping(response, "usageMetadata")
        if not raw or self.dialect:
            return self.usage(raw)
        rows = self.rows
        return normalise(dialect_for(rows.wire, rows.provider, rows.model), raw)

    def notice(self, message: Message) -> None:
        """Takes the first words of a person for the title."""
        if message.role == "user":
            texts = (part.text for part in message.parts if isinstance(part, TextPart))
            self.prompted(next(texts, ""))


def stop_of(response: JsonObject) -> str:
    """Why an answer ended, as its provider says it; empty where it does not."""
    choice = next(
        iter(f.objects(response, "choices") or f.objects(response, "candidates")),
        response,
    )
    reasons = (
        f.text(choice, key)
        for key in ("finish_reason", "stop_reason", "finishReason", "status")
    )
    return next(filter(None, reasons), "")

"""Plain JSON in the providers' own formats: a request body, a list of messages, JSON lines of messages or of exchanges.

What one line, or a whole file, may hold:

* the body of a request (``messages``, ``input`` or ``contents``), with its answer under ``response`` if there was one;
* ``{"request": body, "response": answer}``: an exchange; each following one is read as the same conversation going on;
* a message with a ``role``, or a list of them; an assistant's message may carry the ``usage`` of its call.

Formats: https://platform.claude.com/docs/en/api/messages, https://platform.openai.com/docs/api-reference/chat,
https://platform.openai.com/docs/api-reference/responses, https://ai.google.dev/api/generate-content. They are read by
``codec.bodies``, which names messages by their content: what a later request repeats is recognised as the same.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

import ullage.importers.fields as f
from ullage.codec.bodies import detect_wire, read_body, read_output
from ullage.codec.dialects import dialect_for, normalise
from ullage.errors import InvalidRequest
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.reader import Reader
from ullage.messages import Message, Request, TextPart
from ullage.usage import Usage

_ANSWER = ("choices", "candidates", "output", "usage", "usageMetadata", "stop_reason")
_BESIDE_BODY = {"response", "usage", "timestamp"}
"""What a log puts beside the fields of a body."""

_ITEM_KINDS = (
    "function_call",
    "function_call_output",
    "reasoning",
    "custom_tool_call",
    "custom_tool_call_output",
)


class PlainReader(Reader):
    """Reads request bodies, exchanges and messages."""

    format: ClassVar[str] = "plain"

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._messages: list[JsonObject] = []
        """Single messages: which wire they are for is only known from all of them."""
        self._model = ""
        self._last: Request | None = None

    def accept(self, entry: object) -> None:
        if isinstance(entry, list):
            found = [
                each for each in entry if isinstance(each, dict) and is_message(each)
            ]
            if not found:
                raise Unusable("a list without messages")
            self._messages += found
            return
        super().accept(entry)

    def read(self, entry: JsonObject) -> None:
        self.rows.at = (
            f.seconds(
                entry.get("timestamp", entry.get("created_at", entry.get("created")))
            )
            or self.rows.at
        )
        request = f.mapping(entry, "request") or f.mapping(entry, "body")
        response = f.mapping(entry, "response")
        body = request if _is_body(request) else entry
        if _is_body(body):
            self._close_messages()
            if body is entry:
                kept = (key for key in entry if key not in _BESIDE_BODY)
                body = {key: entry[key] for key in kept}
            told = {key: entry[key] for key in ("usage", "error") if key in entry}
            self._exchange(body, response or told)
        elif is_message(entry) and not _is_answer(entry):
            self._model = f.text(entry, "model") or self._model
            self._messages.append(entry)
        elif _is_answer(response or entry):
            self._close_messages()
            self._answer(self._last, response or entry)
        else:
            raise Unusable("neither a request, an answer nor a message")

    def close(self) -> None:
        self._close_messages()

    # -- requests and answers --

    def _exchange(self, body: JsonObject, response: JsonObject) -> None:
        try:
            request = read_body(
                body, model=f.text(body, "model") or f.text(response, "model")
            )
        except InvalidRequest as why:
            raise Unusable(f"no request of a known wire: {str(why)[:80]}") from None
        self._follow(request)
        if response:
            self._answer(request, response)

    def _follow(self, request: Request) -> None:
        """The conversation as this request has it: what it repeats stays, what it lacks left the view."""
        rows = self.rows
        rows.use_model(request.model or rows.model, request.wire, request.provider)
        rows.use_system(request.system)
        rows.use_tools(request.tools)
        if request.params != (self._last.params if self._last else {}):
            rows.use_params(decode_line(f.raw_json(request.params)))
        view = list(rows.view)
        same = 0
        for ours, theirs in zip(view, request.messages, strict=False):
            if ours != theirs.id:
                break
            same += 1
        if same < len(view):
            rows.rewind(view[same - 1] if same else "")
        for message in request.messages[same:]:
            rows.add(message)
            self._notice(message)
        self._last = request

    def _answer(self, request: Request | None, response: JsonObject) -> None:
        """The answer to a request: its message, its usage, or the error that came instead."""
        rows = self.rows
        if not rows.wire:
            raise Unusable("an answer without a request before it")
        model = f.text(response, "model") or f.text(response, "modelVersion")
        name = f.text(response, "id")
        error = response.get("error")
        if error:
            said = f.text(error, "message") if isinstance(error, dict) else str(error)
            rows.call(name, None, None, outcome="failed", error=said[:500], model=model)
            return
        stream = request.stream if request is not None else False
        usage = self._usage(response)
        try:
            message = read_output(
                rows.wire,
                response,
                provider=rows.provider,
                model=rows.model,
                after=request,
            )
        except InvalidRequest as why:
            raise Unusable(str(why)[:80]) from None
        answer = (
            message
            if message.parts and any(key in response for key in _CONTENT)
            else None
        )
        rows.call(name, answer, usage, stop=_stop(response), model=model, stream=stream)

    def _usage(self, response: JsonObject) -> Usage | None:
        raw = f.mapping(response, "usage") or f.mapping(response, "usageMetadata")
        rows = self.rows
        return (
            normalise(dialect_for(rows.wire, rows.provider, rows.model), raw)
            if raw
            else None
        )

    # -- messages --

    def _close_messages(self) -> None:
        """All single messages so far are one request's; answers that carry a usage are calls."""
        raw, self._messages = self._messages, []
        if not raw:
            return
        items = any(f.text(each, "type") in _ITEM_KINDS for each in raw)
        bare = [
            {key: value for key, value in each.items() if key not in _BESIDE}
            for each in raw
        ]
        body: JsonObject = {"input" if items else "messages": bare}
        try:
            wire = detect_wire({**body, "model": self._model, "max_tokens": 1})
            request = read_body(body, wire=wire, model=self._model)
        except InvalidRequest as why:
            self.skip(f"messages of no known wire: {str(why)[:80]}")
            return
        rows = self.rows
        rows.use_model(
            self._model or rows.model or "unknown", request.wire, request.provider
        )
        rows.use_system([*rows.system, *request.system])
        usages = [
            each
            for each in raw
            if f.text(each, "role") == "assistant" or (items and "usage" in each)
        ]
        answers = iter(usages)
        for message in request.messages:
            self._say(message, next(answers, {}) if message.role == "assistant" else {})

    def _say(self, message: Message, raw: JsonObject) -> None:
        rows = self.rows
        rows.at = f.seconds(raw.get("timestamp", raw.get("created_at"))) or rows.at
        if message.id in rows.messages:
            message = msgspec.structs.replace(message, id=rows.unique(message.id))
        usage = self._usage(raw)
        if usage is None:
            rows.add(message)
            self._notice(message)
        else:
            rows.call(
                f.text(raw, "id"),
                message,
                usage,
                model=f.text(raw, "model"),
                stop=_stop(raw),
                stream=False,
            )

    def _notice(self, message: Message) -> None:
        if message.role == "user":
            self.prompted(
                next(
                    (part.text for part in message.parts if isinstance(part, TextPart)),
                    "",
                )
            )


_BESIDE = (
    "usage",
    "usageMetadata",
    "model",
    "timestamp",
    "created_at",
    "stop_reason",
    "finish_reason",
)
"""Fields that logs put on a message and that no request holds there."""

_CONTENT = ("content", "choices", "output", "candidates", "message")


def _is_body(entry: JsonObject) -> bool:
    """Whether an object is the body of a request: one with no message in it is of another program."""
    said = any(is_message(each) for each in f.objects(entry, "messages"))
    shown = any("parts" in each for each in f.objects(entry, "contents"))
    return said or shown or isinstance(entry.get("input"), list | str)


def is_message(entry: JsonObject) -> bool:
    """Whether an object is one message, or one item of a conversation."""
    if f.text(entry, "role") in (
        "system",
        "developer",
        "user",
        "assistant",
        "tool",
        "function",
        "model",
    ):
        return any(
            key in entry
            for key in ("content", "tool_calls", "parts", "function_call", "refusal")
        )
    return f.text(entry, "type") in _ITEM_KINDS


def _is_answer(entry: JsonObject) -> bool:
    if (
        f.text(entry, "object") in ("chat.completion", "response")
        or f.text(entry, "type") == "message"
    ):
        return any(key in entry for key in _ANSWER)
    return "choices" in entry or "candidates" in entry


def _stop(response: JsonObject) -> str:
    choice = next(
        iter(f.objects(response, "choices") or f.objects(response, "candidates")),
        response,
    )
    reasons = (
        f.text(choice, key)
        for key in ("finish_reason", "stop_reason", "finishReason", "status")
    )
    return next(filter(None, reasons), "")


def is_plain(entry: object) -> bool:
    """Whether a value is plain JSON of a known form: a request, a message, or a list of messages."""
    if isinstance(entry, list):
        return any(isinstance(each, dict) and is_message(each) for each in entry)
    if not isinstance(entry, dict):
        return False
    body = f.mapping(entry, "request") or f.mapping(entry, "body") or entry
    if "input" in body and not {"model", "instructions"} & body.keys():
        return is_message(entry)
    return _is_body(body) or is_message(entry)

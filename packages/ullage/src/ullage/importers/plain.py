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

import ullage.importers.fields as f
from ullage.codec.bodies import read_body, read_output
from ullage.errors import InvalidRequest
from ullage.importers.conversation import ITEM_KINDS, ConversationReader, stop_of
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.messages import Request

_ANSWER = ("choices", "candidates", "output", "usage", "usageMetadata", "stop_reason")
_BESIDE_BODY = {"response", "usage", "timestamp"}
"""What a log puts beside the fields of a body."""


class PlainReader(ConversationReader):
    """Reads request bodies, exchanges and messages."""

    format = "plain"
    unlogged = ()
    """The body of a request is all that is sent."""

    def __init__(self) -> None:
        super().__init__()
        self._last: Request | None = None

    def accept(self, entry: object) -> None:
        if isinstance(entry, list):
            found = [
                each for each in entry if isinstance(each, dict) and is_message(each)
            ]
            if not found:
                raise Unusable("a list without messages")
            self.messages += found
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
            self.close()
            if body is entry:
                kept = (key for key in entry if key not in _BESIDE_BODY)
                body = {key: entry[key] for key in kept}
            told = {key: entry[key] for key in ("usage", "error") if key in entry}
            self._exchange(body, response or told)
        elif is_message(entry) and not _is_answer(entry):
            self.model = f.text(entry, "model") or self.model
            self.messages.append(entry)
        elif _is_answer(response or entry):
            self.close()
            self._answer(self._last, response or entry)
        else:
            raise Unusable("neither a request, an answer nor a message")

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
            self.notice(message)
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
        usage = self.usage_of(response)
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
        rows.call(name, answer, usage, stop=stop_of(response), model=model, stream=stream)


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
    return f.text(entry, "type") in ITEM_KINDS


def _is_answer(entry: JsonObject) -> bool:
    if (
        f.text(entry, "object") in ("chat.completion", "response")
        or f.text(entry, "type") == "message"
    ):
        return any(key in entry for key in _ANSWER)
    return "choices" in entry or "candidates" in entry


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

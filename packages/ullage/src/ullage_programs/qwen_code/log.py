"""qwen-code's chats: ``~/.qwen/projects/<directory>/chats/<id>.jsonl``.

Source: the npm package ``@qwen-code/qwen-code`` 0.24.4 (https://github.com/QwenLM/qwen-code,
``packages/core/src/services/chatRecordingService.ts`` and ``sessionService.ts``). Records form a tree by ``uuid`` and
``parentUuid``; messages are Google's ``Content`` whatever API the program asks.

* ``assistant`` records carry the usage of their own call and ``contextWindowSize``, the program's own limit.
* ``ui_telemetry`` has an ``api_response`` for every request, those that are not in the chat included: ``prompt_id`` is
  ``compress-…`` for a summary, ``subagent_name`` names subagents, and ``managed-…`` are the program's own. A request of
  the conversation is reported there first, and again with its answer. The summaries of an automatic compaction have
  the ``prompt_id`` of the conversation, and no answer: they are what is reported since the last message (6 of 6 in a
  log of 0.24.4, two for each compaction).
* ``chat_compression`` holds the whole history after it.

System prompt and tools are not logged.
"""

from __future__ import annotations

import msgspec

import ullage.importers.fields as f
from ullage.events import Purpose
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.parts import LogParts, likely_provider
from ullage.importers.reader import LogFormat, Reader
from ullage.importers.replaced import replace_history
from ullage.importers.tree import Tree
from ullage.messages import (
    Message,
    Origin,
    Part,
    ResultContent,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

WRITTEN_AS = "generateContent"
"""The form of all messages."""

WIRE_OF = {
    "openai": "chat",
    "qwen-oauth": "chat",
    "openai-responses": "responses",
    "anthropic": "messages",
    "gemini": "generateContent",
    "vertex-ai": "generateContent",
}
"""The wire of each ``auth_type``: ``AuthType`` in ``packages/core/src/core/contentGenerator.ts``."""

MOST_WAITING = 16
"""Reports without an answer; of more than these the oldest are no summaries."""

COMPRESSION = "compress-"
AUTOMATIC = "token_limit"
"""The ``triggerReason`` of a compaction that the program started by itself."""

OWN_AGENTS = "managed-"


class QwenCodeReader(Reader):
    """Reads one chat of qwen-code."""

    format = "qwen-code"

    def __init__(self) -> None:
        super().__init__()
        self.tree = Tree(self.rows)
        self._reported: list[JsonObject] = []
        """Reports of requests of the conversation, until an answer or a compaction comes."""
        self._wire = "chat"

    def read(self, entry: JsonObject) -> None:
        rows = self.rows
        self.dated(entry)
        rows.session = f.text(entry, "sessionId") or rows.session
        rows.cwd = rows.cwd or f.text(entry, "cwd")
        rows.is_subagent = entry.get("isSidechain") is True
        if rows.program == self.format:
            rows.program = f"qwen-code {f.text(entry, 'version')}".strip()
        parent = f.text(entry, "parentUuid")
        if parent:
            self.tree.follow(parent)
        before = rows.tip
        try:
            self._entry(entry)
        finally:
            ending = "" if rows.tip == before else rows.tip
            self.tree.place(f.text(entry, "uuid"), parent, ending)

    def close(self) -> None:
        self._unanswered()

    def _entry(self, entry: JsonObject) -> None:
        message = f.mapping(entry, "message")
        match f.text(entry, "type"):
            case "system":
                self._system(f.text(entry, "subtype"), f.mapping(entry, "systemPayload"))
            case _ if f.text(entry, "subtype") == "realtime_message":
                pass
            case "assistant":
                self._answer(entry, message)
            case "user" | "tool_result":
                self._message(entry, message)
            case "":
                raise Unusable("no `type`")
            case kind:
                raise Unusable(f"unknown kind of record: {kind[:40]}")

    # -- messages --

    def _message(self, entry: JsonObject, message: JsonObject) -> None:
        self._unanswered()
        name = self.rows.unique(f.text(entry, "uuid"))
        made = self._made(name, message)
        if not made.parts:
            raise Unusable("message without content")
        is_prompt = f.text(entry, "provenance") in ("", "real_user")
        if made.role == "user" and is_prompt:
            self.prompted(_text_of(made))
            made = msgspec.structs.replace(made, origin="said")
        self.rows.add(made)

    def _answer(self, entry: JsonObject, message: JsonObject) -> None:
        rows = self.rows
        model = f.text(entry, "model") or rows.model
        self._answered()
        rows.use_model(model, self._wire, likely_provider(model, self._wire))
        rows.learn_window(model, f.count(entry, "contextWindowSize"))
        name = rows.unique(f.text(entry, "uuid"))
        answer = self._made(name, message)
        usage = self.usage(f.mapping(entry, "usageMetadata"))
        rows.call(name, answer if answer.parts else None, usage, model=model)

    def _made(
        self, name: str, content: JsonObject, origin: Origin = "injected"
    ) -> Message:
        """A message of Google's form."""
        rows = self.rows
        reader = LogParts(name, WRITTEN_AS, provider=rows.provider, model=rows.model)
        parts: list[Part] = []
        has_results = False
        for piece in f.objects(content, "parts"):
            response = f.mapping(piece, "functionResponse")
            if response:
                has_results = True
                parts.append(
                    reader.make.result(
                        response.get("id"),
                        _result_content(reader, response),
                        name=response.get("name"),
                        is_error="error" in f.mapping(response, "response"),
                    )
                )
            else:
                parts += reader.read([piece])
        role: Role = "assistant" if f.text(content, "role") == "model" else "user"
        if has_results:
            role = "tool"
        if role == "assistant":
            origin = "said"
        return Message(id=name, role=role, parts=tuple(parts), origin=origin)

    # -- what the program notes --

    def _system(self, subtype: str, payload: JsonObject) -> None:
        match subtype:
            case "ui_telemetry":
                self._telemetry(f.mapping(payload, "uiEvent"))
            case "chat_compression":
                self._compression(payload)
            case "custom_title":
                source = (
                    "program" if f.text(payload, "titleSource") == "auto" else "person"
                )
                self.titles[source] = f.text(payload, "customTitle")

    def _telemetry(self, event: JsonObject) -> None:
        match f.text(event, "event.name"):
            case "qwen-code.api_response":
                self._request(event)
            case "qwen-code.api_error":
                self._unanswered()
                self.rows.call(
                    "",
                    None,
                    None,
                    purpose=_purpose(event),
                    outcome="failed",
                    error=(f.text(event, "error_message") or f.text(event, "error"))[
                        :500
                    ],
                    model=f.text(event, "model"),
                )

    def _request(self, event: JsonObject) -> None:
        purpose = _purpose(event)
        self._wire = WIRE_OF.get(f.text(event, "auth_type"), self._wire)
        if purpose == "child":
            self.subagents.add(f.text(event, "subagent_name"))
        if purpose != "main":
            self._spend(event, purpose)
            return
        self._reported.append(event)
        if len(self._reported) > MOST_WAITING:
            self._spend(self._reported.pop(0), "other")

    def _answered(self) -> None:
        """The last report is that of this answer."""
        if self._reported:
            self._reported.pop()
        self._unanswered()

    def _unanswered(self, purpose: Purpose = "other") -> None:
        """Requests of the conversation whose answers were not logged: they were cancelled, or empty, or summaries."""
        waiting, self._reported = self._reported, []
        for event in waiting:
            self._spend(event, purpose)

    def _spend(self, event: JsonObject, purpose: Purpose) -> None:
        model = f.text(event, "model")
        self.rows.call("", None, self.usage(event), purpose=purpose, model=model)

    def _compression(self, payload: JsonObject) -> None:
        rows = self.rows
        info = f.mapping(payload, "info")
        is_automatic = f.text(info, "triggerReason") == AUTOMATIC
        self._unanswered("summary" if is_automatic else "other")
        if not isinstance(payload.get("compressedHistory"), list):
            return
        history: list[Message] = []
        for content in f.objects(payload, "compressedHistory"):
            role: Role = "assistant" if f.text(content, "role") == "model" else "user"
            name = rows.reserve(role)
            history.append(
                self._made(name, content, "injected" if history else "summary")
            )
        history.extend(self._pending(history))
        is_in_turn = bool(history and history[-1].of_type(ToolResultPart))
        replace_history(
            rows,
            history,
            trigger=f.text(info, "triggerReason") or "qwen-code",
            is_automatic=is_automatic,
            before=f.count(info, "originalTokenCount"),
            puts_back=is_automatic and is_in_turn,
        )

    def _pending(self, history: list[Message]) -> list[Message]:
        """The results that the next request sends behind this history: of calls at its end, logged before it."""
        open_calls: set[str] = set()
        for message in history:
            open_calls.update(call.call_id for call in message.of_type(ToolCallPart))
            for result in message.of_type(ToolResultPart):
                open_calls.discard(result.call_id)
        pending: list[Message] = []
        for name in self.rows.view:
            message = self.rows.messages[name]
            results = message.of_type(ToolResultPart)
            if any(result.call_id in open_calls for result in results):
                pending.append(message)
        return pending


def _purpose(event: JsonObject) -> Purpose:
    agent = f.text(event, "subagent_name")
    if f.text(event, "prompt_id").startswith(COMPRESSION):
        return "summary"
    if agent:
        return "other" if agent.startswith(OWN_AGENTS) else "child"
    return "main" if "########" in f.text(event, "prompt_id") else "other"


def _result_content(reader: LogParts, response: JsonObject) -> list[ResultContent]:
    """What a tool gave, as the program sends it to APIs other than Google's: its text alone, then media."""
    held = f.mapping(response, "response")
    given = held.get("output", held.get("error"))
    text = given if isinstance(given, str) else f.as_json(held)
    content: list[ResultContent] = [reader.make.text(text)]
    for part in reader.read(f.objects(response, "parts")):
        if isinstance(part, ResultContent):
            content.append(part)
    return content


def _text_of(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


def fits(entry: JsonObject) -> bool:
    """Whether a line is one of qwen-code's records."""
    if not entry.keys() >= {"uuid", "sessionId"}:
        return False
    has_payload = isinstance(entry.get("systemPayload"), dict)
    return has_payload or isinstance(f.mapping(entry, "message").get("parts"), list)


FORMAT = LogFormat(
    "qwen-code",
    fits,
    "no record with a sessionId and a message of parts",
    QwenCodeReader,
    is_tried_first=True,
)
"""Its records have the ids of Claude Code's."""

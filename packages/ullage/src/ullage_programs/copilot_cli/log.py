"""Copilot CLI's sessions: ``~/.copilot/session-state/<id>/events.jsonl``.

Source: https://github.com/github/copilot-sdk, ``nodejs/src/generated/session-events.ts``, and logs of the npm package
``@github/copilot`` 1.0.102 (88 lines of one session, 12 of 12 inputs those of its bills).

* ``session.usage_record`` has the usage of one call, before the ``assistant.message`` with the same ``apiCallId``, and
  ``maxPromptTokens``, the program's own limit. Events of a subagent have an ``agentId``.
* ``system.message`` is the system prompt; of the tools only their number and size is logged.
* Some versions write no usage of a call (1.0.12 to 1.0.68), but all of them ``outputTokens`` of each answer, and
  ``session.shutdown`` what the window holds by the program's own count, and the tokens of each model.
* After ``session.compaction_complete`` one message holds what the user said and the summary. A compaction runs beside
  the conversation: what came after its ``session.compaction_start`` stays as it is.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import ullage.importers.fields as f
from ullage.events import Amount, Purpose
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.parts import likely_provider
from ullage.importers.reader import LogFormat, Reader
from ullage.messages import (
    Message,
    Origin,
    Part,
    ResultContent,
    SystemBlock,
    TextPart,
    clean_text,
)
from ullage.meter.spent_calls import UNLOGGED
from ullage_programs.copilot_cli.facts import FACTS
from ullage_programs.policy import COPILOT_COUNT_DOUBT, MOST_MODELS

WIRE_OF = {
    "/v1/messages": "messages",
    "/chat/completions": "chat",
    "/responses": "responses",
}
"""The wire of each ``apiEndpoint``."""

_WHOLE_BLOCKS = "anthropic-messages"
"""``reasoningBlocks`` of this ``provider`` are the blocks that are sent back."""

_OWN_CALLS = ("", "conversation-agent")
"""``interactionType`` of the calls that are the conversation's."""

KINDS: Final = (
    "inputTokens",
    "outputTokens",
    "cacheReadTokens",
    "cacheWriteTokens",
)
"""The tokens of a usage, also where it is a model's in the session's totals. Reasoning is a part of the output."""

AUTOMATIC = "threshold"
"""The ``trigger`` of a compaction that the program started by itself."""

_SUMMARY = (
    "Some of the conversation history has been summarized to free up context.\n\n"
    "You were originally given instructions from a user over one or more turns. "
    "Here were the user messages:\n",
    "\n\nHere is a summary of the prior context:\n<summary>\n",
    "\n</summary>",
)
"""What the program sends around a summary (seen in the requests of 1.0.102). Its length counts."""


class _Compacting(NamedTuple):
    """A compaction that has begun, and what it summarises."""

    view: frozenset[str]
    asked: int
    """How many of the user's messages."""
    tokens: int | None
    """What the program counted."""


class CopilotCliReader(Reader):
    """Reads one session of Copilot CLI."""

    format = "copilot-cli"
    wire = "chat"

    def __init__(self) -> None:
        super().__init__()
        self._reported: JsonObject = {}
        """The usage of a call of the conversation, until its answer comes."""
        self._is_billed = False
        """Whether such a usage was there: then Copilot's own count, of no model's tokenizer, says less."""
        self._before: dict[str, str] = {}
        """For each event, the message that the view ended with before it."""
        self._asked: list[str] = []
        """What the user said since the last compaction."""
        self._compacting: _Compacting | None = None
        self._logged: Counter[tuple[str, str]] = Counter()
        """Tokens by model and kind that the log has shown of calls since the last totals."""
        self._began: float | None = None
        self._totals: Counter[tuple[str, str]] = Counter()
        """The last totals, and when what they are of began."""
        self.rows.program = self.format

    def read(self, entry: JsonObject) -> None:
        rows = self.rows
        self.dated(entry)
        kind = f.text(entry, "type")
        data = f.mapping(entry, "data")
        self._before[f.text(entry, "id")] = rows.tip
        if agent := f.text(entry, "agentId") or f.text(data, "parentToolCallId"):
            self.subagents.add(agent)
            if kind == "session.usage_record":
                self._spend(f.mapping(data, "usage"), "child")
            return
        match kind:
            case "session.start":
                self._start(data)
            case "system.message":
                content = clean_text(f.text(data, "content")).text
                rows.use_system([SystemBlock(text=content)])
            case "user.message":
                self._user(data)
            case "session.usage_record":
                self._report(f.mapping(data, "usage"))
            case "assistant.message":
                self._answer(data)
            case "tool.execution_complete":
                self._result(data)
            case "session.compaction_start":
                self._begin_compaction(data)
            case "session.compaction_complete":
                self._compaction(data)
            case "session.snapshot_rewind":
                rows.rewind(self._before.get(f.text(data, "upToEventId"), rows.tip))
            case "session.context_cleared":
                rows.rewind("")
            case "session.shutdown":
                self._shutdown(data)
            case "session.title_changed":
                self.titles["program"] = f.text(data, "title")
            case "":
                raise Unusable("no `type`")
            case _ if "." not in kind and kind != "abort":
                raise Unusable(f"unknown kind of event: {kind[:40]}")

    def close(self) -> None:
        self._unanswered()

    def _start(self, data: JsonObject) -> None:
        rows = self.rows
        rows.session = f.text(data, "sessionId") or rows.session
        rows.cwd = f.text(f.mapping(data, "context"), "cwd")
        rows.program = f"{self.format} {f.text(data, 'copilotVersion')}".strip()

    # -- messages --

    def _user(self, data: JsonObject) -> None:
        self._unanswered()
        said = f.text(data, "content")
        name = self.rows.unique(f.text(data, "messageId"))
        text = self.parts(name).make.text(f.text(data, "transformedContent") or said)
        if not text.text:
            raise Unusable("message without content")
        origin: Origin = "said"
        if f.text(data, "source") not in ("", "user"):
            origin = "injected"
        else:
            self.prompted(said)
            self._asked.append(said)
        self.rows.say(name, "user", [text], origin)

    def _answer(self, data: JsonObject) -> None:
        rows = self.rows
        usage, self._reported = self._reported, {}
        if usage and f.text(usage, "apiCallId") != f.text(data, "apiCallId"):
            self._spend(usage, "other")
            usage = {}
        if not usage:
            model = f.text(data, "model")
            self._use_model(model, rows.wire or self.wire)
        name = rows.unique(f.text(data, "messageId"))
        parts = self._answer_parts(name, data)
        output = f.count(data, "outputTokens")
        if not usage and output:
            usage = {"outputTokens": output}
        self._note(rows.model, usage)
        answer = Message(id=name, role="assistant", parts=tuple(parts))
        rows.call(
            f.text(data, "apiCallId"),
            answer if parts else None,
            self.usage(usage),
            stop=f.text(usage, "finishReason"),
            model=rows.model,
        )

    def _answer_parts(self, name: str, data: JsonObject) -> list[Part]:
        reader = self.parts(name)
        make = reader.make
        parts: list[Part] = []
        thought = f.mapping(data, "reasoningBlocks")
        if f.text(thought, "provider") == _WHOLE_BLOCKS:
            parts += reader.read(f.objects(thought, "blocks"))
        elif f.text(data, "reasoningText"):
            parts.append(make.reasoning(f.text(data, "reasoningText"), {}))
        if f.text(data, "content"):
            parts.append(make.text(f.text(data, "content")))
        for call in f.objects(data, "toolRequests"):
            parts.append(
                make.call(call.get("toolCallId"), call.get("name"), call.get("arguments"))
            )
        return parts

    def _result(self, data: JsonObject) -> None:
        rows = self.rows
        name = rows.reserve("tool")
        make = self.parts(name).make
        is_error = data.get("success") is False
        given = f.text(f.mapping(data, "result"), "content")
        if is_error:
            given = given or f.text(f.mapping(data, "error"), "message")
        content: list[ResultContent] = [make.text(given)] if given else []
        call = f.text(data, "toolCallId")
        part = make.result(
            call, content, name=rows.tool_names.get(call, ""), is_error=is_error
        )
        rows.say(name, "tool", [part])

    # -- usage --

    def _report(self, usage: JsonObject) -> None:
        """One call's usage; that of the conversation waits for its answer."""
        self._unanswered()
        if f.text(usage, "interactionType") not in _OWN_CALLS:
            self._spend(usage, "other")
            return
        rows = self.rows
        model = f.text(usage, "model")
        endpoint = f.text(usage, "apiEndpoint")
        self._use_model(model, WIRE_OF.get(endpoint, rows.wire or self.wire))
        rows.learn_window(model, f.count(usage, "maxPromptTokens"))
        self._reported = usage
        self._is_billed = True

    def _use_model(self, model: str, wire: str) -> None:
        self.rows.use_model(model, wire, likely_provider(model, wire))

    def _unanswered(self) -> None:
        usage, self._reported = self._reported, {}
        if usage:
            self._spend(usage, "other")

    def _note(self, model: str, usage: JsonObject) -> None:
        for kind in KINDS:
            self._logged[model, kind] += f.count(usage, kind) or 0

    def _shutdown(self, data: JsonObject) -> None:
        """What the window holds by the program's own count, and what was spent beyond the usages in the log."""
        self._unanswered()
        metrics = f.mapping(data, "modelMetrics")
        current = f.text(data, "currentModel")
        if not self.rows.model and (current in metrics or len(metrics) != 1):
            self._use_model(current, self.rows.wire or self.wire)
        elif not self.rows.model:
            self._use_model(next(iter(metrics)), self.rows.wire or self.wire)
        self._spend_unlogged(f.number(data, "sessionStartTime"), metrics)
        tokens = f.count(data, "currentTokens")
        if tokens is not None and not self._is_billed:
            doubt = round(COPILOT_COUNT_DOUBT * tokens)
            beside = Amount(tokens=0, low=-doubt, high=doubt)
            self.rows.say_size(FACTS.title, tokens, beside=beside)

    def _spend_unlogged(self, began: float | None, metrics: JsonObject) -> None:
        """Totals of a resumed session begin anew, and then name another time."""
        if not metrics:
            return
        before, self._totals = self._totals, Counter()
        if began != self._began:
            before = Counter()
        self._began = began
        logged, self._logged = self._logged, Counter()
        for model in list(metrics)[:MOST_MODELS]:
            usage = f.mapping(f.mapping(metrics, model), "usage")
            left: JsonObject = {}
            for kind in KINDS:
                total = f.count(usage, kind)
                if total is None:
                    continue
                self._totals[model, kind] = total
                known = (
                    before[model, kind] + logged[model, kind] + logged.pop(("", kind), 0)
                )
                left[kind] = max(0, total - known)
            if left.get("inputTokens"):
                name, counted = f"{UNLOGGED}{model}", self.usage(left)
                self.rows.call(name, None, counted, purpose="other", model=model)

    def _spend(self, usage: JsonObject, purpose: Purpose) -> None:
        model = f.text(usage, "model")
        self._note(model, usage)
        self.rows.call("", None, self.usage(usage), purpose=purpose, model=model)

    # -- compaction --

    def _begin_compaction(self, data: JsonObject) -> None:
        self._compacting = _Compacting(
            frozenset(self.rows.view),
            len(self._asked),
            f.count(data, "currentTokens"),
        )

    def _compaction(self, data: JsonObject) -> None:
        self._unanswered()
        used = f.mapping(data, "compactionTokensUsed")
        if used:
            self._spend(used, "summary")
        begun, self._compacting = self._compacting, None
        if data.get("success") is not True:
            return
        rows = self.rows
        kept: list[str] = []
        before = f.count(data, "preCompactionTokens")
        summarised = self._asked
        self._asked = []
        if begun is not None:
            kept = [message for message in rows.view if message not in begun.view]
            before = begun.tokens or before
            self._asked = summarised[begun.asked :]
            summarised = summarised[: begun.asked]
        trigger = f.text(data, "trigger") or self.format
        rows.compact(
            self._summary(summarised, f.text(data, "summaryContent")),
            keep=kept,
            trigger=trigger,
            before=before,
            is_automatic=trigger == AUTOMATIC,
        )

    def _summary(self, asked: list[str], content: str) -> Message:
        said = "\n".join(f"<user_message>\n{each}\n</user_message>" for each in asked)
        before, between, after = _SUMMARY
        text = f"{before}{said}{between}{content}{after}"
        name = self.rows.reserve("user")
        part = TextPart(id=f"{name}/0", text=clean_text(text).text)
        return Message(id=name, role="user", parts=(part,), origin="summary")


def fits(entry: JsonObject) -> bool:
    """Whether a line is one of Copilot CLI's events."""
    data = entry.get("data")
    if not isinstance(data, dict):
        return False
    match entry.get("type"):
        case "session.start":
            return "copilotVersion" in data
        case kind:
            return kind in (
                "assistant.turn_start",
                "session.usage_record",
                "session.resume",
            )


FORMAT = LogFormat(
    "copilot-cli",
    fits,
    "no event of type session.start with a copilotVersion",
    CopilotCliReader,
)

"""Codex CLI's rollouts: ``~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl``.

Sources: https://github.com/openai/codex, ``codex-rs/protocol/src/protocol.rs`` (the kinds of lines),
``codex-rs/rollout/src/policy.rs`` (which are written), ``codex-rs/core/src/codex/rollout_reconstruction.rs`` (how a
session is rebuilt from them).

* ``response_item`` lines are the history; items of the model between two ``token_count`` events are one call, whose
  usage follows them; in older versions it precedes them.
* ``token_count`` carries the last call's usage (``last_token_usage``) and the session's sum (``total_token_usage``),
  which is spend. It is sent again unchanged when rate limits move; after a compaction, and when the window is full, the
  program writes its own estimate there: no input tokens, only a total.
* ``compacted`` replaces the history, by ``replacement_history`` or by a summary and the user's messages.
* ``thread_rolled_back`` drops the last user turns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

import ullage.importers.fields as f
from ullage.codec.dialects import normalise
from ullage.codec.parts import tool
from ullage.codec.wires import wire_named
from ullage.events import Outcome
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.parts import LogParts
from ullage.importers.reader import Reader
from ullage.messages import (
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)
from ullage.usage import Usage

WIRE = "responses"

KNOWN_SILENT = frozenset(
    {
        "ghost_snapshot",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "realtime_item",
        "retained_context",
        "security_risk_score",
        "world_state",
    }
)
"""Kinds of lines that say nothing about the context."""

CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
)
RESULTS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "mcp_tool_call_output",
        "tool_search_output",
    }
)
FROM_MODEL = frozenset({"reasoning", "web_search_call", "image_generation_call", *CALLS})
COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
NOT_SENT = frozenset({"ghost_snapshot", "compaction_trigger", "other"})
"""Kinds of items that the program records for itself."""

_CONTEXT_MARKS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions",
    "<turn_",
)
"""How user messages begin that the program wrote: ``codex-rs/core/src/event_mapping.rs``."""

_SUMMARY_MARK = "Another language model started to solve this problem"
"""How a local compaction's summary begins: ``codex-rs/core/templates/compact/summary_prefix.md``."""


@dataclass(slots=True)
class _OpenItems:
    """Items of the model that no usage has closed yet, and the tool results recorded meanwhile."""

    message: str
    started: float
    usage: JsonObject
    """The call's usage, where it came before its items; then all items up to the next usage are its own."""
    content: LogParts
    parts: list[Part] = field(default_factory=list)
    ended: float = 0
    held: list[Message] = field(default_factory=list)


class CodexReader(Reader):
    """Reads one rollout of Codex."""

    format: ClassVar[str] = "codex"

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._open: _OpenItems | None = None
        self._unclaimed: JsonObject = {}
        """A usage that came without any item of the model: that of a compaction, or of a log that holds no items."""
        self._last_usage: JsonObject = {}
        self._last_total: JsonObject = {}
        self._has_items = False
        self._turns: list[str] = []
        """For each user turn, the message that the view ended with before it."""
        self._provider = wire_named(WIRE).maker
        self._identified = False

    def read(self, entry: JsonObject) -> None:
        self.rows.at = f.seconds(entry.get("timestamp")) or self.rows.at
        payload = f.mapping(entry, "payload")
        match f.text(entry, "type"):
            case "session_meta":
                self._session(payload)
            case "turn_context":
                self._turn_context(payload)
            case "response_item":
                self._item(payload)
            case "event_msg":
                self._event(payload)
            case "compacted":
                self._compacted(payload)
            case "token_usage_record":
                self._count(f.mapping(payload, "usage"))
            case kind if kind in KNOWN_SILENT:
                pass
            case "":
                self._bare(entry)
            case kind if kind in FROM_MODEL or kind in RESULTS or kind == "message":
                self._item(entry)
            case kind:
                raise Unusable(f"unknown kind of line: {kind[:40]}")

    def close(self) -> None:
        self._claim()
        self._end_call(None, "")

    # -- the session --

    def _bare(self, entry: JsonObject) -> None:
        """The first line of rollouts from before 2025-09: the session's metadata without an envelope."""
        if "instructions" not in entry and "record_type" not in entry:
            raise Unusable("no `type`")
        if "id" in entry:
            self._session(entry)

    def _session(self, meta: JsonObject) -> None:
        """The first one is the session's; a fork repeats that of the session it was copied from."""
        if self._identified:
            return
        self._identified = True
        rows = self.rows
        rows.session = f.text(meta, "id") or rows.session
        rows.cwd = f.text(meta, "cwd")
        rows.program = f"codex {f.text(meta, 'cli_version')}".strip()
        self._provider = f.text(meta, "model_provider") or self._provider
        instructions = f.text(f.mapping(meta, "base_instructions"), "text") or f.text(
            meta, "instructions"
        )
        if instructions:
            rows.use_system([SystemBlock(text=clean_text(instructions).text)])
        tools = f.objects(meta, "dynamic_tools")
        if tools:
            rows.use_tools([_tool(one) for one in tools])

    def _turn_context(self, context: JsonObject) -> None:
        self._claim()
        self._end_call(None, "")
        self.rows.use_model(f.text(context, "model"), WIRE, self._provider)
        self.rows.cwd = self.rows.cwd or f.text(context, "cwd")

    # -- items --

    def _item(self, item: JsonObject) -> None:
        kind = f.text(item, "type") or "message"
        if kind in NOT_SENT:
            return
        self._has_items = True
        if kind in FROM_MODEL or (
            kind == "message" and f.text(item, "role") == "assistant"
        ):
            self._from_model(item)
        elif kind in RESULTS:
            self._result(item)
        elif kind == "message":
            self._message(item)
        elif kind in COMPACTIONS:
            return
        else:
            raise Unusable(f"unknown kind of item: {kind[:40]}")

    def _from_model(self, item: JsonObject) -> None:
        call = self._open
        if call is not None and call.held and not call.usage:
            self._end_call(None, "")
            call = None
        if call is None:
            usage, self._unclaimed = self._unclaimed, {}
            label = self.rows.reserve("assistant")
            call = self._open = _OpenItems(label, self.rows.at, usage, self._parts(label))
        call.parts += call.content.read([_plain(item)])
        call.ended = self.rows.at

    def _result(self, item: JsonObject) -> None:
        label = self.rows.reserve("tool")
        names = self.rows.tool_names
        if self._open is not None:
            own = {
                getattr(part, "call_id", ""): getattr(part, "name", "")
                for part in self._open.parts
            }
            names = names | own
        message = Message(
            id=label,
            role="tool",
            parts=tuple(self._parts(label).read([_plain(item)], names)),
        )
        if self._open is not None:
            self._open.held.append(message)
        else:
            self.rows.add(message)

    def _message(self, item: JsonObject) -> None:
        self._claim()
        self._end_call(None, "")
        label = self.rows.reserve("user")
        parts = tuple(self._parts(label).read([_plain(item)]))
        if not parts:
            raise Unusable("message without content")
        said = next((part.text for part in parts if isinstance(part, TextPart)), "")
        role: Role = "user" if f.text(item, "role") == "user" else "system"
        injected = role == "system" or said.lstrip().startswith(_CONTEXT_MARKS)
        if not injected:
            self._turns.append(self.rows.tip)
            self.prompted(said)
        self.rows.add(
            Message(
                id=label,
                role=role,
                parts=parts,
                origin="injected" if injected else "said",
            )
        )

    def _parts(self, name: str) -> LogParts:
        return LogParts(name, WIRE, provider=self._provider, model=self.rows.model)

    def _end_call(self, usage: Usage | None, error: str) -> None:
        """The open call is over: its answer, then the results that came while it was open."""
        call, self._open = self._open, None
        if call is None:
            return
        rows = self.rows
        now, rows.at = rows.at, call.ended
        answer = Message(id=call.message, role="assistant", parts=tuple(call.parts))
        outcome: Outcome = "cancelled" if error else "finished"
        if call.usage:
            usage = normalise("codex", call.usage)
        rows.call(
            "",
            answer,
            usage,
            model=rows.model,
            started=call.started,
            outcome=outcome,
            error=error,
        )
        for result in call.held:
            rows.add(result)
        rows.at = max(now, call.ended)

    # -- events --

    def _event(self, event: JsonObject) -> None:
        match f.text(event, "type"):
            case "token_count":
                self._token_count(f.mapping(event, "info"))
            case "task_started" | "turn_started":
                self.rows.learn_window(
                    self.rows.model, f.count(event, "model_context_window")
                )
            case "thread_rolled_back":
                self._roll_back(f.count(event, "num_turns") or 0)
            case "turn_aborted":
                self._end_call(None, f.text(event, "reason") or "interrupted")
            case "error" | "stream_error":
                self._end_call(None, f.text(event, "message")[:500] or "error")
            case "thread_name_updated":
                self.titles["person"] = f.text(event, "thread_name") or f.text(
                    event, "name"
                )
            case "user_message" if not self._has_items:
                self.prompted(f.text(event, "message"))
            case "":
                raise Unusable("event without a type")

    def _token_count(self, info: JsonObject) -> None:
        if not info:
            return
        window = f.count(info, "model_context_window")
        self.rows.use_model(
            f.text(info, "model") or self.rows.model, WIRE, self._provider
        )
        self.rows.learn_window(self.rows.model, window)
        total = f.mapping(info, "total_token_usage")
        if total and total == self._last_total:
            return
        self._last_total = total
        self._count(f.mapping(info, "last_token_usage"))

    def _count(self, usage: JsonObject) -> None:
        """One call's usage. It may be logged twice: in a record of its own and in a ``token_count``."""
        if f.count(usage, "input_tokens") is None:
            return
        if usage == self._last_usage and (self._open is None or self._open.usage):
            return
        self._last_usage = usage
        if self._open is not None and not self._open.usage:
            self._end_call(normalise("codex", usage), "")
        else:
            self._end_call(None, "")
            self._claim()
            self._unclaimed = usage

    def _claim(self) -> None:
        """A usage without items was a main call after all: its log holds none, or its answer was empty."""
        usage, self._unclaimed = self._unclaimed, {}
        if usage:
            self.rows.call("", None, normalise("codex", usage), model=self.rows.model)

    def _roll_back(self, turns: int) -> None:
        self._claim()
        self._end_call(None, "")
        if turns and self._turns:
            start = self._turns[max(0, len(self._turns) - turns)]
            del self._turns[max(0, len(self._turns) - turns) :]
            self.rows.rewind(start)

    # -- compaction --

    def _compacted(self, payload: JsonObject) -> None:
        self._end_call(None, "")
        rows = self.rows
        usage, self._unclaimed = self._unclaimed, {}
        counted = normalise("codex", usage) if usage else None
        if counted is not None:
            rows.call("", None, counted, purpose="summary", model=rows.model)
        history = payload.get("replacement_history")
        summary = f.text(payload, "message")
        if isinstance(history, list):
            self._replace_history(
                [each for each in history if isinstance(each, dict)], counted
            )
        else:
            kept = {name for name in rows.view if rows.messages[name].role == "user"}
            label = rows.reserve("user")
            parts = (TextPart(id=f"{label}/0", text=summary),) if summary else ()
            message = Message(id=label, role="user", parts=parts, origin="summary")
            rows.compact(
                message,
                keep=kept,
                trigger="codex",
                summary_tokens=counted.output if counted else None,
            )
        self._turns = [turn for turn in self._turns if turn in rows.view]

    def _replace_history(self, history: list[JsonObject], counted: Usage | None) -> None:
        """Keeps items that are in view; the summary replaces the others in view; the remaining items are new."""
        rows = self.rows
        known: dict[bytes, str] = {}
        for name in rows.view:
            message = rows.messages[name]
            known.setdefault(_content_key(message.role, message.parts), name)
        kept: set[str] = set()
        new: list[Message] = []
        summary: Message | None = None
        for at, entry in enumerate(history):
            item = f.mapping(entry, "item") or entry
            role = _role(item)
            label = rows.reserve(role)
            parts = tuple(self._parts(label).read([_plain(item)], rows.tool_names))
            name = known.get(_content_key(role, parts), "")
            if name and name not in kept:
                kept.add(name)
            elif parts:
                new.append(Message(id=label, role=role, parts=parts, origin="injected"))
                last = at == len(history) - 1 and role == "user"
                if summary is None and (last or _is_summary(item, parts)):
                    summary = msgspec.structs.replace(new.pop(), origin="summary")
        rows.compact(
            summary,
            keep=kept,
            trigger="codex",
            summary_tokens=counted.output if counted and summary else None,
        )
        for made in new:
            rows.add(made)


def _is_summary(item: JsonObject, parts: tuple[Part, ...]) -> bool:
    if f.text(item, "type") in COMPACTIONS:
        return True
    return any(
        isinstance(part, TextPart) and part.text.startswith(_SUMMARY_MARK)
        for part in parts
    )


def _role(item: JsonObject) -> Role:
    kind = f.text(item, "type") or "message"
    if kind in RESULTS:
        return "tool"
    if kind in FROM_MODEL:
        return "assistant"
    match f.text(item, "role"):
        case "assistant":
            return "assistant"
        case "developer" | "system":
            return "system"
        case _:
            return "user"


def _content_key(role: Role, parts: tuple[Part, ...]) -> bytes:
    """What a message says, whatever its parts are called."""
    return b"\0".join((role.encode(), *(_said(part) for part in parts)))


def _said(part: Part) -> bytes:
    match part:
        case TextPart():
            return part.text.encode()
        case ToolCallPart():
            return f"{part.call_id} {part.name} {part.arguments}".encode()
        case ToolResultPart():
            return f"{part.call_id} {part.text}".encode()
        case ReasoningPart() | ProviderItem():
            return bytes(part.provider.data) if part.provider else part.text.encode()
        case _:
            return msgspec.json.encode(msgspec.structs.replace(part, id=""))


def _plain(item: JsonObject) -> JsonObject:
    """An item in the form the wire has it: Codex's own kinds and spellings put into OpenAI's."""
    kind = f.text(item, "type")
    if kind in RESULTS and kind not in (
        "function_call_output",
        "custom_tool_call_output",
    ):
        output = item.get("output", item.get("result", item.get("tools")))
        return {
            "type": "function_call_output",
            "call_id": item.get("call_id"),
            "output": output,
        }
    if kind == "local_shell_call":
        call_id = item.get("call_id") or item.get("id")
        return {
            "type": "function_call",
            "call_id": call_id,
            "name": "shell",
            "arguments": item.get("action"),
        }
    if kind == "tool_search_call":
        return {**item, "type": "function_call", "name": "tool_search"}
    output = item.get("output")
    if isinstance(output, dict):
        return {
            **item,
            "output": output.get("content_items") or output.get("content") or output,
        }
    return item


def _tool(one: JsonObject) -> Tool:
    schema = one.get("inputSchema", one.get("input_schema"))
    deferred = one.get("deferLoading") is True or one.get("defer_loading") is True
    return tool(one.get("name"), one.get("description"), schema, deferred=deferred)


def recognise(sample: list[object]) -> str:
    """What the first lines of a log lack to be a Codex rollout; empty when they fit."""
    for entry in sample:
        if not isinstance(entry, dict):
            continue
        kind = entry.get("type")
        if isinstance(entry.get("payload"), dict) and kind in (
            "session_meta",
            "turn_context",
            "response_item",
            "event_msg",
            "compacted",
            "token_usage_record",
        ):
            return ""
        if "record_type" in entry or (
            "instructions" in entry and "timestamp" in entry and "id" in entry
        ):
            return ""
    return "no line with a type such as session_meta, response_item or event_msg, and a payload"

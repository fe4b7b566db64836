"""Codex CLI's rollouts: ``~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl``.

Sources: https://github.com/openai/codex, ``codex-rs/protocol/src/protocol.rs`` (the kinds of lines),
``codex-rs/rollout/src/policy.rs`` (which are written), ``codex-rs/core/src/codex/rollout_reconstruction.rs`` (how a
session is rebuilt from them).

* ``response_item`` lines are the history; items of the model between two ``token_count`` events are one call, whose
  usage follows them; in older versions it precedes them.
* ``token_count`` carries the last call's usage (``last_token_usage``) and the session's sum (``total_token_usage``),
  which is spend. It is sent again unchanged when rate limits move; after a compaction, and when the window is full, the
  program writes its own estimate there: no input tokens, only a total.
* Items of a local compaction's own call are marked ``compaction_output`` (0.169); before, they were not written.
* ``compacted`` replaces the history, by ``replacement_history`` or by a summary and the user's messages.
* ``thread_rolled_back`` drops the last user turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt

import msgspec

import ullage.importers.fields as f
from ullage.codec.parts import tool
from ullage.codec.reminders import CODEX_MARKS
from ullage.codec.wires import wire_named
from ullage.envelope import MOST_TOKENS
from ullage.events import Amount, Outcome
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.parts import LogParts
from ullage.importers.reader import LogFormat, Reader
from ullage.importers.replaced import replace_history
from ullage.messages import (
    Message,
    Origin,
    Part,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    clean_text,
)
from ullage.meter.cost import TOOL_RESULTS
from ullage.meter.measured import hidden_message
from ullage.models.providers import is_listed
from ullage.usage import Usage
from ullage_programs.codex.facts import FACTS
from ullage_programs.policy import (
    CODEX_APPS,
    CODEX_BESIDE,
    CODEX_BYTES,
    CODEX_SEARCH,
    CODEX_SEARCH_LATER,
)

WIRE = "responses"

ENVELOPES = frozenset(
    {
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "token_usage_record",
    }
)
"""Kinds of lines that are read, each with a payload."""

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

SEARCHED = "web_search_call"

APPS = "<apps_instructions>"
FEW_APPS, MANY_APPS = "- `GitHub`: ", "- `Google Drive`: "
"""Lines of the plug-ins by which it is told whether the tools of the apps are declared (``CODEX_APPS``)."""

NOTHING = Amount(tokens=0, low=0, high=0)

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
FROM_MODEL = frozenset({"reasoning", SEARCHED, "image_generation_call", *CALLS})
COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
NOT_SENT = frozenset({"ghost_snapshot", "compaction_trigger", "other"})
"""Kinds of items that the program records for itself."""

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
    summarises: bool = False
    """Whether it is the call that writes the summary of a compaction."""
    parts: list[Part] = field(default_factory=list)
    searches: int = 0
    ended: float = 0
    held: list[Message] = field(default_factory=list)


class CodexReader(Reader):
    """Reads one rollout of Codex."""

    format = "codex"
    wire = WIRE

    def __init__(self) -> None:
        super().__init__()
        self._open: _OpenItems | None = None
        self._unclaimed: JsonObject = {}
        """A usage that came without any item of the model: that of a compaction, or of a log that holds no items."""
        self._last_usage: JsonObject = {}
        self._last_total: JsonObject = {}
        self._instructions = ""
        self._estimated: int | None = None
        """What its own estimate of a history that it compacted has of what the log shows, until it writes that."""
        self._summary_usage: Usage | None = None
        """The usage of the last call that wrote a summary, until the compaction that it is for."""
        self._has_items = False
        self._has_apps = False
        self._found: dict[str, int] = {}
        """Messages that stand for what searches found, and how many those were."""
        self._turns: list[str] = []
        """For each user turn, the message that the view ended with before it."""
        self.provider = wire_named(WIRE).maker
        self._identified = False

    def read(self, entry: JsonObject) -> None:
        self.dated(entry)
        payload = f.mapping(entry, "payload")
        match f.text(entry, "type"):
            case "session_meta":
                self._session(payload)
            case "turn_context":
                self._turn_context(payload)
            case "response_item":
                metadata = f.mapping(entry, "metadata")
                self._item(payload, metadata.get("compaction_output") is True)
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
        self.origin = f.text(meta, "forked_from_id")
        source = f.mapping(meta, "source")
        rows.is_subagent = "subagent" in source
        spawned = f.mapping(f.mapping(source, "subagent"), "thread_spawn")
        self.origin = self.origin or f.text(spawned, "parent_thread_id")
        rows.cwd = f.text(meta, "cwd")
        rows.program = f"codex {f.text(meta, 'cli_version')}".strip()
        provider = f.text(meta, "model_provider")
        if (
            provider
        ):  # one that is not listed is a name of the user's own, for some address
            self.provider = provider if is_listed(provider) else ""
        # ``instructions`` of older rollouts are the user's own, and a message has them again.
        instructions = f.text(f.mapping(meta, "base_instructions"), "text")
        self._instructions = instructions
        if instructions:
            rows.use_system([SystemBlock(text=clean_text(instructions).text)])
        tools = f.objects(meta, "dynamic_tools")
        if tools:
            rows.use_tools([_tool(one) for one in tools], is_part=True)

    def _turn_context(self, context: JsonObject) -> None:
        self._claim()
        self._end_call(None, "")
        self.rows.use_model(f.text(context, "model"), WIRE, self.provider)
        self.rows.cwd = self.rows.cwd or f.text(context, "cwd")

    # -- items --

    def _item(self, item: JsonObject, summarises: bool = False) -> None:
        kind = f.text(item, "type") or "message"
        if kind in NOT_SENT:
            return
        self._has_items = True
        if kind in FROM_MODEL or (
            kind == "message" and f.text(item, "role") == "assistant"
        ):
            self._from_model(item, summarises)
        elif kind in RESULTS:
            self._result(item)
        elif kind == "message":
            self._message(item)
        elif kind in COMPACTIONS:
            return
        else:
            raise Unusable(f"unknown kind of item: {kind[:40]}")

    def _from_model(self, item: JsonObject, summarises: bool) -> None:
        call = self._open
        if call is not None and call.held and not call.usage:
            self._end_call(None, "")
            call = None
        if call is None:
            usage, self._unclaimed = self._unclaimed, {}
            label = self.rows.reserve("assistant")
            call = self._open = _OpenItems(label, self.rows.at, usage, self.parts(label))
        call.summarises = call.summarises or summarises
        call.parts += call.content.read([_plain(item)])
        call.searches += f.text(item, "type") == SEARCHED
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
            parts=tuple(self.parts(label).read([_plain(item)], names)),
        )
        if self._open is not None:
            self._open.held.append(message)
        else:
            self.rows.add(message)

    def _message(self, item: JsonObject) -> None:
        self._claim()
        self._end_call(None, "")
        label = self.rows.reserve("user")
        parts = tuple(self.parts(label).read([_plain(item)]))
        if not parts:
            raise Unusable("message without content")
        said = next((part.text for part in parts if isinstance(part, TextPart)), "")
        role: Role = "user" if f.text(item, "role") == "user" else "system"
        injected = role == "system" or said.lstrip().startswith(CODEX_MARKS)
        if not injected:
            self._turns.append(self.rows.tip)
            self.prompted(said)
        self.rows.say(label, role, parts, "injected" if injected else "said")
        for message in self._apps(role, parts):
            self.rows.add(message)

    def _apps(self, role: Role, parts: tuple[Part, ...]) -> Iterator[Message]:
        """Stands for the tools of connected apps, if these are the first instructions that say that there are some."""
        if self._has_apps or role != "system":
            return
        said = "".join(part.text for part in parts if isinstance(part, TextPart))
        self._has_apps = APPS in said and FEW_APPS in said and MANY_APPS not in said
        if self._has_apps:
            size = Amount(**CODEX_APPS._asdict())
            name = self.rows.reserve("tool")
            yield hidden_message(name, size, row="Tools of apps", what="tools of apps")

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
            usage = self.usage(call.usage)
        if call.summarises:
            self._summary_usage = usage
        elif call.searches:
            name = rows.reserve("tool")
            self._found[name] = call.searches
            rows.add(_found(name, _size_of(call.searches)))
        rows.call(
            "",
            None if call.summarises else answer,
            usage,
            purpose="summary" if call.summarises else "main",
            model=rows.model,
            started=call.started,
            outcome=outcome,
            error=error,
        )
        if call.searches and not call.summarises:
            # The results of one search may leave behind the call that reported them.
            later = call.searches * CODEX_SEARCH_LATER
            change = Amount(tokens=0, low=-CODEX_SEARCH.high, high=later)
            rows.add(_found(rows.reserve("tool"), change))
        for result in call.held:
            rows.add(result)
        rows.at = now

    def _drop_found(self) -> None:
        """What searches found leaves the next request with a turn that is broken off, or may stay.

        The provider held it (once, 69,051 tokens of 11 searches in an earlier turn were gone).
        """
        searches = 0
        for name, each in self._found.items():
            if name in self.rows.view:
                searches += each
                self.rows.replace(_found(name, NOTHING, revision=1))
        if searches:
            staying = Amount(tokens=0, low=0, high=_size_of(searches).high)
            self.rows.add(_found(self.rows.reserve("tool"), staying))
        self._found = {}

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
                self._drop_found()
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
        self.rows.use_model(f.text(info, "model") or self.rows.model, WIRE, self.provider)
        self.rows.learn_window(self.rows.model, window)
        usage = f.mapping(info, "last_token_usage")
        estimate = f.count(usage, "total_tokens")
        if estimate and f.number(usage, "input_tokens") == 0:
            if usage != self._last_usage:  # else it is written again as rate limits move
                self._say_size(estimate)
            self._last_usage = usage
            return
        total = f.mapping(info, "total_token_usage")
        if total and total == self._last_total:
            return
        self._last_total = total
        self._count(usage)

    def _say_size(self, estimate: int) -> None:
        """Its own estimate: after a compaction, and of a window that is full."""
        known, self._estimated = self._estimated, None
        self.rows.say_size(
            FACTS.title,
            estimate,
            known=None if known is None else min(known, estimate),
            beside=Amount(**CODEX_BESIDE._asdict()),
        )

    def _count(self, usage: JsonObject) -> None:
        """One call's usage. It may be logged twice: in a record of its own and in a ``token_count``."""
        if f.count(usage, "input_tokens") is None:
            return
        if usage == self._last_usage and (self._open is None or self._open.usage):
            return
        self._last_usage = usage
        if self._open is not None and not self._open.usage:
            self._end_call(self.usage(usage), "")
        else:
            self._end_call(None, "")
            self._claim()
            self._unclaimed = usage

    def _claim(self) -> None:
        """A usage without items was a main call after all: its log holds none, or its answer was empty."""
        usage, self._unclaimed = self._unclaimed, {}
        if usage:
            self.rows.call("", None, self.usage(usage), model=self.rows.model)

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
        self._has_apps = False
        rows = self.rows
        usage, self._unclaimed = self._unclaimed, {}
        counted, self._summary_usage = self._summary_usage, None
        if usage:
            counted = self.usage(usage)
            rows.call("", None, counted, purpose="summary", model=rows.model)
        history = f.objects(payload, "replacement_history")
        if isinstance(payload.get("replacement_history"), list):
            # A text has a preface beside what the call wrote; what is sealed is known by its output alone.
            is_sealed = any(
                f.text(_item_of(each), "type") in COMPACTIONS for each in history
            )
            tokens = counted.output if counted and is_sealed else None
            self._estimated = self._estimate(history) if tokens is None else MOST_TOKENS
            new = self._history(history)
            replace_history(
                rows, new, trigger="codex", summary_tokens=tokens, has_summary=True
            )
        else:
            summary = f.text(payload, "message")
            kept = {name for name in rows.view if rows.messages[name].role == "user"}
            label = rows.reserve("user")
            parts = (TextPart(id=f"{label}/0", text=summary),) if summary else ()
            message = Message(id=label, role="user", parts=parts, origin="summary")
            rows.compact(message, keep=kept, trigger="codex")
        self._turns = [turn for turn in self._turns if turn in rows.view]

    def _estimate(self, history: list[JsonObject]) -> int | None:
        """What it counts of its instructions and of what it does not seal; ``None`` without the instructions."""
        if not self._instructions:
            return None
        sizes = [len(self._instructions.encode())]
        for each in history:
            item = _item_of(each)
            if f.text(item, "type") not in COMPACTIONS:
                sizes.append(len(msgspec.json.encode(item)))
        return sum(-(-size // CODEX_BYTES) for size in sizes)

    def _history(self, items: list[JsonObject]) -> Iterator[Message]:
        """The messages of a history written out whole; the last one of the user is its summary if none is marked."""
        rows = self.rows
        for at, entry in enumerate(items):
            item = _item_of(entry)
            role = _role(item)
            label = rows.reserve(role)
            parts = tuple(self.parts(label).read([_plain(item)], rows.tool_names))
            is_last = at == len(items) - 1 and role == "user"
            summarises = is_last or _is_summary(item, parts)
            origin: Origin = "summary" if summarises else "injected"
            yield Message(id=label, role=role, parts=parts, origin=origin)
            yield from self._apps(role, parts)


def _found(name: str, size: Amount, *, revision: int = 0) -> Message:
    """Stands for what searches found, which no line holds."""
    return hidden_message(name, size, row=TOOL_RESULTS, what=SEARCHED, revision=revision)


def _size_of(searches: int) -> Amount:
    """What so many searches found, each of them as large as another one may be or not."""
    tokens, low, high = CODEX_SEARCH
    whole, root = searches * tokens, sqrt(searches)
    return Amount(
        tokens=whole,
        low=max(0, round(whole - root * (tokens - low))),
        high=round(whole + root * (high - tokens)),
    )


def _item_of(entry: JsonObject) -> JsonObject:
    return f.mapping(entry, "item") or entry


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


def fits(entry: JsonObject) -> bool:
    """Whether a line is one of a rollout."""
    if isinstance(entry.get("payload"), dict) and entry.get("type") in ENVELOPES:
        return True
    return "record_type" in entry or entry.keys() >= {"instructions", "timestamp", "id"}


FORMAT = LogFormat(
    "codex",
    fits,
    "no line with a type such as session_meta, response_item or event_msg, and a payload",
    CodexReader,
)

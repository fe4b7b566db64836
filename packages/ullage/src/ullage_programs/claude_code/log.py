"""Claude Code's session logs: ``~/.claude/projects/<directory>/<session>.jsonl``, and its ``stream-json`` output.

The format is internal to the program and changes between releases
(https://code.claude.com/docs/en/sessions); what is read here is what public logs of versions 1.0 to 2.1 hold:

* The lines of a conversation form a tree by ``uuid`` and ``parentUuid``. A rewind is a line that follows an older one.
* One model call is several lines with one ``message.id``, a content block each; the usage on all but the last is a
  streaming placeholder. Results of its tools may stand between them.
* ``isSidechain`` (older logs) and ``agent-*.jsonl`` files are subagents: spend, not context.
* A compaction is a ``compact_boundary`` line and then an ``isCompactSummary`` message; a ``microcompact_boundary``
  names the tool calls whose results were cleared.
* ``attachment`` lines are what the program puts into the context: reminders, memory, lists of skills and agents, names
  of deferred tools, and in newer versions the whole system prompt (``log_attachments``).
* 2.1.330 logs its requests once more. Of these lines ``api-request-shape`` has the system prompt and the tools.
* Calls that are in none of these lines are in the program's totals (``log_costs``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

import ullage.importers.fields as f
from ullage.codec.applied_edits import read_applied_edits
from ullage.codec.cache_verdicts import read_verdict
from ullage.codec.reminders import is_tagged
from ullage.codec.wires import wire_named
from ullage.envelope import STEP_CHARS
from ullage.errors import UnreadableInput
from ullage.events import Amount, Event
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.parts import LogParts
from ullage.importers.reader import LogFormat, Reader
from ullage.importers.regular import open_regular
from ullage.importers.tree import Tree
from ullage.messages import (
    Message,
    Origin,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.spent_calls import UNLOGGED
from ullage.models.providers import NO_PROVIDER, vendors_of
from ullage.usage import CacheVerdict, Cleared, Usage
from ullage_programs.claude_code.facts import FACTS, LONG_WINDOW
from ullage_programs.claude_code.lines import (
    NO_COMPACTION,
    SILENT_KINDS,
    LoggedCompaction,
    compaction_of,
    is_api_error,
    is_of_program,
    is_only_shown,
    is_placeholder,
    is_set_to_zero,
    is_summary,
)
from ullage_programs.claude_code.log_attachments import Attachments
from ullage_programs.claude_code.log_costs import LONG, ClaudeTotals
from ullage_programs.claude_code.log_put_back import PutBack
from ullage_programs.limits import name_and_version
from ullage_programs.policy import CLAUDE_BEFORE, MOST_MODELS

WIRE = "messages"

CLEARED = "<command-name>/clear</command-name>"
"""How the log of a conversation begins that followed another one in the same process."""

_CONTEXT_OUTPUT = re.compile(r"[\d.]+k?\s*/\s*([\d.]+)\s*([km])\s+tokens", re.IGNORECASE)


_LONG: Final = re.compile(
    rb'(?:model ID is |Set model to [^"]{0,100}?|model\\?":\s?\\?"|")'
    rb'(claude-[a-z0-9.-]+)\[1m\](?:\.|\)|\\u|\\?")'
)
"""A model with its long window, as the program names it: in the system prompt, to ``/model``, to a hook, in totals."""

_BY_OTHERS: Final = re.compile(
    rb'"type":\s?"(?:assistant|tool_result|text)"|"isSidechain":\s?true|"subtype":\s?"compact'
)
"""Lines with text that may name any model."""


@dataclass(slots=True)
class _OpenCall:
    """A model call whose lines are still coming, and the tool results that came in between."""

    id: str
    message: str
    model: str
    started: float
    content: LogParts
    parts: list[Part] = field(default_factory=list)
    usages: list[JsonObject] = field(default_factory=list)
    cleared: tuple[Cleared, ...] = ()
    verdict: CacheVerdict | None = None
    stop: str = ""
    ended: float = 0
    held: list[Message] = field(default_factory=list)
    is_counted: bool = False

    def counted(self) -> JsonObject:
        """What the call reported, once: as a part of the program's totals."""
        if self.is_counted or not self.usages:
            return {}
        self.is_counted = True
        return self.usages[-1]


class _ChildCall(NamedTuple):
    """A call of a subagent, by its last line."""

    model: str
    usage: JsonObject
    at: float


@dataclass(slots=True)
class _Boundary:
    """A compaction whose summary has not come yet."""

    compaction: LoggedCompaction
    keep: frozenset[str]


class ClaudeCodeReader(Reader):
    """Reads one session of Claude Code."""

    format = "claude-code"
    wire = WIRE
    dialect = wire_named(WIRE).dialects[0].name
    names_calls = True

    def __init__(self) -> None:
        super().__init__()
        self.provider = wire_named(WIRE).maker
        self.tree = Tree(self.rows)
        self.attachments = Attachments(self.rows)
        self.totals = ClaudeTotals()
        self.put_back = PutBack()
        self._is_first = True
        self._long: set[str] = set()
        """Models that the program named with ``[1m]``."""
        self._open: _OpenCall | None = None
        self._boundary: _Boundary | None = None
        self._is_billed = False
        """Whether a call of the conversation has reported its usage."""
        self._thread: str | None = None
        """The agent whose own log this is; empty for the main thread; ``None`` before the first message."""
        self._children: dict[str, _ChildCall] = {}
        self._child_now = ""

    def leave_out(self) -> None:
        self._flush_call()
        self.totals.start_earlier()

    def subagent_logs(
        self, path: Path, known: dict[Path, str] | None = None
    ) -> list[Path]:
        return subagent_logs(path, self.rows.session, known)

    def feed_subagent(self, lines: Iterable[bytes]) -> None:
        self._flush_call()
        for line in lines:
            if b'"usage"' not in line:
                continue
            try:
                entry = decode_line(line)
            except Unusable:
                continue
            if isinstance(entry, dict) and f.text(entry, "type") == "assistant":
                self._child("assistant", entry, f.mapping(entry, "message"))

    # -- one line --

    def feed(self, lines: Iterable[bytes]) -> list[Event]:
        return super().feed(map(self._seen, lines))

    def _seen(self, line: bytes) -> bytes:
        """The line. A model's name that ends in ``[1m]`` stands in lines of the program, never in an answer's."""
        if b"[1m]" in line and not _BY_OTHERS.search(line):
            for name in _LONG.findall(line):
                self._long.add(name.decode())
        return line

    def read(self, entry: JsonObject) -> None:
        kind = f.text(entry, "type")
        self._identify(entry)
        match kind:
            case "user" | "assistant":
                self._conversation(kind, entry)
            case "attachment":
                self._attachment(entry)
            case "system":
                self._system(entry)
            case "summary":
                self.titles.setdefault("program", f.text(entry, "summary"))
            case "ai-title":
                self.titles["program"] = f.text(entry, "aiTitle") or self.titles.get(
                    "program", ""
                )
            case "custom-title":
                self.titles["person"] = f.text(entry, "customTitle")
            case "result":
                self._learn_windows(f.mapping(entry, "modelUsage"))
                self._pass(entry)
            case _ if kind in SILENT_KINDS:
                self._pass(entry)
            case "cost-state":
                self._learn_windows(f.mapping(entry, "modelUsage"))
                self._total(entry)
            case "api-request-shape":
                if entry.get("isSidechain") is not True:
                    self.attachments.read_shape(f.mapping(entry, "shape"))
            case "":
                raise Unusable("no `type`")
            case _:
                self._pass(entry)
                raise Unusable(f"unknown kind of line: {kind[:40]}")

    def close(self) -> None:
        self._flush_call()
        self._flush_child()
        self._flush_boundary(None)
        self._spend_unlogged()

    def _total(self, entry: JsonObject) -> None:
        """What the program spent so far; an answer that is still open counts by what it reported."""
        call = self._open
        if call is not None:
            self.totals.read_call(call.model, call.counted())
        self.totals.read_total(entry, self.rows.model)

    def _spend_unlogged(self) -> None:
        totals, self.totals = self.totals, ClaudeTotals()
        for unlogged in totals.unlogged():
            self.rows.call(
                f"{UNLOGGED}{unlogged.purpose}",
                None,
                self.usage(unlogged.usage),
                purpose=unlogged.purpose,
                model=unlogged.model,
            )

    def _identify(self, entry: JsonObject) -> None:
        rows = self.rows
        session = f.text(entry, "sessionId") or f.text(entry, "session_id")
        if session and (not rows.program or rows.program == "claude-code"):
            version = f.text(entry, "version")
            rows.program = f"claude-code {version}".strip()
            rows.session = session
        if self._is_first and f.text(entry, "uuid"):
            self._is_first = False
            rows.partial = (
                bool(f.text(entry, "parentUuid")) and entry.get("isSidechain") is not True
            )
            rows.is_subagent = entry.get("isSidechain") is True
            if rows.partial:
                self.totals.start_earlier()
        rows.cwd = rows.cwd or f.text(entry, "cwd")
        self.dated(entry)

    def _pass(self, entry: JsonObject) -> None:
        """A line that others may follow, although it adds nothing."""
        uuid = f.text(entry, "uuid")
        if uuid:
            self._place(uuid, entry, self._tip())

    def _tip(self) -> str:
        """The last message, held-back ones included."""
        if self._open is None:
            return self.rows.tip
        return self._open.held[-1].id if self._open.held else self._open.message

    # -- messages --

    def _conversation(self, kind: str, entry: JsonObject) -> None:
        message = f.mapping(entry, "message")
        if not message:
            raise Unusable(f"{kind} line without a message")
        uuid = f.text(entry, "uuid")
        if uuid and uuid in self.tree:
            raise Unusable("repeated line")
        if self._is_child(entry):
            self._child(kind, entry, message)
            return
        if kind == "assistant":
            self._assistant(uuid, entry, message)
        else:
            self._user(uuid, entry, message)

    def _is_child(self, entry: JsonObject) -> bool:
        """Whether the line belongs to a side chain or subagent of the thread that is read."""
        aside = entry.get("isSidechain") is True
        agent = f.text(entry, "agentId") or f.text(entry, "parent_tool_use_id")
        owner = (
            agent or "sidechain" if aside or f.text(entry, "parent_tool_use_id") else ""
        )
        if self._thread is None:
            self._thread = owner
        if self._thread and not owner:
            self._thread = ""
            self.rows.is_subagent = False
            self._flush_call()
            self.rows.rewind("")
        return owner != self._thread

    def _child(self, kind: str, entry: JsonObject, message: JsonObject) -> None:
        """A line of a subagent: its calls are spend. The last line of a call has its usage."""
        if kind != "assistant" or is_api_error(entry):
            return
        name = f.text(message, "id") or f.text(entry, "uuid")
        if name != self._child_now:
            self._flush_child()
            self._child_now = name
        at = f.seconds(entry.get("timestamp")) or self.rows.at
        model, usage = f.text(message, "model"), f.mapping(message, "usage")
        self._children[name] = _ChildCall(model, usage, at)

    def _place(self, uuid: str, entry: JsonObject, message: str) -> None:
        """Note where in the tree an entry is, and the message that the view ends with behind it."""
        self.tree.place(uuid, f.text(entry, "parentUuid"), message)

    def _flush_child(self) -> None:
        rows = self.rows
        now = rows.at
        for name, (model, usage, at) in self._children.items():
            counted = self.usage(usage)
            self.totals.read_child(model, usage)
            rows.at = at
            rows.call(f"child-{name}", None, counted, purpose="child", model=model)
        rows.at = now
        self._children.clear()

    def _user(self, uuid: str, entry: JsonObject, message: JsonObject) -> None:
        content = message.get("content")
        if not isinstance(content, str | list):
            raise Unusable("user line without content")
        if is_only_shown(entry):
            self._pass(entry)
            return
        name = self.rows.unique(uuid)
        names = (
            self.rows.tool_names
            if self._open is None
            else self._names_with_open(self._open)
        )
        parts = self.parts(name).read(content, names)
        if not parts:
            self._pass(entry)
            raise Unusable("user line without content")
        results = [part for part in parts if isinstance(part, ToolResultPart)]
        if results:
            self.put_back.read_result(f.mapping(entry, "toolUseResult"))
        if self._open is not None and len(results) == len(parts):
            held = Message(id=name, role="tool", parts=tuple(parts))
            self._open.held.append(held)
            self.rows.messages.setdefault(name, held)
            self._place(uuid, entry, name)
            return
        self._flush_call()
        if is_summary(entry):
            self._summary(
                uuid,
                entry,
                Message(id=name, role="user", parts=tuple(parts), origin="summary"),
            )
            return
        self._flush_boundary(None)
        self._follow(entry, can_restart=not results)
        beside: list[Part] = [
            part for part in parts if not isinstance(part, ToolResultPart)
        ]
        injected = entry.get("isMeta") is True or (bool(results) and _is_reminder(beside))
        if results:
            self.rows.add(Message(id=name, role="tool", parts=tuple(results)))
            name = self.rows.unique(f"{name}.beside") if beside else name
        if beside:
            origin: Origin = "injected" if injected else "said"
            self.rows.add(
                Message(id=name, role="user", parts=tuple(beside), origin=origin)
            )
            self._notice(beside, injected or bool(results))
            if entry.get("isMeta") is True and not results:
                self.put_back.read_skill(
                    "".join(part.text for part in beside if isinstance(part, TextPart))
                )
        self._place(uuid, entry, name)

    def _names_with_open(self, call: _OpenCall) -> dict[str, str]:
        own = {
            part.call_id: part.name
            for part in call.parts
            if isinstance(part, ToolCallPart)
        }
        return self.rows.tool_names | own

    def _follow(self, entry: JsonObject, *, can_restart: bool) -> None:
        """Go where the line's parent is. A prompt without one restarts the conversation, in a log of linked lines."""
        parent = f.text(entry, "parentUuid")
        if parent:
            self.tree.follow(parent)
        elif (
            can_restart
            and self.tree.linked
            and entry.get("parentUuid", "") is None
            and "logicalParentUuid" not in entry
        ):
            self.rows.rewind("")

    def _notice(self, parts: list[Part], injected: bool) -> None:
        """What a person's message says beside itself: a title, and the window in the output of ``/context``."""
        first = next((part.text for part in parts if isinstance(part, TextPart)), "")
        if not first.startswith("<") and not injected and not first.startswith("Caveat:"):
            self.prompted(first)
        if first.startswith(CLEARED):
            self.totals.start_earlier()
        if first.startswith("<local-command-stdout>"):
            self._learn_window(first)

    def _learn_window(self, output: str) -> None:
        found = (
            _CONTEXT_OUTPUT.search(output[:4000])
            if "Context Usage" in output[:400]
            else None
        )
        if found and self.rows.model:
            scale = 1_000_000 if found[2] in "mM" else 1_000
            self.rows.learn_window(
                self.rows.model, round(float(found[1].strip(".") or 0) * scale) or None
            )

    def _learn_windows(self, models: JsonObject) -> None:
        """The windows of the models in a total: as it names them, or by the ending of a model's name."""
        for name in sorted(models)[:MOST_MODELS]:
            window = f.count(f.mapping(models, name), "contextWindow")
            if window is None and name.endswith(LONG):
                window = LONG_WINDOW
            self.rows.learn_window(name.removesuffix(LONG), window)

    # -- model calls --

    def _assistant(self, uuid: str, entry: JsonObject, message: JsonObject) -> None:
        content = message.get("content")
        if not isinstance(content, str | list):
            raise Unusable("assistant line without content")
        model = f.text(message, "model")
        if is_of_program(entry):
            self._synthetic(uuid, entry, content)
            return
        call = self._open
        name = f.text(message, "id") or uuid
        if call is None or call.id != name:
            self._flush_call()
            self._flush_boundary(None)
            self._follow(entry, can_restart=False)
            label = self.rows.reserve("assistant", name)
            provider = _provider(model)
            started = self.rows.at
            call = self._open = _OpenCall(
                name,
                label,
                model,
                started,
                LogParts(label, WIRE, provider=provider, model=model),
            )
        call.parts += call.content.read(content)
        usage = f.mapping(message, "usage")
        if usage:
            call.usages.append(usage)
        call.cleared = (
            read_applied_edits(message.get("context_management")) or call.cleared
        )
        call.verdict = read_verdict(message) or call.verdict
        call.stop = f.text(message, "stop_reason") or call.stop
        call.ended = self.rows.at
        if uuid:
            self._place(uuid, entry, call.message)

    def _flush_call(self) -> None:
        """The open call is complete: its answer, then the results that came in between."""
        call, self._open = self._open, None
        if call is None:
            return
        rows = self.rows
        now = rows.at
        rows.at = call.ended
        rows.use_model(call.model, WIRE, _provider(call.model))
        if call.model in self._long:
            rows.learn_window(call.model, LONG_WINDOW)
        self.totals.read_call(call.model, call.counted())
        answer = Message(id=call.message, role="assistant", parts=tuple(call.parts))
        if call.usages and is_set_to_zero(call.usages[-1]):
            rows.add(answer)
        else:
            used = self._used(call)
            self._is_billed = self._is_billed or used is not None
            rows.call(
                call.id,
                answer,
                used,
                stop=call.stop,
                model=call.model,
                started=call.started,
            )
        for result in call.held:
            rows.add(result)
        rows.at = now

    def _used(self, call: _OpenCall) -> Usage | None:
        """The usage of the last line; its output is a placeholder when the stream's final count never came."""
        if not call.usages:
            return None
        outputs = [f.number(each, "output_tokens") for each in call.usages]
        placeholder = outputs[-1] is not None and is_placeholder(
            int(outputs[-1]),
            sum(map(_characters, call.parts)),
            lines=len(outputs),
            is_unchanged=len(set(outputs)) == 1,
            has_stopped=bool(call.stop),
        )
        usage = self.usage(call.usages[-1], placeholder=placeholder)
        if usage is None:
            return None
        return replace(usage, cleared=call.cleared, verdict=call.verdict)

    def _synthetic(self, uuid: str, entry: JsonObject, content: object) -> None:
        """What the program wrote in the model's place. An error of the API is not sent back; other notices are."""
        self._flush_call()
        name = self.rows.unique(uuid)
        parts = self.parts(name).read(content)
        said = " ".join(part.text for part in parts if isinstance(part, TextPart))
        if is_api_error(entry):
            self.rows.call(
                f"failed-{name}", None, None, outcome="failed", error=said[:500]
            )
            self._pass(entry)
            return
        self._follow(entry, can_restart=False)
        self.rows.add(
            Message(id=name, role="assistant", parts=tuple(parts), origin="injected")
        )
        self._place(uuid, entry, name)

    # -- what the program does to the context --

    def _attachment(self, entry: JsonObject) -> None:
        if self._is_child(entry):
            return
        self.put_back.read_attachment(f.text(f.mapping(entry, "attachment"), "type"))
        uuid = f.text(entry, "uuid")
        if uuid and uuid in self.tree:
            raise Unusable("repeated line")
        if self._open is not None and self._open.held:
            self._flush_call()
        if self._boundary is not None:
            self._pass(entry)
            return
        name = self.rows.unique(uuid)
        message = self.attachments.read(entry, name)
        if message is None:
            self._pass(entry)
            return
        self._flush_call()
        self._follow(entry, can_restart=False)
        self.rows.add(message)
        self._place(uuid, entry, message.id)

    def _system(self, entry: JsonObject) -> None:
        subtype = f.text(entry, "subtype")
        if entry.get("isSidechain") is True and self._thread == "":
            return
        if subtype == "compact_boundary":
            self._flush_call()
            self._flush_boundary(None)
            compaction = compaction_of(entry)
            self._boundary = _Boundary(compaction, self._preserved(compaction))
            self.totals.compacted()
        elif subtype == "microcompact_boundary":
            self._flush_call()
            metadata = f.mapping(entry, "microcompactMetadata")
            cleared = self.rows.results_of(f.texts(metadata, "compactedToolIds"))
            self.rows.prune(cleared, reason="microcompact")
        elif subtype == "init":
            self.attachments.initial(entry)
        elif subtype == "local_command":
            self._learn_window(f.text(entry, "content"))
        self._pass(entry)

    def _preserved(self, compaction: LoggedCompaction) -> frozenset[str]:
        """The messages that a compaction kept as they are: listed, or as a stretch of the view."""
        if compaction.listed:
            kept = (self.tree.ending(uuid) for uuid in compaction.listed)
            return frozenset(filter(None, kept))
        head = self.tree.ending(compaction.head)
        tail = self.tree.ending(compaction.tail)
        view = list(self.rows.view)
        if head not in self.rows.view or tail not in self.rows.view:
            return frozenset()
        return frozenset(view[view.index(head) : view.index(tail) + 1])

    def _summary(self, uuid: str, entry: JsonObject, summary: Message) -> None:
        if self._boundary is None and not self.rows.view:
            self.rows.add(summary)
        else:
            self._boundary = self._boundary or _Boundary(NO_COMPACTION, frozenset())
            self._flush_boundary(summary)
        self._place(uuid, entry, self.rows.tip)

    def _flush_boundary(self, summary: Message | None) -> None:
        """The compaction happened; when its summary is missing from the log, what it replaced is gone all the same."""
        boundary, self._boundary = self._boundary, None
        if boundary is None:
            return
        if boundary.compaction.before and not self._is_billed:
            self.rows.say_size(
                FACTS.title,
                boundary.compaction.before,
                beside=Amount(**CLAUDE_BEFORE._asdict()),
            )
        self.attachments.compacted()
        self.rows.compact(
            summary,
            keep=boundary.keep,
            trigger=boundary.compaction.trigger,
            is_automatic=boundary.compaction.is_automatic,
            before=boundary.compaction.before or None,
            after=boundary.compaction.after or None,
            added=() if self.put_back.is_logged else self._put_back(),
            puts_back=not self.put_back.is_logged,
        )

    def _put_back(self) -> tuple[Message, ...]:
        """What the program puts back now, as far as the log has shown it."""
        name = self.rows.unique("")
        version = name_and_version(self.rows.program)[1]
        parts: list[Part] = []
        for kind, text in self.put_back.after_compaction(version):
            self.rows.spend(len(text) // STEP_CHARS)
            parts.append(TextPart(id=f"{name}/{len(parts)}", text=text, name=kind))
        if not parts:
            return ()
        message = Message(id=name, role="user", parts=tuple(parts), origin="injected")
        return (message,)


def _characters(part: Part) -> int:
    match part:
        case TextPart() | ReasoningPart():
            return len(part.text)
        case ToolCallPart():
            return len(part.name) + len(part.arguments)
        case _:
            return 0


def _is_reminder(parts: Sequence[Part]) -> bool:
    """Whether the program wrote these, as against a person."""
    return all(isinstance(part, TextPart) and is_tagged(part.text) for part in parts)


def _provider(model: str) -> str:
    """Who serves a model by this spelling of its name: https://docs.claude.com/en/docs/claude-code/model-config."""
    vendor = next(vendors_of(model), NO_PROVIDER)
    return vendor.name if vendor.reads_claude else wire_named(WIRE).maker


def subagent_logs(
    path: Path,
    session: str,
    known: dict[Path, str] | None = None,
) -> list[Path]:
    """The logs of a session's subagents: in a directory of the session's name, or, in older versions, beside it.

    ``known`` keeps whose session each log beside it is of, so that the next look opens new ones alone.
    """
    if path.name.startswith("agent-"):
        return []
    logs = nested_logs(path)
    if not session:
        return logs
    sessions = {} if known is None else known
    for each in sorted(path.parent.glob("agent-*.jsonl")):
        whose = sessions.get(each) or _session_of(each)
        if whose:
            sessions[each] = whose
        if whose == session:
            logs.append(each)
    return logs


def nested_logs(path: Path) -> list[Path]:
    """The logs of a session's subagents in the directory of the session's name."""
    if path.name.startswith("agent-"):
        return []
    return sorted((path.with_suffix("") / "subagents").rglob("agent-*.jsonl"))


def _session_of(path: Path) -> str:
    """The session that the first line names; empty while there is none."""
    try:
        with open_regular(path) as file:
            first = decode_line(file.readline(1_000_000))
    except (OSError, UnreadableInput, Unusable):
        return ""
    return f.text(first, "sessionId") if isinstance(first, dict) else ""


def fits(entry: JsonObject) -> bool:
    """Whether a line is one of Claude Code's."""
    match entry.get("type"):
        case "user" | "assistant" | "attachment":
            return "parentUuid" in entry or "parent_tool_use_id" in entry
        case "system":
            is_init = entry.get("subtype") == "init" and "session_id" in entry
            return "parentUuid" in entry or is_init
        case "summary" | "file-history-snapshot":
            return "leafUuid" in entry or "messageId" in entry
        case "ai-title" | "permission-mode" | "last-prompt" | "queue-operation":
            return "sessionId" in entry
        case _:
            return False


FORMAT = LogFormat(
    "claude-code",
    fits,
    "no line of type user, assistant or system with a parentUuid",
    ClaudeCodeReader,
    nested_logs,
)

"""Turns OpenCode's messages and their parts into events (``log`` loads them from its database).

Source: https://github.com/anomalyco/opencode, ``packages/opencode/src/session/message-v2.ts`` (``toModelMessages``:
what is sent of them; ``filterCompacted``: what a compaction leaves). Totals of a session and of its messages are spend:
a call's usage is that of its ``step-finish``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

import ullage.importers.fields as f
from ullage.codec.parts import PartMaker, data_url
from ullage.codec.wires import WIRES
from ullage.events import Outcome, Purpose
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.parts import CLEARED
from ullage.importers.reader import Reader
from ullage.messages import (
    Message,
    Origin,
    Part,
    ResultContent,
    SystemBlock,
    ToolResultPart,
    clean_text,
)
from ullage.models.providers import provider_named, vendors_of
from ullage.usage import Usage

_GATEWAYS = frozenset({"opencode", "github-copilot", "vercel"})
"""Providers that serve several vendors' models, each on its vendor's wire:
``packages/opencode/src/provider/provider.ts``."""

REMINDERS = {"plan": 277.0, "build": 58.0}
"""Tokens of o200k_base that are sent with the newest user message and that no log has: in plan mode, and in build mode
after it. ``packages/opencode/src/session/reminders.ts``; of 1.14 to 1.18, by 20 switches of public sessions."""

INTERRUPTED = "[Tool execution was interrupted]"


@dataclass(frozen=True, slots=True)
class CallParts:
    """The parts of one model call within a message, and the part that ended it."""

    parts: tuple[JsonObject, ...]
    finish: JsonObject | None


class OpenCodeReader(Reader):
    """Reads one session: its own object, then message after message."""

    format = "opencode"
    dialect = "opencode-v1"

    def __init__(self) -> None:
        super().__init__()
        self.info: JsonObject = {}
        """The session's own object."""
        self._compaction: JsonObject = {}
        """The part that asks for a compaction, and its message, until the summary comes."""
        self._asked_by = ""
        self._ids: dict[str, list[str]] = {}
        """For each message of the log, the messages it became."""
        self._prunings: list[tuple[float, str]] = []

    def read(self, entry: JsonObject) -> None:
        """The session's own object, which no message precedes."""
        self.info = entry
        self.lines = 0  # it is no message
        self.titles["program"] = f.text(entry, "title")
        self.rows.session = f.text(entry, "id")
        self.rows.program = f"opencode {f.text(entry, 'version')}".strip()
        self.rows.cwd = f.text(entry, "directory")
        self.rows.is_subagent = bool(f.text(entry, "parentID"))

    # -- messages with parts --

    def message(self, info: JsonObject, parts: list[JsonObject]) -> None:
        """One message with its parts, in order."""
        self.lines += 1
        rows = self.rows
        rows.at = f.seconds(f.mapping(info, "time").get("created")) or rows.at
        self._prune_until(rows.at)
        match f.text(info, "role"):
            case "user":
                self._user(info, parts)
            case "assistant":
                self._assistant(info, parts)
            case _:
                raise Unusable("message without a role")

    def _user(self, info: JsonObject, parts: list[JsonObject]) -> None:
        rows = self.rows
        for part in parts:
            if f.text(part, "type") == "compaction":
                self._compaction = part
                self._asked_by = f.text(info, "id")
                return
        self._use_system(f.text(info, "system"), f.text(info, "agent"))
        name = rows.unique(f.text(info, "id"))
        content = sent_parts(self.parts(name).make, parts, user_part)
        if not content:
            return
        said = typed_text(parts)
        self.prompted(f.text(said, "text"))
        origin: Origin = "said" if said else "injected"
        self._add(info, Message(id=name, role="user", parts=content, origin=origin))

    def _use_system(self, text: str, agent: str) -> None:
        """What the user's own system prompt and the reminder of the mode add to what the program sends."""
        named = {block.name: block for block in self.rows.system}
        if text:
            named["user"] = SystemBlock(text=clean_text(text).text, name="user")
        if agent in REMINDERS and (agent == "plan" or "mode" in named):
            named["mode"] = SystemBlock(name="mode", text="", measured=REMINDERS[agent])
        self.rows.use_system(named.values(), is_part=True)

    def _assistant(self, info: JsonObject, parts: list[JsonObject]) -> None:
        provider = f.text(info, "providerID")
        model = f.text(info, "modelID")
        if info.get("summary") is not True or not self.rows.model:
            self.rows.use_model(model, wire_of(provider, model), provider)
        error = f.mapping(info, "error")
        aborted = f.text(error, "name") == "MessageAbortedError"
        shown = any(f.text(part, "type") in ("text", "tool") for part in parts)
        if error and not (aborted and shown):
            said = f.text(f.mapping(error, "data"), "message") or f.text(error, "name")
            outcome: Outcome = "cancelled" if aborted else "failed"
            usage = self._tokens(info) if aborted else None
            self.rows.call(
                f.text(info, "id"),
                None,
                usage,
                outcome=outcome,
                error=said[:500],
                model=model,
            )
            return
        steps = steps_of(parts)
        own = self._tokens(info) if all(step.finish is None for step in steps) else None
        for number, step in enumerate(steps):
            usage = own if step.finish is None else self._tokens(step.finish)
            is_cut = aborted and step.finish is None
            self._step(info, step, number, usage, "cancelled" if is_cut else "finished")

    def _step(
        self,
        info: JsonObject,
        step: CallParts,
        number: int,
        usage: Usage | None,
        outcome: Outcome,
    ) -> None:
        """One model call of a message: its answer, then the results of its tools."""
        rows = self.rows
        identity = f.text(info, "id")
        name = rows.unique(f"{identity}.{number}" if number else identity)
        answer = self._answer(name, step.parts)
        stop = f.text(step.finish or {}, "reason") or f.text(info, "finish")
        if info.get("summary") is True:
            self._summarised(info, answer if stop else None, usage, name)
            return
        interrupted = outcome == "cancelled"
        if answer is not None and interrupted:
            answer = replace(answer, interrupted="cancelled")
        started = f.seconds(f.mapping(info, "time").get("created"))
        rows.call(
            name,
            answer,
            usage,
            outcome=outcome,
            stop=stop,
            model=rows.model,
            started=started,
        )
        if answer is not None:
            self._ids.setdefault(identity, []).append(name)
        self._results(info, step.parts, name)

    def _answer(self, name: str, parts: Sequence[JsonObject]) -> Message | None:
        content = sent_parts(self.parts(name).make, parts, answer_part)
        if not content:
            return None
        return Message(id=name, role="assistant", parts=content)

    def _results(self, info: JsonObject, parts: Sequence[JsonObject], name: str) -> None:
        """The results of an answer's tools. The log has each whole, and says when it was cleared: until then it was
        sent."""
        label = self.rows.unique(f"{name}.results")
        results: list[Part] = []
        for part in parts:
            if f.text(part, "type") == "tool":
                made = tool_result(self.parts(f"{label}/{len(results)}").make, part)
                time = f.mapping(f.mapping(part, "state"), "time")
                if time.get("compacted") is not None:
                    self._prunings.append((f.seconds(time["compacted"]), made.id))
                results.append(made)
        if results:
            self._add(info, Message(id=label, role="tool", parts=tuple(results)))

    def _summarised(
        self, info: JsonObject, answer: Message | None, usage: Usage | None, name: str
    ) -> None:
        """The summary of a compaction: its call is spend, what it said replaces what is not kept.

        One that was broken off or answers no such question changes nothing. Another model than the conversation's may
        write it. It is sent as the answer to a question of the program's, with its reasoning.
        """
        rows = self.rows
        purpose: Purpose = "summary"
        model, provider = f.text(info, "modelID"), f.text(info, "providerID")
        rows.call(name, None, usage, purpose=purpose, model=model, provider=provider)
        if answer is None or f.text(info, "parentID") not in ("", self._asked_by):
            return
        summary = replace(
            answer, id=rows.unique(f"{name}.summary"), origin="summary", call=name
        )
        view = list(rows.view)
        tail = self._ids.get(f.text(self._compaction, "tail_start_id"), [""])[0]
        kept = view[view.index(tail) :] if tail in rows.view else []
        is_automatic = self._compaction.get("auto") is True
        trigger = "auto" if is_automatic else "manual"
        tokens = usage.visible_output if usage else None
        rows.compact(
            summary,
            keep=frozenset(kept),
            trigger=trigger,
            summary_tokens=tokens,
            is_automatic=is_automatic,
        )
        self._ids[self._asked_by] = [summary.id]
        self._compaction = {}

    # -- the end --

    def close(self) -> None:
        """Applies the prunings that are still due, and a revert that is in force."""
        self._prune_until(float("inf"))
        reverted = f.text(f.mapping(self.info, "revert"), "messageID")
        names = list(self._ids)
        if reverted in self._ids:
            kept: list[str] = []
            for name in names[: names.index(reverted)]:
                kept += self._ids[name]
            self.rows.rewind_to_last(kept)

    # -- inside --

    def _add(self, info: JsonObject, message: Message) -> None:
        self.rows.add(message)
        self._ids.setdefault(f.text(info, "id"), []).append(message.id)

    def _tokens(self, holder: JsonObject) -> Usage | None:
        return self.usage(f.mapping(holder, "tokens"))

    def _prune_until(self, moment: float) -> None:
        due = [part for at, part in self._prunings if at <= moment]
        if due:
            self._prunings = [each for each in self._prunings if each[0] > moment]
            self.rows.prune(due, notice=CLEARED, reason="opencode")


# -- parts: what is sent of each --


def wire_of(provider: str, model: str) -> str:
    """The wire a model is asked on; a gateway speaks that of the model's vendor."""
    served_by = provider_named(provider)
    if served_by.name in _GATEWAYS:
        vendor = next(vendors_of(model.rpartition("/")[2]), served_by)
        return vendor.wire if vendor.wire in WIRES else "chat"
    if (
        served_by.wire in WIRES
        and served_by.wire != "chat"
        and model.startswith("claude")
    ):
        return "messages"
    return served_by.wire or "chat"


def steps_of(parts: list[JsonObject]) -> list[CallParts]:
    """The model calls of a message. What changed on disk stands behind the last one and is none."""
    steps: list[CallParts] = []
    current: list[JsonObject] = []
    for part in parts:
        kind = f.text(part, "type")
        if kind == "step-finish":
            steps.append(CallParts(tuple(current), part))
            current = []
        elif kind not in ("step-start", "patch"):
            current.append(part)
    if current or not steps:
        steps.append(CallParts(tuple(current), None))
    return steps


def typed_text(parts: list[JsonObject]) -> JsonObject:
    """The first text that a person wrote; empty without one."""
    for part in parts:
        if f.text(part, "type") == "text" and part.get("synthetic") is not True:
            return part
    return {}


def sent_parts(
    make: PartMaker,
    parts: Sequence[JsonObject],
    sent: Callable[[PartMaker, JsonObject], Part | None],
) -> tuple[Part, ...]:
    """What is sent of these parts: ``sent`` says it of one."""
    found: list[Part] = []
    for part in parts:
        made = sent(make, part)
        if made is not None:
            found.append(made)
    return tuple(found)


def user_part(make: PartMaker, part: JsonObject) -> Part | None:
    """What a user's part sends. Text files are sent as text parts of their own, so the file itself is not."""
    match f.text(part, "type"):
        case "text" if part.get("ignored") is not True:
            return make.text(f.text(part, "text"))
        case "file" if f.text(part, "mime") not in (
            "text/plain",
            "application/x-directory",
        ):
            return _file(make, part)
        case "subtask":
            return make.text("The following tool was executed by the user")
        case _:
            return None


def _file(make: PartMaker, part: JsonObject) -> ResultContent:
    url = f.text(part, "url")
    mime, data = data_url(url)
    name = f.text(part, "filename")
    return make.media(
        f.text(part, "mime") or mime, data=data, url="" if data else url, name=name
    )


def answer_part(make: PartMaker, part: JsonObject) -> Part | None:
    """What an answer's part sends back."""
    state = f.mapping(part, "state")
    opaque = _opaque(part)
    match f.text(part, "type"):
        case "text":
            return make.text(f.text(part, "text"), opaque)
        case "reasoning":
            reasoning = make.reasoning(f.text(part, "text"), opaque)
            return replace(reasoning, opaque_size=_opaque_size(opaque))
        case "tool":
            call_id = f.text(part, "callID") or f.text(part, "id")
            call = make.call(call_id, f.text(part, "tool"), state.get("input"), opaque)
            return replace(call, opaque_size=_opaque_size(opaque))
        case _:
            return None


def _opaque(part: JsonObject) -> JsonObject:
    """What the provider wants back with a part: signatures, item ids, encrypted content."""
    names = ("metadata", "providerMetadata", "native", "providerState", "provider")
    held = {
        name: part[name]
        for name in names
        if isinstance(part.get(name), dict) and part[name]
    }
    if isinstance(part.get("state"), dict) and f.text(part, "type") != "tool":
        held["state"] = part["state"]
    return held


def _opaque_size(value: object, key: str = "") -> int:
    if isinstance(value, str):
        name = key.lower()
        return (
            len(value)
            if any(mark in name for mark in ("signature", "encrypted", "redacted"))
            else 0
        )
    if isinstance(value, dict):
        return sum(_opaque_size(each, name) for name, each in value.items())
    return (
        sum(_opaque_size(each, key) for each in value) if isinstance(value, list) else 0
    )


def tool_result(make: PartMaker, part: JsonObject) -> ToolResultPart:
    """The result of a tool, as it is sent: an unfinished one is reported as interrupted."""
    state = f.mapping(part, "state")
    status = f.text(state, "status")
    content: list[ResultContent] = []
    if status == "completed":
        content = [make.text(f.text(state, "output"))] if "output" in state else []
        content += [_file(make, each) for each in f.objects(state, "attachments")]
    elif status == "error":
        metadata = f.mapping(state, "metadata")
        kept = f.text(metadata, "output") if metadata.get("interrupted") is True else ""
        content = [make.text(kept or f.text(state, "error"))]
    else:
        content = [make.text(INTERRUPTED)]
    return make.result(
        f.text(part, "callID") or f.text(part, "id"),
        content,
        name=f.text(part, "tool"),
        is_error=status != "completed",
    )

"""pi's session logs: ``~/.pi/agent/sessions/--<directory>--/<time>_<id>.jsonl``.

Source: https://github.com/earendil-works/pi (once badlogic/pi-mono), ``packages/coding-agent/docs/session-format.md``,
which the npm package ``@earendil-works/pi-coding-agent`` 0.87.1 brings, and
``packages/coding-agent/src/core/session-manager.ts`` (``buildSessionContext``). Entries form a tree by ``id`` and
``parentId``; logs of version 1 have neither and are one line of entries. Every answer carries its own call's usage, a
compaction and a summary of a branch that of the calls that wrote them. Since 0.87 the system prompt and the tools are
in the log (``log_prompt``), and a ``context_edit`` changes one earlier message for the requests from there on.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import replace

import ullage.importers.fields as f
from ullage.codec.parts import PartMaker
from ullage.envelope import COPY_STEPS
from ullage.events import Outcome, Purpose
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.reader import LogFormat, Reader
from ullage.importers.tree import Tree
from ullage.messages import (
    Message,
    Origin,
    Part,
    ResultContent,
    TextPart,
    ToolResultPart,
)
from ullage.models.providers import provider_named
from ullage_programs.pi.log_prompt import PiPrompt

WIRES = {
    "anthropic-messages": "messages",
    "openai-completions": "chat",
    "mistral-conversations": "chat",
    "openai-responses": "responses",
    "openai-codex-responses": "responses",
    "azure-openai-responses": "responses",
    "google-generative-ai": "generateContent",
    "google-gemini-cli": "generateContent",
    "google-vertex": "generateContent",
    "bedrock-converse-stream": "converse",
}
"""Our names for pi's ``api``: ``packages/ai/src/types.ts``."""

DROPS_ABORTED_SINCE = datetime(2026, 1, 19, tzinfo=UTC).timestamp()
"""Since then answers that failed or were aborted are not sent back; before, all of them was but its tool calls, with
unsigned thinking as text: commits 2d27a2c7 and 16e142ef of ``packages/ai/src/providers/transform-messages.ts``."""

KNOWN_SILENT = frozenset({"custom", "label", "thinking_level_change"})

_SUMMARY = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
_BRANCH = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)
"""What pi sends around a summary: ``packages/coding-agent/src/core/messages.ts``. Its length counts."""


class _Branch(NamedTuple):
    """What holds at one entry of the tree and not at all others: the prompt, and messages that were edited."""

    prompt: PiPrompt
    edits: Mapping[str, Message]


class PiReader(Reader):
    """Reads one session of pi."""

    format = "pi"

    def __init__(self) -> None:
        super().__init__()
        self.tree = Tree(self.rows)
        self._branch = _Branch(PiPrompt(), {})
        self._branches: dict[str, _Branch] = {}
        """For each entry, what holds behind it."""
        self._originals: dict[str, Message] = {}
        """Messages that were edited, as they were before."""
        self._asked = ("", "")
        """The API and the provider of the last answer, in pi's names."""
        self._version = 1
        self._before: list[str] = []
        """For version 1: the message that the view ended with before each entry of the file, the header included."""

    def read(self, entry: JsonObject) -> None:
        kind = f.text(entry, "type")
        rows = self.rows
        self.dated(entry)
        self._before.append(rows.tip)
        if kind == "session":
            self._header(entry)
            return
        self._follow(entry)
        before = rows.tip
        try:
            self._entry(kind, entry)
        finally:
            self.tree.place(
                f.text(entry, "id"),
                f.text(entry, "parentId"),
                "" if rows.tip == before else rows.tip,
            )
            self._branches[f.text(entry, "id")] = self._branch

    def close(self) -> None:
        """Nothing is ever held back: each entry is complete."""

    def _header(self, entry: JsonObject) -> None:
        rows = self.rows
        self._version = f.count(entry, "version") or 1
        rows.session = f.text(entry, "id") or rows.session
        rows.cwd = f.text(entry, "cwd")
        rows.program = f"pi (session version {self._version})"

    def _follow(self, entry: JsonObject) -> None:
        parent = f.text(entry, "parentId")
        if parent:
            self.tree.follow(parent)
            self._use(self._branches.get(parent, self._branch))
        elif "parentId" in entry and self.tree.linked and f.text(entry, "id"):
            self.rows.rewind("")
            self._use(_Branch(PiPrompt(), {}))

    def _entry(self, kind: str, entry: JsonObject) -> None:
        match kind:
            case "message":
                self._message(entry, f.mapping(entry, "message"))
            case "custom_message":
                self._say(entry, entry.get("content"), "injected")
            case "compaction":
                self._compaction(entry)
            case "branch_summary":
                self._spend(entry, "summary")
                self._say(entry, _framed(_BRANCH, entry), "summary")
            case "context_edit":
                self._edit(entry)
            case "usage":
                self._spend(entry, "other")
            case "model_change":
                pass  # the next answer says which model it was, and on which wire
            case "session_info":
                self.titles["person"] = f.text(entry, "name")
            case _ if kind in KNOWN_SILENT:
                pass
            case "":
                raise Unusable("no `type`")
            case _:
                raise Unusable(f"unknown kind of entry: {kind[:40]}")

    # -- messages --

    def _message(self, entry: JsonObject, message: JsonObject) -> None:
        match f.text(message, "role"):
            case "system":
                self._prompt(self._branch.prompt, message)
            case "user":
                self._say(entry, message.get("content"))
            case "assistant":
                self._answer(entry, message)
            case "toolResult":
                self._result(entry, message)
            case "bashExecution":
                if message.get("excludeFromContext") is not True:
                    self._say(entry, _bash_text(message))
            case "custom" | "hookMessage":
                self._say(entry, message.get("content"), "injected")
            case "branchSummary":
                self._say(entry, _framed(_BRANCH, message), "summary")
            case "compactionSummary":
                self._say(entry, _framed(_SUMMARY, message), "summary")
            case "":
                raise Unusable("message without a role")
            case role:
                raise Unusable(f"unknown role: {role[:40]}")

    def _name(self, entry: JsonObject) -> str:
        return self.rows.unique(f.text(entry, "id"))

    def _say(self, entry: JsonObject, content: object, origin: Origin = "said") -> None:
        name = self._name(entry)
        parts = _content(self.parts(name).make, content)
        if not parts:
            raise Unusable("message without content")
        if origin == "said" and isinstance(parts[0], TextPart):
            self.prompted(parts[0].text)
        self.rows.say(name, "user", parts, origin)

    def _result(self, entry: JsonObject, message: JsonObject) -> None:
        name = self._name(entry)
        maker = self.parts(name).make
        part = maker.result(
            message.get("toolCallId"),
            _content(maker, message.get("content")),
            name=message.get("toolName"),
            is_error=message.get("isError") is True,
        )
        self.rows.say(name, "tool", [part])

    def _answer(self, entry: JsonObject, message: JsonObject) -> None:
        rows = self.rows
        wire = WIRES.get(
            f.text(message, "api"),
            # Answers without ``api`` are from before pi spoke several.
            f.text(message, "api")
            or provider_named(f.text(message, "provider")).wire
            or "chat",
        )
        rows.use_model(f.text(message, "model"), wire, f.text(message, "provider"))
        asked = f.text(message, "api"), f.text(message, "provider")
        if asked != self._asked:
            self._asked = asked
            self._declare()
        name = self._name(entry)
        stop = f.text(message, "stopReason")
        outcome = _OUTCOMES.get(stop, "finished")
        usage = self.usage(
            f.mapping(message, "usage"),
            final=outcome == "finished",
            placeholder=outcome == "cancelled",
        )
        if outcome == "failed":
            usage = None
        answer = self._message_of(name, f.objects(message, "content"), outcome)
        rows.call(
            name,
            answer,
            usage,
            outcome=outcome,
            stop=stop,
            error=f.text(message, "errorMessage")[:500],
            model=f.text(message, "responseModel") or f.text(message, "model"),
            started=f.seconds(message.get("timestamp")),
        )

    def _message_of(
        self, name: str, blocks: list[JsonObject], outcome: Outcome
    ) -> Message | None:
        """The answer as later requests send it; ``None`` when they don't."""
        maker = self.parts(name).make
        if outcome == "finished":
            return Message(
                id=name,
                role="assistant",
                parts=tuple(_part(maker, block) for block in blocks),
            )
        if self.rows.at >= DROPS_ABORTED_SINCE:
            return None
        parts: list[Part] = []
        for block in blocks:
            if f.text(block, "type") == "thinking" and not block.get("thinkingSignature"):
                parts.append(
                    maker.text(f"<thinking>\n{f.text(block, 'thinking')}\n</thinking>")
                )
            elif f.text(block, "type") != "toolCall":
                parts.append(_part(maker, block))
        return (
            Message(id=name, role="assistant", parts=tuple(parts), interrupted="aborted")
            if parts
            else None
        )

    # -- the prompt, and edits --

    def _prompt(self, before: PiPrompt, message: JsonObject) -> None:
        self.rows.spend(before.size * COPY_STEPS)
        self._use(_Branch(before.changed(message), self._branch.edits))

    def _use(self, branch: _Branch) -> None:
        """What held at an entry holds again: its prompt, and each message as it was edited until then."""
        rows, before = self.rows, self._branch
        if branch is before:
            return
        self._branch = branch
        if branch.prompt is not before.prompt:
            rows.use_system(branch.prompt.blocks())
            self._declare()
        if branch.edits is before.edits:
            return
        rows.spend((len(before.edits) + len(branch.edits)) * COPY_STEPS)
        for name in before.edits:
            if name not in branch.edits:
                self._replace(name, self._originals[name])
        for name, edited in branch.edits.items():
            if before.edits.get(name) is not edited:
                self._replace(name, edited)

    def _declare(self) -> None:
        self.rows.use_tools(self._branch.prompt.declared(*self._asked))

    def _edit(self, entry: JsonObject) -> None:
        """Another content for an earlier message, or none, in the requests from here on."""
        target = f.text(entry, "targetId")
        name = self.tree.ending(target)
        if not name or name == self.tree.before(target):
            raise Unusable("an edit of a message that is not in the log")
        message = self.rows.messages[name]
        self._originals.setdefault(name, message)
        maker = self.parts(self.rows.unique(f.text(entry, "id"))).make
        parts: tuple[Part, ...] = tuple(_content(maker, entry.get("replacement")))
        first = next(iter(message.parts), None)
        if isinstance(first, ToolResultPart):
            content = tuple(_content(maker, entry.get("replacement")))
            parts = (replace(first, content=content),)
        edited = replace(message, parts=parts)
        edits = {**self._branch.edits, name: edited}
        self._use(_Branch(self._branch.prompt, edits))

    def _replace(self, name: str, message: Message) -> None:
        rows = self.rows
        if name in rows.view:
            revision = rows.messages[name].revision + 1
            rows.replace(replace(message, revision=revision))

    def _spend(self, entry: JsonObject, purpose: Purpose) -> None:
        """Calls whose usage an entry holds and that are not in the conversation."""
        raw = f.mapping(entry, "usage")
        if raw:
            self.rows.call(
                "",
                None,
                self.usage(raw),
                purpose=purpose,
                model=f.text(entry, "model") or self.rows.model,
                provider=f.text(entry, "provider"),
            )

    # -- compaction --

    def _compaction(self, entry: JsonObject) -> None:
        rows = self.rows
        self._spend(entry, "summary")
        prompt = f.mapping(entry, "systemMessage")
        if prompt:
            self._prompt(PiPrompt(), prompt)
        name = self._name(entry)
        text = _framed(_SUMMARY, entry)
        parts = tuple(_content(self.parts(name).make, text))
        summary = Message(id=name, role="user", parts=parts, origin="summary")
        rows.compact(
            summary,
            keep=self._kept(entry),
            trigger="pi",
            before=f.count(entry, "tokensBefore"),
        )

    def _kept(self, entry: JsonObject) -> frozenset[str]:
        """The messages from the first kept entry on, which need not be a message itself."""
        before = self.tree.before(f.text(entry, "firstKeptEntryId"))
        index = f.count(entry, "firstKeptEntryIndex")
        if before is None and index is not None and index < len(self._before):
            before = self._before[index]
        view = list(self.rows.view)
        if before is None or (before and before not in self.rows.view):
            return frozenset()
        return frozenset(view[view.index(before) + 1 if before else 0 :])


_OUTCOMES: dict[str, Outcome] = {"error": "failed", "aborted": "cancelled"}


def _framed(frame: tuple[str, str], holder: JsonObject) -> str:
    """A summary as pi sends it."""
    before, behind = frame
    return f"{before}{f.text(holder, 'summary')}{behind}"


def _content(maker: PartMaker, content: object) -> list[ResultContent]:
    """Text, or a list of text and images."""
    if isinstance(content, str):
        return [maker.text(content)] if content else []
    blocks = content if isinstance(content, list) else []
    return [_piece(maker, block) for block in blocks if isinstance(block, dict)]


def _piece(maker: PartMaker, block: JsonObject) -> ResultContent:
    match f.text(block, "type"):
        case "text":
            return maker.text(f.text(block, "text"), _rest(block, "text"))
        case "image":
            return maker.media(
                f.text(block, "mimeType") or "image/*", data=f.text(block, "data")
            )
        case _:
            return maker.item(block)


def _part(maker: PartMaker, block: JsonObject) -> Part:
    match f.text(block, "type"):
        case "thinking":
            redacted = block.get("redacted") is True
            rest = _rest(block, "thinking", "redacted")
            part = maker.reasoning(
                "" if redacted else f.text(block, "thinking"), rest, redacted=redacted
            )
            return replace(part, opaque_size=len(f.text(block, "thinkingSignature")))
        case "toolCall":
            rest = _rest(block, "id", "name", "arguments")
            call = maker.call(
                block.get("id"), block.get("name"), block.get("arguments"), rest
            )
            return replace(call, opaque_size=len(f.text(block, "thoughtSignature")))
        case _:
            return _piece(maker, block)


def _rest(block: JsonObject, *known: str) -> JsonObject:
    return {key: value for key, value in block.items() if key not in ("type", *known)}


def _bash_text(message: JsonObject) -> str:
    """A command the person ran, as pi tells the model of it."""
    output = f.text(message, "output")
    text = f"Ran `{f.text(message, 'command')}`\n" + (
        f"```\n{output}\n```" if output else "(no output)"
    )
    exit_code = f.number(message, "exitCode")
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif exit_code:
        text += f"\n\nCommand exited with code {exit_code:.0f}"
    return text


def fits(entry: JsonObject) -> bool:
    """Whether a line is one of pi's."""
    if entry.get("type") == "session":
        return "id" in entry and ("cwd" in entry or "version" in entry)
    return entry.get("type") == "message" and "role" in f.mapping(entry, "message")


FORMAT = LogFormat(
    "pi", fits, "no `session` header and no line of type message with a role", PiReader
)

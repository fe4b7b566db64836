"""Gemini CLI's chats: ``~/.gemini/tmp/<project>/chats/session-….json`` and, since 2026, ``….jsonl``.

Source: https://github.com/google-gemini/gemini-cli, ``packages/core/src/services/chatRecordingService.ts`` and
``chatRecordingTypes.ts``. The older file is one JSON object that is rewritten; the newer one is appended to:

* A record that was written before comes again, with more in it: first the answer, then its tool calls with results.
* ``$rewindTo`` takes back the message it names and all after it; ``$set`` changes metadata. With ``messages`` it is the
  whole conversation again, as the program holds it after a compression, a rollback, or masking of tool results.
* ``tokens`` of a message are those of its own call.
"""

from __future__ import annotations

import marshal
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

import ullage.importers.fields as f
from ullage.codec.wires import wire_named
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.reader import LogFormat, Reader
from ullage.messages import (
    Message,
    Origin,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

WIRE = "generateContent"
PROVIDER = wire_named(WIRE).maker

MASKED = "<tool_output_masked>"
"""What a masked tool result begins with: ``packages/core/src/context/toolOutputMaskingService.ts``."""

_INJECTED = ("<session_context>", "<hook_context>", "<state_snapshot>")
_NOT_SENT = ("/", "?")
"""How user records begin that are commands to the program: ``packages/core/src/utils/sessionUtils.ts``."""

BEGIN = 8_000
"""Characters of a text that may name what the record is, and its title."""


@dataclass(slots=True)
class _Written:
    """What was written of one record."""

    messages: list[str] = field(default_factory=list)
    content: bytes = b""
    """The digest of its content: a later record of the same id may have another one."""
    results: bytes = b""


def _digest(value: Any) -> bytes:
    """Names a JSON value. As JSON it would stay in memory, kept by Python beside each text."""
    return sha256(marshal.dumps(value, 2)).digest()


class GeminiCliReader(Reader):
    """Reads one chat of Gemini CLI, in either of its forms."""

    format = "gemini-cli"
    wire = WIRE

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[str, _Written] = {}
        self._held: JsonObject = {}
        """The last answer, to which its tool calls may still come."""
        self.provider = PROVIDER

    def read(self, entry: JsonObject) -> None:
        if isinstance(entry.get("$rewindTo"), str):
            self._flush()
            self._rewind_to(entry["$rewindTo"])
        elif isinstance(entry.get("$set"), dict):
            self._metadata(entry["$set"])
            if isinstance(entry["$set"].get("messages"), list):
                self._flush()
                self._synchronise(f.objects(entry["$set"], "messages"))
        elif "sessionId" in entry and ("projectHash" in entry or "messages" in entry):
            self._metadata(entry)
            for record in f.items(entry, "messages"):
                self._try(record)
        elif isinstance(entry.get("id"), str):
            self._record(entry)
        else:
            raise Unusable("neither a message nor metadata")

    def close(self) -> None:
        self._flush()

    def _try(self, record: object) -> None:
        """One message of a chat that is a single object: it alone is skipped when it can't be used."""
        try:
            if not isinstance(record, dict):
                raise Unusable("no JSON object")
            self._record(record)
        except Unusable as why:
            self.skip(str(why))

    def _metadata(self, entry: JsonObject) -> None:
        rows = self.rows
        rows.session = f.text(entry, "sessionId") or rows.session
        rows.at = rows.at or f.seconds(entry.get("startTime"))
        directories = f.texts(entry, "directories")
        rows.cwd = rows.cwd or (directories[0] if directories else "")
        if f.text(entry, "summary"):
            self.titles["program"] = f.text(entry, "summary")

    # -- records --

    def _record(self, record: JsonObject) -> None:
        kind = f.text(record, "type")
        if kind not in ("user", "gemini", "info", "error", "warning"):
            raise Unusable(
                f"unknown kind of message: {kind[:40]}" if kind else "no `type`"
            )
        name = f.text(record, "id")
        if self._held and f.text(self._held, "id") == name:
            self._held = record
            return
        if name in self._records:
            self._again(name, record)
            return
        self._flush(record)
        self.dated(record)
        if kind == "gemini":
            self._held = record
        else:
            self._records[name] = (
                self._user(record) if kind in ("user", "info") else _Written()
            )

    def _user(self, record: JsonObject) -> _Written:
        """A message of the user or of the program; notices are only shown, unless they hold media for the model."""
        content = _part_list(record.get("content"))
        written = _Written(content=_digest(content))
        is_notice = f.text(record, "type") == "info"
        if is_notice and not any(
            "inlineData" in part or "fileData" in part for part in content
        ):
            return written
        name = self.rows.unique(f.text(record, "id"))
        parts = self.parts(name).read(content, self.rows.tool_names)
        texts = [part.text[:BEGIN] for part in parts if isinstance(part, TextPart)]
        said = "".join(texts).strip()
        results = any(isinstance(part, ToolResultPart) for part in parts)
        if not parts or (said.startswith(_NOT_SENT) and not is_notice and not results):
            return written
        origin: Origin = "injected" if is_notice or said.startswith(_INJECTED) else "said"
        if origin == "said" and not results:
            self.prompted(said)
        role: Role = "tool" if results else "user"
        self.rows.say(name, role, parts, origin)
        written.messages.append(name)
        return written

    def _flush(self, following: JsonObject | None = None) -> None:
        """The held answer is complete. Results that the record after it holds are left to that one."""
        record, self._held = self._held, {}
        if not record:
            return
        rows = self.rows
        name = rows.unique(f.text(record, "id"))
        written = _Written(
            content=_digest(_part_list(record.get("content"))),
            results=_results_key(record),
        )
        self._records[f.text(record, "id")] = written
        parts = self._answer_parts(name, record)
        if parts:
            written.messages.append(name)
            self._answer(name, record, parts)
        later = {
            f.text(f.mapping(part, "functionResponse"), "id")
            for part in _part_list((following or {}).get("content"))
        }
        results = [
            part
            for part in self._results(f"{name}.results", record)
            if part.call_id not in later
        ]
        if results:
            written.messages.append(f"{name}.results")
            rows.say(f"{name}.results", "tool", results)

    def _answer(self, name: str, record: JsonObject, parts: list[Part]) -> None:
        model = f.text(record, "model")
        tokens = f.mapping(record, "tokens")
        answer = Message(id=name, role="assistant", parts=tuple(parts))
        if not model and not tokens:
            self.rows.add(replace(answer, origin="injected"))
            return
        self.rows.use_model(model, WIRE, PROVIDER)
        self.rows.call(name, answer, self.usage(tokens), model=model)

    def _answer_parts(self, name: str, record: JsonObject) -> list[Part]:
        """Thoughts, text and tool calls: as parts where the content holds them, else from the record's own lists."""
        content = _part_list(record.get("content"))
        reader = self.parts(name)
        if any("functionCall" in part or part.get("thought") is True for part in content):
            return reader.read(content)
        make = reader.make
        parts: list[Part] = [
            make.reasoning(
                f"{f.text(thought, 'subject')}\n{f.text(thought, 'description')}".strip(),
                {},
            )
            for thought in f.objects(record, "thoughts")
        ]
        parts += [
            part
            for part in reader.read(content)
            if not (isinstance(part, TextPart) and not part.text)
        ]
        parts += [
            make.call(call.get("id"), call.get("name"), call.get("args"))
            for call in f.objects(record, "toolCalls")
        ]
        return parts

    def _results(self, name: str, record: JsonObject) -> list[ToolResultPart]:
        """The results of a record's tool calls; media beside a result joins its content."""
        found: list[ToolResultPart] = []
        for at, call in enumerate(f.objects(record, "toolCalls")):
            parts = self.parts(f"{name}/{at}").read(_part_list(call.get("result")), {})
            results = [part for part in parts if isinstance(part, ToolResultPart)]
            beside = tuple(
                part
                for part in parts
                if not isinstance(part, ToolResultPart | ToolCallPart | ReasoningPart)
            )
            if not parts:
                continue
            first = (
                results[0] if results else ToolResultPart(id=f"{name}/{at}/0", call_id="")
            )
            content = (*(piece for part in results for piece in part.content), *beside)
            text = "".join(piece.text for piece in content if isinstance(piece, TextPart))
            found.append(
                replace(
                    first,
                    id=f"{name}/{at}",
                    call_id=f.text(call, "id"),
                    name=f.text(call, "name"),
                    content=content,
                    is_error=f.text(call, "status") == "error",
                    cleared=MASKED in text,
                )
            )
        return found

    # -- records that change --

    def _again(self, name: str, record: JsonObject) -> None:
        """A record that was written before has changed: other tool results, masked or late, or other content."""
        rows, written = self.rows, self._records[name]
        results = _results_key(record)
        if results != written.results:
            written.results = results
            label = f"{name}.results"
            parts = tuple(self._results(label, record))
            if label in rows.messages:
                self._replace(label, parts)
            elif parts:
                written.messages.append(label)
                rows.say(label, "tool", parts)
        content = _digest(
            _part_list(record.get("content"))
            if f.text(record, "type") != "gemini"
            else record.get("content")
        )
        if (
            content != written.content
            and f.text(record, "type") == "user"
            and written.messages
        ):
            written.content = content
            parts_now = self.parts(written.messages[0]).read(
                _part_list(record.get("content")), rows.tool_names
            )
            self._replace(written.messages[0], tuple(_masked(part) for part in parts_now))

    def _replace(self, name: str, parts: tuple[Part, ...]) -> None:
        old = self.rows.messages[name]
        self.rows.replace(replace(old, parts=parts, revision=old.revision + 1))

    def _rewind_to(self, name: str) -> None:
        """Take back the message of this record and all after it; all of them when it is not known."""
        order = list(self._records)
        start = order.index(name) if name in self._records else 0
        before = [
            message
            for record in order[:start]
            for message in self._records[record].messages
        ]
        for record in order[start:]:
            del self._records[record]
        self.rows.rewind_to_last(before)

    def _synchronise(self, records: list[JsonObject]) -> None:
        """The whole conversation as it is now: what is gone was rolled back or compressed."""
        now = {f.text(record, "id"): record for record in records if f.text(record, "id")}
        order = list(self._records)
        gone = [
            name for name in order if name not in now and self._records[name].messages
        ]
        new = [record for name, record in now.items() if name not in self._records]
        if (
            gone
            and not new
            and gone
            == [name for name in order if self._records[name].messages][-len(gone) :]
        ):
            self._rewind_to(gone[0])
        elif gone:
            self._compress(gone, new)
            new = []
        for name, record in now.items():
            if name in self._records:
                self._again(name, record)
        for record in new:
            self._record(record)
        self._flush()

    def _compress(self, gone: list[str], new: list[JsonObject]) -> None:
        rows = self.rows
        left = {message for name in gone for message in self._records.pop(name).messages}
        first = next((record for record in new if f.text(record, "type") == "user"), None)
        summary = None
        if first is not None:
            name = rows.reserve("user", f.text(first, "id"))
            parts = tuple(self.parts(name).read(_part_list(first.get("content"))))
            summary = Message(id=name, role="user", parts=parts, origin="summary")
            self._records[f.text(first, "id")] = _Written(
                [name], f.raw_json(_part_list(first.get("content")))
            )
        rows.compact(
            summary,
            keep=[name for name in rows.view if name not in left],
            trigger="gemini-cli",
        )
        for record in new:
            if record is not first:
                self._record(
                    {
                        key: value
                        for key, value in record.items()
                        if key not in ("tokens", "model")
                    }
                )


def _masked(part: Part) -> Part:
    if isinstance(part, ToolResultPart) and MASKED in part.text:
        return replace(part, cleared=True)
    return part


def _part_list(content: object) -> list[JsonObject]:
    """Google's ``PartListUnion`` as a list of parts: text, one part, or a list of both."""
    pieces = content if isinstance(content, list) else [content]
    parts = [{"text": piece} if isinstance(piece, str) else piece for piece in pieces]
    return [part for part in parts if isinstance(part, dict)]


def _results_key(record: JsonObject) -> bytes:
    return f.raw_json([call.get("result") for call in f.objects(record, "toolCalls")])


def fits(entry: JsonObject) -> bool:
    """Whether an object is a line of a chat, or a whole one."""
    if "$set" in entry or "$rewindTo" in entry:
        return True
    if isinstance(entry.get("sessionId"), str):
        is_whole = isinstance(entry.get("messages"), list) and "startTime" in entry
        if is_whole or "projectHash" in entry:
            return True
    has_all = entry.keys() >= {"content", "timestamp", "id"}
    return has_all and entry.get("type") in ("user", "gemini")


FORMAT = LogFormat(
    "gemini-cli", fits, "no object with a sessionId and a projectHash", GeminiCliReader
)

"""What Claude Code puts into the context by itself, as its ``attachment`` lines record it.

Kinds and fields as found in public logs of versions 2.0 and 2.1. ``rendered`` on a line is the text as it was sent;
older versions leave it out, and then the attachment's own text stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec.structs import replace

import ullage.importers.fields as f
from ullage.codec.parts import tool
from ullage.codec.wires import wire_named
from ullage.importers.fields import JsonObject
from ullage.importers.parts import LogParts
from ullage.importers.rows import EventWriter
from ullage.messages import Message, SystemBlock, TextPart, Tool, clean_text

BlockKind = Literal["prompt", "instructions", "skills", "agents", "memory"]

_BLOCKS: dict[str, BlockKind] = {
    "skill_listing": "skills",
    "agent_listing_delta": "agents",
    "mcp_instructions_delta": "instructions",
    "nested_memory": "memory",
    "relevant_memories": "memory",
}

LONGEST_HEADING: Final = 60
"""Characters of a heading that name a row."""

_SECTIONS: Final = re.compile(r"(?m)(?!\A)^(?=# \S)")


class Attachments:
    """Reads attachments: some are messages, others change the system prompt or the tools."""

    def __init__(self, rows: EventWriter) -> None:
        self._rows = rows
        self._has_prompt = self._has_tools = False
        """Whether the log has the system prompt itself, and the declarations that are sent."""
        self._has_shape = False

    def read(self, entry: JsonObject, name: str) -> Message | None:
        """The message that an attachment adds; ``None`` when it adds none."""
        attachment = f.mapping(entry, "attachment")
        kind = f.text(attachment, "type")
        rendered = "\n".join(
            filter(
                None, (f.text(each, "content") for each in f.objects(entry, "rendered"))
            )
        )
        match kind:
            case "prompt_snapshot" if self._has_shape:
                return None  # what a request was made from is no news beside the request
            case "prompt_snapshot":
                prompt = attachment.get("systemPrompt")
                pieces = prompt if isinstance(prompt, list) else [prompt]
                self._use_prompt(pieces, f.objects(attachment, "tools"))
                return None
            case "instructions":
                self._instructions(attachment)
                return None
            case "deferred_tools_delta":
                self._deferred(attachment)
            case "queued_command":
                return self._queued(attachment, name)
            case _ if kind in _BLOCKS:
                text = rendered or _own_text(kind, attachment)
                if attachment.get("isInitial") is True:
                    self._drop_blocks(_BLOCKS[kind])
                self._add_block(_BLOCKS[kind], text, _label(attachment))
                return None
        text = rendered or _own_text(kind, attachment)
        if not text:
            return None
        called = kind.replace("_", " ")
        parts = [
            replace(part, name=called) if isinstance(part, TextPart) else part
            for part in _parts(name).read(text)
        ]
        return Message(id=name, role="user", parts=tuple(parts), origin="injected")

    def initial(self, entry: JsonObject) -> None:
        """The ``init`` line of the ``stream-json`` output: names of tools and servers, no declarations."""
        deferred = tuple(_named(name, deferred=False) for name in f.texts(entry, "tools"))
        if deferred and not self._rows.tools:
            self._use_tools(deferred)

    def read_shape(self, shape: JsonObject) -> None:
        """The system prompt and the tools of a logged request."""
        self._has_shape = True
        self._use_prompt(f.items(shape, "system"), f.objects(shape, "tools"))

    def _use_prompt(self, pieces: list[object], tools: list[JsonObject]) -> None:
        """The system prompt by its headings, and the tools."""
        blocks: list[SystemBlock] = []
        for piece in pieces:
            text = f.text(piece, "text") if isinstance(piece, dict) else piece
            if isinstance(text, str) and text:
                for section in _SECTIONS.split(clean_text(text).text):
                    heading = section.partition("\n")[0][:LONGEST_HEADING]
                    name = heading.removeprefix("# ") if heading[:2] == "# " else ""
                    blocks.append(SystemBlock(text=section, name=name))
        others = [block for block in self._rows.system if block.kind != "prompt"]
        if blocks:
            self._has_prompt = True
            self._use_system([*blocks, *others])
        if tools:
            self._has_tools = True
            declared = [_declared(tool) for tool in tools]
            names = {tool.name for tool in declared}
            self._use_tools(
                [
                    *declared,
                    *(t for t in self._rows.tools if t.deferred and t.name not in names),
                ]
            )

    def _instructions(self, attachment: JsonObject) -> None:
        for file in f.objects(attachment, "files"):
            self._add_block("instructions", f.text(file, "content"), f.text(file, "path"))

    def _deferred(self, attachment: JsonObject) -> None:
        removed = set(f.texts(attachment, "removedNames"))
        known = [
            tool
            for tool in self._rows.tools
            if not (tool.deferred and tool.name in removed)
        ]
        names = {tool.name for tool in known}
        added = [
            _named(name, deferred=True)
            for name in f.texts(attachment, "addedNames")
            if name not in names
        ]
        self._use_tools([*known, *added])

    def _queued(self, attachment: JsonObject, name: str) -> Message | None:
        """A message that waited while the model was busy, at the moment it was delivered."""
        parts = _parts(name).read(attachment.get("prompt"))
        return Message(id=name, role="user", parts=tuple(parts)) if parts else None

    def compacted(self) -> None:
        """Listings leave with a compaction, as the messages do that they were.

        What is sent again has a line of its own: agents and instructions of servers at once, the skills when a program
        was started again (11 compactions of 2.1.170 to 2.1.232 in 5 public projects). Instruction files stay.
        """
        stays = [
            block
            for block in self._rows.system
            if block.kind == "prompt" or (block.kind == "instructions" and block.name)
        ]
        self._use_system(stays)

    def _drop_blocks(self, kind: BlockKind) -> None:
        """A whole list follows, as after a compaction: it takes the place of the one that was sent before."""
        self._use_system([block for block in self._rows.system if block.kind != kind])

    def _add_block(self, kind: BlockKind, text: str, label: str) -> None:
        if not text:
            return
        block = SystemBlock(text=clean_text(text).text, kind=kind, name=label)
        if label and label in {
            each.name for each in self._rows.system if each.kind == kind
        }:
            others = [
                each
                for each in self._rows.system
                if (each.kind, each.name) != (kind, label)
            ]
        else:
            others = list(self._rows.system)
        self._use_system([*others, block])

    def _use_system(self, blocks: Sequence[SystemBlock]) -> None:
        self._rows.use_system(blocks, is_part=not self._has_prompt)

    def _use_tools(self, tools: Sequence[Tool]) -> None:
        self._rows.use_tools(tools, is_part=not self._has_tools)


def _parts(name: str) -> LogParts:
    return LogParts(name, "messages", provider=wire_named("messages").maker)


def _label(attachment: JsonObject) -> str:
    return f.text(attachment, "displayPath") or f.text(attachment, "path")


def _declared(one: JsonObject) -> Tool:
    schema: JsonObject = {}
    for key in ("input_schema", "inputJSONSchema", "schema"):
        schema = schema or f.mapping(one, key)
    deferred = one.get("defer_loading") is True
    return tool(one.get("name"), one.get("description"), schema, deferred=deferred)


def _named(name: str, *, deferred: bool) -> Tool:
    return tool(name, "", None, deferred=deferred)


def _lines(*keys: str) -> Callable[[JsonObject], str]:
    return lambda attachment: "\n".join(
        line for key in keys for line in f.texts(attachment, key)
    )


def _plain(*keys: str) -> Callable[[JsonObject], str]:
    return lambda attachment: "\n".join(
        filter(None, (f.text(attachment, key) for key in keys))
    )


def _file(attachment: JsonObject) -> str:
    content = f.mapping(attachment, "content")
    return (
        f.text(f.mapping(content, "file"), "content")
        or f.text(content, "content")
        or f.text(content, "text")
    )


def _file_read(attachment: JsonObject) -> str:
    """A file as the program sends it: a call of Read and its result, each a reminder, with the number of each line.

    So 2.1.197 re-attached two files after ``/compact`` against a simulator (n=2 sessions). Without them the call after
    a compaction was 1.5 % low.
    """
    content = _file(attachment)
    file = f.mapping(f.mapping(attachment, "content"), "file")
    path = f.text(file, "filePath") or f.text(attachment, "filename")
    if not content or not path:
        return content
    return read_again(path, numbered(content, f.count(file, "startLine") or 1))


def read_again(path: str, result: str) -> str:
    """A call of Read for this path and its result."""
    return "".join([_READ_CALL, f.as_json({"file_path": path}), _READ_RESULT, result])


def numbered(content: str, first: int = 1, form: str = "{}\t{}") -> str:
    """The lines with their numbers in front."""
    lines = enumerate(content.splitlines(keepends=True), first)
    return "".join([form.format(number, line) for number, line in lines])


def _invoked_skills(attachment: JsonObject) -> str:
    """The skills that were used before a compaction: the program attaches their texts again."""
    pieces: list[str] = []
    for skill in f.objects(attachment, "skills"):
        pieces.extend(f.text(skill, key) for key in ("name", "path", "content"))
    return "\n".join(filter(None, pieces))


_READ_CALL: Final = "<system-reminder> Read, called with this input: "
_READ_RESULT: Final = " </system-reminder> <system-reminder> Its result: "
"""Stand for the words around a file that is attached, by their length."""


def _hook(attachment: JsonObject) -> str:
    return _plain("content")(attachment) or _lines("content")(attachment)


_OWN_TEXT: dict[str, Callable[[JsonObject], str]] = {
    "agent_listing_delta": _lines("addedLines"),
    "critical_system_reminder": _plain("content"),
    "deferred_tools_delta": _lines("addedLines"),
    "directory": _plain("content"),
    "edited_text_file": _plain("filename", "snippet"),
    "file": _file_read,
    "hook_additional_context": _hook,
    "hook_blocking_error": _plain("blockingError"),
    "invoked_skills": _invoked_skills,
    "mcp_instructions_delta": _lines("addedBlocks"),
    "nested_memory": _file,
    "plan_file_reference": _plain("planFilePath", "planContent"),
    "relevant_memories": _plain("content"),
    "selected_lines_in_ide": _plain("filename", "content"),
    "skill_listing": _plain("content"),
}


def _own_text(kind: str, attachment: JsonObject) -> str:
    """The text an attachment holds itself, for the kinds that are known to be sent."""
    reader = _OWN_TEXT.get(kind)
    return reader(attachment) if reader is not None else ""

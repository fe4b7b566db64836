"""The session of a log as items in the order of a conversation, with the compactions that its program made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.quality.facts import strings_in
from ullage.events import CompactionCommitted, MessageAdded
from ullage.importers import read
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart

NEXT: Final = 20
"""Calls behind a compaction in which facts are used."""


READING: Final = frozenset({"read", "read_file", "view"})
CHANGING: Final = frozenset(
    {"edit", "write", "multiedit", "notebookedit", "write_file", "replace", "apply_patch"}
)
PATHS: Final = ("file_path", "path", "notebook_path")
PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


class Touched(NamedTuple):
    """A file that a call read, or changed. What a shell did is not seen."""

    path: str
    is_changed: bool


@dataclass(slots=True)
class LogItem:
    """One message: what of it is text, and as an item of OpenAI Chat. ``is_call``: the model said it."""

    text: str
    body: list[dict[str, Any]]
    is_call: bool
    is_tool: bool
    name: str
    touched: tuple[Touched, ...] = ()


@dataclass(slots=True)
class OwnCompaction:
    """A compaction of the log's program: in front of which item, its summary, and what stayed in view."""

    place: int
    summary: str
    kept: tuple[str, ...]
    """The texts that stand beside the summary."""


@dataclass(slots=True)
class LoggedSession:
    """``program`` is the format of its log."""

    program: str = ""
    items: list[LogItem] = field(default_factory=list)
    compactions: list[OwnCompaction] = field(default_factory=list)

    def next_calls(self, place: int) -> list[LogItem]:
        """The items behind ``place`` up to the last of the next calls."""
        found: list[LogItem] = []
        calls = 0
        for item in self.items[place:]:
            found.append(item)
            calls += item.is_call
            if calls == NEXT:
                break
        return found


def logged(path: Path) -> LoggedSession:
    """The main session of a log. Raises ``UnreadableInput``."""
    log = read(path)
    made = LoggedSession(log.format)
    view: dict[str, LogItem] = {}
    for event in log.events:
        if isinstance(event, MessageAdded):
            item = item_of(event.message)
            if item is not None:
                made.items.append(item)
                view[item.name] = item
        elif isinstance(event, CompactionCommitted):
            for name in (*event.summarised, *(each.id for each in event.dropped)):
                view.pop(name, None)
            beside = [text_of(each) for each in (*event.added, *event.replaced)]
            kept = (*(item.text for item in view.values()), *beside)
            summary = text_of(event.summary) if event.summary else ""
            made.compactions.append(OwnCompaction(len(made.items), summary, kept))
    return made


def text_of(message: Message) -> str:
    """All text of a message: said, arguments of calls, results."""
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
        elif isinstance(part, ToolCallPart):
            texts.append(strings_in(part.arguments))
        elif isinstance(part, ToolResultPart):
            texts.append(_shown(part))
    return "\n".join(texts)


def _shown(result: ToolResultPart) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextPart))


def item_of(message: Message) -> LogItem | None:
    """The message as an item; ``None`` for one without text, as a logged image is."""
    text = text_of(message)
    results = list(message.of_type(ToolResultPart))
    calls = list(message.of_type(ToolCallPart))
    said = "\n".join(part.text for part in message.of_type(TextPart))
    if not text.strip() and not results:
        return None
    body: list[dict[str, Any]] = []
    for result in results:
        body.append(
            {"role": "tool", "tool_call_id": result.call_id, "content": _shown(result)}
        )
    is_call = message.role == "assistant"
    if is_call:
        answer: dict[str, Any] = {"role": "assistant", "content": said}
        if calls:
            answer["tool_calls"] = [_called(call) for call in calls]
        body.append(answer)
    elif said:
        body.append({"role": "user", "content": said})
    return LogItem(text, body, is_call, bool(results), message.id, tuple(_touched(calls)))


def _touched(calls: Iterable[ToolCallPart]) -> Iterator[Touched]:
    for call in calls:
        name = call.name.lower()
        if name not in READING | CHANGING and "patch" not in call.arguments:
            continue
        for path in PATCHED.findall(strings_in(call.arguments)):
            yield Touched(path.strip(), True)
        try:
            given = json.loads(call.arguments)
        except ValueError:
            continue
        for key in PATHS:
            if (
                isinstance(given, dict)
                and isinstance(given.get(key), str)
                and name in READING | CHANGING
            ):
                yield Touched(given[key], name in CHANGING)


def _called(call: ToolCallPart) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def paired(items: Iterable[LogItem]) -> list[dict[str, Any]]:
    """The items as the messages of a Chat request: a call whose result the log lacks is left out, and the reverse."""
    given = [each for item in items for each in item.body]
    answered = {each["tool_call_id"] for each in given if each["role"] == "tool"}
    made: list[dict[str, Any]] = []
    asked: set[str] = set()
    for each in given:
        if each["role"] == "tool":
            if each["tool_call_id"] in asked:
                asked.discard(each["tool_call_id"])
                made.append(each)
            continue
        calls = [call for call in each.get("tool_calls", ()) if call["id"] in answered]
        asked |= {call["id"] for call in calls}
        plain = {name: value for name, value in each.items() if name != "tool_calls"}
        if calls:
            made.append({**plain, "tool_calls": calls})
        elif plain.get("content"):
            made.append(plain)
    return made

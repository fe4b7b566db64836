"""The files that a conversation has read and changed, each with what was done to it last.

Followed through the calls of file tools, ours and those of other programs, so that it holds every changed file,
whatever a summary says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ullage.bounds import json_excess
from ullage.context.policy import LONGEST_PATH
from ullage.context.situation import Situation
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.meter.call_names import PATHS

HEADING: Final = "Files, and what this conversation did to them last:"

READ: Final = "read"
_WRITING: Final = re.compile(
    r"write|edit|create|replace|insert|patch|update|append|save", re.IGNORECASE
)
_READING: Final = re.compile(r"read|view|open|cat|get_file|fetch_file", re.IGNORECASE)
_REMOVING: Final = re.compile(r"delete|remove|unlink", re.IGNORECASE)
_PATCHED: Final = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* (Move) to: (.+)$", re.MULTILINE
)
"""The heads of a patch of OpenAI's ``apply_patch``, as a tool's argument or in a command
(https://developers.openai.com/api/docs/guides/tools-apply-patch)."""

_DONE: Final = {
    "Add": "written",
    "Update": "edited",
    "Delete": "deleted",
    "Move": "written",
}
_NEW: Final = frozenset({"content", "contents", "file_text", "fileText"})
"""Arguments that hold a file's whole new text."""


class TouchedFile(NamedTuple):
    """A file and what was done to it."""

    path: str
    action: str


def files_touched_by(call: ToolCallPart) -> Iterator[TouchedFile]:
    """The files that a call reads or changes, as far as its name and arguments say so."""
    arguments = arguments_of(call)
    texts = [call.arguments]
    for value in arguments.values():
        texts += value if isinstance(value, list) else [value]
    patches = [text for text in texts if isinstance(text, str) and "*** " in text]
    for text in patches if arguments else texts:
        for match in _PATCHED.finditer(text):
            action, path = (part for part in match.groups() if part)
            yield TouchedFile(path.strip(), _DONE[action])
    path = next((arguments[name] for name in PATHS if name in arguments), None)
    verb = str(arguments.get("command", ""))
    verb = verb if verb.isidentifier() else call.name
    if not isinstance(path, str):
        return
    if _REMOVING.search(verb):
        yield TouchedFile(path, "deleted")
    elif _WRITING.search(verb):
        is_whole = not _NEW.isdisjoint(arguments)
        yield TouchedFile(path, "written" if is_whole else "edited")
    elif _READING.search(verb):
        yield TouchedFile(path, READ)


def arguments_of(call: ToolCallPart) -> Mapping[str, Any]:
    """A call's arguments; empty where they are no object in bounds."""
    raw = call.arguments.encode("utf-8", "replace")
    if json_excess(raw):
        return {}
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def file_trail(messages: Iterable[Message]) -> dict[str, str]:
    """By path what was done to a file last, the one touched last is last. One that was changed stays changed when read.

    Args:
        messages: In order; earlier summaries hold the trail of what they stand for.
    """
    trail: dict[str, str] = {}
    calls: dict[str, ToolCallPart] = {}
    for message in messages:
        for part in message.parts:
            touched: Iterable[TouchedFile] = ()
            match part:
                case ToolCallPart():
                    calls[part.call_id] = part
                case ToolResultPart() if part.call_id in calls and not part.is_error:
                    touched = files_touched_by(calls[part.call_id])
                case TextPart() if part.id == f"{message.id}.trail":
                    touched = _carried(part.text)
                case _:
                    continue
            for path, action in touched:
                if path.isprintable() and 0 < len(path) <= LONGEST_PATH:
                    before = trail.pop(path, READ)
                    trail[path] = before if action == READ else action
    return trail


def _carried(block: str) -> Iterator[TouchedFile]:
    action = READ
    for line in block.split("\n")[1:]:
        if line.startswith("- "):
            yield TouchedFile(line[2:], action)
        elif line.endswith(":"):
            action = line[:-1]


def trail_text(situation: Situation, messages: Iterable[Message], *, most: float) -> str:
    """The block of the trail in at most about ``most`` tokens: changed files first, the newest before older ones.

    Args:
        situation: The session that is compacted.
        messages: The messages that leave.
        most: In tokens.
    """
    by_action: dict[str, list[str]] = {}
    left = most - situation.count(HEADING) - 10
    left_out = 0
    newest_first = reversed(file_trail(messages).items())
    for path, action in sorted(newest_first, key=lambda each: each[1] == READ):
        left -= situation.count(path) + 2
        if left < 0:
            left_out += 1
        else:
            by_action.setdefault(action, []).append(path)
    lines = [HEADING]
    for action, paths in by_action.items():
        lines.append(f"{action}:")
        lines += [f"- {path}" for path in reversed(paths)]
    if left_out:
        lines.append(f"({left_out} more)")
    return "\n".join(lines) if by_action else ""

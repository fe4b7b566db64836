"""What a tool call was about, in a few words: the file it read, the command it ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ullage.messages import Message, ToolCallPart, ToolResultPart, clean_text
from ullage.meter.policy import (
    ARGUMENTS_READ,
    LAST_PATH_PARTS,
    LONGEST_SUBJECT,
    MOST_LINES,
)

PATHS: Final = (
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "filename",
    "target_file",
)
"""Arguments that name a file: those of the tools of Claude Code, Codex, OpenCode, pi, Gemini CLI and others."""

SUBJECTS: Final = (
    *PATHS,
    "command",
    "cmd",
    "url",
    "pattern",
    "query",
    "description",
    "name",
)
"""Arguments that say it, most telling first."""

_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[/\\]")
"""How an absolute path begins, on Unix and on Windows."""

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh"})


def call_label(name: str, arguments: str) -> str:
    """The tool's name and its subject: ``Read src/app.py:10-80``; the name alone where the arguments tell nothing."""
    subject = _subject_of(arguments)
    return f"{name} {subject}".strip() if subject else name


def part_labels(messages: Iterable[Message], wanted: set[str]) -> dict[str, str]:
    """The labels of these parts, by their ids: of calls, and of results whose calls are among the messages."""
    calls: dict[str, ToolCallPart] = {}
    labels: dict[str, str] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.call_id] = part
            if part.id not in wanted:
                continue
            call = part if isinstance(part, ToolCallPart) else None
            if isinstance(part, ToolResultPart):
                call = calls.get(part.call_id)
            if call is not None:
                labels[part.id] = call_label(call.name, call.arguments)
    return labels


def _subject_of(arguments: str) -> str:
    if len(arguments) > ARGUMENTS_READ:
        return ""
    try:
        read = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    if not isinstance(read, dict):
        return ""
    for key in SUBJECTS:
        subject = _line_of(read, key)
        if subject:
            if key in PATHS or " " not in subject:
                subject = _end_of(subject)
            return _shortened(subject) + _range_of(read)
    return ""


def _range_of(arguments: Mapping[str, Any]) -> str:
    """The lines that a call reads, ``:10-80``, numbered as in the call; empty where it does not say, or
    no file has them.

    ``offset`` and ``limit`` are of Claude Code, OpenCode, pi and qwen-code, ``start_line`` and ``end_line`` of Gemini
    CLI and Cline, ``view_range`` of Copilot CLI, whose -1 is the end.
    """
    lines = arguments.get("view_range")
    if not lines:
        lines = [arguments.get("start_line"), arguments.get("end_line")]
    match arguments.get("offset") or 1, arguments.get("limit"):
        case int(offset), int(limit) if limit > 0:
            first = max(1, offset)
            lines = [first, first + limit - 1]
    match lines:
        case [int(first), -1] if 0 <= first <= MOST_LINES:
            return f":{first}-"
        case [int(first), int(last)] if 0 <= first <= last <= MOST_LINES:
            return f":{first}-{last}"
    return ""


def _line_of(arguments: Mapping[str, Any], key: str) -> str:
    """The first line of an argument; of a list of words, as shells get them, the words."""
    value = arguments.get(key)
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        if len(words) > LAST_PATH_PARTS and words[0] in _SHELLS:
            words = words[LAST_PATH_PARTS:]
        value = " ".join(words)
    if not isinstance(value, str):
        return ""
    lines = clean_text(value).text.strip().splitlines()
    return lines[0].strip() if lines else ""


def _end_of(path: str) -> str:
    """The last parts of an absolute path."""
    if not _ABSOLUTE.match(path):
        return path
    parts = re.split(r"[/\\]", path.rstrip("/\\"))
    return "/".join(parts[-LAST_PATH_PARTS:]).lstrip("/")


def _shortened(subject: str) -> str:
    if len(subject) > LONGEST_SUBJECT:
        return subject[: LONGEST_SUBJECT - 1] + "…"
    return subject

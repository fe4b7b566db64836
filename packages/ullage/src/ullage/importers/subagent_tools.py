"""The tools that a session's subagents called: what only they call is no tool that was never called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import ullage.importers.fields as f
from ullage.encoding import UndecodableRow, decode_event
from ullage.errors import InputError
from ullage.events import MessageAdded
from ullage.importers.detect import lines_beside
from ullage.importers.fields import Unusable, decode_line
from ullage.importers.reader import ImportedSession
from ullage.importers.regular import open_regular
from ullage.importers.ullage import child_lines, is_own_database
from ullage.messages import ToolCallPart
from ullage_programs.claude_code.log import subagent_logs

MOST_NAMES: Final = 10_000
"""Names that are kept; a log may hold any number."""

_HEAD_BYTES: Final = 100


def subagent_tools(session: ImportedSession) -> frozenset[str]:
    """Names of the tools that the subagents of this session called, from their logs and ledgers. Never raises for what
    these hold: what can't be read names no tool.
    """
    if not session.subagents or not session.path:
        return frozenset()
    path = Path(session.path)
    names: set[str] = set()
    try:
        for name in _names(path, session):
            names.add(name)
            if len(names) >= MOST_NAMES:
                break
    except (InputError, OSError):
        pass
    return frozenset(names)


def _names(path: Path, session: ImportedSession) -> Iterator[str]:
    if session.format == "claude-code":
        for log in subagent_logs(path, session.session):
            yield from _claude_names(lines_beside(log))
        return
    with open_regular(path) as file:
        head = file.read(_HEAD_BYTES)
    if is_own_database(head):
        yield from _own_names(child_lines(path, session.session))


def _claude_names(lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        if b'"tool_use"' not in line:
            continue
        try:
            entry = decode_line(line)
        except Unusable:
            continue
        if not isinstance(entry, dict):
            continue
        content = f.mapping(entry, "message").get("content")
        if not isinstance(content, list):
            continue
        for block in content:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                yield f.text(block, "name")


def _own_names(lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        try:
            event = decode_event(line)
        except UndecodableRow:
            continue
        if isinstance(event, MessageAdded):
            for part in event.message.of_type(ToolCallPart):
                yield part.name

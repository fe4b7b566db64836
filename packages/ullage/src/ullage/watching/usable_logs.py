"""Logs that hold something of a conversation, and what of a log was not read."""

from __future__ import annotations

from pathlib import Path

from ullage.display.text import counted, number, printable
from ullage.importers import ImportedSession, read
from ullage.watching.watched import UnusableSession

LINES_NAMED = 3
"""How many line numbers are named for each reason of skipping."""


def read_usable(path: Path, session: str = "") -> ImportedSession:
    """The session in a log, or the named one of several.

    Raises ``UnreadableInput``, ``NotASession`` and ``UnusableSession``.
    """
    imported = read(path, session=session)
    if imported.usable:
        return imported
    program = imported.program or imported.format
    why = "; ".join(skipped(imported)) or f"it has {counted(imported.lines, 'line')}"
    raise UnusableSession(
        f"{path} looks like a log of {program}, but holds no message and no model call that can be read: {why}. "
        "Give another file; `ullage sessions` lists those it finds."
    )


def skipped(imported: ImportedSession) -> list[str]:
    """What was not read, in words: how many lines, then each reason with the first lines it is for."""
    total = imported.skipped_lines
    if not total:
        return []
    words = [f"{number(total)} of {counted(imported.lines, 'line')} not read"]
    for reason, times in imported.reasons:
        lines = [
            str(each.line)
            for each in imported.skipped
            if each.reason == reason and each.line
        ][:LINES_NAMED]
        more = " …" if times > len(lines) and lines else ""
        where = (
            f" (line{'s' if len(lines) > 1 else ''} {', '.join(lines)}{more})"
            if lines
            else ""
        )
        words.append(f"{number(times)} {printable(reason)}{where}")
    return words

"""What a person reads of the files that steps changed, before and after a rewind. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import unified_diff
from typing import Final, Literal

import msgspec

from ullage_agent.file_history.changes import (
    FileChange,
    UndoPlan,
    content_of,
    is_directory,
    mode_of,
    path_of,
)
from ullage_agent.file_history.policy import ALL_DIFFS_CHARS, DIFF_CHARS, DIFF_LINES
from ullage_agent.file_history.restoring import Unkept

NEVER: Final = (
    "what calls did elsewhere: other directories, databases, the network, processes that run; and of files their "
    "owners, times, extended attributes, and that two were one (hard links)"
)


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A file, directory or link below the root that tools changed, and how: ``diff`` is for a person."""

    path: str
    change: Literal["added", "changed", "deleted"]
    diff: str = ""


class NotCovered(msgspec.Struct, frozen=True, kw_only=True):
    """What can't be restored, and why. An empty ``path`` is said of no single one."""

    path: str
    reason: str


class FileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What tools changed since a message, and so what a rewind restores.

    ``edited_since`` are paths that somebody else has changed since then: they are left alone. ``rewind`` names the
    rewind that has restored the others, for ``uncompact``; empty before.
    """

    files: tuple[FileDiff, ...] = ()
    edited_since: tuple[str, ...] = ()
    not_covered: tuple[NotCovered, ...] = ()
    rewind: str = ""


def report(
    plan: UndoPlan, content: Callable[[str], bytes], unknown: Iterable[NotCovered] = ()
) -> FileChanges:
    """The plan of an undo, for a person; ``content`` gives what a state names."""
    files: list[FileDiff] = []
    left = ALL_DIFFS_CHARS
    for move in sorted(plan.moves, key=path_of):
        diff = _diff(move, content) if left else ""
        if len(diff) > min(left, DIFF_CHARS):
            diff = (
                f"{diff[: min(left, DIFF_CHARS)]}\n(the rest of the diff is not shown)\n"
            )
        left = max(0, left - len(diff))
        change: Literal["added", "changed", "deleted"] = "changed"
        if not move.new:
            change = "added"
        elif not move.old:
            change = "deleted"
        files.append(FileDiff(path=move.path, change=change, diff=diff))
    not_covered = [
        NotCovered(path=path, reason=reason) for path, reason in plan.not_covered.items()
    ]
    not_covered += [*unknown, NotCovered(path="", reason=NEVER)]
    return FileChanges(
        files=tuple(files),
        edited_since=plan.edited,
        not_covered=tuple(not_covered),
    )


def _diff(move: FileChange, content: Callable[[str], bytes]) -> str:
    """How the path came from what it was (``move.new``) to what it is."""
    said = ""
    if move.old and move.new and mode_of(move.old) != mode_of(move.new):
        said = f"mode {mode_of(move.new):o} is now {mode_of(move.old):o}\n"
    try:
        before, now = _lines(move.new, content), _lines(move.old, content)
    except (UnicodeDecodeError, Unkept):
        return f"{said}binary data\n"
    if max(len(before), len(now)) > DIFF_LINES:
        return f"{said}{len(before):,} lines are now {len(now):,}\n"
    for line in unified_diff(before, now, move.new and move.path, move.old and move.path):
        said += line if line.endswith("\n") else f"{line}\n(no line break at the end)\n"
    return said


def _lines(state: str, content: Callable[[str], bytes]) -> list[str]:
    """The lines of what was in this state. Raises ``UnicodeDecodeError``."""
    if not state or is_directory(state):
        return []
    return content(content_of(state)).decode().splitlines(keepends=True)

"""What steps did to files, and what undoes it. Pure.

The state of a path is a text: its mode in octal, and the SHA-256 of its content, ``100644 9f86d0…``. A directory has no
content, a link's content is where it leads. Nothing at a path is an empty text. Where the content is not kept, the
reason stands in its place behind a dash.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec


class FileChange(msgspec.Struct, frozen=True, array_like=True):
    """A path below the root, and its states before and after."""

    path: str
    old: str
    new: str


class UndoPlan(NamedTuple):
    """What leads from the state that steps left back to the one before them: for each path ``old`` is that now.

    ``edited`` are paths that somebody else changed between two steps: the plan goes back as far as to that.
    ``not_covered`` has the reason for each path that can't be restored.
    """

    moves: tuple[FileChange, ...] = ()
    edited: tuple[str, ...] = ()
    not_covered: Mapping[str, str] = {}


path_of = attrgetter("path")


def mode_of(state: str) -> int:
    """The mode in a state; 0 for nothing."""
    return int(state.partition(" ")[0] or "0", 8)


def content_of(state: str) -> str:
    """The content in a state, or the reason why it is not kept."""
    return state.partition(" ")[2]


def why_unknown(state: str) -> str:
    """Why the content in a state is not kept; empty where it is."""
    content = content_of(state)
    return content[1:] if content.startswith("-") else ""


def is_directory(state: str) -> bool:
    return stat.S_ISDIR(mode_of(state))


def is_link(state: str) -> bool:
    return stat.S_ISLNK(mode_of(state))


def joined(
    before: Mapping[str, FileChange], changes: Iterable[FileChange]
) -> dict[str, FileChange]:
    """The changes of a time and of the time behind it as one; what is as it was first is none."""
    made = dict(before)
    for change in changes:
        first = made.pop(change.path, change)
        if first.old != change.new or why_unknown(change.new):
            made[change.path] = FileChange(change.path, first.old, change.new)
    return made


def undone(steps: Sequence[Sequence[FileChange]]) -> UndoPlan:
    """What undoes these steps, of which the oldest is first."""
    moves: dict[str, FileChange] = {}
    edited: dict[str, None] = {}
    for changes in reversed(steps):
        for change in changes:
            known = moves.get(change.path)
            if known is None:
                moves[change.path] = FileChange(change.path, change.new, change.old)
            elif change.path in edited:
                continue
            elif known.new == change.new and not why_unknown(change.new):
                moves[change.path] = FileChange(change.path, known.old, change.old)
            else:
                edited[change.path] = None
    not_covered: dict[str, str] = {}
    for path, move in moves.items():
        if why := why_unknown(move.new) or why_unknown(move.old):
            not_covered[path] = why
    todo = [
        move
        for path, move in moves.items()
        if path not in not_covered and move.old != move.new
    ]
    return UndoPlan(tuple(todo), tuple(edited), not_covered)

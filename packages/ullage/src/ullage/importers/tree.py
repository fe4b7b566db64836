"""Logs whose lines form a tree: following the live leaf.

A line names the line it follows. If that is the last line, the conversation continues; a line that follows an
earlier one opens a branch, and the lines after that earlier one leave the view.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from ullage.envelope import COPY_STEPS
from ullage.importers.rows import EventWriter


class _Node(NamedTuple):
    parent: str
    message: str
    """The message that the path up to this line ends with."""


class Tree:
    """The position of each line in the tree of a log, and the way from the live leaf to another line."""

    def __init__(self, rows: EventWriter) -> None:
        self._rows = rows
        self._nodes: dict[str, _Node] = {}
        self._copies: dict[str, str] = {}
        self._originals: dict[str, str] = {}
        self.linked = False
        """Whether any line named a line before it."""

    def __contains__(self, key: str) -> bool:
        return key in self._nodes

    def place(self, key: str, parent: str, message: str = "") -> None:
        """Places a line behind ``parent``; its path ends with ``message``, or with the end of its parent's path."""
        self.linked = self.linked or bool(parent)
        if key:
            ending = message or (
                self._nodes[parent].message if parent in self._nodes else self._rows.tip
            )
            self._nodes[key] = _Node(parent, ending)

    def ending(self, key: str) -> str | None:
        """The message that the path up to this line ends with; ``None`` for a line that was never seen."""
        node = self._nodes.get(key)
        return None if node is None else self._newest(node.message)

    def before(self, key: str) -> str | None:
        """The message before this line's own, empty at the start; ``None`` for a line that was never seen."""
        node = self._nodes.get(key)
        if node is None:
            return None
        return self.ending(node.parent) or ""

    def follow(self, parent: str) -> None:
        """Make the line ``parent`` the end of the view, through a rewind where it is not."""
        target = self.ending(parent)
        rows = self._rows
        if target is None or target == rows.tip or self._are_siblings(target):
            return
        if rows.rewind(target):
            return
        self._return_to(parent)

    def _are_siblings(self, target: str) -> bool:
        """Whether all that follows ``target`` are results of one answer's tool calls.

        Parallel calls each have their own line, and each result follows the line of its call: the next line follows
        only one of them, but all were sent.
        """
        view = self._rows.view
        return target in view and view[target] == view[self._rows.tip]

    def _return_to(self, key: str) -> None:
        """Go back to a branch that was left: rewind to where it parts, then add its messages again, as copies."""
        rows = self._rows
        missing: list[str] = []
        seen: set[str] = set()
        while key in self._nodes and key not in seen:
            rows.spend(COPY_STEPS)
            seen.add(key)
            node = self._nodes[key]
            message = self._newest(node.message)
            if message and rows.rewind(message):
                break
            if message and missing[-1:] != [message]:
                missing.append(message)
            key = node.parent
        else:
            rows.rewind("")
        for message in reversed(missing):
            again = rows.messages.get(message)
            if again is None:
                continue
            original = self._originals.get(message, message)
            name = rows.unique(original)
            self._originals[name] = original
            parts = tuple(
                replace(part, id=f"{name}/{at}") for at, part in enumerate(again.parts)
            )
            rows.add(replace(again, id=name, parts=parts, call=None))
            self._copies[message] = name

    def _newest(self, message: str) -> str:
        """The last copy of a message, or itself. What is passed on the way is made to point there at once."""
        newest = message
        while newest in self._copies:
            newest = self._copies[newest]
        while (copy := self._copies.get(message, newest)) != newest:
            self._copies[message], message = newest, copy
        return newest

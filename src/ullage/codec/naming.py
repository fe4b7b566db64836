"""Ids for parts and messages that come without any: the same content gets the same id, every time.

An id is a digest of the content and, from the second part with that content on, its number among the equal ones. So an
unchanged prefix keeps its ids, an edited message gets another one, and dropping a message renames none that stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from ullage.messages import Message, Part, ReasoningPart, Role, ToolResultPart

_SIZE = 8  # bytes: two of 100,000 different parts share a digest once in four billion sessions


class Namer:
    """Hands out ids for one request, in the order its parts are read."""

    def __init__(self, earlier: Namer | None = None) -> None:
        self._earlier = earlier  # what it named counts too; it is not changed
        self._seen: dict[str, int] = {}

    def note(self, messages: Iterable[Message]) -> None:
        """Take note of the names in these messages, as if they had been given here."""
        for message in messages:
            self._number(message.id.partition("~")[0])
            for part in message.parts:
                self._number(part.id.partition("~")[0])
                for inner in part.content if isinstance(part, ToolResultPart) else ():
                    self._number(inner.id.partition("~")[0])

    def _number(self, base: str) -> int:
        """How many things have this name, with one more."""
        number = self._seen[base] = self._count(base) + 1
        return number

    def _count(self, base: str) -> int:
        if base in self._seen or self._earlier is None:
            return self._seen.get(base, 0)
        return self._earlier._count(base)

    def name(self, kind: str, *pieces: str) -> str:
        """An id for content of this kind, made of these pieces."""
        state = blake2b(digest_size=_SIZE)
        for piece in (kind, *pieces):
            data = piece.encode("utf-8", "surrogatepass")
            state.update(b"%d:" % len(data))
            state.update(data)
        base = f"{kind}-{state.hexdigest()}"
        number = self._number(base)
        return base if number == 1 else f"{base}~{number}"

    def message(self, role: Role, parts: tuple[Part, ...]) -> Message:
        """A message named by its parts; reasoning is left out of the name, as a loop may not send it back."""
        visible = [part for part in parts if not isinstance(part, ReasoningPart)] or parts
        return Message(id=self.name(role, *(part.id for part in visible)), role=role, parts=parts)

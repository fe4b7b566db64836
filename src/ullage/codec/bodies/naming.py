"""Ids for parts and messages that come without any: the same content gets the same id, every time.

An id is a digest of the content and, from the second part with that content on, its number among the equal ones. So an
unchanged prefix keeps its ids, an edited message gets another one, and dropping a message renames none that stay.
"""

from __future__ import annotations

from hashlib import blake2b

from ullage.messages import Message, Part, ReasoningPart, Request, Role, ToolResultPart

_SIZE = 8  # bytes: two of 100,000 different parts share a digest once in four billion sessions


class Namer:
    """Hands out ids for one request, in the order its parts are read."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    @classmethod
    def after(cls, request: Request | None) -> Namer:
        """A namer that goes on where this request ends, for the answer to it."""
        namer = cls()
        for message in request.messages if request is not None else ():
            namer._note(message.id)
            for part in message.parts:
                namer._note(part.id)
                for inner in part.content if isinstance(part, ToolResultPart) else ():
                    namer._note(inner.id)
        return namer

    def _note(self, name: str) -> None:
        base = name.partition("~")[0]
        self._seen[base] = self._seen.get(base, 0) + 1

    def name(self, kind: str, *pieces: str) -> str:
        """An id for content of this kind, made of these pieces."""
        state = blake2b(digest_size=_SIZE)
        for piece in (kind, *pieces):
            data = piece.encode("utf-8", "surrogatepass")
            state.update(b"%d:" % len(data))
            state.update(data)
        base = f"{kind}-{state.hexdigest()}"
        number = self._seen[base] = self._seen.get(base, 0) + 1
        return base if number == 1 else f"{base}~{number}"

    def message(self, role: Role, parts: tuple[Part, ...]) -> Message:
        """A message named by its parts; reasoning is left out of the name, as a loop may not send it back."""
        visible = [part for part in parts if not isinstance(part, ReasoningPart)] or parts
        return Message(id=self.name(role, *(part.id for part in visible)), role=role, parts=parts)

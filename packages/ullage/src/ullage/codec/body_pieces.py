"""A request's body as pieces that are the same on every wire: who says what. Only to tell conversations apart.

Left out is what a client alters in a message that it sends again: reasoning, ids, cache marks, reminders that it puts
into the user's messages, and messages of the system between those of the conversation.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.codec.bodies import read_body
from ullage.codec.held import continued_in
from ullage.codec.wires import WIRES
from ullage.errors import UllageError
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

Speaker = Literal["user", "assistant", "call", "result"]

_REMINDERS: Final = re.compile("<system-reminder>.*?</system-reminder>", re.DOTALL)
"""Claude Code and qwen-code put them into user messages, and leave some out in a later process (2.1.330, 0.24.4)."""

_BILLING: Final = "x-anthropic-billing-header:"
"""How the first block of Claude Code's system prompt begins. It differs between the requests of a session."""


class BodyPiece(NamedTuple):
    """One text, call of a tool or result. ``id`` is that of a call, which is no part of its digest."""

    speaker: Speaker
    text: str
    id: str = ""

    @property
    def digest(self) -> str:
        data = f"{self.speaker}\n{self.text}".encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=8).hexdigest()


@dataclass(slots=True)
class BodyPieces:
    """The pieces of a body in order. ``context`` are the texts of the user and of the system between them, whole.

    ``chained`` is what the provider holds and the body continues: see ``codec.held``.
    """

    system: str = ""
    tools: tuple[str, ...] = ()
    pieces: list[BodyPiece] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    model: str = ""
    chained: str = ""

    @property
    def last_said(self) -> str:
        """The texts of the user at the end, joined; empty where the body ends with an answer."""
        texts: list[str] = []
        for piece in reversed(self.pieces):
            if piece.speaker != "user":
                break
            texts.append(piece.text)
        texts.reverse()
        return "\n".join(texts)

    def add(self, message: Message) -> None:
        """Add what a message says."""
        speaker: Speaker = "assistant" if message.role == "assistant" else "user"
        for part in message.parts:
            piece = _piece_of(part, speaker)
            if piece is None:
                continue
            if piece.speaker == "user":
                self.context.append(piece.text)
                piece = piece._replace(text=_REMINDERS.sub("", piece.text))
            piece = piece._replace(text=piece.text.strip())
            if piece.text and message.role != "system":
                self.pieces.append(piece)


def pieces_of(wire: str, body: object) -> BodyPieces:
    """The pieces of a request of this wire. Never raises: a body that is no request of it has none."""
    found = BodyPieces()
    if not isinstance(body, dict):
        return found
    found.chained = continued_in(wire, body)
    try:
        request = read_body(body, wire=wire if wire in WIRES else None)
    except (UllageError, ValueError, RecursionError):
        return found
    found.model = request.model
    found.tools = tuple(tool.name or tool.kind for tool in request.tools)
    texts = [block.text for block in request.system]
    found.system = "\n".join(text for text in texts if not text.startswith(_BILLING))
    for message in request.messages:
        found.add(message)
    return found


def answer_pieces(message: Message) -> list[BodyPiece]:
    """The pieces that an answer will be in the next request."""
    found = BodyPieces()
    found.add(message)
    return found.pieces


def _piece_of(part: Part, speaker: Speaker) -> BodyPiece | None:
    match part:
        case TextPart():
            return BodyPiece(speaker, part.text)
        case ToolCallPart():
            given = part.arguments
            with suppress(ValueError, RecursionError):
                read = json.loads(given)
                given = json.dumps(read, sort_keys=True, separators=(",", ":"))
            return BodyPiece("call", f"{part.name} {given}", part.call_id)
        case ToolResultPart():
            return BodyPiece("result", part.text)
        case ImagePart() | FilePart():
            plain = msgspec.structs.replace(part, id="", revision=0, provider=None)
            return BodyPiece(speaker, msgspec.json.encode(plain).decode())
        case _:
            return None

"""The codes that the functions of ``schema.sql`` give: a write that is refused is an answer, no error."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypedDict

import msgspec


class Code(IntEnum):
    """What became of a write."""

    DONE = 0
    NO_SESSION = 1
    LEASE_LOST = 2
    OTHERS_CAME = 3
    AHEAD = 4
    NOT_WAITING = 5
    SENT_BEFORE = 6
    OTHER_PLACE = 7
    ID_TAKEN = 9
    BUSY = 10
    OTHER_STANDING = 11


class WriteAnswer(TypedDict, total=False):
    """What the functions give, in JSON: those that have an answer beside their code."""

    code: int
    seq: int | None
    at: float | None
    owner: str | None
    generation: int | None
    expires: float | None
    message: str | None
    what: str | None
    place: int | None
    next: int | None
    state: str | None
    standing: str | None


_decode: Final = msgspec.json.Decoder(WriteAnswer | int).decode


def answer_of(data: str) -> WriteAnswer:
    """What a function that writes has answered."""
    answer = _decode(data)
    return WriteAnswer(code=answer) if isinstance(answer, int) else answer

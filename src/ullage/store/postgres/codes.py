"""The codes that the functions of ``schema.sql`` give, so that a refused write ends no transaction."""

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
    OFFSET_USED = 8
    ID_TAKEN = 9
    BUSY = 10
    OTHER_RECORD = 11
    TOO_MANY = 12


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
    state: str | None


_decode: Final = msgspec.json.Decoder(WriteAnswer | int).decode
_decode_many: Final = msgspec.json.Decoder(list[WriteAnswer]).decode


def answers_of(data: str) -> list[WriteAnswer]:
    """The answers of drafts that were one statement."""
    return _decode_many(data)


def answer_of(data: str) -> WriteAnswer:
    """The answer of a write that was alone in its transaction."""
    answer = _decode(data)
    return WriteAnswer(code=answer) if isinstance(answer, int) else answer

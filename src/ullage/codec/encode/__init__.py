"""The wires that requests are encoded for, and the options of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ullage.codec.encode import anthropic, chat, gemini, responses
from ullage.codec.encode.blocks import CacheMarks, Encoded, MessageWriter, Options
from ullage.errors import InvalidRequest
from ullage.messages import Request

__all__ = ["CacheMarks", "Encoded", "Encoder", "Options", "encoder_of"]


def _unsettled(request: Request, options: Options) -> tuple[Request, Options]:
    return request, options


@dataclass(frozen=True, slots=True)
class Encoder:
    """How one wire writes a request: ``field`` holds its messages, ``head`` is all but them.

    ``count`` makes the call that counts an encoded request. ``settle`` puts those options among a request's parameters
    that the validator has to see before it is encoded.
    """

    field: str
    head: Callable[[Request, Options], Encoded]
    writer: Callable[[], MessageWriter]
    count: Callable[[Request, Encoded], Encoded] | None
    settle: Callable[[Request, Options], tuple[Request, Options]] = _unsettled


_ENCODERS: Final = {
    "messages": Encoder("messages", anthropic.encode_head, anthropic.Writer, anthropic.encode_count, anthropic.settle),
    "chat": Encoder("messages", chat.encode_head, chat.Writer, None),
    "responses": Encoder("input", responses.encode_head, responses.Writer, responses.encode_count),
    "generateContent": Encoder("contents", gemini.encode_head, gemini.Writer, gemini.encode_count),
}


def encoder_of(wire: str) -> Encoder:
    """What encodes for this wire. Raises ``InvalidRequest`` for a wire that has no codec."""
    encoder = _ENCODERS.get(wire)
    if encoder is None:
        raise InvalidRequest(f"There is no codec for the wire {wire!r}; there is one for {', '.join(_ENCODERS)}.")
    return encoder

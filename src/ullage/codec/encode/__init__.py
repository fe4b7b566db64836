"""From a request in our words to the body that goes out: ``encode`` and ``encode_count``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ullage.codec.encode import anthropic, chat, gemini, responses
from ullage.codec.encode.blocks import EVERYTHING, PLAIN, CacheMarks, Encoded, Options
from ullage.errors import InvalidRequest
from ullage.messages import Request
from ullage.reasoning import ReasoningPolicy

__all__ = ["CacheMarks", "Encoded", "Options", "encode", "encode_count", "settle"]


class _Encoder(Protocol):
    def __call__(self, request: Request, *, policy: ReasoningPolicy = ..., options: Options = ...) -> Encoded: ...


_ENCODERS: Final[dict[str, _Encoder]] = {
    "messages": anthropic.encode,
    "chat": chat.encode,
    "responses": responses.encode,
    "generateContent": gemini.encode,
}
_COUNTERS: Final[dict[str, Callable[..., Encoded]]] = {
    "messages": anthropic.encode_count,
    "responses": responses.encode_count,
    "generateContent": gemini.encode_count,
}


def settle(request: Request, options: Options) -> tuple[Request, Options]:
    """The same call with those options among its parameters that ``codec.repair`` has to see before it is encoded."""
    return anthropic.settle(request, options) if request.wire == "messages" else (request, options)


def encode(request: Request, *, policy: ReasoningPolicy = EVERYTHING, options: Options = PLAIN) -> Encoded:
    """The request as its wire wants it. What ``codec.repair`` puts right must have been put right before.

    Raises ``InvalidRequest`` for a wire that has no codec.
    """
    encoder = _ENCODERS.get(request.wire)
    if encoder is None:
        raise InvalidRequest(
            f"There is no codec for the wire {request.wire!r}; there is one for {', '.join(_ENCODERS)}."
        )
    return encoder(request, policy=policy, options=options)


def encode_count(request: Request, *, policy: ReasoningPolicy = EVERYTHING, options: Options = PLAIN) -> Encoded | None:
    """The body that asks how many tokens this request would be; ``None`` where the wire has no such endpoint."""
    counter = _COUNTERS.get(request.wire)
    return None if counter is None else counter(request, policy=policy, options=options)

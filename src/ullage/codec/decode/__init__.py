"""From what a provider sends to an answer in our words: ``decoder_for`` a stream, ``read_answer`` for a whole body."""

from __future__ import annotations

from ullage.codec.decode.anthropic import AnthropicDecoder
from ullage.codec.decode.chat import ChatDecoder
from ullage.codec.decode.draft import Draft, Origin
from ullage.codec.decode.gemini import GeminiDecoder
from ullage.codec.decode.responses import ResponsesDecoder
from ullage.codec.stream import Answer
from ullage.errors import InvalidRequest
from ullage.messages import Request

__all__ = ["AnyDecoder", "decoder_for", "read_answer"]

AnyDecoder = AnthropicDecoder | ChatDecoder | ResponsesDecoder | GeminiDecoder

_DECODERS: dict[str, type[AnyDecoder]] = {
    "messages": AnthropicDecoder,
    "chat": ChatDecoder,
    "responses": ResponsesDecoder,
    "generateContent": GeminiDecoder,
}


def decoder_for(
    request: Request, *, message_id: str, call: str | None = None, max_output: int | None = None
) -> AnyDecoder:
    """A decoder for the answer to ``request``, which is for one call only.

    ``message_id`` names the answer's message, its parts get that name and a number; ``call`` is the call that makes it.
    ``max_output`` is how many tokens were asked for: it bounds how long the answer may become.
    Raises ``InvalidRequest`` for a wire that has no codec.
    """
    kind = _DECODERS.get(request.wire)
    if kind is None:
        raise InvalidRequest(
            f"There is no codec for the wire {request.wire!r}; there is one for {', '.join(_DECODERS)}."
        )
    return kind(Draft(Origin(request.wire, request.provider, request.model), message_id, call, max_output=max_output))


def read_answer(
    request: Request, body: bytes, *, message_id: str, call: str | None = None, max_output: int | None = None
) -> Answer:
    """The answer in the body of a call that was not streamed. A body that is no answer gives a dropped or failed one.

    Raises ``InvalidRequest`` for a wire that has no codec.
    """
    return decoder_for(request, message_id=message_id, call=call, max_output=max_output).read(body)

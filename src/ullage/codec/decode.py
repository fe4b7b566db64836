"""From what a provider sends to an answer in our words: ``decoder_for`` a stream, ``read_answer`` for a whole body."""

from __future__ import annotations

from ullage.codec.draft import Draft, DraftOrigin
from ullage.codec.stream import Answer
from ullage.codec.wire import Decoder
from ullage.codec.wires import wire_named
from ullage.messages import Request

__all__ = ["decoder_for", "read_answer"]


def decoder_for(
    request: Request, *, message_id: str, call: str | None = None, max_output: int | None = None
) -> Decoder:
    """A decoder for the answer to ``request``, which is for one call only.

    ``message_id`` names the answer's message, its parts get that name and a number; ``call`` is the call that makes it.
    ``max_output`` is how many tokens were asked for: it bounds how long the answer may become.
    Raises ``InvalidRequest`` for a wire that has no codec.
    """
    origin = DraftOrigin(request.wire, request.provider, request.model)
    draft = Draft(origin, message_id, call, max_output=max_output)
    return wire_named(request.wire).decoder(draft)


def read_answer(
    request: Request, body: bytes, *, message_id: str, call: str | None = None, max_output: int | None = None
) -> Answer:
    """The answer in the body of a call that was not streamed. A body that is no answer gives a dropped or failed one.

    Raises ``InvalidRequest`` for a wire that has no codec.
    """
    return decoder_for(request, message_id=message_id, call=call, max_output=max_output).read(body)

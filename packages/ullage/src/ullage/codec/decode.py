"""From what a provider sends to an answer in our types: ``decoder_for`` the answer to one request."""

from __future__ import annotations

from functools import partial

from ullage.codec.dialects import DIALECTS, dialect_for
from ullage.codec.draft import Draft, DraftOrigin
from ullage.codec.problems import problem_in_stream
from ullage.codec.wire import Decoder
from ullage.codec.wires import wire_named
from ullage.messages import Request

__all__ = ["decoder_for"]


def decoder_for(
    request: Request,
    *,
    message_id: str,
    call: str | None = None,
    max_output: int | None = None,
) -> Decoder:
    """A decoder for the answer to ``request``, which is for one call only: for its stream, or for its whole body.

    ``message_id`` names the answer's message, its parts get that name and a number; ``call`` is the call that makes it.
    ``max_output`` is how many tokens were asked for: it bounds how long the answer may become.
    Raises ``InvalidRequest`` for a wire that has no codec.
    """
    wire = wire_named(request.wire)
    origin = DraftOrigin(request.wire, request.provider, request.model)
    draft = Draft(
        origin,
        message_id,
        call,
        dialect=DIALECTS[dialect_for(*origin)],
        problem=partial(
            problem_in_stream, request.provider or request.wire, model=request.model
        ),
        max_output=max_output,
    )
    return wire.decoder(draft)

"""What a decoder is fed and what it gives: server events in, stream events and one answer out.

A decoder belongs to one model call::

    decoder = decoder_for(request, message_id="m7", call="c7")
    for event in server_events:
        for out in decoder.feed(event): ...
    answer = decoder.finish(complete=True)

``feed`` never raises for what a server may send: an event that is damaged or exceeds a limit ends the answer as
``dropped``, what comes behind it is passed over, and an error sent inside the stream comes out as ``StreamFailed``.
``finish(complete=False)`` is for a connection that broke. Cancelling between two feeds is safe:
``finish(complete=False)`` then gives what was delivered so far.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ullage.errors import ProviderError
from ullage.messages import Message, Part
from ullage.usage import Usage


class ServerEvent(NamedTuple):
    """One server-sent event: the bytes of its ``data`` lines, joined by line feeds, and its name if it had one."""

    data: bytes
    name: str = ""


class TextDelta(NamedTuple):
    """More text of the answer. The deltas of a part, joined, are exactly its text."""

    part: str
    text: str


class ReasoningDelta(NamedTuple):
    """More readable reasoning; often a summary of it."""

    part: str
    text: str


class CallDelta(NamedTuple):
    """More of a tool call's arguments, as the model writes them; ``text`` is empty when only the call has begun."""

    part: str
    call_id: str
    name: str
    text: str = ""


class PartDone(NamedTuple):
    """A part is whole and will not change any more.

    Parts of a stream without its terminal event may come without it: the answer holds them all the same.
    """

    part: Part


class UsageSeen(NamedTuple):
    """What the stream has reported so far; a later one replaces it. ``final`` is False until the answer is finished."""

    usage: Usage


class StreamFailed(NamedTuple):
    """The server reported an error inside a stream that began well."""

    error: ProviderError


class ResponseHeld(NamedTuple):
    """The provider goes on with this answer without a reader, and hands it out again under this id."""

    response: str


StreamEvent = (
    TextDelta
    | ReasoningDelta
    | CallDelta
    | PartDone
    | UsageSeen
    | StreamFailed
    | ResponseHeld
)

Stop = Literal[
    "stop", "tool_calls", "length", "refused", "paused", "context_full", "other", ""
]
"""Why the model ended, in one vocabulary.

``stop``: it was done, or met a stop sequence. ``tool_calls``: it waits for results. ``length``: the output limit was
reached, so its last part may be cut. ``refused``: the model or a filter withheld the answer. ``paused``: a server-side
loop wants the answer sent back to go on. ``context_full``: the window was full. ``other``: a word this version does not
know. Empty: nothing was said.
"""


class Answer(NamedTuple):
    """What one model call gave.

    ``outcome`` is ``finished`` when the terminal event came, ``dropped`` when it did not, ``failed`` when the server
    reported an error instead (then ``error`` is set). A dropped or failed answer holds what was delivered; its tool
    calls may be cut and must not run. ``said`` is the provider's own word for ``stop``.
    """

    message: Message
    usage: Usage
    stop: Stop
    outcome: Literal["finished", "dropped", "failed"]
    model: str = ""
    response_id: str = ""
    said: str = ""
    error: ProviderError | None = None
    is_held: bool = False
    """The provider goes on with it without a reader."""
    unbound: int = 0
    """How many pieces of reasoning the provider left out of the request: they were bound to another conversation."""

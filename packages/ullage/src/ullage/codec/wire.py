"""One wire: how its bodies are written and read, its answers decoded, and its rules.

Each folder of ``codec/wires/`` holds one ``Wire``; ``codec/wires/__init__.py`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ullage.codec.blocks import Encoded, MessageWriter, Options, Sending
from ullage.codec.draft import Draft
from ullage.codec.parts import PartMaker
from ullage.codec.rules import Dialect, Target, WireParams, Wording
from ullage.codec.stream import Answer, ServerEvent, StreamEvent
from ullage.messages import Message, Request, Role

__all__ = ["Decoder", "Wire", "WireReader"]


class WireReader(Protocol):
    """Reads bodies and answers that another program wrote. A wire's ``read.py`` is one."""

    def claims(self, body: Mapping[str, Any]) -> bool:
        """Whether a body is of this wire. A wire that is earlier in the registry claims first."""
        ...

    def items_of(self, value: object) -> list[Any]:
        """The messages of a body, of whatever type the field is."""
        ...

    def read_request(
        self, body: Mapping[str, Any], head: list[Any], make: PartMaker
    ) -> Request:
        """The body of one call with no messages but its system prompt."""
        ...

    def read_messages(self, make: PartMaker, items: list[Any]) -> tuple[Message, ...]:
        """The messages of one item, or of items that are read together; ``make`` has read those before them."""
        ...

    def read_answer(self, content: object, make: PartMaker) -> Message:
        """The assistant's message in an answer, or in the content inside it."""
        ...


class Decoder(Protocol):
    """Reads the events of one streamed answer. One per call; not to be used after ``finish``."""

    @property
    def draft(self) -> Draft:
        """What it has read so far."""
        ...

    @property
    def is_done(self) -> bool:
        """True once the stream's terminal event has come: what follows may be left unread."""
        ...

    def feed(self, event: ServerEvent) -> list[StreamEvent]:
        """What the event adds, in order. Never raises for foreign data, ignores kinds of event it doesn't know."""
        ...

    def finish(self, complete: bool) -> Answer:
        """The answer. ``complete`` says that the server closed the stream in good order, without a broken line."""
        ...

    def read(self, body: bytes) -> Answer:
        """The answer in the body of a call that was not streamed, instead of ``feed`` and ``finish``."""
        ...


def _unsettled(request: Request, options: Options) -> tuple[Request, Options]:
    return request, options


class CountEndpoint(NamedTuple):
    """One way to have a request counted: ``encode`` makes the call for an encoded request.

    ``field`` of the answer holds the tokens. ``at_root``: the path does not follow the version in the address.
    ``text_only``: images and files are not counted. With ``tokenize``, ``field`` holds the whole request as a text, and
    ``tokenize`` makes the call that lists its ``tokens``.
    """

    name: str
    encode: Callable[[Request, Encoded], Encoded]
    field: str = "input_tokens"
    at_root: bool = False
    text_only: bool = False
    tokenize: Callable[[str, Encoded], Encoded] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCompaction:
    """How a wire's own compaction of a conversation is asked for.

    ``request`` turns an encoded call with its messages into the call for a compaction, with instructions; empty is the
    provider's own prompt. ``takes_instructions`` is whether there may be any. ``leads`` is whether what comes back has
    to begin the messages of every later request, alone of its kind.
    """

    request: Callable[[Encoded, str], Encoded]
    takes_instructions: bool = False
    leads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How one wire is spoken.

    ``maker`` is the provider of a request whose sender names none; a wire that everyone speaks has none. ``field`` of
    a body holds the messages; ``head`` writes all but them, ``writer`` them.
    ``target`` gives the rules of a request by wire, provider, model and mode of thinking.
    ``dialects`` are the ways in which its servers report usage, the first that of a server of which nothing else is
    known; ``overflows`` their wordings for a request that is too long.
    ``counts`` are the ways in which its servers count a request, the most usual first; ``compaction`` is how they
    compact a conversation themselves.
    ``settle`` puts those options among a request's parameters that the validator has to see before it is encoded.
    ``model_prefix`` is accepted before a model's name in a body.
    ``has_system_items``: the first items may be the system prompt's. ``role_of`` an item tells on a wire where the
    answers, and the results, in a row are read together as one message.

    ``default_output`` is the output in tokens that a body asks for unless it is set; ``None`` where a body need not
    name one. ``held_path`` leads to the answers that the provider keeps, by their ids. ``version`` ends an address,
    ``adds_version`` tells that it is added to an address with a path too.
    ``models_path`` lists the models; ``headers`` go with every request.
    """

    name: str
    maker: str = ""
    field: str
    params: WireParams
    target: Callable[[str, str, str, str], Target]
    head: Callable[[Sending], Encoded]
    writer: Callable[[], MessageWriter]
    headers: Mapping[str, str]
    decoder: Callable[[Draft], Decoder]
    reader: WireReader
    dialects: tuple[Dialect, ...]
    overflows: tuple[Wording, ...]
    counts: tuple[CountEndpoint, ...] = ()
    compaction: ServerCompaction | None = None
    settle: Callable[[Request, Options], tuple[Request, Options]] = _unsettled
    model_prefix: str = ""
    has_system_items: bool = False
    role_of: Callable[[dict[str, Any]], Role] | None = None
    default_output: int | None = None
    held_path: str = ""
    version: str = "v1"
    adds_version: bool = False
    models_path: str = "/models"

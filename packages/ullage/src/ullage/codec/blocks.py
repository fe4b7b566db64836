"""What all encoders share: the options of a call, the encoded request, and what of a part's own data may be sent."""

from __future__ import annotations

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ullage.codec.foreign import Fields, fields_of, parse
from ullage.codec.parts import data_url
from ullage.codec.rules import Target
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ProviderData,
    ReasoningPart,
    Request,
    Tool,
    ToolResultPart,
)

_encode = msgspec.json.Encoder().encode
_raw_object = msgspec.json.Decoder(dict[str, msgspec.Raw])

BOUND: Final = frozenset(
    {"id", "thoughtSignature", "thought_signature", "signature", "encrypted_content"}
)
"""Fields that only the model that made them, or its host, can read."""

JSON_HEADERS: Final = {"content-type": "application/json"}

EMPTY_OBJECT: Final = msgspec.Raw(b"{}")

UNREADABLE_ARGUMENTS: Final = "unreadable_arguments"
"""The one key of the object that replaces arguments that are no JSON object; its value is what the model wrote."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


@dataclass(frozen=True, slots=True)
class CacheMarks:
    """Where prompt-cache markers go on a wire that has them (Anthropic, at most four).

    ``system`` marks the end of the system prompt, and with it the tools before it; ``messages`` how many of the last
    user turns are marked, newest first: the newest writes, the one before is where the last request's prefix is found.
    ``ttl`` is how long the provider keeps it (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
    """

    system: bool = True
    messages: int = 2
    ttl: Literal["5m", "1h"] = "5m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a call asks for besides its content, in one vocabulary; each encoder spells it for its wire.

    They win over ``Request.params``, which hold the wire's own spelling and pass through, but for fields that the
    encoder makes itself. ``None`` is not set.
    ``max_output`` and ``thinking_budget`` are tokens. ``media`` holds bytes of images and files by their ``source``.
    ``include_usage`` asks a Chat stream for its usage; off for servers that refuse the field. ``stateless`` has the
    Responses wire keep nothing and give its reasoning encrypted. ``betas`` are Anthropic's beta names.
    ``compaction`` asks for the provider's own compaction of the conversation instead of an answer, with these
    instructions; empty is the provider's own prompt. ``drops_unbound`` has Claude drop thinking that is bound to
    another prefix, in the place of a refusal; off for servers that refuse the field. ``compare_with`` is the id of the
    answer before, with whose request the provider compares this one where it tells why its cache was not read; empty
    asks it to remember this one.
    ``background`` has the Responses wire go on with a streamed answer that loses its reader, and keep it (``store``),
    so that it is fetched and not paid again: https://developers.openai.com/api/docs/guides/background.
    """

    max_output: int | None = None
    temperature: float | None = None
    effort: Effort | None = None
    thinking_budget: int | None = None
    cache: CacheMarks | None = CacheMarks()
    include_usage: bool = True
    stateless: bool = True
    betas: tuple[str, ...] = ()
    compaction: str | None = None
    drops_unbound: bool = True
    background: bool = False
    compare_with: str | None = None
    media: Mapping[str, bytes] = field(default_factory=dict)


PLAIN: Final = Options()
"""The default: only caching is asked for."""


class Block(NamedTuple):
    """One block as it is sent, and where: the same bytes in another role are another block."""

    place: str
    data: bytes

    @property
    def digest(self) -> str:
        """A short name for it."""
        state = blake2b(self.place.encode(), digest_size=12)
        state.update(self.data)
        return state.hexdigest()


class Encoded(NamedTuple):
    """One request as it goes out.

    ``path`` follows the endpoint's versioned address (``https://api.openai.com/v1``). ``headers`` hold no key.
    ``body`` holds ``msgspec.Raw`` where bytes go out as they came; ``content`` is its JSON. ``blocks`` are
    the system prompt, the tools and the messages, block by block, cache markers and parameters aside: a request
    extends another exactly when its blocks begin with the other's. ``unsent`` names options and content that the wire
    has no place for, or whose bytes are not here.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, object]
    blocks: tuple[Block, ...]
    unsent: tuple[str, ...] = ()

    @property
    def content(self) -> bytes:
        """The body as JSON."""
        return _encode(self.body)

    def only(self, names: Iterable[str]) -> dict[str, object]:
        """These fields of the body, those that it has."""
        return {name: self.body[name] for name in names if name in self.body}

    def extends(self, earlier: Encoded) -> bool:
        """Whether this request's blocks begin with all of the earlier one's."""
        return self.blocks[: len(earlier.blocks)] == earlier.blocks


class Blocks:
    """Collects encoded blocks, in order."""

    __slots__ = ("made", "unsent")

    def __init__(self) -> None:
        self.made: list[Block] = []
        self.unsent: list[str] = []

    def add(self, place: str, block: object) -> msgspec.Raw:
        """The block's bytes, noted under where it stands: the same block in another role is another one."""
        data = _encode(block)
        self.made.append(Block(place, data))
        return msgspec.Raw(data)

    def miss(self, what: str) -> None:
        """Notes what could not be sent, once."""
        if what not in self.unsent:
            self.unsent.append(what)

    def encoded(
        self, path: str, headers: Mapping[str, str], body: dict[str, object]
    ) -> Encoded:
        """The request with these blocks."""
        return Encoded(path, dict(headers), body, tuple(self.made), tuple(self.unsent))


class MessageWriter(ABC):
    """The messages of one request on one wire, encoded once each: what was written stays written.

    What can still change (a wire message that the next one may be joined to, the places of cache markers) is kept
    open; all before it is bytes.
    """

    def __init__(self) -> None:
        self.blocks = Blocks()
        self._final = bytearray()  # the items that are final, with a comma behind each

    @abstractmethod
    def add(self, sending: Sending, messages: Sequence[Message]) -> bool:
        """Encode the next messages; false where they alter how an earlier one is sent. Then nothing may be added.

        The first call takes anything.
        """

    def know(self, sending: Sending, messages: Sequence[Message]) -> None:
        """Take note of messages that are written elsewhere: a result is written by what its call says."""
        return

    def headers(self, head: Mapping[str, str]) -> dict[str, str]:
        """The headers of the request, ``head`` and what its messages need beside it."""
        return dict(head)

    def items(self, marks: CacheMarks | None) -> list[bytes | bytearray]:
        """All that was added, in pieces to be joined: JSON items, each with a comma behind it. To be copied at once."""
        return [self._final, *self._open_items(marks)]

    def _open_items(self, marks: CacheMarks | None) -> Iterator[bytes]:
        """The items that may still change."""
        yield from ()

    def _write(self, item: bytes | msgspec.Raw) -> None:
        self._final += memoryview(item)
        self._final += b","


def result_ids(messages: Iterable[Message]) -> Iterator[str]:
    """The ids of the calls that these messages hold results of."""
    for message in messages:
        for part in message.of_type(ToolResultPart):
            yield part.call_id


def wire_message(role: str, field: str, written: Sequence[msgspec.Raw]) -> bytes:
    """A wire message out of its blocks."""
    return b'{"role":"%b","%b":[%b]}' % (
        role.encode(),
        field.encode(),
        b",".join(map(bytes, written)),
    )


@dataclass(frozen=True, slots=True)
class Sending:
    """A repaired request on its way: what of it the target can't read is no longer there."""

    request: Request
    target: Target
    options: Options

    def fields(self, data: ProviderData | None) -> dict[str, Any]:
        """A part's own fields, as the bytes they came in."""
        return {} if data is None else _fields(data)

    def reasoning(self, part: ReasoningPart) -> dict[str, Any] | None:
        """The fields of reasoning; ``None`` where it has none."""
        return None if part.provider is None else _fields(part.provider)

    def item(self, data: ProviderData | None) -> msgspec.Raw | None:
        """A provider's item, byte for byte."""
        return None if data is None else data.data


def _fields(data: ProviderData) -> Fields:
    try:
        return _raw_object.decode(data.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return fields_of(data.data)


def is_true(fields: Mapping[str, Any], name: str) -> bool:
    """Whether a field says true."""
    raw = fields.get(name)
    return raw is not None and bytes(raw) == b"true"


def json_object(written: str) -> msgspec.Raw:
    """Arguments as the object they are, byte for byte; an empty object for none, and a stand-in that holds the text
    of those that are no object (the validator puts its own before)."""
    if not written.strip():
        return EMPTY_OBJECT
    try:
        _raw_object.decode(written)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return msgspec.Raw(
            _encode({UNREADABLE_ARGUMENTS: written.encode("utf-8", "replace").decode()})
        )
    return msgspec.Raw(written.encode())


def is_whole(tool: Tool) -> bool:
    """Whether a provider's own tool is declared by its schema alone, which names its kind."""
    declared = parse(tool.schema)
    return isinstance(declared, dict) and declared.get("type") == tool.kind


def drop(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields without these."""
    return {name: raw for name, raw in fields.items() if name not in names}


def merged(
    params: Mapping[str, object], options: Iterable[tuple[str, object]]
) -> dict[str, object]:
    """The wire's own parameters with the options over them; ``None`` is an option that is not set."""
    return {**params, **{name: value for name, value in options if value is not None}}


def with_options(
    params: Mapping[str, object],
    sending: Sending,
    blocks: Blocks,
    *,
    most: str,
    thinking: str,
) -> dict[str, object]:
    """The wire's own parameters with the options over them.

    ``most`` is the field of the output limit, ``thinking`` the object that holds the effort.
    """
    options = sending.options
    said: list[tuple[str, object]] = [
        (most, options.max_output),
        ("temperature", options.temperature),
    ]
    if options.effort is not None:
        given = nested(sending.request.params, thinking)
        said.append((thinking, {**given, "effort": options.effort}))
    if options.thinking_budget is not None:
        blocks.miss("thinking_budget")
    return merged(params, said)


def nested(params: Mapping[str, object], name: str) -> dict[str, object]:
    """An object among the parameters; an empty one where there is none."""
    value = params.get(name)
    return dict(value) if isinstance(value, Mapping) else {}


_FILE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,255}")
"""A name of a file that a provider holds: ``file-abc`` (OpenAI), ``file_abc`` (Anthropic), ``files/abc`` (Gemini)."""


class Held(NamedTuple):
    """Where the content is: ``data`` is base64, ``url`` an address, ``file_id`` a file the provider holds."""

    mime: str
    data: str = ""
    url: str = ""
    file_id: str = ""

    @property
    def address(self) -> str:
        """One address for either: a ``data:`` URL for inline content."""
        return f"data:{self.mime};base64,{self.data}" if self.data else self.url


def locate(sending: Sending, part: ImagePart | FilePart) -> Held | None:
    """The content of a part; ``None`` when its bytes are not here."""
    mime = part.mime
    if not mime or "*" in mime:
        mime = "image/png" if isinstance(part, ImagePart) else "application/pdf"
    source = part.source
    held = sending.options.media.get(source)
    if held is not None:
        return Held(mime, data=base64.b64encode(held).decode())
    inline_mime, data = data_url(source)
    if data:
        return Held(inline_mime or mime, data=data)
    if source.startswith(("https://", "http://", "gs://")):
        return Held(mime, url=source)
    if not _FILE_ID.fullmatch(
        source
    ):  # nothing, a hash, bytes that are not kept here, a path of this machine
        return None
    return Held(mime, file_id=source)


def stand_in(blocks: Blocks, part: ImagePart | FilePart) -> str:
    """A line of text where content can't be sent. The same part gives the same line."""
    blocks.miss(f"content of {part.id}")
    kind = "image" if isinstance(part, ImagePart) else "file"
    size = f", {part.width}×{part.height}" if part.width and part.height else ""
    name = f" {part.name}" if isinstance(part, FilePart) and part.name else ""
    mime = f", {part.mime}" if part.mime else ""
    return f"[{kind}{name}{mime}{size}: its content is not available]"


def named_text(part: FilePart) -> str:
    """A document that is text, under its name."""
    return f"[{part.name}]\n{part.text}" if part.name else part.text

"""What is stored, sent and counted: parts, messages, tools, requests.

All values are frozen and equal by value. Every part has an id that is unique in its session; a part that changes gets
a new ``revision``, so that ids and revisions name the exact content of a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from ullage.extensible import Extensible, OptionalRaw

T = TypeVar("T")

Role = Literal["system", "user", "assistant", "tool"]
Origin = Literal["said", "summary", "injected"]
"""Who wrote a message: a person or the model; a compaction; the program itself (reminders, notices)."""


class ProviderData(Extensible, frozen=True, kw_only=True, omit_defaults=True):
    """Opaque data of a provider (signature, encrypted content, item id), byte for byte, with where it came from."""

    data: msgspec.Raw
    provider: str = ""
    wire: str = ""
    model: str = ""


class TextPart(Extensible, frozen=True, kw_only=True, omit_defaults=True, tag="text"):
    """Text that a person, a model or a program wrote."""

    id: str
    text: str
    name: str = ""
    """What the program that wrote it calls it, where it is a reminder: ``environment``."""
    revision: int = 0
    raw: bytes | None = None
    """The bytes as they came, where ``text`` had to be altered to be valid Unicode."""
    provider: ProviderData | None = None


class ReasoningPart(
    Extensible, frozen=True, kw_only=True, omit_defaults=True, tag="reasoning"
):
    """Reasoning as the provider returned it: its text (often a summary, possibly empty) and its opaque data."""

    id: str
    text: str = ""
    revision: int = 0
    redacted: bool = False
    opaque_size: int = 0
    """Characters of the signature or encrypted content, also where only its length is known."""
    provider: ProviderData | None = None


class ToolCallPart(
    Extensible, frozen=True, kw_only=True, omit_defaults=True, tag="tool_call"
):
    """A call the model asks for. ``arguments`` is the text as written, which need not be valid JSON."""

    id: str
    call_id: str
    name: str
    arguments: str = ""
    revision: int = 0
    opaque_size: int = 0
    provider: ProviderData | None = None


class ImagePart(Extensible, frozen=True, kw_only=True, omit_defaults=True, tag="image"):
    """An image by what it costs: its pixels. ``None`` is unknown. The bytes live elsewhere, under ``source``."""

    id: str
    mime: str = ""
    width: int | None = None
    height: int | None = None
    size_bytes: int | None = None
    detail: str = ""
    source: str = ""
    revision: int = 0
    provider: ProviderData | None = None


class FilePart(Extensible, frozen=True, kw_only=True, omit_defaults=True, tag="file"):
    """A document, audio or video by what it costs: pages, or seconds and pixels. ``None`` is unknown."""

    id: str
    mime: str = ""
    name: str = ""
    pages: int | None = None
    seconds: float | None = None
    width: int | None = None
    height: int | None = None
    size_bytes: int | None = None
    text: str = ""
    """Text of the document where the request carries it as text."""
    source: str = ""
    revision: int = 0
    provider: ProviderData | None = None

    @property
    def is_text(self) -> bool:
        """Whether the request carries it as text."""
        return bool(self.text) and not self.source


COMPACTION: Final = "compaction"
"""``ProviderItem.kind`` of a conversation that the provider compacted. Its ``text`` stands for it with other models."""


TOOL_REFERENCE: Final = "tool_reference"
"""``ProviderItem.kind`` of a deferred tool that a search found: the provider puts its declaration there."""


class ProviderItem(
    Extensible, frozen=True, kw_only=True, omit_defaults=True, tag="provider_item"
):
    """An item of a wire that has no type here, kept whole; ``text`` is its readable content."""

    id: str
    kind: str = ""
    text: str = ""
    revision: int = 0
    provider: ProviderData | None = None


class UnknownPart(msgspec.Struct, frozen=True, kw_only=True, tag="~"):
    """A part of a newer version, kept whole and written back unchanged. Costs what its text costs."""

    id: str
    raw: msgspec.Raw
    revision: int = 0


ResultContent = TextPart | ImagePart | FilePart | ProviderItem | UnknownPart


class ToolResultPart(
    Extensible, frozen=True, kw_only=True, omit_defaults=True, tag="tool_result"
):
    """What a tool returned to the model for ``call_id``."""

    id: str
    call_id: str
    name: str = ""
    content: tuple[ResultContent, ...] = ()
    is_error: bool = False
    cleared: bool = False
    """True when pruning has put a short notice in the place of the content."""
    revision: int = 0
    provider: ProviderData | None = None

    @property
    def text(self) -> str:
        """All text of the result, in order."""
        return "".join(
            part.text
            for part in self.content
            if not isinstance(part, ImagePart | UnknownPart)
        )


Part = (
    TextPart
    | ReasoningPart
    | ToolCallPart
    | ToolResultPart
    | ImagePart
    | FilePart
    | ProviderItem
    | UnknownPart
)


class Message(Extensible, frozen=True, kw_only=True, omit_defaults=True):
    """Role and parts. An answer of the model names the ``call`` that made it.

    ``who`` is the name of the token that sent it to a server. No provider gets it.
    """

    id: str
    role: Role
    parts: tuple[Part, ...] = ()
    origin: Origin = "said"
    who: str = ""
    call: str | None = None
    interrupted: str | None = None
    revision: int = 0
    measured: OptionalRaw = None
    """What the estimators made of content that is not kept (``ullage.meter.measured``)."""

    def of_type(self, kind: type[T]) -> Iterator[T]:
        """The parts of one type, in order.

        Args:
            kind: A class of part, such as ``ToolCallPart``.
        """
        return (part for part in self.parts if isinstance(part, kind))

    @property
    def text(self) -> str:
        """Its texts, each on a line of its own."""
        return "\n".join(part.text for part in self.of_type(TextPart))


class Stopped(NamedTuple):
    """That an answer ended early, and why; without one it ended by itself.

    ``length``: the limit on its output was reached. ``refused``: the model or a filter withheld it. ``context_full``:
    the window was full.
    """

    why: Literal["length", "refused", "context_full"]


class SystemBlock(Extensible, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of the system prompt: the prompt itself, an instruction file, a list of skills or agents."""

    text: str
    kind: Literal["prompt", "instructions", "skills", "agents", "memory"] = "prompt"
    name: str = ""
    provider: ProviderData | None = None
    measured: float | None = None
    """Tokens of a text that is not kept."""


class Tool(Extensible, frozen=True, kw_only=True, omit_defaults=True):
    """A tool as declared to the model. ``schema`` is the JSON Schema of its arguments, as JSON text."""

    name: str
    description: str = ""
    schema: msgspec.Raw = msgspec.Raw(b"{}")
    server: str = ""
    """The MCP server it comes from; empty for a tool of the program itself."""
    deferred: bool = False
    """True when the model can look it up but its declaration is not in the request."""
    kind: str = "function"
    """``function``, or the provider's own name for a tool that runs on its side."""
    measured: float | None = None
    """Tokens of a declaration that is not kept."""


class Request(Extensible, frozen=True, kw_only=True, omit_defaults=True):
    """Everything one model call sends.

    ``wire`` is one of ``messages`` (Anthropic), ``chat``, ``responses`` (OpenAI), ``generateContent`` (Gemini),
    ``converse`` (Bedrock), or another name, which is counted by generic rules. ``provider`` is who serves it
    (``openai``, ``azure``, ``openrouter`` …). ``params`` are the wire's other parameters, as JSON values.
    """

    wire: str
    model: str
    provider: str = ""
    system: tuple[SystemBlock, ...] = ()
    tools: tuple[Tool, ...] = ()
    messages: tuple[Message, ...] = ()
    params: dict[str, object] = msgspec.field(default_factory=dict)
    stream: bool = False
    chained: str = ""
    """The id of the answer, or of the conversation, that the provider holds and this request continues
    (``ullage.codec.held``); empty when everything is sent."""


class CleanText(NamedTuple):
    """Valid Unicode, and the bytes it was made from where it had to be altered."""

    text: str
    raw: bytes | None


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can hold the text: it has no lone surrogates.

    Args:
        text: Any text.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_text(text: str | bytes) -> CleanText:
    """Text without lone surrogates and NUL, which providers reject and databases can't hold.

    Each offending character becomes U+FFFD; the original is kept as bytes (UTF-8, surrogates passed through).

    Args:
        text: A text, or the bytes of one.
    """
    if isinstance(text, bytes):
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return CleanText(
                text.decode("utf-8", "replace").replace("\0", "\ufffd"), text
            )
        text = decoded
    if "\0" not in text and is_utf8(text):
        return CleanText(text, None)
    raw = text.encode("utf-8", "surrogatepass")
    # A well-formed pair of surrogates is one character that was cut in two escapes: join it, keep the rest out.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return CleanText(joined.replace("\0", "\ufffd"), raw)

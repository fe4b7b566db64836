"""An answer while it arrives: its parts in order, each growing until it is whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

from ullage.codec.bodies.naming import Namer
from ullage.codec.bodies.parts import PartMaker, opaque_size, readable
from ullage.codec.dialects import dialect_for
from ullage.codec.raw import parse, parse_object, written
from ullage.codec.stream import Answer, CallDelta, PartDone, ReasoningDelta, Stop, StreamEvent, TextDelta
from ullage.codec.usage import normalise, stream_usage
from ullage.errors import ProviderError
from ullage.messages import (
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    clean_text,
)
from ullage.usage import Usage

MINTED = "~"
"""How a call id begins that the provider left out and we made; it never goes back to a wire that has no ids."""


class Origin(NamedTuple):
    """Who answers: what provider data is tagged with."""

    wire: str
    provider: str = ""
    model: str = ""


class Flow:
    """Text that arrives in pieces, which may cut a character in half.

    What ``add`` and ``end`` return, joined, is the whole text made valid as ``clean_text`` does it.
    """

    __slots__ = ("_altered", "_clean", "_held", "_original")

    def __init__(self) -> None:
        self._clean: list[str] = []
        self._original: list[str] = []
        self._held = ""
        self._altered = False

    def add(self, piece: str) -> str:
        """What of the text so far can be shown now; half a surrogate pair waits for its other half."""
        if not self._held and piece.isascii() and "\0" not in piece:
            self._clean.append(piece)
            self._original.append(piece)
            return piece
        self._original.append(piece)
        piece = self._held + piece
        self._held = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        return self._show(piece)

    def end(self) -> str:
        """What was held back and will get no other half."""
        piece, self._held = self._held, ""
        return self._show(piece)

    def _show(self, piece: str) -> str:
        clean, raw = clean_text(piece)
        self._altered = self._altered or raw is not None
        if clean:
            self._clean.append(clean)
        return clean

    @property
    def text(self) -> str:
        return "".join(self._clean)

    @property
    def original(self) -> str:
        """The text as it came."""
        return "".join(self._original)

    @property
    def raw(self) -> bytes | None:
        """The original, where it had to be altered."""
        return clean_text(self.original).raw if self._altered else None


class Growing:
    """A part that is still arriving.

    ``rest`` is what of it has no word, field by field as it came; ``bytes`` are a whole item's, which stands for it.
    """

    __slots__ = ("bytes", "call_id", "done", "flow", "id", "is_whole", "kind", "name", "redacted", "rest")

    def __init__(self, id: str, kind: Literal["text", "reasoning", "call", "item"]) -> None:
        self.id = id
        self.kind = kind
        self.flow = Flow()
        self.rest: dict[str, object] = {}
        self.bytes: msgspec.Raw | None = None
        self.call_id = ""
        self.name = ""
        self.redacted = False
        self.is_whole = False
        self.done: Part | None = None

    def add(self, piece: str) -> list[StreamEvent]:
        """The piece as a delta; nothing when it shows nothing yet, or when the part is already whole."""
        return [] if self.is_whole else self.show(self.flow.add(piece))

    def show(self, shown: str) -> list[StreamEvent]:
        if not shown:
            return []
        match self.kind:
            case "text":
                return [TextDelta(self.id, shown)]
            case "reasoning":
                return [ReasoningDelta(self.id, shown)]
            case "call":
                return [CallDelta(self.id, self.call_id, self.name, shown)]
            case "item":
                return []

    def restart(self, text: str) -> None:
        """Another text in the place of the one so far: the server corrected itself."""
        self.flow = Flow()
        self.flow.add(text)

    def begun(self) -> list[StreamEvent]:
        """That a call has begun, before any of its arguments."""
        return [CallDelta(self.id, self.call_id, self.name)]


class Draft:
    """The answer so far. Parts stand in the order they were opened; their ids are the message's with a number."""

    def __init__(self, origin: Origin, message_id: str, call: str | None) -> None:
        self.origin = origin
        self.message_id = message_id
        self.call = call
        self.parts: list[Growing] = []
        self.usages: list[dict[str, object]] = []
        self._named = 0
        self._raw_usage: msgspec.Raw | None = None

    def open(self, kind: Literal["text", "reasoning", "call", "item"]) -> Growing:
        """A new part behind the others."""
        self._named += 1
        growing = Growing(f"{self.message_id}.{self._named}", kind)
        self.parts.append(growing)
        return growing

    def open_item(self, data: msgspec.Raw) -> Growing:
        """A new item that is whole, kept byte for byte."""
        growing = self.open("item")
        growing.bytes = data
        return growing

    def open_call(self, call_id: str, name: str) -> Growing:
        """A new call; one without an id gets one of ours."""
        growing = self.open("call")
        growing.call_id = clean_text(call_id).text or f"{MINTED}{growing.id}"
        growing.name = clean_text(name).text
        return growing

    def close(self, growing: Growing) -> list[StreamEvent]:
        """The part is whole: what was held back of its text, and the part itself if it holds anything."""
        if growing.is_whole:
            return []
        events = growing.show(growing.flow.end())
        growing.is_whole = True
        growing.done = self.part(growing)
        return [*events, PartDone(growing.done)] if growing.done is not None else events

    def part(self, growing: Growing) -> Part | None:
        """The part as it stands; ``None`` when it has neither text nor provider data."""
        data = self.opaque(growing.rest if growing.bytes is None else growing.bytes)
        text = growing.flow.text
        match growing.kind:
            case "text":
                if not text and data is None:
                    return None
                return TextPart(id=growing.id, text=text, raw=growing.flow.raw, provider=data)
            case "reasoning":
                if not text and data is None:
                    return None
                return ReasoningPart(
                    id=growing.id, text=text, redacted=growing.redacted, opaque_size=_size(data), provider=data
                )
            case "call":
                return ToolCallPart(
                    id=growing.id,
                    call_id=growing.call_id,
                    name=growing.name,
                    arguments=text,
                    opaque_size=_size(data),
                    provider=data,
                )
            case "item":
                return self._item(growing, data)

    def _item(self, growing: Growing, data: ProviderData | None) -> Part | None:
        if data is None:
            return None
        block = parse_object(data.data)
        kind = block.get("type")
        return ProviderItem(
            id=growing.id,
            kind=kind if isinstance(kind, str) else next(iter(block), ""),
            text=clean_text("\n".join(readable(block))).text,
            provider=data,
        )

    def opaque(self, rest: Mapping[str, object] | msgspec.Raw) -> ProviderData | None:
        """What has no word, tagged with where it came from; ``None`` when there is nothing."""
        if not rest:
            return None
        origin = self.origin
        data = rest.copy() if isinstance(rest, msgspec.Raw) else written(rest)
        return ProviderData(data=data, provider=origin.provider, wire=origin.wire, model=origin.model)

    def media(self, id: str, mime: object, data: str, rest: Mapping[str, object]) -> Part:
        """An image or a file the model made, measured; its bytes stay in the provider data."""
        made = PartMaker(namer=Namer(), wire=self.origin.wire).media(mime, data=data)
        return type(made)(
            **{name: getattr(made, name) for name in made.__struct_fields__ if name not in ("id", "provider")},
            id=id,
            provider=self.opaque(rest),
        )

    def note_usage(self, usage: object, raw: msgspec.Raw | None = None) -> None:
        """A usage object of the stream, and its bytes. One that says all of the one before takes its place.

        Anthropic's are all kept: how many there were tells whether the output is a placeholder.
        """
        if not isinstance(usage, dict) or not usage:
            return
        if self.usages and self.origin.wire != "messages" and _covers(usage, self.usages[-1]):
            self.usages.pop()
        self.usages.append(usage)
        self._raw_usage = raw

    def usage(self, *, complete: bool) -> Usage:
        """The usage in our terms. A single object that is complete is kept byte for byte."""
        dialect = dialect_for(*self.origin)
        if len(self.usages) == 1 and complete:
            return normalise(dialect, self.usages[0] if self._raw_usage is None else self._raw_usage)
        return stream_usage(dialect, self.usages, complete=complete)

    def answer(
        self,
        *,
        finished: bool,
        stop: Stop,
        model: str,
        response_id: str,
        said: str,
        error: ProviderError | None,
    ) -> Answer:
        """What a decoder ends with. One that did not finish failed where an error says so, else it was dropped."""
        return Answer(
            message=self.message(),
            usage=self.usage(complete=finished),
            stop=stop,
            outcome="finished" if finished else "failed" if error is not None else "dropped",
            model=model,
            response_id=response_id,
            said=said,
            error=error,
        )

    def message(self) -> Message:
        """The message of all parts that hold anything, whole or not."""
        parts = [growing.done if growing.is_whole else self.part(growing) for growing in self.parts]
        return Message(
            id=self.message_id,
            role="assistant",
            parts=tuple(part for part in parts if part is not None),
            call=self.call,
        )

    def holds_call(self) -> bool:
        """Whether the answer asks for a tool."""
        return any(growing.kind == "call" for growing in self.parts)


def _covers(later: Mapping[str, object], earlier: Mapping[str, object]) -> bool:
    """Whether merging ``later`` over ``earlier`` would give ``later``."""
    for key, value in earlier.items():
        newer = later.get(key)
        if isinstance(value, dict):
            if not isinstance(newer, dict) or not _covers(newer, value):
                return False
        elif value and not newer:
            return False
    return True


def _size(data: ProviderData | None) -> int:
    return 0 if data is None else opaque_size(parse(data.data))


def joined(texts: Iterable[str]) -> str:
    """Sections of reasoning as one text, as ``codec.bodies`` joins them."""
    return "\n\n".join(texts)

"""An answer while it arrives: its parts in order, each growing until it is whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.bounds import json_excess
from ullage.codec.foreign import (
    damaged,
    is_dense,
    parse,
    parse_object,
    read_frame,
    written,
)
from ullage.codec.parts import Namer, PartMaker, opaque_size, readable
from ullage.codec.rules import Dialect
from ullage.codec.stream import (
    Answer,
    CallDelta,
    PartDone,
    ReasoningDelta,
    Stop,
    StreamEvent,
    StreamFailed,
    TextDelta,
)
from ullage.codec.usage import read_usage, stream_usage
from ullage.envelope import (
    ANSWER_CEILING_CHARS,
    ANSWER_FLOOR_CHARS,
    ANSWER_PARTS,
    ARGUMENT_CHARS,
    BYTES_PER_TOKEN,
    CALL_ID_CHARS,
    ITEM_BYTES,
    JSON_DEPTH,
    KEPT_CHARS,
    TOOL_NAME_CHARS,
    USAGE_REPORTS,
    WORD_CHARS,
)
from ullage.errors import LimitExceeded, ProviderError
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
from ullage.usage import CacheVerdict, Cleared, Usage

PLAIN_BYTES = 4096
"""Up to this size a frame with few brackets needs no closer look: nearly all of them."""

MINTED = "~"
"""How a call id begins that the provider left out and we made; it never goes back to a wire that has no ids."""


class DraftOrigin(NamedTuple):
    """The wire, provider and model that answer: the tag of provider data."""

    wire: str
    provider: str = ""
    model: str = ""


class Tally:
    """What an answer holds so far, against the limits of ``ullage.envelope``, and what ended it before its end."""

    __slots__ = ("broken", "chars", "items", "most")

    def __init__(self) -> None:
        self.most = ANSWER_CEILING_CHARS
        """Characters that it may have."""
        self.chars = 0
        self.items = 0
        self.broken: ProviderError | None = None

    def exceed(self, what: str, limit: str, advice: str) -> None:
        """The answer exceeds a limit. The first thing that is wrong with an answer stays its error."""
        self.broken = self.broken or LimitExceeded(
            f"The answer was stopped: {what}. It is not asked for again by itself. {advice}",
            limit=limit,
        )

    def exceed_text(self) -> None:
        """The text, reasoning and arguments together are too long."""
        what = f"it holds more than {self.most:,} characters, far more than its output limit allows"
        self.exceed(
            what,
            "ANSWER_CEILING_CHARS",
            "Check the model and the address; a lower max_output stops it earlier.",
        )

    def hold(self, size_bytes: int) -> None:
        """Count data that is kept beside the text."""
        self.items += size_bytes
        if self.items > ITEM_BYTES:
            self.exceed(
                f"its data beside the text exceeds {ITEM_BYTES:,} bytes",
                "ITEM_BYTES",
                "Ask for less at once.",
            )


class Flow:
    """Text that arrives in pieces, which may cut a character in half.

    What ``add`` and ``end`` return, joined, is the whole text made valid as ``clean_text`` does it.
    """

    __slots__ = ("_altered", "_held", "_original")

    def __init__(self) -> None:
        self._original: list[str] = []
        self._held = ""
        self._altered = False

    def add(self, piece: str) -> str:
        """What of the text so far can be shown now; half a surrogate pair waits for its other half."""
        self._original.append(piece)
        if not self._held and piece.isascii() and "\0" not in piece:
            return piece
        piece = self._held + piece
        self._held = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        return self._show(piece)

    def end(self) -> str:
        """What was held back and will get no other half."""
        piece, self._held = self._held, ""
        return self._show(piece) if piece else ""

    def _show(self, piece: str) -> str:
        clean, raw = clean_text(piece)
        self._altered = self._altered or raw is not None
        return clean

    @property
    def text(self) -> str:
        """What has been shown of it."""
        shown = self.original.removesuffix(self._held)
        return clean_text(shown).text if self._altered else shown

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

    ``rest`` are the fields that our types lack, as they came; ``bytes`` are those of a whole item, instead of ``rest``.
    """

    __slots__ = (
        "bytes",
        "call_id",
        "done",
        "flow",
        "id",
        "is_whole",
        "kind",
        "name",
        "redacted",
        "rest",
        "room",
        "tally",
    )

    def __init__(
        self, id: str, kind: Literal["text", "reasoning", "call", "item"], tally: Tally
    ) -> None:
        self.id = id
        self.kind = kind
        self.tally = tally
        self.room = tally.most if kind in ("text", "reasoning") else ARGUMENT_CHARS
        self.flow = Flow()
        self.rest: dict[str, object] = {}
        self.bytes: msgspec.Raw | None = None
        self.call_id = ""
        self.name = ""
        self.redacted = False
        self.is_whole = False
        self.done: Part | None = None

    def add(self, piece: str) -> list[StreamEvent]:
        """The piece as a delta; nothing when it shows nothing yet, exceeds a limit, or when the part is whole."""
        if self.is_whole:
            return []
        size = len(piece)
        tally = self.tally
        self.room -= size
        tally.chars += size
        if self.room < 0 or tally.chars > tally.most:
            self._exceed()
            return []
        shown = self.flow.add(piece)
        if shown and self.kind == "text":
            return [TextDelta(self.id, shown)]
        return self.show(shown)

    def _exceed(self) -> None:
        if self.kind in ("text", "reasoning") or self.tally.chars > self.tally.most:
            self.tally.exceed_text()
            return
        what = f"the arguments of one tool call exceed {ARGUMENT_CHARS:,} characters"
        self.tally.exceed(
            what, "ARGUMENT_CHARS", "Ask the model to write in smaller steps."
        )

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
    """The answer so far. Parts are in the order they were opened; their ids are the message's with a number."""

    def __init__(
        self,
        origin: DraftOrigin,
        message_id: str,
        call: str | None,
        *,
        dialect: Dialect,
        problem: Callable[[Mapping[str, Any]], ProviderError],
        max_output: int | None = None,
    ) -> None:
        self.origin = origin
        self.dialect = dialect
        self._problem = problem
        self.tally = Tally()
        if max_output is not None:
            fitting = min(ANSWER_CEILING_CHARS, max_output * BYTES_PER_TOKEN)
            self.tally.most = max(ANSWER_FLOOR_CHARS, fitting)
        self.message_id = message_id
        self.call = call
        self.parts: list[Growing] = []
        self.usages: list[dict[str, object]] = []
        self.cleared: tuple[Cleared, ...] = ()
        self.verdict: CacheVerdict | None = None
        self.unbound = 0
        """What the provider left out of the request."""
        self.model = ""
        self.response_id = ""
        self.is_held = False
        self.said = ""
        """The provider's own word for why the model ended."""
        self.error: ProviderError | None = None
        """What the provider reported instead of an answer."""
        self._named = 0
        self._raw_usage: msgspec.Raw | None = None

    def open(self, kind: Literal["text", "reasoning", "call", "item"]) -> Growing:
        """A new part behind the others."""
        self._named += 1
        if self._named > ANSWER_PARTS:
            self.tally.exceed(
                f"it has more than {ANSWER_PARTS:,} parts",
                "ANSWER_PARTS",
                "Check the model.",
            )
        growing = Growing(f"{self.message_id}.{self._named}", kind, self.tally)
        self.parts.append(growing)
        return growing

    def open_item(self, data: msgspec.Raw) -> Growing:
        """A new item that is whole, kept byte for byte."""
        growing = self.open("item")
        growing.bytes = data
        return growing

    def named(self, name: str) -> str:
        """A tool's name in the answer, cut to the longest that a name can be."""
        if len(name) > TOOL_NAME_CHARS:
            what = (
                f"a tool's name has {len(name):,} characters, more than {TOOL_NAME_CHARS}"
            )
            self.tally.exceed(what, "TOOL_NAME_CHARS", "Check the model.")
        return clean_text(name[:TOOL_NAME_CHARS]).text

    def open_call(self, call_id: str, name: str) -> Growing:
        """A new call; one without an id gets one of ours."""
        growing = self.open("call")
        if len(call_id) > CALL_ID_CHARS:
            what = f"the id of a tool call has {len(call_id):,} characters, more than {CALL_ID_CHARS:,}"
            self.tally.exceed(what, "CALL_ID_CHARS", "Check the server.")
        growing.call_id = (
            clean_text(call_id[:CALL_ID_CHARS]).text or f"{MINTED}{growing.id}"
        )
        growing.name = self.named(name)
        return growing

    def close(self, growing: Growing) -> list[StreamEvent]:
        """The part is whole: what was held back of its text, and the part itself if it holds anything."""
        if growing.is_whole:
            return []
        events = growing.show(growing.flow.end())
        growing.is_whole = True
        if growing.kind == "call" and (excess := json_excess(growing.flow.original)):
            what = f"the arguments of a tool call are JSON that is {excess}"
            self.tally.exceed(what, "JSON_DEPTH", "Ask the model for simpler arguments.")
        growing.done = self.part(growing)
        return [*events, PartDone(growing.done)] if growing.done is not None else events

    def read(self, data: bytes) -> dict[str, Any] | None:
        """One frame, or a whole body, as an object. ``None`` for none, and behind the end of the answer."""
        if self.tally.broken is not None:
            return None
        is_suspect = (
            len(data) > PLAIN_BYTES or data.count(b"{") + data.count(b"[") > JSON_DEPTH
        )
        if is_suspect and (is_dense(data) or json_excess(data)):
            what = "it holds JSON that is nested too deep or has too many values"
            self.tally.exceed(what, "JSON_DEPTH", "Check the model and the server.")
            return None
        fields = read_frame(data)
        if fields is None:
            self.damage("a frame is no JSON object", data)
        return fields

    def name(self, model: str, response_id: str) -> None:
        """Note who answers, and the answer's id; empty where it is not said here."""
        self.model = model or self.model
        self.response_id = response_id or self.response_id

    def damage(self, what: str, data: bytes = b"") -> list[StreamEvent]:
        """Note that the answer came damaged. Gives no events: what a damaged frame would have given is not known."""
        self.tally.broken = self.tally.broken or damaged(what, data)
        return []

    def part(self, growing: Growing) -> Part | None:
        """The part as it stands; ``None`` when it has neither text nor provider data."""
        data = self.opaque(growing.rest if growing.bytes is None else growing.bytes)
        text = growing.flow.text
        match growing.kind:
            case "text":
                if not text and data is None:
                    return None
                return TextPart(
                    id=growing.id, text=text, raw=growing.flow.raw, provider=data
                )
            case "reasoning":
                if not text and data is None:
                    return None
                return ReasoningPart(
                    id=growing.id,
                    text=text,
                    redacted=growing.redacted,
                    opaque_size=_size(data),
                    provider=data,
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
        """Fields that our types lack, tagged with their origin; ``None`` when there are none."""
        if not rest:
            return None
        origin = self.origin
        data = rest.copy() if isinstance(rest, msgspec.Raw) else written(rest)
        return ProviderData(
            data=data, provider=origin.provider, wire=origin.wire, model=origin.model
        )

    def media(self, id: str, mime: object, data: str, rest: Mapping[str, object]) -> Part:
        """An image or a file the model made, measured; its bytes stay in the provider data."""
        made = PartMaker(namer=Namer(), wire=self.origin.wire).media(mime, data=data)
        return type(made)(
            **{
                name: getattr(made, name)
                for name in made.__struct_fields__
                if name not in ("id", "provider")
            },
            id=id,
            provider=self.opaque(rest),
        )

    def note_usage(self, usage: object, raw: msgspec.Raw | None = None) -> None:
        """A usage object of the stream, and its bytes. One that says all of the one before takes its place.

        All are kept where their number tells whether the output is a placeholder.
        """
        if not isinstance(usage, dict) or not usage:
            return
        is_repeated = bool(self.usages) and _covers(usage, self.usages[-1])
        if len(self.usages) >= USAGE_REPORTS or (
            is_repeated and not self.dialect.begins_with_placeholder
        ):
            self.usages.pop()
        self.usages.append(usage)
        self._raw_usage = raw

    def usage(self, *, complete: bool) -> Usage:
        """The usage in our terms. A single object that is complete is kept byte for byte."""
        usage = self._reported(complete=complete)
        if self.cleared or self.verdict is not None:
            usage = replace(usage, cleared=self.cleared, verdict=self.verdict)
        return usage

    def _reported(self, *, complete: bool) -> Usage:
        if len(self.usages) == 1 and complete:
            return read_usage(
                self.dialect,
                self.usages[0] if self._raw_usage is None else self._raw_usage,
            )
        return stream_usage(self.dialect, self.usages, complete=complete)

    def fail(self, fields: Mapping[str, Any]) -> list[StreamEvent]:
        """Note the error that a parsed event or body reports instead of an answer. The first one counts."""
        self.error = self.error or self._problem(fields)
        return [StreamFailed(self.error)]

    def answer(self, *, finished: bool, stop: Stop) -> Answer:
        """What a decoder ends with. One that did not finish failed where an error says so, else it was dropped.

        A damaged answer, or one that exceeds a limit, is dropped whatever came after that.
        """
        broken = self.tally.broken
        outcome: Literal["finished", "dropped", "failed"] = "failed"
        if self.error is None:
            outcome = "finished" if finished and broken is None else "dropped"
        return Answer(
            message=self.message(),
            usage=self.usage(complete=outcome == "finished"),
            stop=stop if outcome == "finished" else "",
            outcome=outcome,
            model=self.model[:WORD_CHARS],
            response_id=self.response_id[:CALL_ID_CHARS],
            said=self.said[:WORD_CHARS],
            error=self.error or broken,
            is_held=self.is_held,
            unbound=self.unbound,
        )

    def message(self) -> Message:
        """The message of all parts that hold anything, whole or not."""
        parts = [
            growing.done if growing.is_whole else self.part(growing)
            for growing in self.parts
        ]
        return Message(
            id=self.message_id,
            role="assistant",
            parts=tuple(part for part in parts if part is not None),
            call=self.call,
        )

    def holds_call(self) -> bool:
        """Whether the answer asks for a tool."""
        return any(growing.kind == "call" for growing in self.parts)


def shortened(message: Message) -> Message:
    """The beginning of an answer that exceeded a limit, short enough for any context window. Calls are left out."""
    left = KEPT_CHARS
    parts: list[Part] = []
    for part in message.parts:
        if left <= 0:
            break
        if isinstance(part, TextPart | ReasoningPart):
            parts.append(
                part
                if len(part.text) <= left
                else type(part)(id=part.id, text=part.text[:left])
            )
            left -= len(part.text)
    return replace(message, parts=tuple(parts))


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

"""A turn as a page shows it: steps that follow from the session's events and pieces. Pure.

Each protocol writes the same steps in its own words. Pieces of an answer may be missing, since a store leaves out those
of a call that has ended: the whole message then brings what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from ullage.events import (
    CallEnded,
    CallStarted,
    DraftPiece,
    Event,
    MessageAdded,
    MessageReplaced,
    ReadingTaken,
    Rewound,
    SessionEvent,
    ToolEnded,
    TurnEnded,
    TurnPaused,
)
from ullage.messages import (
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.usage import UsageSum
from ullage_agent.runtime.approvals import Question


class StreamedPart(NamedTuple):
    """A part of an answer. ``id`` is unique in the session; ``call`` is the model call. Calls of tools have a name."""

    kind: Literal["text", "reasoning", "call"]
    id: str
    call: str
    call_id: str = ""
    name: str = ""


class CallStep(NamedTuple):
    """A model call begins, or it and its tools end. ``is_lost``: it broke off, and its parts are void."""

    call: str
    at: Literal["start", "end"]
    is_lost: bool = False


class PartStep(NamedTuple):
    """A part begins, grows or ends. A ``delta`` has more of it in ``text``, the ``end`` of a call all of its arguments.

    The ``end`` of another part, and of one that broke off, has none.
    """

    part: StreamedPart
    at: Literal["start", "delta", "end"]
    text: str = ""


class ResultStep(NamedTuple):
    """A tool call's result. ``is_denied``: a person did not allow the call."""

    result: ToolResultPart
    is_denied: bool


class Rested(NamedTuple):
    """The turn ended or waits. ``reason`` is a ``PauseReason``, an ``EndReason``, or ``message``: another message was
    delivered, whose answer follows."""

    reason: str
    note: str = ""
    usage: UsageSum = UsageSum()


PageStep = CallStep | PartStep | ResultStep | ReadingTaken
"""What a page shows between the beginning and the end of its stream."""


class TurnSteps:
    """Events and pieces in, steps out. ``message``: the user's message whose answer is meant; empty: what comes next.

    ``rested`` is how it ended; nothing follows then.
    """

    def __init__(self, message: str = "") -> None:
        self.rested: Rested | None = None
        self._message = message
        self._call = ""
        self._is_added = True
        self._open: dict[str, StreamedPart] = {}
        self._shown: dict[str, int] = {}
        """Characters by part."""
        self._denied: set[str] = set()
        self._usage = UsageSum()

    def read(self, item: SessionEvent) -> Iterator[PageStep]:
        """The steps that follow from one item."""
        match item:
            case _ if self._message:
                if isinstance(item, MessageAdded) and item.message.id == self._message:
                    self._message = ""
            case CallStarted(purpose="main"):
                yield from self._end_step()
                self._call = item.call
                yield CallStep(item.call, "start")
            case CallEnded():
                self._usage = self._usage.plus(item.usage)
            case DraftPiece() if item.call == self._call:
                self._is_added = False
                yield from self._piece(item)
            case MessageAdded(message=message) if message.role == "assistant":
                self._is_added = True
                yield from self._whole(message)
            case MessageAdded(message=message) if is_said(message):
                yield from self._rest("message", "")
            case MessageAdded(message=message):
                for result in message.of_type(ToolResultPart):
                    yield ResultStep(result, result.call_id in self._denied)
            case ToolEnded(outcome="denied"):
                self._denied.add(item.call_id)
            case ReadingTaken():
                yield item
            case TurnPaused() | TurnEnded():
                yield from self._rest(item.reason, item.note)
            case _:
                pass

    def _piece(self, piece: DraftPiece) -> Iterator[PageStep]:
        if piece.kind != "done":
            part = StreamedPart(
                piece.kind, piece.part, piece.call, piece.call_id, piece.name
            )
            yield from self._grow(part, piece.text)
        elif (begun := self._open.get(piece.part)) and begun.kind != "call":
            yield self._end(begun)

    def _whole(self, message: Message) -> Iterator[PageStep]:
        for part, text in streamed_parts(message):
            if part.id in self._open or part.id not in self._shown:
                yield from self._grow(part, text[self._shown.get(part.id, 0) :])
                yield self._end(part, text if part.kind == "call" else "")

    def _grow(self, part: StreamedPart, text: str) -> Iterator[PageStep]:
        if part.id not in self._shown:
            self._open[part.id] = part
            self._shown[part.id] = 0
            yield PartStep(part, "start")
        if text:
            self._shown[part.id] += len(text)
            yield PartStep(part, "delta", text)

    def _end(self, part: StreamedPart, text: str = "") -> PartStep:
        del self._open[part.id]
        return PartStep(part, "end", text)

    def _end_step(self) -> Iterator[PageStep]:
        for part in tuple(self._open.values()):
            yield self._end(part)
        if self._call:
            yield CallStep(self._call, "end", not self._is_added)
        self._call, self._is_added = "", True

    def _rest(self, reason: str, note: str) -> Iterator[PageStep]:
        self.rested = Rested(reason, note, self._usage)
        return self._end_step()


def streamed_parts(message: Message) -> Iterator[tuple[StreamedPart, str]]:
    """What a page shows of an answer: each part with its text or its arguments."""
    call = message.call or message.id
    for part in message.parts:
        match part:
            case TextPart():
                yield StreamedPart("text", part.id, call), part.text
            case ReasoningPart():
                yield StreamedPart("reasoning", part.id, call), part.text
            case ToolCallPart():
                shown = StreamedPart("call", part.id, call, part.call_id, part.name)
                yield shown, part.arguments
            case _:
                pass


def is_said(message: Message) -> bool:
    """Whether a person wrote the message."""
    return message.role == "user" and message.origin == "said"


def transcript(events: Iterable[Event]) -> list[Message]:
    """What was said, in order, whatever compactions took out of the model's window since. No injected messages."""
    said: dict[str, Message] = {}
    for event in events:
        match event:
            case MessageAdded(message=message) if message.origin == "said":
                said[message.id] = message
            case MessageReplaced(message=message) if message.id in said:
                said[message.id] = message
            case Rewound(to=last):
                while said and next(reversed(said)) != last:
                    said.popitem()
            case _:
                pass
    return list(said.values())


def approval_id(question: Question) -> str:
    """Names the exact call that is shown: a page sends it back with its answer."""
    return f"{question.digest}.{question.call_id}"


def counts(usage: UsageSum) -> dict[str, int]:
    """Tokens by the names that both protocols have (``TokenUsage`` of @ag-ui/core 1.0.0, ``LanguageModelUsage`` of ai
    7.0.173)."""
    return {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
        "reasoningTokens": usage.reasoning,
        "cachedInputTokens": usage.cache_read,
    }

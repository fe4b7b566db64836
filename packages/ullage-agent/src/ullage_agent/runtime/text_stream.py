"""The text of an answer while it is written: ``async for text in session.stream("…")``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, Self, overload

from ullage.errors import CommandRefused, UllageError
from ullage.events import CallStarted, DraftPiece, MessageAdded, QueueLeft, SessionEvent
from ullage.messages import TextPart
from ullage.store.store import Receipt
from ullage_agent.runtime.message_input import MessageInput
from ullage_agent.runtime.outcome import CancelAnswer, Result
from ullage_agent.runtime.output_type import AnswerMisfit, OutputType
from ullage_agent.runtime.partial_json import PartialJson
from ullage_agent.runtime.policy import PARTIAL_STEP, STREAM_CANCEL_S
from ullage_agent.tools.type_variables import AnyT, OutputT


class StreamedSession(Protocol):
    """The methods of a session that its streams use."""

    _output: OutputType[Any] | None

    async def _send(
        self, pieces: Sequence[MessageInput], output: OutputType[Any] | None
    ) -> Receipt:
        """Send a message for an answer of this type."""
        ...

    async def _typed_result(
        self, output: OutputType[Any] | None, *, check: bool
    ) -> Result[Any]:
        """``wait`` for an answer of this type."""
        ...

    async def _answer_tool(self) -> str:
        """The name of the tool for answers, where they are not text."""
        ...

    def events(
        self, *, after: int | None = None, until_rest: bool = False
    ) -> AsyncGenerator[SessionEvent, None]: ...

    async def wait(self, *, check: bool = True) -> Result[Any]: ...

    async def cancel(self) -> CancelAnswer: ...

    async def _newest(self) -> int:
        """The number of the last event."""
        ...


class TextStream(AsyncIterator[str], Generic[OutputT]):
    """The text of the answers to one message, piece by piece, and then ``result``. Made by ``Session.stream``.

    Read it as text, ``async for text in stream``, or as values of the answer's type that grow, with ``partials``.
    The stream ends when the session rests or waits for a person. It has the text alone: reasoning, tool calls and
    results are in ``Session.events``. In a turn of several steps the text before a tool call comes too. The text of an
    answer that broke off stays given, and the repeated answer follows it: ``result.text`` is the last answer's alone.
    Raises what ``Session.wait`` raises.

    Leaving the loop early stops the reading and leaves the turn running; ``aclose``, or the end of an ``async with``
    block around the loop, cancels it, and what was written by then is kept. A stream of ``Agent.stream`` has a session
    of its own, and leaving it early in any way cancels the turn.
    """

    def __init__(
        self,
        opening: AbstractAsyncContextManager[StreamedSession],
        pieces: Sequence[MessageInput],
        *,
        owns: bool = False,
        output: OutputType[Any] | None = None,
    ) -> None:
        self._state = _StreamState(output)
        self._owns = owns
        self._pieces = _read(self._state, opening, pieces, owns)

    async def __anext__(self) -> str:
        while True:
            piece = await anext(self._pieces)
            if not piece.tool:
                return piece.text

    @overload
    def partials(self) -> AsyncGenerator[OutputT, None]: ...

    @overload
    def partials(self, kind: type[AnyT]) -> AsyncGenerator[AnyT, None]: ...

    async def partials(self, kind: Any = None) -> AsyncGenerator[Any, None]:
        """The answer as its type while it is written, each time that more of it can be read, and at last whole.

        Each is a whole value of the type: fields that have not come yet need a default, the text that is being written
        is as long as it is by now, and an element of a list that does not fit yet is left out. Without an
        ``output_type`` it is the text so far. Hooks and guardrails have not seen what comes before the last one.

        Args:
            kind: Another type to read them as, whose fields may all have defaults, such as a ``TypedDict`` with
                ``total=False``, or ``dict`` for what came so far. ``output`` stays what it is.

        Raises:
            AnswerInvalid: The whole answer does not fit, after the last try, and whatever ``Session.wait`` raises.
        """
        other = None if kind is None else OutputType[Any](kind)
        given: list[Any] = []
        async for value in self._values(other):
            if given != [value]:
                given = [value]
                yield value
        last = self.result.read_output
        if other is None and last is not None and given != [last[0]]:
            yield last[0]

    async def _values(self, other: OutputType[Any] | None) -> AsyncIterator[Any]:
        """What can be read of each answer as it grows, and of the last one at its end."""
        source, unread = None, 0
        growing = PartialJson()
        async for piece in self._pieces:
            if (piece.call, piece.tool) != source:
                source = piece.call, piece.tool
                text, unread, growing = "", 0, PartialJson()
            text += piece.text
            growing.add(piece.text)
            unread += len(piece.text)
            output = self._state.output or other
            if output is None:
                yield text
            elif unread * PARTIAL_STEP >= len(text):
                unread = 0
                for value in _partial(growing, output, other):
                    yield value
        output = self._state.output or other
        if output is not None and other is not None:
            growing = PartialJson()
            growing.add(self.result.text)
            for value in _partial(growing, output, other):
                yield value

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.aclose()

    @property
    def result(self) -> Result[OutputT]:
        """How the session came to rest, as ``ask`` returns it. Raises ``CommandRefused`` before the end."""
        if self._state.result is None:
            raise CommandRefused(
                "The stream has no result yet: read it to its end, or close it with aclose()."
            )
        return self._state.result

    async def aclose(self) -> None:
        """End the stream; the turn is cancelled if it is not over. Does nothing at the end of the stream."""
        await self._pieces.aclose()
        state = self._state
        if state.session is None or self._owns or state.result is not None:
            return
        await state.session.cancel()
        state.result = await state.settled(state.session)


class _Piece(NamedTuple):
    """More of the answer of one call: text, or arguments of the ``tool`` that gives the answer."""

    call: str
    text: str
    tool: str = ""


def _partial(
    growing: PartialJson, output: OutputType[Any], other: OutputType[Any] | None
) -> list[Any]:
    """The most of the answer that can be read by now, in a list that is empty if nothing can."""
    kind = None if other is None else other.kind
    for whole in growing.completions():
        try:
            return [output.read(whole, kind)]
        except AnswerMisfit:
            continue
    return []


@dataclass(slots=True)
class _StreamState:
    """What a stream and its generator share. Neither refers to the other, so that a stream which is dropped ends."""

    output: OutputType[Any] | None
    session: StreamedSession | None = None
    """The session, once the message is sent."""
    result: Result[Any] | None = None

    async def settled(self, session: StreamedSession) -> Result[Any]:
        """The result once the session rests."""
        return await session._typed_result(self.output, check=False)


async def _read(
    state: _StreamState,
    opening: AbstractAsyncContextManager[StreamedSession],
    pieces: Sequence[MessageInput],
    owns: bool,
) -> AsyncGenerator[_Piece, None]:
    """The pieces of a stream. With ``owns``, nothing else works with the session, which is closed at the end."""
    async with opening as session:
        state.output = state.output or session._output
        try:
            async with aclosing(_sent(state, session, pieces)) as answer:
                async for piece in answer:
                    yield piece
            state.result = await state.settled(session)
        except (asyncio.CancelledError, GeneratorExit):
            if owns:
                state.result = await end_turn(session, STREAM_CANCEL_S)
            raise
    state.result.or_raise()


async def _sent(
    state: _StreamState, session: StreamedSession, pieces: Sequence[MessageInput]
) -> AsyncGenerator[_Piece, None]:
    """Send the message, and give the answers that have seen it."""
    begin = await session._newest()
    tool = await session._answer_tool()
    receipt = await session._send(pieces, state.output)
    state.session = session
    is_delivered = False
    sent: dict[str, dict[str, int]] = {}
    """The characters of each part that were given, by the model call."""
    async with aclosing(session.events(after=begin, until_rest=True)) as events:
        async for event in events:
            match event:
                case QueueLeft(message_id=receipt.id):
                    is_delivered = True
                case CallStarted(purpose="main") if is_delivered:
                    sent[event.call] = {}
                case DraftPiece(kind="text") if event.call in sent and event.text:
                    given = sent[event.call]
                    given[event.part] = given.get(event.part, 0) + len(event.text)
                    yield _Piece(event.call, event.text)
                case DraftPiece(kind="call", name=name) if event.call in sent:
                    if name == tool:
                        yield _Piece(event.call, event.text, tool)
                case MessageAdded() if event.message.call in sent:
                    # what did not stream, or streamed faster than it was read
                    call = event.message.call
                    given = sent.pop(call)
                    for part in event.message.of_type(TextPart):
                        if rest := part.text[given.get(part.id, 0) :]:
                            yield _Piece(call, rest)


async def end_turn(session: StreamedSession, within_s: float) -> Result[Any] | None:
    """Cancel the turn of a session that is closed next; ``None`` if it has not ended in time."""
    try:
        async with asyncio.timeout(within_s):
            await session.cancel()
            return await session.wait(check=False)
    except (TimeoutError, UllageError):
        return None  # what it left open is closed when the session is opened again

"""The text of an answer while it is written: ``async for text in session.stream("…")``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self

from ullage.errors import CommandRefused, UllageError
from ullage.events import CallStarted, DraftPiece, MessageAdded, QueueLeft, SessionEvent
from ullage.messages import TextPart
from ullage.store.store import Receipt
from ullage_agent.runtime.message_input import MessageInput
from ullage_agent.runtime.outcome import CancelAnswer, Result
from ullage_agent.runtime.policy import STREAM_CANCEL_S

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=str)
else:
    from typing import TypeVar

    OutputT = TypeVar("OutputT")


class StreamedSession(Protocol):
    """The methods of a session that its streams use."""

    async def send(self, *pieces: MessageInput) -> Receipt: ...

    def events(
        self, *, after: int | None = None, until_rest: bool = False
    ) -> AsyncGenerator[SessionEvent, None]: ...

    async def wait(self, *, check: bool = True) -> Result[Any]: ...

    async def cancel(self) -> CancelAnswer: ...

    async def _newest(self) -> int:
        """The number of the last event."""
        ...


class TextStream(Generic[OutputT]):
    """The text of the answers to one message, piece by piece, and then ``result``. Made by ``Session.stream``.

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
    ) -> None:
        self._state = _StreamState()
        self._owns = owns
        self._texts = _read(self._state, opening, pieces, owns)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        return await anext(self._texts)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        await self._texts.aclose()
        state = self._state
        if state.session is None or self._owns or state.result is not None:
            return
        await state.session.cancel()
        state.result = await state.session.wait(check=False)


@dataclass(slots=True)
class _StreamState:
    """What a stream and its generator share. Neither refers to the other, so that a stream which is dropped ends."""

    session: StreamedSession | None = None
    """The session, once the message is sent."""
    result: Result[Any] | None = None


async def _read(
    state: _StreamState,
    opening: AbstractAsyncContextManager[StreamedSession],
    pieces: Sequence[MessageInput],
    owns: bool,
) -> AsyncGenerator[str, None]:
    """The texts of a stream. With ``owns``, nothing else works with the session, which is closed at the end."""
    async with opening as session:
        try:
            async with aclosing(_sent(state, session, pieces)) as texts:
                async for text in texts:
                    yield text
            state.result = await session.wait(check=False)
        except (asyncio.CancelledError, GeneratorExit):
            if owns:
                state.result = await end_turn(session, STREAM_CANCEL_S)
            raise
    state.result.or_raise()


async def _sent(
    state: _StreamState, session: StreamedSession, pieces: Sequence[MessageInput]
) -> AsyncGenerator[str, None]:
    """Send the message, and give the text of the answers that have seen it."""
    begin = await session._newest()
    receipt = await session.send(*pieces)
    state.session = session
    answers = _Answers(receipt.id)
    async with aclosing(session.events(after=begin, until_rest=True)) as events:
        async for event in events:
            for text in answers.take(event):
                yield text


class _Answers:
    """Picks the text of the answers to one message out of a session's events."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._is_delivered = False
        self._given: dict[str, dict[str, int]] = {}
        """The characters of each part that were given, by the model call."""

    def take(self, event: SessionEvent) -> list[str]:
        """The new text that an event brings."""
        match event:
            case QueueLeft(message_id=self._message):
                self._is_delivered = True
            case CallStarted(purpose="main") if self._is_delivered:
                self._given[event.call] = {}
            case DraftPiece(kind="text") if event.call in self._given:
                given = self._given[event.call]
                given[event.part] = given.get(event.part, 0) + len(event.text)
                return [event.text] if event.text else []
            case MessageAdded() if event.message.call in self._given:
                # what did not stream, or streamed faster than it was read
                given = self._given.pop(event.message.call)
                parts = event.message.of_type(TextPart)
                rests = [part.text[given.get(part.id, 0) :] for part in parts]
                return [rest for rest in rests if rest]
            case _:
                pass
        return []


async def end_turn(session: StreamedSession, within_s: float) -> Result[Any] | None:
    """Cancel the turn of a session that is closed next; ``None`` if it has not ended in time."""
    try:
        async with asyncio.timeout(within_s):
            await session.cancel()
            return await session.wait(check=False)
    except (TimeoutError, UllageError):
        return None  # what it left open is closed when the session is opened again

"""A session and its streams for programs without an event loop: ``with agent.session_sync("id") as session``.

The work is done in the event loop of all synchronous calls (``ullage.loop_thread``), so any thread may use them, also
several threads at the same time.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    overload,
)

from ullage.errors import CommandRefused
from ullage.events import SessionEvent
from ullage.loop_thread import SHARED, AsyncWork
from ullage_agent.runtime.layers import refuse_arguments
from ullage_agent.runtime.message_input import MessageInput
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.session import OF_A_MESSAGE, Session
from ullage_agent.runtime.text_stream import TextStream
from ullage_agent.tools.type_variables import AnyT, OutputT

P = ParamSpec("P")

T = TypeVar("T")


def _twin(
    method: Callable[Concatenate[Session[Any], P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncSession[Any], P], T]:
    """The synchronous method of an asynchronous one."""

    @wraps(method)
    def call(session: SyncSession[Any], /, *args: P.args, **keywords: P.kwargs) -> T:
        return session._run(lambda: method(session._session, *args, **keywords))

    return call


class SyncSession(Generic[OutputT]):
    """A ``Session`` whose methods wait for their answer. Made by ``Agent.session_sync``; use as ``with``.

    Inside the block the session is driven in the background whenever there is work. Leaving the block waits until the
    session rests. An exception that leaves the block, such as Ctrl-C, stops the work in progress as a crash would,
    without loss: the next process that drives the session continues it. In an async function, use ``Session``.
    """

    def __init__(self, session: Session[OutputT]) -> None:
        self._session = session
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"SyncSession({self.id!r})"

    def _run(self, make: AsyncWork[T]) -> T:
        if self._process != os.getpid():
            raise CommandRefused(
                f"The session {self.id} was opened before this process was forked, and is the parent's. Open it here "
                "with agent.session_sync(…). Nothing was stored."
            )
        return SHARED.run(make)

    def __enter__(self) -> Self:
        self._run(self._session.__aenter__)
        return self

    def __exit__(self, *problem: object) -> None:
        if self._process == os.getpid():
            self.close(waits=problem[0] is None)

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def active_agent(self) -> str:
        """The name of the agent that continues the conversation, as far as this process has read the ledger."""
        return self._session.active_agent

    # -- messages --

    @overload
    def ask(
        self,
        *pieces: MessageInput,
        check: bool = ...,
        output_type: type[AnyT],
    ) -> Result[AnyT]: ...

    @overload
    def ask(
        self,
        *pieces: MessageInput,
        check: bool = ...,
        output_type: None = ...,
    ) -> Result[OutputT]: ...

    def ask(
        self,
        *pieces: MessageInput,
        check: bool = True,
        output_type: Any = None,
        **others: object,
    ) -> Result[Any]:
        """``send``, then ``wait``; the answer is read into ``output_type``, by default the agent's.

        Args:
            pieces: As in ``Session.ask``.
            check: As in ``Session.ask``.
            output_type: As in ``Session.ask``.
            others: As in ``Session.ask``.
        """
        refuse_arguments("session.ask", others, OF_A_MESSAGE)
        return self._run(
            lambda: self._session.ask(
                *pieces,
                check=check,
                output_type=output_type,
            )
        )

    def wait(self, *, check: bool = True) -> Result[OutputT]:
        """Wait until the session rests or waits for a person; the answer is read into the agent's ``output_type``.

        Args:
            check: As in ``Session.wait``.
        """
        return self._run(lambda: self._session.wait(check=check))

    @overload
    def stream(
        self,
        *pieces: MessageInput,
        output_type: type[AnyT],
    ) -> SyncTextStream[AnyT]: ...

    @overload
    def stream(
        self,
        *pieces: MessageInput,
        output_type: None = ...,
    ) -> SyncTextStream[OutputT]: ...

    def stream(
        self,
        *pieces: MessageInput,
        output_type: Any = None,
        **others: object,
    ) -> SyncTextStream[Any]:
        """``ask``, whose answer is read while it is written: ``for text in session.stream("…")``.

        Args:
            pieces: As in ``Session.ask``.
            output_type: As in ``Session.ask``.
            others: As in ``Session.ask``.
        """
        refuse_arguments("session.stream", others, OF_A_MESSAGE[:1])
        stream = self._session.stream(*pieces, output_type=output_type)
        return SyncTextStream(stream, self._run)

    def events(
        self, *, after: int | None = None, offset: int = -1, until_rest: bool = False
    ) -> Iterator[SessionEvent]:
        """Events and pieces of streaming answers, as they are stored.

        Args:
            after: As in ``Session.events``.
            offset: As in ``Session.events``.
            until_rest: As in ``Session.events``.
        """
        events = self._session.events(after=after, offset=offset, until_rest=until_rest)
        return _each(events, self._run)

    send = _twin(Session.send)
    """Send a message, at rest or during a turn; returns once it is stored."""
    pending = _twin(Session.pending)
    """The queued messages in the order of delivery."""
    edit = _twin(Session.edit)
    """Replace the content of a queued message."""
    withdraw = _twin(Session.withdraw)
    """Remove a message from the queue."""

    # -- steering the loop --

    cancel = _twin(Session.cancel)
    """Stop the turn; the answer says what was kept. Returns once that is stored; processes end within 2 s after."""
    questions = _twin(Session.questions)
    """The tool calls that need a person's approval, each with its digest and what "always" would allow."""
    approve = _twin(Session.approve)  # type: ignore[arg-type]  # of `Never`
    """Answer for a tool call that needs approval. A second answer for a call changes nothing."""
    grant = _twin(Session.grant)
    """Allow all calls of a tool, or all commands that begin with these words, without asking again."""
    grants = _twin(Session.grants)
    """The grants of this session and of its project."""
    revoke = _twin(Session.revoke)
    """Revoke a grant of the session or of its project."""
    resume = _twin(Session.resume)
    """Resume a paused turn, with its budgets counted from zero, or an interrupted one."""
    set = _twin(Session.set)
    """Change settings of this session; the next reading shows it."""
    rewind = _twin(Session.rewind)
    """Continue from this message; later ones leave the view and stay in the ledger. Only at rest."""
    changed_files = _twin(Session.changed_files)
    """The files that tools have changed since a message, with their diffs: what a rewind to it would restore."""
    hand_over = _twin(Session.hand_over)
    """Let another agent continue, as soon as no tool call is open."""
    compact = _twin(Session.compact)
    """Compact now, or before the next model call of the current turn."""
    uncompact = _twin(Session.uncompact)
    """Restore the exact view before a compaction, a prune or a rewind, followed by later messages. Only at rest."""
    preview = _twin(Session.preview)
    """Show what a compaction would do, with the summary that it would use; nothing is changed. Only at rest."""
    accept = _twin(Session.accept)
    """Make the compaction that a preview has shown, without another call. Only at rest."""
    drop = _twin(Session.drop)
    """Take results, images, messages or stretches of them out of view; ``uncompact(surgery.id)`` undoes it."""
    droppable = _twin(Session.droppable)
    """What dropping each of the largest parts in view would do, the largest first."""
    rename = _twin(Session.rename)
    """Give the session this title, in lists and displays."""
    fork = _twin(Session.fork)
    """Copy the session: its events up to the one with the number ``through``, or all of them."""
    pin = _twin(Session.pin)
    """Protect messages from every compaction, or no longer."""
    close = _twin(Session.close)
    """Stop driving the session. A second close does nothing."""

    # -- looking --

    context = _twin(Session.context)
    """The reading now: how full the window is and of what, and in ``spend`` what all calls have cost."""
    messages = _twin(Session.messages)
    """The messages in view, in order."""
    history = _twin(Session.history)
    """The events of the ledger."""
    picture = _twin(Session.picture)
    """What fills the window, how it grew, and what would make room; a notebook draws it."""
    explain = _twin(Session.explain)
    """Where a message went: in view, cleared, in which summary, dropped and why."""
    recall = _twin(Session.recall)
    """What left the window: lines found by words, or the exact text around a place, as the model's tool has it."""

    def _repr_html_(self) -> str:
        """The picture, in a notebook."""
        return self.picture()._repr_html_()


class SyncTextStream(Iterator[str], Generic[OutputT]):
    """A ``TextStream`` that is read with ``for``. Made by ``SyncSession.stream`` and ``Agent.stream_sync``."""

    def __init__(self, stream: TextStream[OutputT], run: SyncRun) -> None:
        self._stream = stream
        self._run = run

    def __next__(self) -> str:
        for text in _each(self._stream, self._run):
            return text
        raise StopIteration

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @overload
    def partials(self) -> Iterator[OutputT]: ...

    @overload
    def partials(self, kind: type[AnyT]) -> Iterator[AnyT]: ...

    def partials(self, kind: Any = None) -> Iterator[Any]:
        """The answer as its type while it is written, each time that more of it can be read, and at last whole.

        Args:
            kind: Another type to read them as, whose fields may all have defaults; see ``TextStream.partials``.
        """
        return _each(self._stream.partials(kind), self._run)

    @property
    def result(self) -> Result[OutputT]:
        """How the session came to rest, as ``ask`` returns it. Raises ``CommandRefused`` before the end."""
        return self._stream.result

    def close(self) -> None:
        """End the stream; the turn is cancelled if it is not over. Does nothing at the end of the stream."""
        self._run(self._stream.aclose)


class SyncRun(Protocol):
    """Runs a coroutine in the event loop of all synchronous calls."""

    def __call__(self, make: AsyncWork[T], /) -> T: ...


def _each(items: AsyncIterator[T], run: SyncRun) -> Iterator[T]:
    async def following() -> tuple[T] | None:
        async for item in items:
            return (item,)
        return None

    while found := run(following):
        yield found[0]

"""The public face of a session: send messages, follow its events, read the window, cancel, change settings.

    async with agent.session() as s:
        await s.send("Look at the logs and tell me what failed.")
        async for event in s.events(until_rest=True):
            ...

Every command is durable when it returns, whether or not a driver works on the session at that moment, in this process
or another one. Cancelling a method's task never undoes what it has stored.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Protocol, Self, Unpack, get_args

from msgspec.structs import replace

from ullage.agent.grants import Grant
from ullage.agent.loop import Loop
from ullage.context.choice import NOOP, ordered
from ullage.context.lineage import Whereabouts, explain
from ullage.display.text import quoted
from ullage.errors import (
    BadKey,
    CommandRefused,
    InputError,
    InternalError,
    SessionNotFound,
    UllageError,
    WrongType,
)
from ullage.events import (
    CancelAsked,
    Cancelled,
    CompactAsked,
    Event,
    Pinned,
    QueueLeft,
    Rewound,
    SettingsChanged,
    TurnEnded,
    TurnResumed,
    Uncompacted,
)
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    clean_text,
    is_utf8,
)
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage.runtime.approvals import (
    GrantScope,
    Question,
    ScopedGrant,
    answer,
    granted_events,
    grants_of,
    new_grant,
    questions,
    revoked_event,
)
from ullage.runtime.driver import Driver
from ullage.runtime.outcome import (
    INTERRUPTED,
    INTERRUPTED_NOTE,
    CancelAnswer,
    Result,
    WaitingMessage,
    error_of,
    last_words,
)
from ullage.runtime.session_runtime import BLOB_SOURCE, AgentRuntime, SessionRuntime
from ullage.runtime.settings_types import SessionSettings
from ullage.runtime.sync_settings import is_synced, reading_in_effect
from ullage.store.store import DraftPiece, QueueKind, Receipt
from ullage.tasks import start, stop
from ullage.tools.outputs import as_picture

log = logging.getLogger("ullage.runtime")

POLL_S: Final = 0.5
"""Seconds between two looks at a session that another process drives, unless a change is noticed before."""

MessageInput = str | bytes | Path | Part
"""A piece of a message: text, the bytes of an image, the path of an image file, or a part."""


class Opener(Protocol):
    """The methods of an agent that its sessions use."""

    async def _enter(self) -> AgentRuntime:
        """The resources that all sessions share; each ``_enter`` requires a ``_leave``."""
        ...

    async def _leave(self) -> None:
        """Release the shared resources."""
        ...

    async def _remember(self, meter: Meter) -> None:
        """Store what the session has learnt about its models, and of its first call."""
        ...

    async def _create_if_new(self, session: str, settings: Mapping[str, object]) -> None:
        """Create the session in the store if it does not exist."""
        ...


class Session:
    """One session. Made by ``Agent.session``; use as ``async with``.

    Inside the block this process drives the session whenever there is work; with ``resume=False``, only from the first
    command on. Leaving the block waits until the session rests. An exception that leaves the block stops the work in
    progress as a crash would, without loss: the next process that drives the session continues it.
    """

    def __init__(
        self, agent: Opener, session: str, *, resume: bool, settings: dict[str, object]
    ) -> None:
        self.id = session
        self._agent = agent
        self._drives = resume
        """Whether this process drives the session: from the start, or since the first command."""
        self._settings = settings
        self._shared: AgentRuntime | None = None
        self._driver: Driver | None = None
        self._serving: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_closing = False
        self._failure: BaseException | None = None

    # -- opening and closing --

    async def __aenter__(self) -> Self:
        shared = await self._agent._enter()
        try:
            await self._agent._create_if_new(self.id, self._settings)
            self._shared = shared
            self._driver = Driver(shared, self.id)
            await self._driver.look()
        except BaseException:
            await self._agent._leave()
            raise
        self._is_closing = False
        self._serving = start(self._serve(), name=f"session {self.id}")
        if self._drives:
            self._wake.set()
        else:
            self._is_idle.set()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close(waits=problem is None)

    async def close(self, *, waits: bool = False) -> None:
        """Stop driving the session; with ``waits``, after it has come to rest. A second close does nothing.

        Stopped work stays unfinished in the ledger, and the next process that drives the session continues it. With
        ``waits``, raises the error that stopped the driver.
        """
        if self._serving is None or self._is_closing:
            return
        try:
            if waits:
                await self.wait(check=False)
        finally:
            await self._end(self._serving)

    async def _end(self, serving: asyncio.Task[None]) -> None:
        if self._is_closing:  # another task has closed the session while this one waited
            return
        self._is_closing = True
        await stop(serving)
        self._is_idle.set()
        runtime = self._driving.runtime
        self._shared = None
        try:
            if runtime is not None and runtime.learns:
                await self._agent._remember(runtime.ledger.meter)
        finally:
            await self._agent._leave()

    @property
    def is_idle(self) -> bool:
        """Whether this process does no work for the session at the moment."""
        return self._is_idle.is_set()

    @property
    def failure(self) -> BaseException | None:
        """The error that stopped the driver the last time, such as one of the store; ``None`` once it works again."""
        return self._failure

    async def _serve(self) -> None:
        """Drive after each command until the session is closed. An error is kept for ``wait``."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._is_idle.clear()
            try:
                await self._driving.drive()
                self._failure = None
            except asyncio.CancelledError:
                raise
            except UllageError as problem:
                log.warning("The session %s stopped: %s", self.id, problem)
                self._failure = problem
            except Exception as problem:
                log.exception("The session %s stopped by an unexpected error", self.id)
                self._failure = problem
            if self._is_closing:
                return  # the cancel was lost to an error
            if not self._wake.is_set():
                self._is_idle.set()

    def drive(self) -> None:
        """Resume unfinished work: an interrupted turn, queued messages. Does nothing if there is none."""
        self._open  # noqa: B018 - raises where the session is closed
        self._drive()

    def _drive(self) -> None:
        self._drives = True
        self._is_idle.clear()
        self._wake.set()

    @property
    def _driving(self) -> Driver:
        if self._driver is None or self._shared is None:
            raise CommandRefused(f"The session {self.id} is not open: use `async with`.")
        return self._driver

    @property
    def _open(self) -> AgentRuntime:
        if self._shared is None:
            raise CommandRefused(f"The session {self.id} is not open: use `async with`.")
        return self._shared

    # -- messages --

    async def send(
        self, *pieces: MessageInput, kind: QueueKind = "steer", id: str = ""
    ) -> Receipt:
        """Send a message, at rest or during a turn; returns once it is stored.

        A ``steer`` is delivered before the next model call, behind the results of running tools; a ``follow_up`` waits
        until the turn is over. At rest both begin a turn. With an ``id`` of your own, sending again changes nothing and
        returns the state of the first receipt. Raises ``BadKey`` for a missing key; then nothing is stored.
        """
        if kind not in get_args(QueueKind):
            raise WrongType(
                f"kind is 'steer' or 'follow_up', and not {quoted(kind)}. Nothing was stored."
            )
        _check_texts("id", id)
        await self._check_key()
        message = await self.message(*pieces, id=id)
        receipt = await self._open.store.send(self.id, message, kind)
        self._drive()
        return receipt

    async def _check_key(self) -> None:
        """Raises ``BadKey`` if the model can't be called without a key, unless another process drives the session.

        Uses the events that this process has already folded: folding further would wait for a running compaction, and
        a message is stored at once.
        """
        runtime = self._driving.runtime or await self._driving.look()
        settings = runtime.resolve_settings().settings
        try:
            runtime.endpoint(settings)
        except BadKey:
            driver = (await self._open.store.about(self.id)).held_by
            if driver in ("", self._open.owner):
                raise

    async def message(self, *pieces: MessageInput, id: str = "") -> Message:
        """A user's message of these pieces; the bytes of images are stored beside the session.

        Raises ``WrongType`` for a piece of another type, ``InputError`` for an empty message.
        """
        _check_texts("id", id)
        if all(isinstance(piece, str) and not piece.strip() for piece in pieces):
            raise InputError(
                "The message is empty: give text, an image, a file or a path. Nothing was stored."
            )
        name = id or f"m-{secrets.token_hex(8)}"
        parts = [
            await self._part(f"{name}.{place}", piece)
            for place, piece in enumerate(pieces)
        ]
        return Message(id=name, role="user", parts=tuple(parts))

    async def _part(self, name: str, piece: MessageInput) -> Part:
        match piece:
            case str():
                clean = clean_text(piece)
                return TextPart(id=name, text=clean.text, raw=clean.raw)
            case bytes() | Path():
                if isinstance(piece, Path):
                    return await self._media(
                        name, await asyncio.to_thread(piece.read_bytes), piece.name
                    )
                return await self._media(name, piece, "")
            case TextPart() | ImagePart() | FilePart():
                return piece
            case _:
                raise WrongType(
                    f"A message is made of text (str), an image's or file's bytes, a Path, or a TextPart, ImagePart or "
                    f"FilePart, and not of {type(piece).__name__}. Nothing was stored."
                )

    async def _media(self, name: str, data: bytes, file_name: str) -> Part:
        handle = await self._open.store.keep(self.id, data)
        source = f"{BLOB_SOURCE}{handle}"
        if picture := as_picture(data, name):
            return replace(picture.part, source=source)
        mime = (
            "application/pdf" if data.startswith(b"%PDF-") else "application/octet-stream"
        )
        return FilePart(
            id=name,
            mime=mime,
            name=clean_text(file_name).text,
            size_bytes=len(data),
            source=source,
        )

    async def pending(self) -> list[WaitingMessage]:
        """The queued messages in the order of delivery."""
        waiting = await self._open.store.pending(self.id)
        return [
            WaitingMessage(receipt.id, receipt.position, receipt.at, kind, message)
            for receipt, message, kind in waiting
        ]

    async def edit(self, message_id: str, *pieces: MessageInput) -> Receipt:
        """Replace the content of a queued message. Raises ``CommandRefused`` if it has left the queue."""
        _check_texts("message_id", message_id)
        return await self._open.store.edit(
            self.id, await self.message(*pieces, id=message_id)
        )

    async def withdraw(self, message_id: str) -> Message:
        """Remove a message from the queue. Raises ``CommandRefused`` if it has left the queue."""
        _check_texts("message_id", message_id)
        return await self._open.store.withdraw(self.id, message_id)

    async def ask(self, *pieces: MessageInput, check: bool = True) -> Result:
        """``send``, then ``wait``."""
        await self.send(*pieces)
        return await self.wait(check=check)

    # -- steering the loop --

    async def cancel(
        self, tools: Literal["stop", "finish"] | None = None
    ) -> CancelAnswer:
        """Stop the turn; the answer says what was kept. Returns once that is stored; processes end within 2 s after.

        ``finish`` lets running tools end and starts no others; a second cancel does not wait for them. Raises the error
        that stopped the session's driver; the cancel is stored then, and takes effect when the session is driven again.
        """
        if tools not in (None, "stop", "finish"):
            raise WrongType(
                f"tools is 'stop' or 'finish', and not {quoted(tools)}. Nothing was stored."
            )
        store, runtime = self._open.store, await self._driving.look()
        how = tools or runtime.settings.cancel_tools
        (asked,) = await store.command(self.id, [CancelAsked(tools=how)])
        self._drive()
        returned: dict[str, Message] = {
            each.message.id: each.message for each in runtime.ledger.loop.queue
        }
        given_back: list[Message] = []
        async with (
            aclosing(store.follow(self.id, after=asked.seq)) as events,  # type: ignore[type-var]
            aclosing(self._until_rest(events, asked.seq)) as ending,  # type: ignore[type-var]
        ):
            async for event in ending:
                match event:
                    case QueueLeft(how="returned") if event.message_id in returned:
                        given_back.append(returned[event.message_id])
                    case Cancelled():
                        return CancelAnswer(True, event.persisted, tuple(given_back))
                    case TurnEnded(reason="cancelled"):
                        return CancelAnswer(True, None, tuple(given_back))
        raise CommandRefused(
            f"The session {self.id} was closed before the cancel was answered."
        )

    async def questions(self) -> list[Question]:
        """The tool calls that need a person's approval, each with its digest and what "always" would allow."""
        return questions(await self._driving.look())

    async def approve(
        self,
        call_id: str,
        approved: bool = True,
        note: str = "",
        *,
        digest: str = "",
        by_nobody: bool = False,
    ) -> None:
        """Answer for a tool call that needs approval; ``note`` is the reason of a denial, for the model.

        ``digest`` identifies the exact call that was shown: raises ``CommandRefused`` if another one waits. A second
        answer for a call changes nothing. ``by_nobody``: a denial because there is no person to ask, which the model
        is told.
        """
        _check_texts("call_id", call_id)
        _check_texts("note", note)
        runtime = await self._driving.look()
        if given := answer(runtime, call_id, approved, note, digest, by_nobody=by_nobody):
            await self._command(given)

    async def grant(
        self, tool: str, prefix: Sequence[str] = (), *, scope: GrantScope = "session"
    ) -> Grant:
        """Allow all calls of a tool, or all commands that begin with these words, without asking again.

        The scope is this session, or every session with its root. Waiting calls that the grant covers run. Raises
        ``CommandRefused`` for a prefix that would allow any command.
        """
        _check_texts("prefix", *prefix)
        runtime = await self._driving.look()
        grant = new_grant(runtime, tool, prefix)
        if scope == "project":
            await asyncio.to_thread(runtime.shared.grants.add, runtime.root, grant)
        if events := granted_events(runtime, grant, scope):
            await self._open.store.command(self.id, events)
        self._drive()
        return grant

    async def grants(self) -> list[ScopedGrant]:
        """The grants of this session and of its project."""
        return grants_of(await self._driving.look())

    async def revoke(self, grant: str) -> None:
        """Revoke a grant of the session or of its project. Raises ``CommandRefused`` for an unknown grant."""
        runtime = await self._driving.look()
        if event := revoked_event(runtime, grant):
            await self._command(event)
            return
        is_of_project = any(
            known.id == grant for known in runtime.shared.grants.of(runtime.root)
        )
        if not is_of_project or not await asyncio.to_thread(
            runtime.shared.grants.revoke, grant
        ):
            raise CommandRefused(
                f"There is no grant {quoted(grant)} in this session or its project."
            )

    async def resume(self) -> None:
        """Resume a paused turn, with its budgets counted from zero, or an interrupted one.

        Raises ``CommandRefused`` if there is nothing to resume.
        """
        loop = (await self._driving.look()).ledger.loop
        if loop.paused:
            spend = self.reading.spend
            resumed = TurnResumed(
                turn=loop.turn, tokens=spend.all.in_budget, usd=spend.money.usd
            )
            await self._command(resumed)
        elif await self.is_interrupted():
            self.drive()
        else:
            raise CommandRefused(
                f"The session {self.id} does not wait for anything: there is nothing to resume."
            )

    async def set(self, /, **settings: Unpack[SessionSettings]) -> None:
        """Change settings of this session; the next reading shows it. ``None`` unsets one.

        Raises ``SettingError`` for an impossible value and for more than the operator allows; then nothing has changed.
        """
        await self._set(dict(settings))

    async def _set(self, settings: Mapping[str, object]) -> None:
        """``set`` for settings as text, such as ``{"window": "200k"}``."""
        runtime = await self._driving.look()
        after = self._open.commanded(
            settings, runtime.ledger.loop.settings, changed=runtime.changed
        )
        if "model" in settings and after.model:
            after.destination()
        plain = {
            name: str(value) if isinstance(value, Path) else value
            for name, value in settings.items()
        }
        await self._command(SettingsChanged(settings=plain))

    async def rewind(self, message_id: str) -> None:
        """Continue from this message; later ones leave the view and stay in the ledger. Only at rest."""
        _check_texts("message_id", message_id)
        loop = (await self._driving.look()).ledger.loop
        if loop.turn:
            raise CommandRefused("A turn is running: cancel it first, then rewind.")
        await self._command(Rewound(to=message_id))

    # -- compaction --

    async def compact(
        self, instructions: str = "", *, up_to: str = "", from_: str = ""
    ) -> None:
        """Compact now, or before the next model call of the current turn.

        With ``up_to``, the id of a message in view, everything before that message is summarised, and it stays with all
        behind it. With ``from_`` that message and everything behind it is summarised, and what stands before it stays
        as it is: only at rest. A call and its results stay together, where one of them has to stay. Raises
        ``CommandRefused`` for an id that is not in view, for both at once, and with the strategy ``noop``, which
        compacts nothing.
        """
        _check_texts("instructions", instructions)
        runtime = await self._driving.look()
        if not ordered(runtime.resolve_settings().settings.strategy):
            raise CommandRefused(NOOP)
        if up_to and from_:
            raise CommandRefused(
                "The part to be summarised ends before a message or begins with one: give up_to or from, not both."
            )
        if from_ and runtime.ledger.loop.turn:
            raise CommandRefused(
                "A turn is running: cancel it or wait for its end, then summarise from a message on."
            )
        chosen = up_to or from_
        if chosen and chosen not in {message.id for message in await self.messages()}:
            raise CommandRefused(f"There is no message {quoted(chosen)} in view.")
        await self._command(
            CompactAsked(instructions=instructions, up_to=up_to, from_=from_)
        )

    async def uncompact(self, compaction: str) -> None:
        """Restore the exact view before a compaction or a prune, followed by later messages. Only at rest."""
        _check_texts("compaction", compaction)
        loop = (await self._driving.look()).ledger.loop
        if loop.turn or loop.compaction:
            raise CommandRefused(
                "A turn is running: cancel it or wait for its end, then uncompact."
            )
        await self._command(Uncompacted(compaction=compaction))

    async def explain(self, message_id: str) -> Whereabouts:
        """Where a message went: in view, cleared, in which summary, dropped and why."""
        return explain(message_id, await self.history())

    async def pin(self, *message_ids: str, pinned: bool = True) -> None:
        """Protect these messages from every compaction, or no longer."""
        _check_texts("message_ids", *message_ids)
        await self._command(Pinned(messages=message_ids, pinned=pinned))

    async def _command(self, event: Event) -> None:
        await self._open.store.command(self.id, [event])
        self._drive()

    # -- looking --

    @property
    def reading(self) -> Reading:
        """The last known reading, without reading the store; also after the session is closed."""
        if self._driver is None or self._driver.runtime is None:
            raise SessionNotFound(f"The session {self.id} is not open.")
        return self._driver.runtime.reading

    async def context(self) -> Reading:
        """The reading now, with its breakdown: the one that is displayed, decided on and enforced.

        Settings that this process has not recorded yet count, unless another process drives the session.
        """
        runtime = await self._driving.look()
        if is_synced(runtime) or await self._would_drive(runtime):
            return await reading_in_effect(runtime)
        return runtime.reading

    async def _would_drive(self, runtime: SessionRuntime) -> bool:
        """Whether the next request would be made by this process."""
        if not self._drives and runtime.ledger.loop.turns:
            return False  # only looked at, and made by another process so far
        about = await self._open.store.about(self.id)
        return about.held_by in ("", self._open.owner)

    async def spend(self) -> Spend:
        """The cost of all calls of the session, of every purpose."""
        return (await self._driving.look()).reading.spend

    async def meter(self) -> Meter:
        """The meter behind the readings: steps, largest items, messages in view. Read-only."""
        ledger = (await self._driving.look()).ledger
        await ledger.load()
        return ledger.meter

    async def _look(self) -> SessionRuntime:
        """The session's folds as they are now. Read-only."""
        return await self._driving.look()

    async def messages(self) -> tuple[Message, ...]:
        """The messages in view, in order."""
        return (await self.meter()).messages

    async def history(self, *, after: int = 0) -> list[Event]:
        """The events of the ledger."""
        return await self._open.store.read(self.id, after=after)

    async def events(
        self, *, after: int | None = None, offset: int = -1, until_rest: bool = False
    ) -> AsyncIterator[Event | DraftPiece]:
        """Events and pieces of streaming answers, as they are stored.

        ``after=0`` begins with the first event, ``None`` with the next one. ``until_rest`` ends the stream when the
        session rests or waits for a person, and raises the error that stopped its driver. Leaving early changes nothing
        for the session.
        """
        begin = (await self._open.store.about(self.id)).seq if after is None else after
        async with aclosing(
            self._open.store.follow(self.id, after=begin, offset=offset)
        ) as events:  # type: ignore[type-var]
            if not until_rest:
                async for event in events:
                    yield event
                return
            async with aclosing(self._until_rest(events, begin)) as ending:  # type: ignore[type-var]
                async for event in ending:
                    yield event

    async def _until_rest(
        self, events: AsyncIterator[Event | DraftPiece], seen: int
    ) -> AsyncIterator[Event | DraftPiece]:
        """These events, up to the last one at the time the session rests."""
        coming = start(anext(events))
        idle = start(self._is_idle.wait())
        end: int | None = None
        try:
            while end is None or seen < end:
                # A driver of another process may die without an event: only polling finds that out.
                waiting, timeout_s = (
                    ([coming], POLL_S) if idle.done() else ([coming, idle], None)
                )
                await asyncio.wait(
                    waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
                )
                if coming.done():
                    event = coming.result()
                    seen = seen if isinstance(event, DraftPiece) else event.seq
                    yield event
                    coming = start(anext(events))
                if idle.done() and end is None:
                    end = await self._rests_at()
                    if end is None and not self._is_idle.is_set():
                        idle = start(self._is_idle.wait())
        finally:
            await stop(coming, idle)

    async def _rests_at(self) -> int | None:
        """The last event of a session at rest; ``None`` during work. Raises the error that stopped its driver."""
        is_over = self._is_idle.is_set() and await self._is_over()
        return (await self._driving.look()).ledger.loop.seq if is_over else None

    async def _is_over(self) -> bool:
        """Whether no work is left that this process does by itself. Raises the error that stopped the driver."""
        if self._failure is not None:
            raise self._failure
        if is_at_rest((await self._driving.look()).ledger.loop):
            return True
        if (await self._open.store.about(self.id)).held_by:
            return False
        if self._drives:
            self._drive()  # the other process that drove it has ended
        return not self._drives

    async def is_interrupted(self) -> bool:
        """Whether work is left in the session and the process that drove it has ended."""
        if not self._is_idle.is_set() or is_at_rest(
            (await self._driving.look()).ledger.loop
        ):
            return False
        return (
            not (await self._open.store.about(self.id)).held_by and self._is_idle.is_set()
        )

    async def wait(self, *, check: bool = True) -> Result:
        """Wait until the session rests or waits for a person.

        Raises the error of a failed turn: a ``ProviderError``, ``ContextUnfixable`` or ``InternalError``. With
        ``check=False`` it is the result's ``error`` instead. In both cases raises the error that stopped the driver,
        such as ``StoreUnavailable``. Waiting does not drive a session that this process does not drive.
        """
        if self._drives:
            self._drive()
        async with self._open.store.watch(self.id) as watch:
            while True:
                await self._is_idle.wait()
                if await self._is_over():
                    break
                await watch.wait(POLL_S)
        result = await self._result()
        return result.or_raise() if check else result

    async def _result(self) -> Result:
        runtime = await self._driving.look()
        loop = runtime.ledger.loop
        text = last_words(await self.messages())
        if not is_at_rest(loop):
            return Result(text, INTERRUPTED, INTERRUPTED_NOTE, True, runtime.reading)
        reason = loop.paused or loop.ended
        kind = (
            loop.failed or InternalError.__name__
            if loop.paused
            else runtime.memory.last_error
        )
        error = error_of(reason, kind, loop.note, runtime.stuck)
        if isinstance(error, InternalError):
            error.__cause__ = self._driving.problem
        return Result(text, reason, loop.note, bool(loop.paused), runtime.reading, error)


def _check_texts(argument: str, *texts: object) -> None:
    """Raise ``WrongType`` for what is no text, or a text that no ledger can hold; it names the argument."""
    for text in texts:
        if not isinstance(text, str):
            raise WrongType(
                f"{argument} is a str, and not {type(text).__name__}. Nothing was stored."
            )
        if not is_utf8(text):
            raise WrongType(
                f"{argument} holds a lone surrogate, which is half of a character: {quoted(text)}. Give text that "
                "UTF-8 can hold. Nothing was stored."
            )


def is_at_rest(loop: Loop) -> bool:
    """Whether a session has no work left, or waits for a person."""
    return bool(loop.paused) or not (loop.turn or loop.queue)

"""A session as its user has it: say something, watch what happens, look at the window, stop it.

    async with agent.session() as s:
        await s.send("Look at the logs and tell me what failed.")
        async for event in s.events(until_rest=True):
            ...

Every command is durable when it returns, whether or not anybody drives the session at that moment, here or in another
process. Cancelling a method's task never undoes what it has stored.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

from msgspec.structs import replace

from ullage import errors
from ullage.context.lineage import Whereabouts, explain
from ullage.errors import CommandRefused, ContextUnfixable, Overflow, ProviderError, SessionNotFound, UllageError
from ullage.events import (
    ApprovalGiven,
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
from ullage.messages import FilePart, Message, Part, TextPart, clean_text
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.spend import Spend
from ullage.runtime.driver import Driver
from ullage.runtime.work import KEPT, Shared, Work
from ullage.store.store import DraftPiece, QueueKind, Receipt
from ullage.tokens.calibration import Calibration
from ullage.tools.outputs import as_picture
from ullage.wire.endpoints import provider_of

Said = str | bytes | Path | Part
"""A piece of a message: text, an image's bytes, a file with an image in it, or a part made by hand."""


class Pending(NamedTuple):
    """A message that waits. ``position`` counts from 1 in the order of delivery."""

    id: str
    position: int
    at: float
    kind: QueueKind
    message: Message


class CancelAnswer(NamedTuple):
    """What a cancel has done. ``persisted`` is what was kept (seed 003); ``returned`` are messages given back."""

    cancelled: bool
    persisted: Literal["partial_assistant", "tools_in_progress", "compaction_rolled_back"] | None
    returned: tuple[Message, ...] = ()


class Result(NamedTuple):
    """How the session came to rest. ``text`` is the last answer's; ``reason`` an ``EndReason`` or ``PauseReason``.

    ``is_paused``: the turn is not over; ``note`` says what it waits for.
    """

    text: str
    reason: str
    note: str
    is_paused: bool
    reading: Reading
    error: UllageError | None = None
    """What a failed or too large turn failed with."""

    def or_raise(self) -> Result:
        """The result, if the turn did not fail. Raises the ``ProviderError`` or ``ContextUnfixable`` it failed with."""
        if self.error is not None:
            raise self.error
        return self


def error_of(reason: str, kind: str, note: str, stuck: ContextUnfixable | None) -> UllageError | None:
    """The error that a turn's end stands for; ``None`` where it is none."""
    if reason == "too_large":
        return stuck or Overflow(note)
    if reason != "failed":
        return None
    named = getattr(errors, kind, ProviderError)
    return (named if issubclass(named, ProviderError) else ProviderError)(note)


class Opener(Protocol):
    """What a session needs of the agent that opens it."""

    async def enter(self) -> Shared:
        """What all sessions share; each ``enter`` wants a ``leave``."""
        ...

    async def leave(self) -> None:
        """Let go of what is shared."""
        ...

    async def remember(self, learnt: Calibration) -> None:
        """Keep what the session has learnt about its models."""
        ...

    async def create_if_new(self, session: str, settings: Mapping[str, object]) -> None:
        """Begin the session in the store if there is none of this id."""
        ...


class Session:
    """One session. Made by ``Agent.session``; use as ``async with``.

    Inside the block it is driven whenever there is something to do. Leaving the block waits until it rests; leaving it
    by an exception stops what is under way as a crash would, without losing anything: the next one to open it goes on.
    """

    def __init__(self, agent: Opener, session: str, *, resume: bool, settings: dict[str, object]) -> None:
        self.id = session
        self._agent = agent
        self._resume = resume
        self._settings = settings
        self._shared: Shared | None = None
        self._driver: Driver | None = None
        self._serving: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_closing = False
        self._failure: BaseException | None = None

    # -- opening and closing --

    async def __aenter__(self) -> Self:
        shared = await self._agent.enter()
        try:
            await self._agent.create_if_new(self.id, self._settings)
            self._shared = shared
            self._driver = Driver(shared, self.id)
            await self._driver.look()
        except BaseException:
            await self._agent.leave()
            raise
        self._is_closing = False
        self._serving = asyncio.create_task(self._serve(), name=f"session {self.id}")
        if self._resume:
            self._wake.set()
        else:
            self._is_idle.set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(waits=problem is None)

    async def close(self, *, waits: bool = False) -> None:
        """Let the session go, once it rests with ``waits``; otherwise at once, and the next one to open it goes on."""
        try:
            if waits:
                await self.wait()
        finally:
            assert self._serving is not None
            self._is_closing = True
            self._serving.cancel()
            await asyncio.wait([self._serving])
            work = self._driving.work
            if work is not None and work.learns:
                await self._agent.remember(work.ledger.meter.calibration)
            await self._agent.leave()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done for the session in this process."""
        return self._is_idle.is_set()

    @property
    def failure(self) -> BaseException | None:
        """What stopped the driver the last time, such as a store that fails; ``None`` once it works again."""
        return self._failure

    async def _serve(self) -> None:
        """Drive whenever somebody has asked for it, until the block is left. A failure is kept for who waits."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._is_idle.clear()
            try:
                await self._driving.drive()
                self._failure = None
            except asyncio.CancelledError:
                raise
            except Exception as problem:  # noqa: BLE001 - raised to whoever waits for the session
                self._failure = problem
            if self._is_closing:
                return  # an error took the place of the cancel
            if not self._wake.is_set():
                self._is_idle.set()

    def _drive(self) -> None:
        self._is_idle.clear()
        self._wake.set()

    @property
    def _driving(self) -> Driver:
        if self._driver is None:
            raise CommandRefused(f"The session {self.id} is not open: use `async with`.")
        return self._driver

    @property
    def _open(self) -> Shared:
        if self._shared is None:
            raise CommandRefused(f"The session {self.id} is not open: use `async with`.")
        return self._shared

    # -- saying something --

    async def send(self, *said: Said, kind: QueueKind = "steer", id: str = "") -> Receipt:
        """Say something, whatever the agent is doing; returns once it is stored.

        A ``steer`` goes in before the next model call, behind the results of tools that run; a ``follow_up`` waits
        until the turn is over. At rest both begin a turn. An ``id`` of your own makes this idempotent: the same id
        again changes nothing and gives the first receipt's state.
        """
        message = await self.message(*said, id=id)
        receipt = await self._open.store.send(self.id, message, kind)
        self._drive()
        return receipt

    async def message(self, *said: Said, id: str = "") -> Message:
        """A user's message of these pieces; bytes of images are stored beside the session."""
        name = id or f"m-{secrets.token_hex(8)}"
        parts = [await self._part(f"{name}.{place}", one) for place, one in enumerate(said)]
        return Message(id=name, role="user", parts=tuple(parts))

    async def _part(self, name: str, said: Said) -> Part:
        match said:
            case str():
                clean = clean_text(said)
                return TextPart(id=name, text=clean.text, raw=clean.raw)
            case bytes() | Path():
                data = await asyncio.to_thread(said.read_bytes) if isinstance(said, Path) else said
                return await self._media(name, data, said.name if isinstance(said, Path) else "")
            case _:
                return said

    async def _media(self, name: str, data: bytes, file_name: str) -> Part:
        handle = await self._open.store.keep(self.id, data)
        source = f"{KEPT}{handle}"
        if picture := as_picture(data, name):
            return replace(picture.part, source=source)
        mime = "application/pdf" if data.startswith(b"%PDF-") else "application/octet-stream"
        return FilePart(id=name, mime=mime, name=file_name, size_bytes=len(data), source=source)

    async def pending(self) -> list[Pending]:
        """What waits, in the order of delivery."""
        waiting = await self._open.store.pending(self.id)
        return [Pending(receipt.id, receipt.position, receipt.at, kind, message) for receipt, message, kind in waiting]

    async def edit(self, message_id: str, *said: Said) -> Receipt:
        """Another content for a waiting message. Raises ``CommandRefused`` when it no longer waits."""
        return await self._open.store.edit(self.id, await self.message(*said, id=message_id))

    async def withdraw(self, message_id: str) -> Message:
        """Take a waiting message out. Raises ``CommandRefused`` when it no longer waits."""
        return await self._open.store.withdraw(self.id, message_id)

    async def ask(self, *said: Said) -> Result:
        """Say something and wait until the session rests. Raises the ``ProviderError`` a call failed with."""
        await self.send(*said)
        return (await self.wait()).or_raise()

    # -- steering the loop --

    async def cancel(self, tools: Literal["stop", "finish"] | None = None) -> CancelAnswer:
        """Stop what is under way and say what was kept. Returns once that is stored; processes end within 2 s after.

        ``finish`` lets tools that run end and starts no other; a second cancel does not wait for them. Raises what
        stopped the session's driver; then the cancel is stored, and done when the session is driven again.
        """
        store, work = self._open.store, await self._driving.look()
        how = tools or work.settings.cancel_tools
        (asked,) = await store.command(self.id, [CancelAsked(tools=how)])
        self._drive()
        returned: dict[str, Message] = {one.message.id: one.message for one in work.ledger.loop.queue}
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
        raise CommandRefused(f"The session {self.id} was closed before the cancel was answered.")

    async def approve(self, call_id: str, approved: bool = True, note: str = "") -> None:
        """Answer for a tool call that waits for a person; ``note`` is said to the model when it is denied."""
        await self._command(ApprovalGiven(call_id=call_id, approved=approved, note=note))

    async def resume(self) -> None:
        """Go on with a turn that waits: after a failure, or with its budgets counted anew."""
        loop = (await self._driving.look()).ledger.loop
        if not loop.paused:
            raise CommandRefused(f"The session {self.id} does not wait for anything: there is nothing to resume.")
        await self._command(TurnResumed(turn=loop.turn, usd=self.reading.spend.money.usd))

    async def set(self, /, **settings: object) -> None:
        """Change settings of this session; the next reading shows it. ``None`` takes one back.

        Raises ``SettingError``, and then nothing has changed.
        """
        work = await self._driving.look()
        said = {name: value for name, value in {**work.ledger.loop.settings, **settings}.items() if value is not None}
        resolved = self._open.resolve(said, changed=work.changed | settings.keys()).settings
        if "model" in settings and resolved.model:
            provider_of(resolved.model, base_url=resolved.base_url, wire=resolved.wire)
        plain = {name: str(value) if isinstance(value, Path) else value for name, value in settings.items()}
        await self._command(SettingsChanged(settings=plain))

    async def rewind(self, message_id: str) -> None:
        """Go on from this message; the ones behind it leave the view and stay in the ledger. Only at rest."""
        loop = (await self._driving.look()).ledger.loop
        if loop.turn:
            raise CommandRefused("A turn is under way: cancel it first, then rewind.")
        await self._command(Rewound(to=message_id))

    # -- compaction --

    async def compact(self, instructions: str = "") -> None:
        """Make the view smaller now, or before the next call of the turn under way."""
        await self._command(CompactAsked(instructions=instructions))

    async def uncompact(self, compaction: str) -> None:
        """Bring back the exact view from before a compaction or a prune, followed by what came since. Only at rest."""
        loop = (await self._driving.look()).ledger.loop
        if loop.turn or loop.compaction:
            raise CommandRefused("A turn is under way: cancel it or wait for its end, then uncompact.")
        await self._command(Uncompacted(compaction=compaction))

    async def explain(self, message_id: str) -> Whereabouts:
        """Where a message went: in view, cleared, in which summary, dropped and why."""
        return explain(message_id, await self.history())

    async def pin(self, *message_ids: str, pinned: bool = True) -> None:
        """Keep these messages as they are through every compaction, or let them go again."""
        await self._command(Pinned(messages=message_ids, pinned=pinned))

    async def _command(self, event: Event) -> None:
        await self._open.store.command(self.id, [event])
        self._drive()

    # -- looking --

    @property
    def reading(self) -> Reading:
        """The last known reading, without looking into the store: what this process's driver works with."""
        work = self._driving.work
        if work is None:
            raise SessionNotFound(f"The session {self.id} is not open.")
        return work.reading

    async def context(self) -> Reading:
        """The window now, breakdown and all: the number that is displayed, decided on and enforced."""
        return (await self._driving.look()).reading

    async def spend(self) -> Spend:
        """What the session has cost, all calls of all purposes."""
        return (await self.context()).spend

    async def meter(self) -> Meter:
        """The meter behind the readings: steps, largest items, messages in view. Not to be changed."""
        return (await self._driving.look()).ledger.meter

    async def look(self) -> Work:
        """The session's folds as they are now. Not to be changed."""
        return await self._driving.look()

    async def messages(self) -> tuple[Message, ...]:
        """The messages in view, in order."""
        return (await self.meter()).messages

    async def history(self, *, after: int = 0) -> list[Event]:
        """The ledger itself."""
        return await self._open.store.read(self.id, after=after)

    async def events(
        self, *, after: int | None = None, offset: int = -1, until_rest: bool = False
    ) -> AsyncIterator[Event | DraftPiece]:
        """Everything that happens, as it is stored: ledger rows, and pieces of answers that stream.

        ``after=0`` begins with the first event, ``None`` with what comes next. ``until_rest`` ends it when the session
        rests or waits for a person, and raises what stopped its driver. Leaving early changes nothing for the session.
        """
        begin = (await self._open.store.about(self.id)).seq if after is None else after
        async with aclosing(self._open.store.follow(self.id, after=begin, offset=offset)) as events:  # type: ignore[type-var]
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
        """These events, up to the last one there is when the driver has nothing more to do."""
        coming = asyncio.ensure_future(anext(events))
        idle = asyncio.ensure_future(self._is_idle.wait())
        end: int | None = None
        try:
            while end is None or seen < end:
                await asyncio.wait([coming] if idle.done() else [coming, idle], return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    event = coming.result()
                    seen = seen if isinstance(event, DraftPiece) else event.seq
                    yield event
                    coming = asyncio.ensure_future(anext(events))
                if idle.done() and end is None:
                    end = await self._rests_at()
                    if end is None and not self._is_idle.is_set():
                        idle = asyncio.ensure_future(self._is_idle.wait())
        finally:
            for task in (coming, idle):
                task.cancel()
            await asyncio.wait([coming, idle])

    async def _rests_at(self) -> int | None:
        """The last event of a session that rests; ``None`` while it does not. Raises what stopped its driver."""
        if not self._is_idle.is_set():
            return None
        if self._failure is not None:
            raise self._failure
        return (await self._driving.look()).ledger.loop.seq if await self._is_at_rest() else None

    async def _is_at_rest(self) -> bool:
        loop = (await self._driving.look()).ledger.loop
        return bool(loop.paused) or not (loop.turn or loop.queue)

    async def wait(self) -> Result:
        """Until the session rests or waits for a person. Raises what stopped its driver, such as a store that fails."""
        self._drive()
        async with self._open.store.watch(self.id) as watch:
            while True:
                await self._is_idle.wait()
                if self._failure is not None:
                    raise self._failure
                if await self._is_at_rest():
                    return await self._result()
                await watch.wait(0.5)

    async def _result(self) -> Result:
        work = await self._driving.look()
        loop = work.ledger.loop
        text = last_words(work.ledger.meter.messages)
        reason = loop.paused or loop.ended
        error = error_of(reason, work.memory.last_error, loop.note, work.stuck)
        return Result(text, reason, loop.note, bool(loop.paused), work.reading, error)


def last_words(messages: Sequence[Message]) -> str:
    """The text of the last answer to the last thing a person said; empty where it has none yet."""
    for message in reversed(messages):
        if message.role == "assistant":
            return "".join(part.text for part in message.of_type(TextPart))
        if message.role == "user" and message.origin == "said":
            return ""
    return ""

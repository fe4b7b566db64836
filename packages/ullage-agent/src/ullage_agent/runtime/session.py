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
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    nullcontext,
)
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    Never,
    Protocol,
    Self,
    Unpack,
    get_args,
    overload,
)

from msgspec import structs

from ullage.context.choice import NOOP, ordered
from ullage.context.lineage import Whereabouts, explain
from ullage.context.preview import (
    CompactionPreview,
    accepted,
    asked_at,
    find_preview,
    preview_name,
    shown,
)
from ullage.context.situation import Situation
from ullage.context.surgery import Surgery, droppable, planned
from ullage.display.text import quoted
from ullage.errors import (
    AnswerInvalid,
    BadKey,
    CommandRefused,
    GuardrailRefused,
    InputError,
    InternalError,
    QuotaReached,
    SessionNotFound,
    UllageError,
    WrongType,
)
from ullage.events import (
    CancelAsked,
    Cancelled,
    CompactAsked,
    CompactionRolledBack,
    DraftPiece,
    Event,
    HandedOver,
    MessageAdded,
    Pinned,
    QueueLeft,
    Renamed,
    Rewound,
    SessionEvent,
    SettingsChanged,
    TurnEnded,
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
from ullage.picture.model import picture_of
from ullage.picture.shown import DrawnSession
from ullage.store.naming import naming
from ullage.store.policy import RECALL_TOKENS
from ullage.store.recall import Recalled
from ullage.store.store import QueueKind, Receipt, SessionStore, handle_of
from ullage.store.waiting import edit, withdraw
from ullage.tasks import start, stop, to_completion
from ullage.threads import in_thread
from ullage.turns.grants import Grant
from ullage.turns.loop import Loop, apply
from ullage_agent.file_history.report import FileChanges
from ullage_agent.loop.steps import Compact
from ullage_agent.runtime.answer_tool import answer_name, is_by_tool
from ullage_agent.runtime.approvals import (
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
from ullage_agent.runtime.compacting import situation_of
from ullage_agent.runtime.copying import Fork, fork
from ullage_agent.runtime.driver import Driver, resumed
from ullage_agent.runtime.file_steps import FileUndo, undo_of, undo_since
from ullage_agent.runtime.guarding import guarded_message, guarded_output
from ullage_agent.runtime.hooks import HookFailed, run_hook
from ullage_agent.runtime.layers import refuse_arguments
from ullage_agent.runtime.message_input import (
    MessageInput,
    NamedFile,
    file_part,
    read_file,
)
from ullage_agent.runtime.outcome import (
    INTERRUPTED,
    INTERRUPTED_NOTE,
    CancelAnswer,
    Result,
    WaitingMessage,
    cost_between,
    error_of,
    last_words,
    usage_between,
)
from ullage_agent.runtime.output_type import (
    AGAIN,
    AnswerMisfit,
    OutputType,
)
from ullage_agent.runtime.policy import (
    LARGEST_DROPPED,
    LONGEST_TITLE,
    OUTPUT_RETRIES,
    POLL_S,
)
from ullage_agent.runtime.recalling import recalled
from ullage_agent.runtime.session_runtime import BLOB_SOURCE, AgentRuntime, SessionRuntime
from ullage_agent.runtime.settings_types import SessionSettings
from ullage_agent.runtime.sync_settings import is_synced, reading_in_effect
from ullage_agent.runtime.text_stream import TextStream
from ullage_agent.runtime.trace_context import current_trace
from ullage_agent.runtime.turn_instructions import deps_of, writer_name
from ullage_agent.runtime.who import WHO
from ullage_agent.tools.dependencies import check_deps, check_needed, deps_needed
from ullage_agent.tools.tool import ToolRetry
from ullage_agent.tools.type_variables import AnyT, OutputT

log = logging.getLogger("ullage.agent")

OF_A_MESSAGE: Final = ("output_type", "check")
"""The keyword arguments of a call that gives a message."""


_OPEN_IT: Final = "use `async with agent.session(…)`, or `with agent.session_sync(…)`."


class Opener(Protocol):
    """The methods of an agent that its sessions use."""

    async def _enter(self, session: str = "") -> AgentRuntime:
        """The resources that all sessions share; each ``_enter`` requires a ``_leave``."""
        ...

    async def _leave(self, session: str = "") -> None:
        """Release the shared resources."""
        ...

    async def _remember(self, meter: Meter) -> None:
        """Store what the session has learnt about its models, and of its first call."""
        ...

    async def _create_if_new(self, session: str, settings: Mapping[str, object]) -> str:
        """Create the session in the store if it does not exist. Returns its place."""
        ...


class Session(Generic[OutputT]):
    """One session. Made by ``Agent.session``; use as ``async with``.

    Inside the block this process drives the session whenever there is work; with ``resume=False``, only from the first
    command on. Leaving the block waits until the session rests. An exception that leaves the block stops the work in
    progress as a crash would, without loss: the next process that drives the session continues it.
    """

    _awaits_other = True
    """Whether its driver waits while another process drives it; see ``Driver``."""

    def __init__(
        self,
        agent: Opener,
        session: str,
        *,
        resume: bool,
        settings: dict[str, object],
        deps: object = None,
        output: OutputType[Any] | None = None,
        output_retries: int = OUTPUT_RETRIES,
    ) -> None:
        _check_texts("session", session)
        self.id = session
        self._output = output
        self._output_retries = output_retries
        self._agent = agent
        self._drives = resume
        """Whether this process drives the session: from the start, or since the first command."""
        self._settings = settings
        self._deps = deps
        self._shared: AgentRuntime | None = None
        self._driver: Driver | None = None
        self._serving: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._changing = asyncio.Lock()
        """Held while the view is changed by what was planned from it."""
        self._is_closing = False
        self._failure: BaseException | None = None
        """The error that stopped the driver the last time, such as one of the store; ``None`` once it works again."""

    def __repr__(self) -> str:
        return f"Session({self.id!r})"

    # -- opening and closing --

    async def __aenter__(self) -> Self:
        shared = await self._agent._enter(self.id)
        try:
            if self._drives:
                self._check_deps(shared)
            place = await self._place_in(shared.store)
            self._shared = shared
            self._driver = Driver(
                shared,
                self.id,
                self._deps,
                awaits_other=self._awaits_other,
                place=place,
            )
            self._driver.want(self._output)
            await self._driver.look()
        except BaseException:
            await self._agent._leave(self.id)
            raise
        self._is_closing = False
        self._serving = start(self._serve(), name=f"session {self.id}")
        if self._drives:
            self._wake.set()
        else:
            self._idle.set()
        return self

    async def _place_in(self, store: SessionStore) -> str:
        """The place of the session, which is created if it is new."""
        return await self._agent._create_if_new(self.id, self._settings)

    async def __aexit__(self, *problem: object) -> None:
        await self.close(waits=problem[0] is None)

    async def close(self, *, waits: bool = False) -> None:
        """Stop driving the session. A second close does nothing.

        Stopped work stays unfinished in the ledger, and the next process that drives the session continues it.

        Args:
            waits: Whether it comes to rest before; then the error that stopped the driver is raised.
        """
        if self._serving is None or self._is_closing:
            return
        try:
            if waits:
                await self._rested()
        finally:
            await self._end(self._serving)

    async def _end(self, serving: asyncio.Task[None]) -> None:
        if self._is_closing:  # another task has closed the session while this one waited
            return
        self._is_closing = True
        runtime = self._driving.runtime
        if runtime is not None:
            runtime.is_closing = True
        await stop(serving)
        self._idle.set()
        runtime = self._driving.runtime
        self._shared = None
        try:
            if runtime is not None and runtime.learns:
                await self._agent._remember(runtime.ledger.meter)
        finally:
            await self._agent._leave(self.id)

    @property
    def _is_idle(self) -> bool:
        """Whether this process does no work for the session at the moment."""
        return self._idle.is_set()

    async def _serve(self) -> None:
        """Drive after each command until the session is closed. An error is kept for ``wait``.

        One that comes again and again, as while a disk is full, is logged once.
        """
        WHO.set("")  # the session may have been opened for a request
        logged = ""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._idle.clear()
            self._failure = None
            try:
                await self._driving.drive()
                logged = ""
            except asyncio.CancelledError:
                raise
            except UllageError as problem:
                if logged != str(problem):
                    log.warning("The session %s stopped: %s", self.id, problem)
                logged = str(problem)
                self._failure = problem
            except Exception as problem:
                log.exception("The session %s stopped by an unexpected error", self.id)
                self._failure = problem
            if self._is_closing:
                return  # the cancel was lost to an error
            if not self._wake.is_set():
                self._idle.set()

    def _check_deps(self, shared: AgentRuntime) -> None:
        for agent in (shared, *shared.team.values()):
            check_needed("The agent", agent.deps_type, self._deps)
            check_deps(agent.tools(agent.settings).values(), self._deps)
            for writer in agent.writers:
                needed = deps_needed(deps_of(writer))
                check_needed(f"The function {writer_name(writer)}", needed, self._deps)

    async def _ask_driver(self) -> None:
        """Have the session driven; a driver at work looks once more."""
        self._drives = True
        self._idle.clear()
        self._wake.set()

    @property
    def _driving(self) -> Driver:
        if self._driver is None or self._shared is None:
            raise CommandRefused(f"The session {self.id} is not open: {_OPEN_IT}")
        return self._driver

    @property
    def _open(self) -> AgentRuntime:
        if self._shared is None:
            raise CommandRefused(f"The session {self.id} is not open: {_OPEN_IT}")
        return self._shared

    # -- messages --

    async def send(
        self,
        *pieces: MessageInput,
        kind: QueueKind = "steer",
        id: str = "",
        trace: str = "",
    ) -> Receipt:
        """Send a message, at rest or during a turn; returns once it is stored.

        With an ``id`` of your own, sending again changes nothing and returns the state of the first receipt, also
        where a new message would be refused now.

        Args:
            pieces: The message: text, bytes or ``Path``s of images and files, or parts of ``ullage.messages``.
            kind: A ``steer`` is delivered before the next model call, behind the results of running tools; a
                ``follow_up`` waits until the turn is over. At rest both begin a turn.
            id: The id of the message; by default a new one.
            trace: The ``traceparent`` that spans of the turn belong below (https://www.w3.org/TR/trace-context/),
                by default that of OpenTelemetry's current span.

        Raises:
            InputError: The message can't be sent; nothing was stored, as for the next two.
            BadKey: The provider's key is missing.
            QuotaReached: The tenant may make no further call today.
        """
        return await self._send(pieces, self._output, kind=kind, id=id, trace=trace)

    async def _send(
        self,
        pieces: Sequence[MessageInput],
        output: OutputType[Any] | None,
        *,
        kind: QueueKind = "steer",
        id: str = "",
        trace: str = "",
    ) -> Receipt:
        """``send`` for an answer of this type."""
        if kind not in get_args(QueueKind):
            raise WrongType(
                f"kind is 'steer' or 'follow_up', and not {quoted(kind)}. Nothing was stored."
            )
        _check_texts("id", id)
        self._check_deps(self._open)
        try:
            message = await self._sendable(*pieces, id=id)
        except (BadKey, InputError, QuotaReached):
            sent = await self._open.store.receipt(self.id, id) if id else None
            if sent is None:
                raise
            return sent
        self._driving.want(output)
        return await self._store(message, kind, trace or current_trace())

    async def _sendable(self, *pieces: MessageInput, id: str) -> Message:
        """The message as it is stored. Raises what ``send`` raises where nothing may be sent."""
        await self._check_key()
        await self._open.quotas.check_calls()
        return await self._guarded(await self._message(*pieces, id=id))

    async def _store(self, message: Message, kind: QueueKind, trace: str = "") -> Receipt:
        receipt = await self._open.store.send(self.id, message, kind, trace=trace)
        await self._ask_driver()
        return receipt

    @property
    def _is_driven_elsewhere(self) -> bool:
        """Whether only other processes drive the session."""
        return False

    async def _check_key(self) -> None:
        """Raises ``BadKey`` if the model can't be called without a key, unless another process drives the session.

        Uses the events that this process has already folded: folding further would wait for a running compaction, and
        a message is stored at once.
        """
        if self._is_driven_elsewhere:
            return
        runtime = await self._known()
        settings = runtime.resolve_settings().settings
        try:
            runtime.endpoint(settings)
        except BadKey:
            if await self._held_by() in ("", self._open.owner):
                raise

    async def _message(self, *pieces: MessageInput, id: str = "") -> Message:
        """A user's message of these pieces; the bytes of images and files are stored beside the session.

        Raises ``WrongType`` for a piece of another type, ``InputError`` for an empty message and for a file that can't
        be read or that the session's model does not take.
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
        return Message(id=name, role="user", parts=tuple(parts), who=WHO.get())

    async def _guarded(self, message: Message) -> Message:
        """Raises ``GuardrailRefused``, ``HookFailed``."""
        if not self._open.guardrails.inputs:
            return message
        runtime = await self._known()
        return await guarded_message(runtime, message)

    async def _part(self, name: str, piece: MessageInput) -> Part:
        match piece:
            case str():
                clean = clean_text(piece)
                return TextPart(id=name, text=clean.text, raw=clean.raw)
            case bytes():
                return await self._media(name, piece, "")
            case NamedFile(file_name, data):
                return await self._media(name, data, file_name)
            case Path():
                data = await asyncio.to_thread(read_file, piece)
                return await self._media(name, data, piece.name)
            case TextPart() | ImagePart() | FilePart():
                return piece
            case _:
                raise WrongType(
                    f"A message is made of text (str), an image's or file's bytes, a Path, or a TextPart, ImagePart or "
                    f"FilePart, and not of {type(piece).__name__}. Nothing was stored."
                )

    async def _media(self, name: str, data: bytes, file_name: str) -> Part:
        """Raises ``InputError`` for a file that the session's model can't be sent; then nothing is stored."""
        runtime = await self._known()
        wire = runtime.resolve_settings().settings.destination().provider.wire
        source = f"{BLOB_SOURCE}{handle_of(data)}"
        part = await asyncio.to_thread(
            file_part, data, id=name, name=file_name, wire=wire, source=source
        )
        if part.source:
            await self._open.store.keep(self.id, data)
        return part

    async def pending(self) -> list[WaitingMessage]:
        """The queued messages in the order of delivery."""
        waiting = await self._open.store.pending(self.id)
        return [
            WaitingMessage(receipt.id, receipt.position, receipt.at, kind, message)
            for receipt, message, kind in waiting
        ]

    async def edit(self, message_id: str, *pieces: MessageInput) -> Receipt:
        """Replace the content of a queued message.

        Args:
            message_id: One of ``pending``.
            pieces: The new content, as in ``send``.

        Raises:
            CommandRefused: It has left the queue.
        """
        _check_texts("message_id", message_id)
        message = await self._guarded(await self._message(*pieces, id=message_id))
        return await edit(self._open.store, self.id, message)

    async def withdraw(self, message_id: str) -> Message:
        """Remove a message from the queue.

        Args:
            message_id: One of ``pending``.

        Raises:
            CommandRefused: It has left the queue.
        """
        _check_texts("message_id", message_id)
        return await withdraw(self._open.store, self.id, message_id, who=WHO.get())

    @overload
    async def ask(
        self,
        *pieces: MessageInput,
        check: bool = ...,
        output_type: type[AnyT],
    ) -> Result[AnyT]: ...

    @overload
    async def ask(
        self,
        *pieces: MessageInput,
        check: bool = ...,
        output_type: None = ...,
    ) -> Result[OutputT]: ...

    async def ask(
        self,
        *pieces: MessageInput,
        check: bool = True,
        output_type: Any = None,
        **others: object,
    ) -> Result[Any]:
        """``send``, then ``wait``; the answer is read into ``output_type``, by default the agent's.

        Its schema is part of the request. A cancel leaves the turn running.

        Args:
            pieces: The message, as in ``send``.
            check: Whether a failed turn raises its error; with ``False`` that is ``result.error``.
            output_type: The type that the answer is read into, by default the agent's.
            others: None: a keyword of another library is answered with what it is called here.

        Raises:
            ProviderError: The turn failed.
            AnswerInvalid: The answer does not fit; the error keeps its text.
            InputError: The message can't be sent; nothing was stored.
        """
        refuse_arguments("session.ask", others, OF_A_MESSAGE)
        output = self._output if output_type is None else OutputType(output_type)
        await self._send(pieces, output)
        return await self._typed_result(output, check=check)

    async def _typed_result(
        self, output: OutputType[Any] | None, *, check: bool
    ) -> Result[Any]:
        if output is None and not self._open.guardrails.outputs:
            result = await self._wait()
        else:
            result = await self._checked_result(output)
        return result.or_raise() if check else result

    async def _checked_result(self, output: OutputType[Any] | None) -> Result[Any]:
        """The result once the answer fits its type and the guardrails. Raises ``AnswerInvalid`` after so many wrong
        answers more.

        A turn that failed, was cancelled or waits for a person is its result, without an output, and without the text
        that no guardrail has seen.
        """
        name = "the guardrails" if output is None else output.name
        retries = self._output_retries
        tries = 0  # those in view are fewer where a compaction took some
        while True:
            result = await self._wait()
            tries += 1
            is_over = result.reason != "cancelled" and not result.is_paused
            if result.error is not None or not is_over:
                is_guarded = bool(self._open.guardrails.outputs)
                text = "" if is_guarded else result.text
                return replace(result, text=text, missing=name)
            try:
                parsed = result.text if output is None else output.read(result.text)
                parsed = await guarded_output(await self._look(), parsed)
            except (GuardrailRefused, HookFailed) as problem:
                return replace(
                    result, text="", reason="refused", error=problem, missing=name
                )
            except (AnswerMisfit, ToolRetry) as problem:
                how = "" if output is None else await self._instruction(output)
                words = f"That answer can't be used: {problem}. Answer again. {how}"
                if tries <= retries + 1 and await self._asked_again(words, retries):
                    continue
                raise AnswerInvalid(
                    f"The answer does not fit {name}, after {retries} more tries: {problem}. "
                    "Its text is in `text` of this error. Describe the fields in the type, raise output_retries, or "
                    "ask another model.",
                    text=result.text,
                ) from problem
            text = parsed if output is None else result.text
            return replace(result, text=text, read_output=(parsed,))

    async def _asked_again(self, words: str, most: int) -> bool:
        """Whether the model was asked once more: at most so often for one message of the person.

        What is asked is a message of the ledger like any other, so tries are counted in those after the person's own.
        """
        asked = 0
        first = ""
        for message in reversed(await self.messages()):
            if message.role != "user" or message.origin != "said":
                continue
            first, found, _ = message.id.partition(AGAIN)
            if not found:
                break
            asked += 1
        if asked >= most:
            return False
        again = await self._message(words, id=f"{first}{AGAIN}{asked + 1}")
        await self._store(again, "steer")
        return True

    async def _instruction(self, output: OutputType[Any]) -> str:
        """What tells the model how to give an answer of this type."""
        runtime = await self._look()
        settings = runtime.resolve_settings().settings
        if not is_by_tool(output, settings, settings.destination().provider.wire):
            return output.instruction
        return f"Give it by calling the tool `{await self._answer_tool()}`."

    async def _answer_tool(self) -> str:
        """The name of the tool for answers, where they are not text."""
        runtime = await self._look()
        return answer_name(runtime.shared.tools(runtime.resolve_settings().settings))

    @overload
    def stream(
        self,
        *pieces: MessageInput,
        output_type: type[AnyT],
    ) -> TextStream[AnyT]: ...

    @overload
    def stream(
        self,
        *pieces: MessageInput,
        output_type: None = ...,
    ) -> TextStream[OutputT]: ...

    def stream(
        self,
        *pieces: MessageInput,
        output_type: Any = None,
        **others: object,
    ) -> TextStream[Any]:
        """``ask``, whose answer is read while it is written: ``async for text in session.stream("…")``.

        ``async for partial in session.stream("…", output_type=T).partials()`` gives values of the type that grow.
        Nothing is sent before the first step of the loop. Leaving the loop early leaves the turn running; leaving
        a block ``async with session.stream("…") as stream`` early cancels it.

        Args:
            pieces: The message, as in ``send``.
            output_type: As in ``ask``.
            others: As in ``ask``.
        """
        refuse_arguments("session.stream", others, OF_A_MESSAGE[:1])
        output = None if output_type is None else OutputType[Any](output_type)
        return TextStream(nullcontext(self), pieces, output=output)

    # -- steering the loop --

    async def cancel(
        self, tools: Literal["stop", "finish"] | None = None
    ) -> CancelAnswer:
        """Stop the turn; the answer says what was kept. Returns once that is stored; processes end within 2 s after.

        A second cancel does not wait for running tools. Raises the error that stopped the session's driver; the
        cancel is stored then, and takes effect when the session is driven again.

        Args:
            tools: ``finish`` lets running tools end and starts no others, ``stop`` ends them; by default the
                setting ``cancel_tools``.
        """
        if tools not in (None, "stop", "finish"):
            raise WrongType(
                f"tools is 'stop' or 'finish', and not {quoted(tools)}. Nothing was stored."
            )
        store, runtime = self._open.store, await self._look()
        how = tools or runtime.settings.cancel_tools
        loop = runtime.ledger.loop
        (asked,) = await self._command(CancelAsked(tools=how))
        given_back: list[Message] = []
        async with (
            self._beside_cancel(),
            aclosing(store.follow(self.id, after=loop.seq)) as events,  # type: ignore[type-var]
            aclosing(self._until_rest(events, asked.seq)) as ending,
        ):
            async for event in ending:
                if isinstance(event, DraftPiece):
                    continue
                queue = loop.queue
                loop = apply(loop, event)
                if event.seq <= asked.seq:
                    continue
                match event:
                    case QueueLeft(how="returned", message_id=name):
                        given_back += [
                            each.message for each in queue if each.message.id == name
                        ]
                    case Cancelled():
                        return CancelAnswer(True, event.persisted, tuple(given_back))
                    case TurnEnded(reason="cancelled"):
                        return CancelAnswer(True, None, tuple(given_back))
        raise CommandRefused(
            f"The session {self.id} was closed before the cancel was answered. Open it again to see how its turn ended."
        )

    def _beside_cancel(self) -> AbstractAsyncContextManager[Any]:
        """What runs while a cancel is waited for."""
        return nullcontext()

    async def questions(self) -> list[Question]:
        """The tool calls that need a person's approval, each with its digest and what "always" would allow."""
        return questions(await self._look())

    async def approve(
        self,
        call_id: str,
        approved: bool = True,
        reason: str = "",
        *,
        digest: str = "",
        by_nobody: bool = False,
        **others: Never,
    ) -> None:
        """Answer for a tool call that needs approval. A second answer for a call changes nothing.

        Args:
            call_id: The call, as one of ``questions`` has it.
            approved: Whether it may run.
            reason: Why it may not, for the model.
            digest: Identifies the exact call that was shown.
            by_nobody: A denial because there is no person to ask, which the model is told.
            others: None: a keyword of another library is answered with what it is called here.

        Raises:
            CommandRefused: Another call waits than the one that ``digest`` identifies.
        """
        _check_texts("call_id", call_id)
        _check_texts("reason", reason)
        for other in others:
            raise WrongType(
                f"approve() has no argument {other!r}. Did you mean `reason`, which says why a call is denied? "
                "Nothing was stored."
            )
        runtime = await self._look()
        if given := answer(
            runtime, call_id, approved, reason, digest, by_nobody=by_nobody
        ):
            await self._command(given)

    async def grant(
        self, tool: str, prefix: Sequence[str] = (), *, scope: GrantScope = "session"
    ) -> Grant:
        """Allow all calls of a tool, or all commands that begin with these words, without asking again.

        Waiting calls that the grant covers run.

        Args:
            tool: The tool's name.
            prefix: The words that a command begins with; by default every call of the tool is allowed.
            scope: This session, or every session with its root.

        Raises:
            CommandRefused: The prefix would allow any command.
        """
        _check_texts("prefix", *prefix)
        runtime = await self._look()
        grant = new_grant(runtime, tool, prefix)
        if scope == "project":
            await asyncio.to_thread(runtime.shared.grants.add, runtime.root, grant)
        await self._command(*granted_events(runtime, grant, scope))
        return grant

    async def grants(self) -> list[ScopedGrant]:
        """The grants of this session and of its project."""
        return grants_of(await self._look())

    async def revoke(self, grant: str) -> None:
        """Revoke a grant of the session or of its project.

        Args:
            grant: The id of one of ``grants``.

        Raises:
            CommandRefused: There is no such grant.
        """
        runtime = await self._look()
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
                f"There is no grant {quoted(grant)} in this session or its project. "
                "Choose one from the list of grants."
            )

    async def resume(self) -> None:
        """Resume a paused turn, with its budgets counted from zero, or an interrupted one.

        Raises ``CommandRefused`` if there is nothing to resume, ``QuotaReached``.
        """
        runtime = await self._look()
        if runtime.ledger.loop.paused:
            await self._open.quotas.check_calls()
            await self._command(resumed(runtime))
        elif await self._is_interrupted():
            self._check_deps(self._open)
            await self._command()  # due, also if this driver dies
        else:
            raise CommandRefused(
                f"The session {self.id} does not wait for anything: there is nothing to resume. Send a message instead."
            )

    async def set(self, /, **settings: Unpack[SessionSettings]) -> None:
        """Change settings of this session; the next reading shows it.

        Args:
            settings: Those that change (``ullage.sessions.SessionSettings``); ``None`` unsets one.

        Raises:
            SettingError: A value is not possible, or more than the operator allows; nothing has changed then.
        """
        await self._set(dict(settings))

    async def _set(self, settings: Mapping[str, object]) -> None:
        """``set`` for settings as text, such as ``{"window": "200k"}``."""
        runtime = await self._look()
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

    async def rewind(self, message_id: str, *, files: bool = False) -> FileChanges:
        """Continue from this message; later ones leave the view and stay in the ledger. Only at rest.

        Cancelling it does not stop it once the rewind is stored.

        Args:
            message_id: One in view; empty: the beginning.
            files: Whether the files that tools have changed since are restored too (docs/rewind.md): those that are as
                the tools left them. Subagents' tools count.

        Returns:
            What was restored, what was left alone, and the name of the rewind, which ``uncompact`` undoes.

        Raises:
            CommandRefused: A turn is running, or the files have no history here.
            HistoryFailed: The history can't be read or written; then nothing has changed.
        """
        _check_texts("message_id", message_id)
        async with self._changing:
            runtime = await self._look()
            if runtime.ledger.loop.turn:
                raise CommandRefused("A turn is running: cancel it first, then rewind.")
            event = Rewound(to=message_id, rewind=f"rewind-{secrets.token_hex(4)}")
            undo = await undo_since(runtime, message_id) if files else None
            return await to_completion(self._undo(event, undo))

    async def changed_files(self, since: str = "") -> FileChanges:
        """The files that tools have changed since a message, with their diffs: what a rewind to it would restore.

        Args:
            since: The id of a message of the session; empty: the beginning.

        Raises:
            CommandRefused: The session has no such message, or its files have no history here.
            HistoryFailed: The history can't be read.
        """
        _check_texts("since", since)
        undo = await undo_since(await self._look(), since)
        return await in_thread(undo.told)

    async def _undo(
        self, event: Rewound | Uncompacted, undo: FileUndo | None
    ) -> FileChanges:
        """Store a rewind or its undoing, and then change the files."""
        name = event.rewind if isinstance(event, Rewound) else ""
        if undo is None or not undo.plan.moves:
            await self._command(event)
            told = FileChanges() if undo is None else undo.told()
            return structs.replace(told, rewind=name)
        step = secrets.token_hex(16)
        await in_thread(undo.history.prepare, step, self.id, undo.plan.moves)
        try:
            await self._command(structs.replace(event, files=step))
        except UllageError:
            await in_thread(undo.history.drop, step)
            raise
        told = await in_thread(undo.carried_out, step)
        return structs.replace(told, rewind=name)

    # -- compaction --

    async def hand_over(self, agent: str = "") -> None:
        """Let another agent continue, as soon as no tool call is open.

        Args:
            agent: Its name; empty: the one that the session was begun with.

        Raises:
            CommandRefused: Neither the agent nor its ``handoffs`` have the name.
        """
        first = self._open
        known = {first.name: "", "": ""} | {name: name for name in first.team}
        if agent not in known:
            names = ", ".join(sorted(filter(None, known))) or "no agent has a name"
            raise CommandRefused(
                f"There is no agent {quoted(agent)} to hand over to; this session has: {names}."
            )
        await self._command(HandedOver(agent=known[agent]))
        await self._look()

    @property
    def active_agent(self) -> str:
        """The name of the agent that continues the conversation, as far as this process has read the ledger."""
        runtime = self._driving.runtime
        named = "" if runtime is None else runtime.ledger.loop.agent
        return named or self._open.name

    async def compact(
        self, instructions: str = "", *, up_to: str = "", from_: str = ""
    ) -> None:
        """Compact now, or before the next model call of the current turn.

        A call and its results stay together, where one of them has to stay.

        Args:
            instructions: Further instructions for the summary.
            up_to: The id of a message in view: everything before it is summarised, and it stays with all behind
                it.
            from_: The id of a message in view: it and everything behind it is summarised, and what stands before
                it stays as it is. Only at rest.

        Raises:
            CommandRefused: The id is not in view, both are given, or the strategy is ``noop``, which compacts
                nothing.
        """
        await self._ask_to_compact(
            CompactAsked(instructions=instructions, up_to=up_to, from_=from_)
        )

    async def _ask_to_compact(self, asked: CompactAsked) -> int:
        """Store the command; gives its number."""
        _check_texts("instructions", asked.instructions)
        runtime = await self._look()
        if not ordered(runtime.resolve_settings().settings.strategy):
            raise CommandRefused(NOOP)
        if asked.up_to and asked.from_:
            raise CommandRefused(
                "The part to be summarised ends before a message or begins with one: give up_to or from, not both."
            )
        if asked.from_ and runtime.ledger.loop.turn:
            raise CommandRefused(
                "A turn is running: cancel it or wait for its end, then summarise from a message on."
            )
        chosen = asked.up_to or asked.from_
        if chosen and chosen not in {message.id for message in await self.messages()}:
            raise CommandRefused(
                f"There is no message {quoted(chosen)} in view. Choose one that is in view."
            )
        await self._open.quotas.check_calls()
        (stored,) = await self._command(asked)
        return stored.seq

    async def preview(
        self, instructions: str = "", *, up_to: str = "", from_: str = ""
    ) -> CompactionPreview:
        """Show what a compaction would do, with the summary that it would use; nothing is changed. Only at rest.

        The summary is really asked for, and its call is billed. ``accept`` makes the compaction, ``uncompact`` undoes
        it; a preview that is not accepted has no effect. It is kept in the ledger: any process can accept it.
        A cancel of the task leaves the call running; a cancel of the session ends it.

        Args:
            instructions: As in ``compact``.
            up_to: As in ``compact``.
            from_: As in ``compact``.

        Raises:
            CommandRefused: As in ``compact``; and where no strategy has anything to do, or it was cancelled.
        """
        await self._at_rest("make the preview")
        asked = CompactAsked(
            instructions=instructions, up_to=up_to, from_=from_, preview=True
        )
        begun = await self._ask_to_compact(asked)
        name = preview_name(begun)
        async with (
            aclosing(self._open.store.follow(self.id, after=begun)) as events,  # type: ignore[type-var]
            aclosing(self._until_rest(events, begun)) as ending,
        ):
            async for event in ending:
                if isinstance(event, CompactionRolledBack) and not event.rung:
                    break
        past = find_preview(name, await self.history(after=begun - 1))
        return await self._planned(
            name, lambda situation: shown(situation, past), past.asked
        )

    async def accept(
        self, preview: CompactionPreview | str, *, summary: str | None = None
    ) -> None:
        """Make the compaction that a preview has shown, without another call. Only at rest.

        Messages that came since stay. ``uncompact(preview.id)`` undoes it.

        Args:
            preview: What ``preview`` gave, or its id.
            summary: A text in the place of its summary.

        Raises:
            CommandRefused: The messages that it showed have changed, or the edited summary does not fit.
        """
        name = preview if isinstance(preview, str) else preview.id
        _check_texts("preview", name)
        if summary is not None:
            _check_texts("summary", summary)
        async with self._changing:
            await self._at_rest("accept the preview")
            past = find_preview(name, await self.history(after=asked_at(name) - 1))
            before = self._reading
            await self._command(
                *await self._planned(
                    name, lambda situation: accepted(situation, past, summary), past.asked
                )
            )
        reading = (await self._look()).reading
        for hook in self._open.hooks:
            await run_hook(hook, "after_compaction", before, reading)

    async def drop(
        self, *places: str, dry_run: bool = False, loses_reasoning: bool = False
    ) -> Surgery:
        """Take results, images, messages or stretches of them out of view; ``uncompact(surgery.id)`` undoes it.

        Not while the agent works. A result, an image, a file or a text leaves a notice; a message leaves with all that
        belongs to it: an answer with the results of its calls. Nothing is deleted from the ledger.

        Args:
            places: The ids of messages or parts, or ``FIRST..LAST``: from one message to another.
            dry_run: Whether to say only what it would free and cost.
            loses_reasoning: Whether reasoning behind the cut may get lost, which some models accept only behind the
                messages that it was written behind.

        Raises:
            CommandRefused: The agent is working. A place that can't be dropped is no error: see ``Surgery.refused``.
        """
        _check_texts("places", *places)
        async with self._changing:
            await self._at_rest("drop something", or_paused=True)
            runtime = await self._look()
            name = f"drop-{runtime.ledger.loop.seq + 1}"
            surgery, events = await self._planned(
                name,
                lambda situation: planned(
                    situation, places, loses_reasoning=loses_reasoning
                ),
            )
            if dry_run or not events:
                return surgery
            await self._command(*events)
            return structs.replace(surgery, id=name)

    async def droppable(self, count: int = LARGEST_DROPPED) -> tuple[Surgery, ...]:
        """What dropping each of the largest parts in view would do, the largest first.

        Args:
            count: How many parts are looked at.
        """
        return await self._planned("drop", lambda situation: droppable(situation, count))

    async def _planned(
        self,
        name: str,
        plan: Callable[[Situation], AnyT],
        asked: CompactAsked | None = None,
    ) -> AnyT:
        """What is planned for the session as it is now, beside the event loop."""
        runtime = await self._look()
        await runtime.ledger.load()
        step = Compact("asked", CompactAsked() if asked is None else asked)
        async with runtime.ledger.still():
            situation = situation_of(runtime, step, name)
            return await to_completion(in_thread(plan, situation))

    async def _at_rest(self, to_do: str, *, or_paused: bool = False) -> None:
        """Raise ``CommandRefused`` while a turn is running or paused, or a compaction runs."""
        loop = (await self._look()).ledger.loop
        is_allowed = or_paused and bool(loop.paused)
        if (loop.turn and not is_allowed) or loop.compaction:
            raise CommandRefused(
                f"A turn is running: cancel it or wait for its end, then {to_do}."
            )

    async def uncompact(self, compaction: str) -> FileChanges:
        """Restore the exact view before a compaction, a prune or a rewind, followed by later messages. Only at rest.

        A rewind that restored files gives them back, where they are as it left them.

        Args:
            compaction: Its id, as ``history`` has it.

        Returns:
            The files that were given back.

        Raises:
            CommandRefused: A turn is running, or the files have no history here.
            HistoryFailed: The history can't be read or written; then nothing has changed.
        """
        _check_texts("compaction", compaction)
        async with self._changing:
            await self._at_rest("uncompact", or_paused=True)
            undo = None
            for event in await self.history():
                if (
                    isinstance(event, Rewound)
                    and event.files
                    and event.rewind == compaction
                ):
                    undo = await undo_of(await self._look(), [event.files])
            return await to_completion(
                self._undo(Uncompacted(compaction=compaction), undo)
            )

    async def explain(self, message_id: str) -> Whereabouts:
        """Where a message went: in view, cleared, in which summary, dropped and why.

        Args:
            message_id: One that the session ever had.
        """
        meter = await self._meter()
        events = [event for event in await self.history() if event.seq <= meter.state.seq]
        return explain(message_id, events, [message.id for message in meter.messages])

    async def recall(
        self, query: str = "", *, read: str = "", tokens: int = RECALL_TOKENS
    ) -> Recalled:
        """What left the window: lines found by words, or the exact text around a place, as the model's tool has it.

        Args:
            query: Words, names, numbers. Those that few lines have count most, those in the same case more.
            read: In the place of a query, a place as an answer has it (``12:3405``), or a message's id, a colon and
                a character.
            tokens: The most tokens of the answer's ``text``.

        Raises:
            InputError: There is no word to look for, or nothing that left is at this place.
        """
        return await recalled(await self._look(), query, read, tokens)

    async def rename(self, title: str) -> None:
        """Give the session this title, in lists and displays.

        Args:
            title: A line of text.

        Raises:
            InputError: It is empty or very long.
        """
        _check_texts("title", title)
        line = " ".join(clean_text(title).text.split())
        if not line:
            raise InputError(
                "The title is empty: give the session a name. Nothing was stored."
            )
        if len(line) > LONGEST_TITLE:
            raise InputError(
                f"The title has {len(line):,} characters: give at most {LONGEST_TITLE}. Nothing was stored."
            )
        await self._command(Renamed(title=line))

    async def fork(self, id: str = "", *, through: int | None = None) -> Fork:
        """Copy the session: its events up to the one with the number ``through``, or all of them.

        The copy is at rest; open it with ``agent.session(made.session)``. Queued messages stay here alone.

        Args:
            id: The id of the copy; by default a new one.
            through: The number of the last event that is copied; by default all are.

        Raises:
            CommandRefused: The id is taken or can't be one.
            LedgerError: There is no event ``through``.
        """
        _check_texts("id", id)
        return await fork(self._open.store, self.id, id, through=through)

    async def pin(self, *message_ids: str, pinned: bool = True) -> None:
        """Protect messages from every compaction, or no longer.

        Args:
            message_ids: Those in view or waiting.
            pinned: Whether they are protected from now on.

        Raises:
            CommandRefused: A message to protect is neither in view nor waiting.
        """
        _check_texts("message_ids", *message_ids)
        if pinned:
            await self._check_messages(message_ids)
        await self._command(Pinned(messages=message_ids, pinned=pinned))

    async def _check_messages(self, message_ids: Iterable[str]) -> None:
        runtime = await self._look()
        waiting = {queued.message.id for queued in runtime.ledger.loop.queue}
        for chosen in message_ids:
            if chosen not in runtime.fold.view.entries and chosen not in waiting:
                raise CommandRefused(
                    f"There is no message {quoted(chosen)} in view. Choose one that is in view."
                )

    async def _command(self, *events: Event) -> tuple[Event, ...]:
        """Store what a person asks for, and have the session driven."""
        named = [structs.replace(event, who=WHO.get()) for event in events]
        stored = await self._open.store.command(self.id, named)
        await self._ask_driver()
        return stored

    # -- looking --

    @property
    def _reading(self) -> Reading:
        """The last known reading, without reading the store; also after the session is closed."""
        if self._driver is None or self._driver.runtime is None:
            raise SessionNotFound(f"The session {self.id} is not open: {_OPEN_IT}")
        return self._driver.runtime.reading

    async def context(self) -> Reading:
        """The reading now: how full the window is and of what, and in ``spend`` what all calls have cost.

        It is the one that is displayed, decided on and enforced.
        Settings that this process has not recorded yet count, unless another process drives the session.
        """
        runtime = await self._look()
        if is_synced(runtime) or await self._would_drive(runtime):
            return await reading_in_effect(runtime)
        return runtime.reading

    async def _held_by(self) -> str:
        """The process that drives the session; empty without one."""
        return (await self._open.store.about(self.id)).held_by

    async def _would_drive(self, runtime: SessionRuntime) -> bool:
        """Whether the next request would be made by this process."""
        if not self._drives and runtime.ledger.loop.turns:
            return False  # only looked at, and made by another process so far
        return await self._held_by() in ("", self._open.owner)

    async def _meter(self) -> Meter:
        """The meter behind the readings: steps, largest items, messages in view. Read-only."""
        ledger = (await self._look()).ledger
        await ledger.load()
        return ledger.meter

    async def _look(self) -> SessionRuntime:
        """The session's folds as they are now. Read-only."""
        return await self._driving.look()

    async def _known(self) -> SessionRuntime:
        """The folds as they are here, however old."""
        return self._driving.runtime or await self._look()

    async def messages(self) -> tuple[Message, ...]:
        """The messages in view, in order."""
        return (await self._meter()).messages

    async def history(self, *, after: int = 0) -> list[Event]:
        """The events of the ledger.

        Args:
            after: The number of an event; 0 for all.
        """
        return await self._open.store.read(self.id, after=after)

    async def picture(self) -> DrawnSession:
        """What fills the window, how it grew, and what would make room; a notebook draws it.

        Reads the whole ledger.
        """
        events = await self.history()
        title, _ = naming("", "", events)
        draw = partial(picture_of, events, title=title)
        return DrawnSession._of(await asyncio.to_thread(draw))

    async def events(
        self, *, after: int | None = None, offset: int = -1, until_rest: bool = False
    ) -> AsyncGenerator[SessionEvent, None]:
        """Events and pieces of streaming answers, as they are stored. Leaving early changes nothing for the session.

        Args:
            after: The number of an event; 0 begins with the first one, ``None`` with the next one.
            offset: How many pieces behind that event are skipped, for a reader that had them.
            until_rest: Whether the stream ends when the session rests or waits for a person; it raises the error
                that stopped its driver then.
        """
        begin = await self._newest() if after is None else after
        async with aclosing(
            self._open.store.follow(self.id, after=begin, offset=offset)
        ) as events:  # type: ignore[type-var]
            if not until_rest:
                async for event in events:
                    yield event
                return
            async with aclosing(self._until_rest(events, begin)) as ending:
                async for event in ending:
                    yield event

    async def _newest(self) -> int:
        """The number of the last event."""
        return (await self._open.store.about(self.id)).seq

    async def _until_rest(
        self, events: AsyncIterator[SessionEvent], seen: int
    ) -> AsyncGenerator[SessionEvent, None]:
        """These events, up to the last one at the time the session rests."""
        coming = start(anext(events))
        idle = start(self._idle.wait())
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
                    if end is None and not self._idle.is_set():
                        idle = start(self._idle.wait())
        finally:
            await stop(coming, idle)

    async def _rests_at(self) -> int | None:
        """The last event of a session at rest; ``None`` during work. Raises the error that stopped its driver."""
        over = await self._over() if self._idle.is_set() else None
        return None if over is None else over.ledger.loop.seq

    async def _over(self) -> SessionRuntime | None:
        """The session if no work is left that this process does by itself, or else ``None``.

        Raises the error that stopped the driver.
        """
        if self._failure is not None:
            raise self._failure
        runtime = await self._look()
        if is_at_rest(runtime.ledger.loop):
            return runtime
        if await self._held_by():
            return None
        if self._drives:
            await self._ask_driver()  # the other process that drove it has ended
            return None
        return runtime

    async def _is_interrupted(self) -> bool:
        """Whether work is left in the session and the process that drove it has ended."""
        if not self._idle.is_set() or is_at_rest((await self._look()).ledger.loop):
            return False
        return not await self._held_by() and self._idle.is_set()

    async def wait(self, *, check: bool = True) -> Result[OutputT]:
        """Wait until the session rests or waits for a person; the answer is read into the agent's ``output_type``.

        Waiting does not drive a session that this process does not drive. A cancel leaves the turn running.

        Args:
            check: Whether a failed turn raises its error; with ``False`` that is ``result.error``. The error that
                stopped the driver, such as ``StoreUnavailable``, is raised in both cases.

        Raises:
            ProviderError: The turn failed, as for the next two.
            ContextUnfixable: The conversation can't be made to fit.
            InternalError: A hook, a guardrail or Ullage itself failed.
        """
        return await self._typed_result(self._output, check=check)

    async def _rested(self) -> SessionRuntime:
        """The session, once it rests or waits for a person. Raises the error that stopped its driver."""
        if self._drives:
            await self._ask_driver()
        async with self._open.store.watch(self.id) as watch:
            while True:
                await self._idle.wait()
                if (runtime := await self._over()) is not None:
                    return runtime
                await watch.wait(POLL_S)

    async def _wait(self) -> Result[Any]:
        runtime = await self._rested()
        await runtime.ledger.load()
        loop, reading = runtime.ledger.loop, runtime.reading
        events = await self._open.store.read(self.id, after=loop.asked)
        added = [
            event.message
            for event in events
            if isinstance(event, MessageAdded) and event.seq <= loop.seq
        ]
        result: Result[Any] = Result(
            text=last_words(runtime.ledger.meter.messages, loop.answer_call),
            reason=INTERRUPTED,
            note=INTERRUPTED_NOTE,
            is_paused=True,
            reading=reading,
            usage=usage_between(runtime.fold.spend_before, reading.spend),
            cost=cost_between(runtime.fold.spend_before, reading.spend),
            messages=tuple(added),
        )
        if not is_at_rest(loop):
            return result
        reason = loop.paused or loop.ended
        kind = (
            loop.failed or InternalError.__name__
            if loop.paused
            else runtime.memory.last_error
        )
        error = error_of(reason, kind, loop.note, runtime.stuck)
        if isinstance(error, InternalError):
            error.__cause__ = self._driving.problem
        hook = self._driving.failed_hook
        if error is not None and hook is not None and str(hook) == loop.note:
            error = hook
        return replace(
            result,
            reason=reason,
            note=loop.note,
            is_paused=bool(loop.paused),
            error=error,
        )


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
    """Whether a session has no work left, or waits for a person. A cancel or compaction that was asked for is work."""
    if loop.cancel:
        return False
    if loop.turn:
        return bool(loop.paused)
    return not loop.queue and loop.compact_asked is None

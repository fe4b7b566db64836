"""Drives one session: asks ``decide`` for the next step, carries it out, and asks again, until the session rests.

During that it holds the session's lease. Commands reach it through the ledger at any time: a cancel interrupts the
current step, all others wait for the next decision.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from functools import partial
from typing import Any, Final

from ullage.context.choice import ordered
from ullage.context.unsendable import confirmed_high
from ullage.errors import (
    HistoryLost,
    LeaseLost,
    SessionBusy,
    SessionNotFound,
    SettingError,
    StoreUnavailable,
    WrongPlace,
)
from ullage.events import (
    Cancelled,
    Event,
    FellBack,
    MessageAdded,
    QueueLeft,
    Rewound,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)
from ullage.log_lines import log_fields, trace_fields
from ullage.messages import Message, clean_text
from ullage.store.store import Lease
from ullage.tasks import background, to_completion
from ullage.turns.closing import (
    Persisted,
    UnfinishedWork,
    after_cancel,
    after_crash,
    closed,
    handed_back,
)
from ullage.turns.loop import Loop
from ullage_agent.loop.budgets import BudgetUse
from ullage_agent.loop.decide import Headroom, LoopRules, LoopSituation, decide
from ullage_agent.loop.steps import (
    AskApproval,
    CallModel,
    CloseCalls,
    Compact,
    Deliver,
    DropAttempt,
    EndTurn,
    FallBack,
    FetchAnswer,
    NextStep,
    Pause,
    Rest,
    Resume,
    RunTools,
    Settle,
)
from ullage_agent.runtime.approvals import is_to_ask
from ullage_agent.runtime.calling import (
    asked_output,
    call_model,
    cancel_response,
    fetch_answer,
    lacks_limits,
    learn_limits,
)
from ullage_agent.runtime.compacting import (
    compact,
    is_over_request,
    may_compact,
)
from ullage_agent.runtime.counting import count_input, needs_count
from ullage_agent.runtime.counting_pieces import count_pieces, stop_counting
from ullage_agent.runtime.drafting import put_together
from ullage_agent.runtime.file_steps import look_ahead, settle_steps
from ullage_agent.runtime.hooks import HookFailed
from ullage_agent.runtime.opening import opened, save_if_due, tell_driven
from ullage_agent.runtime.output_type import AGAIN, OutputType
from ullage_agent.runtime.policy import LONGEST_ERROR, MOST_DROPS, POLL_S
from ullage_agent.runtime.quotas import SessionQuota
from ullage_agent.runtime.room_notes import room_note
from ullage_agent.runtime.session_runtime import AgentRuntime, SessionRuntime
from ullage_agent.runtime.sync_settings import sync_settings, write_instructions
from ullage_agent.runtime.tooling import ask_approval, run_tools

log = logging.getLogger("ullage.agent")

_LONG: Final = (CallModel, FetchAnswer, RunTools, Compact)
"""Steps that a driver which is retiring leaves to the next one."""

EXPECTED: Final = (
    HistoryLost,
    LeaseLost,
    SessionBusy,
    SessionNotFound,
    SettingError,
    StoreUnavailable,
)
"""Errors that are no bug of the driver: the caller is told, or another driver continues."""


class Driver:
    """Drives one session. ``drive`` may be called again after it has returned."""

    def __init__(
        self,
        shared: AgentRuntime,
        session: str,
        deps: object = None,
        *,
        awaits_other: bool = True,
        place: str = "",
    ) -> None:
        self._shared = shared
        self._session = session
        self._deps = deps
        self._awaits_other = awaits_other
        self.place = place
        """Where the session's files are."""
        self.runtime: SessionRuntime | None = None
        """The session's folds, after the first ``look``."""
        self._opening = asyncio.Lock()
        """Held while a session is opened: who looks meanwhile gets the same folds."""
        self.problem: Exception | None = None
        self.failed_hook: HookFailed | None = None
        """The unexpected exception that stopped the driver the last time."""
        self._current: asyncio.Task[None] | None = None
        self._rests_at: int | None = None
        """The last event up to which no work is left, once that is known of the lease that is held."""
        self._due_at: float | None = None
        """When a session is due again that waits for its tenant's quota."""
        self._quota = SessionQuota(shared.quotas, session)
        self._is_retiring = False
        self._output: OutputType[Any] | None = None

    def want(self, output: OutputType[Any] | None) -> None:
        """Ask for answers of this type from the next request on; ``None``: for text."""
        self._output = output
        if self.runtime is not None:
            self.runtime.output = output

    async def _opened(self) -> SessionRuntime:
        if self.runtime is not None:  # the session may have been begun anew elsewhere
            self.place = (await self._shared.store.about(self._session)).place
        runtime = await opened(self._shared, self._session, self._deps)
        runtime.output = self._output
        return runtime

    def retire(self) -> None:
        """Drive no further than to the end of the current step, for good. Steps that call nothing are still taken."""
        self._is_retiring = True

    async def look(self) -> SessionRuntime:
        """The session as it is now: the folds that decisions use. Raises as ``drive`` does."""
        while True:
            async with self._opening:
                if self.runtime is None or self.runtime.ledger.is_broken:
                    self.runtime = await self._opened()
                    return self.runtime
                runtime = self.runtime
            try:
                await runtime.ledger.catch_up()
            except HistoryLost as problem:
                log.warning("%s It is opened again.", problem)
            else:
                return runtime

    async def drive(self) -> None:
        """Take steps until the session rests or waits for a person. Returns at once if there is no work.

        Raises ``StoreUnavailable``, ``SettingError``, ``SessionNotFound`` and ``WrongPlace``. An unexpected exception
        is logged and recorded as a pause of the turn, so that the next message or a resume tries again. A cancel stops
        the work in progress, leaves it open in the ledger and gives the lease back; the next driver continues. While
        another driver has the session, waits to continue after its end, unless ``awaits_other`` is False: then returns.
        """
        while not self._is_retiring:
            try:
                async with self._held() as runtime:
                    is_stopped = await self._work_until_rest(runtime)
                if is_stopped:
                    await self._reopen()
                    return
            except SessionBusy:
                if not self._awaits_other or not await self._wait_for_other():
                    return
                continue
            except LeaseLost as problem:
                log.info("A driver leaves: %s", problem)
                continue
            except HistoryLost:
                continue
            about = await self._shared.store.about(self._session)
            if about.seq == self._rests_at:
                return

    async def settle_cancel(self) -> None:
        """End what a cancel ends, also for a session of another place: that needs none of its files.

        Raises ``SessionBusy`` while another driver has the session, and ``LeaseLost``.
        """
        async with self._held(needs_files=False) as runtime:
            ledger = runtime.ledger
            while ledger.loop.cancel:
                await self._settle(runtime, Settle("cancel"))
            if not ledger.loop.queue:
                self._rests_at = ledger.loop.seq

    async def _work_until_rest(self, runtime: SessionRuntime) -> bool:
        """Take steps until the session rests. True if an unexpected exception stopped them."""
        try:
            try:
                with log_fields(partial(self._log_fields, runtime)):
                    await settle_steps(runtime)
                    async with background(self._listen(runtime)):
                        while await self._take_step(runtime):
                            pass
            finally:
                await to_completion(stop_counting(runtime))
        except EXPECTED:
            raise
        except Exception as problem:
            log.exception("The session %s stopped by an unexpected error", self._session)
            await self._record(runtime, problem)
            return True
        if not runtime.ledger.loop.paused:
            self.problem = None
        return False

    def _log_fields(self, runtime: SessionRuntime) -> Mapping[str, object]:
        """What a line is about that is logged while this drives: not the request that happened to start the driver."""
        tenant = self._shared.quotas.tenant
        traced = trace_fields(runtime.ledger.loop.trace)
        return {"session": self._session, "tenant": tenant, **traced}

    async def _record(self, runtime: SessionRuntime, problem: Exception) -> None:
        """Pause the turn because of this error. Raises ``LeaseLost``, ``StoreUnavailable``."""
        text = str(problem)[:LONGEST_ERROR].removesuffix(".")
        note = (
            f"An unexpected error stopped this turn: {type(problem).__name__}: {text}. The log has its traceback. "
            "Resume the turn or send a message to try again."
        )
        loop, ledger = runtime.ledger.loop, runtime.ledger
        paused = TurnPaused(turn=loop.turn, reason="failed", note=clean_text(note).text)
        # Stored without folding: the exception may have left the folds incomplete, so they are made again.
        stored = await to_completion(
            ledger.store.append(ledger.held, [paused], after=loop.seq, durable=True)
        )
        self._rests_at = stored[-1].seq
        self.problem = problem

    async def _reopen(self) -> None:
        try:
            self.runtime = await self._opened()
        except Exception:
            log.exception("The session %s could not be opened again", self._session)

    async def _wait_for_other(self) -> bool:
        """Wait while another driver works; False if no work is left."""
        async with self._shared.store.watch(self._session) as watch:
            await watch.wait(POLL_S)
        about = await self._shared.store.about(self._session)
        return bool(about.held_by) or bool(
            await self._shared.store.pending(self._session)
        )

    @contextlib.asynccontextmanager
    async def _held(self, *, needs_files: bool = True) -> AsyncIterator[SessionRuntime]:
        """The session under a lease, renewed while the block runs and given back afterwards. Raises ``LeaseLost``.

        With ``needs_files`` raises ``WrongPlace`` for a session of another place.
        """
        store = self._shared.store
        ttl_s = (self.runtime or await self.look()).settings.lease_ttl_s
        if needs_files:
            self.place = (await store.about(self._session)).place
            if self.place != self._shared.place:
                raise wrong_place(self._session, self.place)
        leases: list[Lease] = []
        self._rests_at = self._due_at = None

        async def acquire() -> None:
            lease = await store.acquire(self._session, self._shared.owner, ttl_s=ttl_s)
            leases.append(lease)

        try:
            await to_completion(
                acquire()
            )  # the store gives the lease even if the caller is cancelled meanwhile
            async with background(self._renew(leases[0], ttl_s)):
                runtime = await self.look()
                runtime.ledger.lease = leases[0]
                tell_driven(self._shared.hooks, runtime)
                try:
                    yield runtime
                finally:
                    if self.runtime is not None:
                        self.runtime.ledger.lease = None
        finally:
            # A lease that can't be given back expires; that does not hide the error that ended the block.
            with contextlib.suppress(StoreUnavailable):
                for lease in leases:
                    releasing = store.release(
                        lease, rests_at=self._rests_at, due_at=self._due_at
                    )
                    await to_completion(releasing)

    async def _renew(self, lease: Lease, ttl_s: float) -> None:
        while True:
            await asyncio.sleep(ttl_s / 3)
            # The driver's own writes raise the error of a failing store; when it works again the lease is still needed.
            with contextlib.suppress(StoreUnavailable):
                await self._shared.store.renew(lease, ttl_s=ttl_s)

    async def _take_step(self, runtime: SessionRuntime) -> bool:
        """Decide on the next step and carry it out, perhaps after a question to the endpoint about limits or a count.

        False if the session rests, or if this driver takes no further step.
        """
        await runtime.ledger.keep_up()
        if runtime.lacks_instructions and runtime.ledger.loop.paused == "":
            await self._interruptible(runtime, write_instructions(runtime))
        await sync_settings(runtime)
        loop, view = runtime.ledger.loop, runtime.fold.view
        is_compaction_asked = loop.compact_asked is not None
        if (loop.turn or loop.queue) and not loop.cancel:
            runtime.check_tool_names()
        may_call = bool(loop.turn or is_compaction_asked) and not loop.cancel
        if may_call and lacks_limits(runtime):
            await self._interruptible(runtime, learn_limits(runtime))
            return True
        if loop.turn or loop.queue or is_compaction_asked or view.media:
            await (
                runtime.ledger.load()
            )  # a session at rest without media decides without its messages
        await self._quota.look(used_by_session(runtime), has_turn=bool(loop.turn))
        step = decide(self._situation(runtime))
        decided_at = runtime.ledger.loop.seq
        if needs_count(runtime, step):
            await self._interruptible(runtime, count_input(runtime))
            return True
        if self._is_retiring and isinstance(step, _LONG):
            return False
        if isinstance(step, Rest):
            if runtime.counting is not None:
                await count_pieces(runtime, begins=False)
            await runtime.record_reading()
        if isinstance(step, CallModel):
            if (note := room_note(runtime)) is not None:
                await runtime.ledger.write([note])
                return True
            await count_pieces(runtime, begins=True)
        if isinstance(step, Rest | CallModel):
            await save_if_due(runtime)
        try:
            await self._perform(runtime, step)
        except HookFailed as problem:
            self.failed_hook = problem
            await self._give_up(runtime, str(problem))
        if isinstance(step, Rest) and runtime.ledger.loop.seq == decided_at:
            self._rests_at = decided_at
            if loop.paused and loop.paused_until and self._quota.reached is not None:
                self._due_at = self._quota.reached.until
            return False
        return True  # what came while the reading was recorded is not decided on yet

    async def _listen(self, runtime: SessionRuntime) -> None:
        """Fold commands of others during a step; a cancel interrupts the step."""
        async with self._shared.store.watch(self._session) as watch:
            while True:
                await watch.wait()
                newest = watch.newest()
                if newest is None or not await runtime.ledger.has(newest):
                    await runtime.ledger.catch_up()
                if runtime.ledger.loop.cancel:
                    await self._interrupt(runtime)

    async def _interrupt(self, runtime: SessionRuntime) -> None:
        """Cancel the current step, or let running tools end if the cancel allows it."""
        loop, current = runtime.ledger.loop, self._current
        if current is None or current.done():
            return
        runs_tools = any(call.state == "started" for call in loop.open)
        if runs_tools and not loop.cancel_answered:
            returned = (
                handed_back(loop) if runtime.settings.cancel_queue == "return" else []
            )
            await runtime.ledger.write(
                [*returned, Cancelled(persisted="tools_in_progress")], exact=True
            )
        if runs_tools and loop.cancel == "finish":
            return
        current.cancel()

    def _situation(self, runtime: SessionRuntime) -> LoopSituation:
        ledger, settings = runtime.ledger, runtime.settings
        loop, reading = ledger.loop, runtime.reading
        waiting = [call for call in loop.open if call.state in ("waiting", "approved")]
        return LoopSituation(
            loop=loop,
            rules=LoopRules(
                max_steps=settings.max_steps,
                max_repeats=settings.max_repeats,
                drop_retries=min(MOST_DROPS, settings.tries - 1),
                sequential_tools=settings.sequential_tools,
                has_strategies=bool(ordered(settings.strategy)),
                budget=settings.budget,
                session_budget=settings.session_budget,
                fallback=settings.fallback,
            ),
            room=Headroom(
                high=reading.proven_high,
                confirmed=confirmed_high(runtime.fold),
                window=reading.window.tokens,
                reserve=reading.reserve,
                input_limit=reading.input_limit,
                is_due=reading.should_compact(),
                max_output=asked_output(runtime),
                is_over_request=is_over_request(runtime),
            ),
            needs_approval=frozenset(
                call.call_id for call in waiting if is_to_ask(runtime, call)
            ),
            sequential=frozenset(
                call.call_id
                for call in loop.open
                if call.name in runtime.tools and runtime.tools[call.name].sequential
            ),
            answers=frozenset(
                call.call_id
                for call in loop.open
                if call.name in runtime.tools and runtime.tools[call.name].is_answer
            ),
            may_compact=may_compact(runtime),
            may_fetch=loop.response != runtime.lost_response,
            is_stuck="" if runtime.stuck is None else str(runtime.stuck),
            elapsed_s=self._shared.clock() - loop.since,
            used=used_by_session(runtime),
            quota=self._quota.reached,
        )

    async def _perform(self, runtime: SessionRuntime, step: NextStep) -> None:
        write, loop = runtime.ledger.write, runtime.ledger.loop
        match step:
            case CallModel():
                async with background(look_ahead(runtime)):
                    await self._interruptible(runtime, call_model(runtime, step))
            case FetchAnswer():
                await self._interruptible(runtime, fetch_answer(runtime))
            case RunTools():
                await self._interruptible(runtime, run_tools(runtime, step.calls))
            case Compact():
                compaction = compact(runtime, step, sync_settings)
                await self._interruptible(runtime, compaction)
            case AskApproval():
                await self._interruptible(runtime, ask_approval(runtime, step.calls))
            case CloseCalls():
                events = closed(step.calls, step.outcome, step.why)
                await write([*runtime.reading_events(), *events])
            case Settle():
                await self._settle(runtime, step)
            case DropAttempt():
                before = [message.id for message in runtime.ledger.meter.messages]
                before = before[: before.index(step.message)]
                await write([Rewound(to=before[-1] if before else "")])
            case FallBack():
                runtime.stuck = None
                await write([_fell_back(runtime, step)], durable=True)
            case Deliver():
                await self._deliver(runtime, step)
            case Pause():
                paused = TurnPaused(turn=loop.turn, **step._asdict())
                await write([*runtime.reading_events(), paused], durable=True)
            case Resume():
                await write([resumed(runtime)], durable=True)
            case EndTurn():
                ended = TurnEnded(
                    turn=loop.turn,
                    reason=step.reason,
                    note=step.note,
                    steps=loop.steps,
                )
                await write([*runtime.reading_events(), ended])
            case Rest():
                return

    async def _interruptible(
        self, runtime: SessionRuntime, doing: Coroutine[Any, Any, None]
    ) -> None:
        """Carry out a step that a cancel may interrupt; the next decision settles the work it leaves open."""
        async with background(doing) as task:
            self._current = task
            try:
                if runtime.ledger.loop.cancel:
                    await self._interrupt(runtime)
                await asyncio.wait([task])
            finally:
                self._current = None

    async def _give_up(self, runtime: SessionRuntime, note: str) -> None:
        """End the turn: close open work as after a crash, and calls that were not started."""
        await self._settle(runtime, Settle("crash"))
        loop = runtime.ledger.loop
        events = closed(
            loop.open,
            "not_started",
            "Not run: the turn ended before this call was started.",
        )
        if loop.turn:
            events.append(
                TurnEnded(turn=loop.turn, reason="failed", note=note, steps=loop.steps)
            )
        await runtime.ledger.write(events)

    async def _settle(self, runtime: SessionRuntime, step: Settle) -> None:
        ledger = runtime.ledger
        loop = ledger.loop
        partial: Message | None = None
        if step.how == "cancel":
            await cancel_response(runtime)
        if loop.call:
            pieces = await ledger.store.read_draft(ledger.session, call=loop.call)
            partial = put_together(
                pieces, message_id=f"{loop.call}.answer", call=loop.call
            )
        usage = runtime.usage_of_cut(partial) if loop.call else None
        left = UnfinishedWork(
            loop,
            partial,
            f"note-{loop.seq + 1}",
            usage,
            runtime.usage_of_aside(loop.side_call),
        )
        if step.how == "crash":
            events = after_crash(left)
        else:
            returns = runtime.settings.cancel_queue == "return"
            events = after_cancel(left, _persisted(loop, partial), returns_queue=returns)
        # If a message to return is withdrawn meanwhile, the next decision settles again.
        await ledger.write(events, exact=step.how == "cancel", ends_draft=loop.call)

    async def _deliver(self, runtime: SessionRuntime, step: Deliver) -> None:
        """Move messages from the queue to the conversation in one transaction, unless a command came meanwhile."""
        loop = runtime.ledger.loop
        waiting = {one.message.id: one for one in loop.queue}
        delivered = [waiting[name] for name in step.messages]
        events: list[Event] = []
        if step.begins_turn:
            turn = f"turn-{loop.turns + 1}"
            spent = used_by_session(runtime)
            started = TurnStarted(
                turn=turn,
                tokens=spent.tokens,
                usd=spent.usd,
                input=spent.input,
                output=spent.output,
                trace=next((one.trace for one in delivered if one.trace), ""),
                again=all(AGAIN in one.message.id for one in delivered),
            )
            events.append(started)
        for one in delivered:
            events += [
                QueueLeft(message_id=one.message.id, how="delivered"),
                MessageAdded(message=one.message),
            ]
        await runtime.ledger.write(events, exact=True, durable=True)


def wrong_place(session: str, place: str) -> WrongPlace:
    """The error of a driver that is not at the session's place."""
    if not place:
        return WrongPlace(
            f"The session {session} has no place, and this process drives sessions of its own place only. Start "
            "`ullage admin worker`, without the option --place, where the files of the session are."
        )
    return WrongPlace(
        f"The session {session} is at the place {place}, whose files are not here: this process does not drive it. "
        f"Start `ullage admin worker --place {place}` where they are."
    )


def used_by_session(runtime: SessionRuntime) -> BudgetUse:
    """What the session has used so far, as budgets count it."""
    spend = runtime.reading.spend
    sums = spend.all
    return BudgetUse(
        calls=sums.calls,
        tool_calls=runtime.ledger.loop.session_tool_calls,
        tokens=sums.in_budget,
        input=sums.input + sums.estimated,
        output=sums.output,
        usd=spend.money.usd,
    )


def resumed(runtime: SessionRuntime) -> TurnResumed:
    """The event that resumes the paused turn, with its budgets counted from here."""
    spent = used_by_session(runtime)
    return TurnResumed(
        turn=runtime.ledger.loop.turn,
        tokens=spent.tokens,
        usd=spent.usd,
        input=spent.input,
        output=spent.output,
    )


def _fell_back(runtime: SessionRuntime, step: FallBack) -> FellBack:
    """The event for this step. The error begins with the name of the model that failed."""
    loop = runtime.ledger.loop
    return FellBack(
        turn=loop.turn,
        model=step.model,
        error=f"{runtime.settings.model}: {step.why}",
        error_kind=loop.failed,
    )


def _persisted(loop: Loop, partial: Message | None) -> Persisted:
    """What a cancel has kept."""
    if loop.compaction:
        return "compaction_rolled_back"
    if any(call.state == "started" for call in loop.open):
        return "tools_in_progress"
    return "partial_assistant" if partial is not None and partial.parts else None

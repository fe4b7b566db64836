"""Compaction for a loop of the caller's own: a body in, a body that fits out.

    compactor = ullage.Compactor("gpt-4.1", summarise=lambda body: client.chat.completions.create(**body))
    fitted = compactor.fit_sync(body)                  # body holds the whole history, every time
    answer = client.chat.completions.create(**fitted.body)
    compactor.after(answer.usage, answer)

``ullage.context.compactor`` decides; this file asks for summaries and carries the decisions out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Self

from msgspec.structs import replace

from ullage.codec.stream import Answer
from ullage.codec.wires import WIRES
from ullage.compactor.call_events import failed
from ullage.compactor.store import ConversationLedger
from ullage.compactor.summaries import (
    Summariser,
    SummaryCaller,
    read_summariser,
)
from ullage.compactor.summary_calls import in_thread, try_strategies
from ullage.context.choice import STRATEGIES
from ullage.context.compactor import CallerConversation, Fitted
from ullage.context.rules import CompactionRules
from ullage.context.strategies import Attempt, AttemptStep, Commit, Strategies
from ullage.context.strategy import Ask, Strategy, SummaryAnswer
from ullage.errors import CompactorBusy, Overflow, SettingError
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    CompactionRolledBack,
    CompactionTrigger,
    Event,
    Outcome,
    ReasoningRefused,
)
from ullage.loop_thread import shared_thread
from ullage.meter.limits import lookup
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.metering.sdk_errors import problem_of
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import NO_ENDPOINTS, ProviderRow, read_name
from ullage.store.places import StorePlace
from ullage.store.policy import RECALL_TOKENS
from ullage.store.recall import Recalled, RecallIndex, states
from ullage.tasks import to_completion
from ullage.threads import in_thread as own_thread
from ullage.tokens.calibration import Calibration

log = logging.getLogger("ullage.compactor")

THREAD: Final = shared_thread("ullage: compactors")
"""Where clients and stores of all Compactors live. Not the thread of agents: there an async tool may call a synchronous
client with a Compactor, for which the agents' event loop stands still.
"""

IN_USE: Final = (
    "This Compactor is in use by another task or thread. Use one Compactor for each conversation, and one call at a "
    "time: fit, send, after."
)
NO_SUMMARY: Final = (
    "The function or model that summarises gave no answer within {:g} s. Nothing of the conversation is lost; what "
    "needs no summary was tried instead. Raise summary_timeout_s if it only is slow."
)
FAILED_SUMMARY: Final = "No summary: %s: %s. Another strategy shortens the conversation, which may keep less of it."

SUMMARY_TIMEOUT_S: Final = 600.0
"""How long the SDKs of OpenAI and Anthropic wait for an answer that is not streamed
(https://github.com/openai/openai-python#timeouts, https://github.com/anthropics/anthropic-sdk-python#timeouts)."""


class Compactor:
    """Fits the requests of one conversation into the model's window.

    One call at a time: fit, send, ``after``. docs/compactor.md shows it in a loop.

    With a ``store`` the conversation survives a restart: the caller gives its whole history again, and what was
    compacted stays so. ``fit`` returns when all of it is stored; what ``after`` adds is written by the next ``fit``,
    or by ``close``. Until then a crash loses that report, and no more.

    Args:
        model: As in ``Meter``; like the wire and the provider it is read from the first body, where it is left out.
        wire: The API format of the bodies, as in ``Meter``.
        provider: Who serves the model, as in ``Meter``.
        window: The context window in tokens, as in ``Meter``.
        reserve: Tokens kept free for the answer, as in ``Meter``.
        trigger: Where compaction starts, as in ``Meter``.
        keep: The setting of that name (docs/settings.md): a share of the newest messages that a summary leaves
            unchanged.
        protect_tokens: The setting of that name: how much of the newest tool results is never cleared.
        strategies: What is tried in this order, in the place of the strategies of ``hybrid``.
        summarise: Sends a body of the conversation's wire, not streaming, and gives the provider's answer: an SDK's
            object, its JSON, or a text. It may be async; a function that is not runs in a thread. Without it Ullage
            calls the model itself.
        summary_model: The model that writes the summaries, if it is not the conversation's own.
        summary_timeout_s: The longest wait for each answer, in seconds; ``None`` waits for ever. After one in vain no
            model is asked any more for this body: strategies that need none follow. An async function is cancelled
            then. A function in a thread can't be: it runs on, and what it gives in the end is dropped, so its tokens
            are billed and not counted. Give the SDK's client a shorter timeout.
        base_url: Where Ullage asks for summaries; by default the provider's address.
        environment: Where the key for summaries is looked up; by default ``os.environ``.
        endpoints: Servers of the user's own by name, as in ``Meter``.
        calibration: What was learnt earlier, as in ``Meter``.
        store: A path, or a store that is used nowhere else meanwhile. Needs ``session``.
        session: The conversation's name in ``store``.
        strict: Whether a request that can't be made to fit raises ``ContextUnfixable``; otherwise it goes out as it
            is.
        on_event: Called with each event after it was applied.

    Raises:
        SettingError: A setting is not possible.
    """

    def __init__(
        self,
        model: str = "",
        *,
        wire: str = "",
        provider: str = "",
        window: int | None = None,
        reserve: int | None = None,
        trigger: float | int | None = None,
        keep: float | None = None,
        protect_tokens: int | None = None,
        strategies: Sequence[Strategy] | None = None,
        summarise: Summariser | None = None,
        summary_model: str = "",
        summary_timeout_s: float | None = SUMMARY_TIMEOUT_S,
        base_url: str = "",
        environment: Mapping[str, str] | None = None,
        endpoints: Mapping[str, object] = NO_ENDPOINTS,
        calibration: Calibration | None = None,
        store: StorePlace | None = None,
        session: str = "",
        strict: bool = True,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        order = STRATEGIES if strategies is None else tuple(strategies)
        self._strategies = Strategies(order)
        known = read_endpoints(endpoints, WIRES)
        if wire not in ("", *WIRES):
            raise SettingError(
                f"wire={wire!r} is no wire: give one of {', '.join(sorted(WIRES))}."
            )
        self._strict = strict
        self._on_event = on_event
        self._lock = threading.Lock()
        rules = _rules(keep, protect_tokens, order, summary_model, known)
        if (store is None) != (not session):
            raise SettingError(
                "store and session go together: the session names this conversation in the store. Give both or neither."
            )
        self._ledger = None if store is None else ConversationLedger(store, session)
        self._unstored: list[Event] = []
        self._is_restored = False
        self._index = RecallIndex()
        self._conversation = CallerConversation(rules, base_url=base_url)
        self._meter = Meter(
            model,
            wire=wire,
            provider=provider,
            window=window,
            reserve=reserve,
            trigger=trigger,
            calibration=calibration,
            session=session,
            endpoints=endpoints,
            on_event=self._note,
        )
        self._conversation.use(self._meter)
        self._summary_timeout_s = read_timeout(summary_timeout_s)
        self._summaries = SummaryCaller(
            self._meter,
            self._conversation,
            model=model,
            summarise=read_summariser(summarise),
            summary_model=summary_model,
            base_url=base_url,
            environment=os.environ if environment is None else environment,
            endpoints=known,
        )

    # -- before a call --

    async def fit(
        self,
        body: Mapping[str, Any],
        *,
        wire: str = "",
        provider: str = "",
        is_held: bool = False,
    ) -> Fitted:
        """What to send for this body. The call is open until ``after``, or until a body that continues it.

        It is ``body`` itself while nothing was compacted; what was compacted once stays so in later bodies. A body
        that continues a conversation which the provider holds (docs/compactor.md) goes out as it is. A failed summary
        raises nothing: the next strategy is tried. A cancel is safe at any point: nothing is compacted then.

        Args:
            body: The conversation's whole history, as JSON of one of the wires.
            wire: The wire of this body, for a Compactor that was not given one; left out, its fields tell it.
            provider: Its provider, likewise.
            is_held: Whether the provider holds the conversation although the body has the whole history.

        Raises:
            InvalidRequest: The body is of no wire.
            ContextUnfixable: It can't be made to fit, and the Compactor is ``strict``.
            CompactorBusy: Another call runs.
        """
        with self._alone():
            return await self._fit(body, wire, provider, is_held=is_held)

    def fit_sync(
        self,
        body: Mapping[str, Any],
        *,
        wire: str = "",
        provider: str = "",
        is_held: bool = False,
    ) -> Fitted:
        """``fit`` for a program without an event loop. A summary is asked for from another thread.

        Args:
            body: As in ``fit``.
            wire: As in ``fit``.
            provider: As in ``fit``.
            is_held: As in ``fit``.
        """
        with self._alone():
            if self._ledger is not None:
                return THREAD.run(
                    lambda: self._fit(body, wire, provider, is_held=is_held)
                )
            trigger = self._take(body, wire, provider, is_held=is_held)
            if trigger is not None:
                due = trigger
                THREAD.run(lambda: self._compact(due))
            return self._start_call()

    async def recover(self, error: BaseException) -> Fitted | None:
        """What to send after the provider refused the open call; ``None`` if nothing helps.

        The window is corrected by what the error says, and the request compacted urgently. Reasoning that is bound to
        another conversation is left out from then on. After ``None`` end the call with ``after(None,
        outcome="failed")``. Raises and cancels as ``fit`` does.

        Args:
            error: The SDK's exception, ours, or one that was caused by such. Of an error about something else:
                ``None``.
        """
        with self._alone():
            return await self._recover(error)

    def recover_sync(self, error: BaseException) -> Fitted | None:
        """``recover`` for a program without an event loop.

        Args:
            error: As in ``recover``.
        """
        with self._alone():
            return THREAD.run(lambda: self._recover(error))

    # -- after a call --

    def after(
        self,
        usage: object | None,
        answer: object | None = None,
        *,
        outcome: Outcome = "finished",
        response: str = "",
    ) -> Reading:
        """The reading after the open call has ended. The end is stored by the next ``fit``, or by ``close``.

        Args:
            usage: What the provider reported, in its own object or JSON; ``None`` if it reported none.
            answer: The answer, which may also simply come back in the next body.
            outcome: ``failed`` or ``cancelled`` for a call that ended without an answer.
            response: The answer's id, as in ``Meter.after``.

        Raises:
            CompactorBusy: ``fit`` runs.
            InputError: No call is open.
        """
        with self._alone():
            return self._conversation.end_call(usage, answer, outcome, response)

    # -- what it knows --

    def reading(self) -> Reading:
        """The window now, as ``Meter.reading`` gives it; ``spend`` includes the summaries."""
        return self._meter.reading()

    async def recall(
        self, query: str = "", *, read: str = "", tokens: int = RECALL_TOKENS
    ) -> Recalled:
        """What a compaction took out: lines found by words, or the exact text around a place.

        Give the model a tool that returns its ``text``. With a ``store`` it has what left before a restart too.

        Args:
            query: Words, names, numbers. Those that few lines have count most, those in the same case more.
            read: In the place of a query, a place as an answer has it: ``12:3405``.
            tokens: The most tokens of the answer's ``text``.

        Raises:
            InputError: There is no word to look for, or nothing that left is at this place.
            CompactorBusy: Another call runs.
        """
        with self._alone():
            return await self._recall(query, read, tokens)

    def recall_sync(
        self, query: str = "", *, read: str = "", tokens: int = RECALL_TOKENS
    ) -> Recalled:
        """``recall`` for a program without an event loop.

        Args:
            query: As in ``recall``.
            read: As in ``recall``.
            tokens: As in ``recall``.
        """
        with self._alone():
            return THREAD.run(lambda: self._recall(query, read, tokens))

    async def _recall(self, query: str, read: str, tokens: int) -> Recalled:
        await self._restored()
        in_view = states(self._meter.state.view)
        work = partial(
            self._index.recall, query, in_view=in_view, read=read, tokens=tokens
        )
        return await to_completion(own_thread(work))

    @property
    def meter(self) -> Meter:
        """The meter of this conversation, to look at: its events are the Compactor's."""
        return self._meter

    @property
    def compactions(self) -> int:
        """How often something was compacted."""
        return self._conversation.compactions

    def lend(self, summarise: Summariser) -> None:
        """Have summaries written by ``summarise`` from now on, unless the Compactor was given a way of its own.

        For a program that has the provider's client only when a request is sent. A ``summarise`` or a ``base_url``
        that the Compactor was made with stays.

        Args:
            summarise: As the Compactor's own.
        """
        if not self._summaries.has_own_way:
            self._summaries.summarise = summarise

    # -- closing --

    async def aclose(self) -> None:
        """Write what was not yet written, and let the store and connections go. It may be used again."""
        with self._alone():
            if self._is_anything_open:
                await THREAD.run_async(self._close)

    def close(self) -> None:
        """The same for a program without an event loop."""
        with self._alone():
            if self._is_anything_open:
                THREAD.run(self._close)

    @property
    def _is_anything_open(self) -> bool:
        return self._ledger is not None or self._summaries.has_client

    async def _close(self) -> None:
        if self._ledger is not None:
            await self._stored(durable=False)
            await self._ledger.close()
        await self._summaries.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside --

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise CompactorBusy(IN_USE)
        try:
            yield
        finally:
            self._lock.release()

    def _note(self, event: Event) -> None:
        self._conversation.note(event)
        self._index.apply(event)
        if self._ledger is not None:
            self._unstored.append(event)
        if self._on_event is not None:
            self._on_event(event)

    def _write(self, events: Sequence[Event]) -> None:
        for event in events:
            self._meter.emit(event)

    async def _fit(
        self, body: Mapping[str, Any], wire: str, provider: str, *, is_held: bool
    ) -> Fitted:
        await self._restored()
        before = self.compactions
        trigger = self._take(body, wire, provider, is_held=is_held)
        if trigger is not None:
            await self._compact(trigger)
        fitted = self._start_call()
        await self._stored(durable=self.compactions > before)
        return fitted

    async def _recover(self, error: BaseException) -> Fitted | None:
        fold, conversation = self._meter.state, self._conversation
        problem = problem_of(
            error, wire=fold.wire, provider=fold.provider, model=fold.model
        )
        if problem is None or not conversation.open_call:
            return None
        call = conversation.open_call
        events = failed(call, problem, fold.model)
        if not isinstance(problem, Overflow):
            return await self._without_reasoning(call, events)
        correction = conversation.refused(problem, events)
        before = self.compactions
        if correction is not None:
            await self._compact("overflow", correction)
        if self.compactions == before:
            await self._stored(durable=False)
            return None
        fitted = conversation.start_call()
        await self._stored(durable=True)
        return fitted

    async def _without_reasoning(
        self, call: str, events: Sequence[Event]
    ) -> Fitted | None:
        """The refused request without its reasoning; ``None`` where it had none."""
        fold = self._meter.state
        had_any = bool(fold.reasoning.tokens)
        self._write(events)
        if had_any:
            self._write([ReasoningRefused(call=call, model=fold.model)])
        fitted = self._conversation.start_call() if had_any else None
        await self._stored(durable=had_any)
        return fitted

    async def _restored(self) -> None:
        """Take in the session's events, once."""
        ledger = self._ledger
        if ledger is None or self._is_restored:
            return
        events = await THREAD.run_async(ledger.read)
        self._is_restored = True
        if events:
            self._unstored.clear()
            self._conversation.restore(events)
            self._index = RecallIndex()
            for event in events:
                self._index.apply(event)

    async def _stored(self, *, durable: bool) -> None:
        """Write what has happened since the last write."""
        ledger = self._ledger
        if ledger is None or not self._unstored:
            return
        events = tuple(self._unstored)
        await to_completion(
            THREAD.run_async(lambda: ledger.write(events, durable=durable))
        )
        del self._unstored[: len(events)]

    def _take(
        self, body: Mapping[str, Any], wire: str, provider: str, *, is_held: bool
    ) -> CompactionTrigger | None:
        self._conversation.take(body, wire=wire, provider=provider, is_held=is_held)
        return self._conversation.trigger()

    def _start_call(self) -> Fitted:
        error = self._conversation.unfixable()
        if error is not None and self._strict:
            raise error
        return self._conversation.start_call()

    async def _compact(self, trigger: CompactionTrigger, correction: float = 1.0) -> None:
        """Try strategies until one commits or none is left. A cancel leaves rows that say so, and nothing else."""
        conversation = self._conversation
        name = f"compaction-{self._meter.state.seq + 1}"
        situation = conversation.situation(trigger, name, correction)
        has_begun = False
        timed_out = ""

        async def next_step(attempt: Attempt) -> AttemptStep:
            return await in_thread(self._strategies, situation, attempt)

        async def write(events: Sequence[Event]) -> None:
            nonlocal has_begun
            has_begun = True
            self._write(events)

        async def ask(wanted: Ask) -> SummaryAnswer:
            nonlocal timed_out
            if timed_out:
                return SummaryAnswer(None, error=timed_out)
            answer = await self._ask(wanted)
            if answer.error == SummaryTimeout.__name__:
                timed_out = answer.error
            return answer

        try:
            found = await try_strategies(next_step, write, ask)
        except BaseException:
            if has_begun:
                broken = CompactionRolledBack(compaction=name, reason="cancelled")
                self._write([broken])
            raise
        self._write(found.events)
        if not isinstance(found, Commit):
            conversation.failed(found.attempt.failures)

    async def _ask(self, wanted: Ask) -> SummaryAnswer:
        """The answer of one call for a summary. Its usage is spend; what fails is a value for the strategy."""
        call = f"summary-{self._meter.state.seq + 1}"
        size = Amount(tokens=wanted.tokens, low=0, high=wanted.tokens)
        self._write([CallStarted(call=call, purpose="summary", estimate=size)])
        ended = CallEnded(call=call, purpose="summary", outcome="cancelled")
        try:
            answer = await self._answered(wanted, call)
        except Exception as problem:  # noqa: BLE001 - whatever the caller's function raises, the next strategy is tried
            kind = type(problem).__name__
            log.warning(FAILED_SUMMARY, kind, str(problem)[:500])
            ended = replace(
                ended, outcome="failed", error=str(problem)[:500], error_kind=kind
            )
            return SummaryAnswer(None, error=kind)
        else:
            ended = replace(
                ended,
                outcome=answer.outcome,
                stop=answer.stop,
                usage=answer.usage,
                model=answer.model or self._summaries.model,
            )
        finally:
            self._write([ended])
        if answer.outcome != "finished":
            return SummaryAnswer(None, error=answer.outcome)
        return SummaryAnswer(answer.message, answer.stop, answer.usage)

    async def _answered(self, wanted: Ask, call: str) -> Answer:
        most = self._summary_timeout_s
        limit = asyncio.timeout(most)
        try:
            async with limit:
                return await self._sent(wanted, call)
        except TimeoutError as problem:
            if most is None or not limit.expired():
                raise
            raise SummaryTimeout(NO_SUMMARY.format(most)) from problem

    async def _sent(self, wanted: Ask, call: str) -> Answer:
        summaries = self._summaries
        summarise = summaries.summarise
        if summarise is not None:
            return await summaries.sent_by_caller(summarise, wanted, call)
        return await THREAD.run_async(lambda: summaries.sent_by_us(wanted, call))


class SummaryTimeout(Exception):
    """A summary was not there in time."""


def read_timeout(given: float | None) -> float | None:
    """The setting ``summary_timeout_s``. Raises ``SettingError``."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is None or (is_number and given > 0):
        return given
    raise SettingError(
        f"summary_timeout_s={given!r} is no time. Give seconds above 0, or None to wait for ever."
    )


def _rules(
    keep: float | None,
    protect_tokens: int | None,
    order: Sequence[Strategy],
    summary_model: str,
    endpoints: Mapping[str, ProviderRow],
) -> CompactionRules:
    rules = CompactionRules(chosen=tuple(strategy.name for strategy in order))
    if keep is not None:
        rules = dataclasses.replace(rules, keep=keep)
    if protect_tokens is not None:
        rules = dataclasses.replace(rules, protect_tokens=protect_tokens)
    if not summary_model:
        return rules
    rules = dataclasses.replace(rules, own_model=True)
    served_by, name = read_name(summary_model, endpoints)
    known = lookup(served_by.name, name)
    if known is None:
        return rules
    return dataclasses.replace(
        rules, summary_window=known.window, summary_output=known.max_output
    )

"""Carries out ``Compact``: tries the strategies, makes the calls they ask for, and commits the proved change.

The view does not change before the commit: an attempt abandoned by a cancel, a crash or an error leaves only rows that
say so. ``context/`` makes the decisions.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Final

from msgspec.structs import replace

from ullage.agent.loop import OVERFLOWS
from ullage.agent.steps import Compact
from ullage.codec.blocks import Options
from ullage.context.budget import aim_of, correction_of, should_prepare
from ullage.context.prepared import PreparedSummary, prepare
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import AskModel, Attempt, Commit, Strategies, Stuck
from ullage.context.strategy import Ask, Declined, SummaryAnswer
from ullage.errors import BodyTooLarge, Overflow, ProviderError, TooManyImages
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    CompactionRolledBack,
    CompactionStarted,
    CompactionTrigger,
    Event,
    Pinned,
    Purpose,
)
from ullage.messages import Request
from ullage.meter.fold import Fold
from ullage.meter.limits import lookup
from ullage.runtime.compactions import ReadySummary
from ullage.runtime.hooks import Refusal, run_hook
from ullage.runtime.limiting import is_over_request, limited, note_limits
from ullage.runtime.work import Work
from ullage.tasks import to_completion
from ullage.usage import Usage
from ullage.wire.call import Retries, ask
from ullage.wire.endpoints import Endpoint

SUMMARY_TRIES: Final = 2
"""How often the request of a summary is sent until an answer begins: a strategy without a model follows it."""


def may_compact(work: Work) -> bool:
    """Whether a compaction is worth a try now. Cheap while nothing is due."""
    loop, reading = work.ledger.loop, work.reading
    if loop.compact_asked is not None:
        return True
    is_refused = loop.failed in OVERFLOWS
    is_too_large = reading.input_limit is not None and reading.used.high > reading.input_limit
    is_due = reading.should_compact() or is_too_large
    if not work.settings.auto or not (is_refused or is_due or is_over_request(work)):
        return False
    return not refusal(work, "overflow" if is_refused else "point")


def refusal(work: Work, trigger: CompactionTrigger) -> str:
    """Why a compaction would not help, as the breakers have it; empty where it may."""
    situation = situation_of(work, Compact(trigger), "")
    bar = aim_of(situation).bar
    return work.memory.breakers.refusal(
        history=situation.fold.view.digest,
        high=situation.sizes.high,
        limit=None if bar is None else round(bar),
        input_limit=work.reading.input_limit,
    )


def situation_of(work: Work, step: Compact, compaction: str) -> Situation:
    """All that this compaction rests on, now."""
    memory, settings, reading = work.memory, work.settings, work.reading
    if step.trigger == "overflow" and not work.compactions.met:
        _note_earlier_refusal(work)
    situation = Situation(
        fold=fold_of(work),
        trigger=step.trigger,
        compaction=compaction,
        snapshot=reading.snapshot_id,
        epoch=memory.epoch,
        rules=CompactionRules(
            keep=settings.keep,
            protect_tokens=settings.protect_tokens,
            instructions=settings.summary_instructions,
            own_model=bool(settings.summary_model) and settings.summary_model != settings.model,
        ),
        pins=memory.pins,
        waiting=frozenset(call.call_id for call in work.ledger.loop.open),
        task_start=memory.task_start,
        instructions=step.instructions,
    )
    if step.trigger == "overflow" and memory.last_error == Overflow.__name__:
        refused = Overflow("", count=memory.refused, limit=reading.window.tokens)
        correction = correction_of(refused, reading.used.tokens, reading.window.tokens)
        situation = dataclasses.replace(situation, correction=correction)
    return limited(work, situation)


def _note_earlier_refusal(work: Work) -> None:
    """What can still be told of a refusal that another driver met: its kind."""
    for kind in (BodyTooLarge, TooManyImages):
        if work.memory.last_error == kind.__name__:
            note_refusal(work, kind(""))


def note_refusal(work: Work, problem: Overflow) -> None:
    """Remember how many bytes or images the endpoint takes, from its refusal of the request that is in view."""
    note_limits(work, problem, situation_of(work, Compact("point"), ""))


def fold_of(work: Work) -> Fold:
    """The fold behind the session's readings, to be read."""
    return work.ledger.meter._fold


async def compact(work: Work, step: Compact) -> None:
    """Climb until something is committed or nothing helps. What happened stands in the ledger.

    Raises for the store and for hooks alone. Cancelling is safe anywhere and leaves the view as it was.
    """
    before = await work.record_reading()  # what decides is what every display shows
    name = f"compaction-{work.ledger.loop.seq + 1}"
    if not await _is_allowed(work, step, name):
        return
    compactions = work.compactions
    order = compactions.strategies
    if compactions.prepared is not None:
        order = (PreparedSummary(*compactions.prepared), *order)
    strategies, attempt = Strategies(order), Attempt()
    while True:
        async with work.ledger.still():
            found = await to_completion(asyncio.to_thread(strategies.next, situation_of(work, step, name), attempt))
        match found:
            case AskModel():
                await work.ledger.write(found.events)
                attempt = found.attempt.answered(await summarise(work, found.ask, "summary"))
            case Commit():
                compactions.prepared = None
                work.stuck = None
                await work.ledger.write(found.events, durable=True)
                await work.record_reading()
                for hook in work.shared.hooks:
                    await run_hook(hook.after_compaction(before, work.reading))
                return
            case Stuck():
                work.stuck = found.error
                await work.ledger.write(found.events)
                return


async def _is_allowed(work: Work, step: Compact, name: str) -> bool:
    """Whether no hook objects; their pins are taken over."""
    for hook in work.shared.hooks:
        said = await run_hook(hook.before_compaction(work.reading, step.trigger))
        if isinstance(said, Refusal):
            started = CompactionStarted(
                compaction=name,
                trigger=step.trigger,
                snapshot=work.reading.snapshot_id,
                high=work.reading.used.high,
                history=fold_of(work).view.digest,
            )
            await work.ledger.write([started, CompactionRolledBack(compaction=name, reason="vetoed", note=said.why)])
            return False
        if said:
            await work.ledger.write([Pinned(messages=said)])
    return True


async def summarise(work: Work, wanted: Ask, purpose: Purpose, *, detached: bool = False) -> SummaryAnswer:
    """One call of a summary. Its usage is spend; what the provider does is a value for the strategy."""
    ledger, settings = work.ledger, work.settings
    call = f"{'prepare' if detached else 'summary'}-{ledger.loop.seq + 1}"
    size = Amount(tokens=wanted.tokens, low=0, high=wanted.tokens)
    started = CallStarted(call=call, purpose=purpose, estimate=size, detached=detached)
    await ledger.write([started])
    try:
        endpoint, model = settings.endpoint(work.shared.environment, settings.summary_model)
        request = _request(work, wanted, model, endpoint.wire, endpoint.provider)
        answer = await ask(
            request,
            endpoint,
            client=work.shared.client,
            message_id=f"{call}.answer",
            call=call,
            policy=ledger.meter.policy,
            options=Options(
                max_output=_largest_answer(work, wanted, model, endpoint),
                media=work.media if wanted.extends else {},
            ),
            retries=Retries(tries=SUMMARY_TRIES),
        )
    except ProviderError as problem:
        kind = type(problem).__name__
        failed = CallEnded(call=call, purpose=purpose, outcome="failed", error=str(problem), error_kind=kind)
        await ledger.write([failed])
        return SummaryAnswer(None, error=kind)
    ended = CallEnded(
        call=call,
        purpose=purpose,
        outcome=answer.outcome,
        stop=answer.stop,
        usage=answer.usage,
        model=answer.model or model,
        provider=endpoint.provider,
        error="" if answer.error is None else str(answer.error),
        error_kind="" if answer.error is None else type(answer.error).__name__,
    )
    await ledger.write([ended])
    if answer.outcome != "finished":
        return SummaryAnswer(None, error=answer.outcome)
    return SummaryAnswer(answer.message, answer.stop, answer.usage)


def _largest_answer(work: Work, wanted: Ask, model: str, endpoint: Endpoint) -> int | None:
    """What the call may ask for: what was planned, or the most the model gives.

    Where nobody knows that, and the wire need not say, ``None``: who asks for more than there is gets no summary.
    """
    fold = fold_of(work)
    known = fold.limits.max_output.tokens if fold.limits.max_output is not None else None
    if model != fold.model:
        other = lookup(endpoint.provider, model)
        known = other.max_output if other is not None else None
    if known is None and endpoint.wire != "messages":
        return None
    return wanted.max_output if known is None else min(wanted.max_output, known)


def _request(work: Work, wanted: Ask, model: str, wire: str, provider: str) -> Request:
    held = work.ledger.meter.request(stream=work.settings.stream)
    if wanted.extends:
        return replace(held, messages=wanted.messages)
    return Request(
        wire=wire, model=model, provider=provider, system=wanted.system, messages=wanted.messages, stream=held.stream
    )


def prepare_ahead(work: Work) -> None:
    """Begin a summary in the background where the soft threshold is reached and none is there or under way."""
    compactions = work.compactions
    if compactions.preparing is not None or compactions.prepared is not None:
        return
    if not work.settings.auto or not should_prepare(work.reading, work.settings.background_at):
        return
    compactions.preparing = asyncio.create_task(_prepare(work))


async def _prepare(work: Work) -> None:
    compactions = work.compactions
    try:
        preparation = prepare(situation_of(work, Compact("point"), f"prepared-{work.ledger.loop.seq + 1}"))
        if isinstance(preparation, Declined):
            return
        answer = await summarise(work, preparation.ask, "summary", detached=True)
        if answer.message is not None:
            compactions.prepared = ReadySummary(preparation.prefix, answer)
    finally:
        compactions.preparing = None


async def stop_preparing(work: Work) -> None:
    """End a summary under way in the background; its call is closed in the ledger."""
    task = work.compactions.preparing
    if task is not None:
        task.cancel()
        await asyncio.wait([task])
    if work.memory.background:
        call = work.memory.background
        await work.ledger.write(background_closed(call, work.usage_of_aside(call)))


def background_closed(call: str, usage: Usage | None = None) -> list[Event]:
    """The end of a call that prepared a summary and that nobody waits for any more."""
    return [CallEnded(call=call, purpose="summary", outcome="cancelled", usage=usage)]

"""Carries out ``Compact``: tries the strategies, makes the calls they ask for, and commits the proved change.

The view does not change before the commit: an attempt abandoned by a cancel, a crash or an error leaves only rows that
say so. ``context/`` makes the decisions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from ullage.compactor.call_waits import CallWaits
from ullage.compactor.summary_calls import (
    bounded_answer,
    in_thread,
    known_output,
    request_for,
    try_strategies,
)
from ullage.context.breakers import PREVIEWED
from ullage.context.budget import aim_of, correction_of
from ullage.context.choice import ordered
from ullage.context.known_limits import Served, served_by
from ullage.context.preview import preview_name
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import Attempt, AttemptStep, Commit, Strategies, Stuck
from ullage.context.strategy import Ask, Strategy, SummaryAnswer
from ullage.context.trim import CutUnread
from ullage.context.unsendable import unsendable
from ullage.errors import (
    BodyTooLarge,
    ContentFiltered,
    NotFound,
    Overflow,
    ProviderError,
    RequestRejected,
    SettingError,
    TooManyImages,
    WrongConversation,
)
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    CompactionTrigger,
    Event,
    Pinned,
    Pruned,
)
from ullage.meter.limits import lookup
from ullage.meter.reading import Reading
from ullage.turns.loop import OVERFLOWS
from ullage.wire.endpoints import destination_of
from ullage_agent.loop.steps import Compact
from ullage_agent.runtime.hooks import Refusal, passed_request, run_hook
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_agent.runtime.settings import Settings


def may_compact(runtime: SessionRuntime) -> bool:
    """Whether to try a compaction now. Cheap while none is due."""
    loop, reading = runtime.ledger.loop, runtime.reading
    if loop.compact_asked is not None:
        return True
    is_refused = loop.failed in OVERFLOWS
    is_too_large = (
        reading.input_limit is not None and reading.proven_high > reading.input_limit
    )
    is_due = reading.should_compact() or is_too_large
    if not runtime.settings.compacts or not (
        is_refused or is_due or is_over_request(runtime)
    ):
        return False
    return not refusal(runtime, "overflow" if is_refused else "point")


def refusal(runtime: SessionRuntime, trigger: CompactionTrigger) -> str:
    """Why a compaction would not help, by the circuit breakers; empty if it may."""
    situation = situation_of(runtime, Compact(trigger), "")
    bar = aim_of(situation).bar
    return runtime.memory.breakers.refusal(
        history=situation.fold.view.digest,
        high=situation.sizes.high,
        limit=None if bar is None else round(bar),
        input_limit=runtime.reading.input_limit,
    )


def situation_of(runtime: SessionRuntime, step: Compact, compaction: str) -> Situation:
    """The input of this compaction, as of now."""
    memory, settings, reading = runtime.memory, runtime.settings, runtime.reading
    if step.trigger == "overflow" and not runtime.limits.has_met_any:
        _note_earlier_refusal(runtime)
    situation = Situation(
        fold=runtime.fold,
        trigger=step.trigger,
        compaction=compaction,
        snapshot=reading.snapshot_id,
        epoch=memory.epoch,
        rules=rules_of(settings),
        pins=memory.pins,
        waiting=frozenset(call.call_id for call in runtime.ledger.loop.open),
        task_start=memory.task_start,
        instructions=step.wishes.instructions,
        up_to=step.wishes.up_to,
        from_=step.wishes.from_,
        has_refused=_served(runtime) in runtime.shared.client.without_compaction,
    )
    if step.trigger == "overflow" and memory.last_error == Overflow.__name__:
        refused = Overflow("", count=memory.refused, limit=reading.window.tokens)
        correction = correction_of(refused, reading.used.tokens, reading.window.tokens)
        situation = dataclasses.replace(situation, correction=correction)
    return runtime.limits.limited(situation, settings.base_url)


def rules_of(settings: Settings) -> CompactionRules:
    """The rules of a compaction with these settings, and what is known of another model that summarises."""
    rules = CompactionRules(
        keep=settings.keep,
        protect_tokens=settings.protect_tokens,
        reattach_tokens=settings.reattach_tokens,
        instructions=settings.summary_instructions,
        chosen=tuple(strategy.name for strategy in ordered(settings.strategy)),
    )
    if settings.summary_model in ("", settings.model):
        return rules
    rules = dataclasses.replace(rules, own_model=True)
    try:
        other = destination_of(settings.summary_model, endpoints=settings.endpoints)
    except SettingError:  # the call for a summary raises it
        return rules
    known = lookup(other.provider.name, other.model)
    if known is None:
        return rules
    return dataclasses.replace(
        rules, summary_window=known.window, summary_output=known.max_output
    )


def _note_earlier_refusal(runtime: SessionRuntime) -> None:
    """Note a refusal that another driver got, of which only the kind is known."""
    for kind in (BodyTooLarge, TooManyImages):
        if runtime.memory.last_error == kind.__name__:
            note_refusal(runtime, kind(""))


def note_refusal(runtime: SessionRuntime, problem: Overflow) -> None:
    """Note how many bytes or images the endpoint accepts, from its refusal of the current view."""
    situation = situation_of(runtime, Compact("point"), "")
    runtime.limits.note(problem, situation, runtime.settings.base_url)


async def compact(
    runtime: SessionRuntime,
    step: Compact,
    sync_settings: Callable[[SessionRuntime], Awaitable[None]],
) -> None:
    """Try strategies until one commits or none is left. The ledger records each attempt.

    ``sync_settings`` records the tool that comes with a compaction, so that the reading after it is the next call's.

    Raises only errors of the store and of hooks. A cancel is safe at any point and leaves the view unchanged.
    """
    before = (
        await runtime.record_reading()
    )  # so that displays show the reading that decides
    name = f"compaction-{runtime.ledger.loop.seq + 1}"
    if step.wishes.preview:
        name = preview_name(step.wishes.seq)
    if await _is_allowed(runtime, step, name):
        chosen = ordered(runtime.settings.strategy)
        if await _is_done(runtime, step, name, chosen, before, sync_settings):
            return
    if step.wishes.preview:
        return
    situation, error = situation_of(runtime, step, ""), runtime.stuck
    if step.trigger == "overflow" or unsendable(situation, ()):
        name = f"{name}-unread"
        unread = (CutUnread(),)
        if not await _is_done(runtime, step, name, unread, before, sync_settings):
            runtime.stuck = error


async def _is_done(
    runtime: SessionRuntime,
    step: Compact,
    name: str,
    chosen: tuple[Strategy, ...],
    before: Reading,
    sync_settings: Callable[[SessionRuntime], Awaitable[None]],
) -> bool:
    """Try these strategies; True if one has committed."""
    strategies = Strategies(chosen)

    async def next_step(attempt: Attempt) -> AttemptStep:
        async with runtime.ledger.still():
            return await in_thread(strategies, situation_of(runtime, step, name), attempt)

    found = await try_strategies(
        next_step,
        runtime.ledger.write,
        lambda wanted: summarise(runtime, wanted),
    )
    match found:
        case Commit() if step.wishes.preview:
            started = () if found.attempt.started else (_started(runtime, step, name),)
            await runtime.ledger.write([*started, *_without_change(name, found)])
            return True
        case Stuck() if step.wishes.preview:
            await runtime.ledger.write(found.events)
            return False
        case Commit():
            runtime.stuck = None
            await runtime.ledger.write(found.events, durable=True)
            with suppress(SettingError):  # the driver tells of it before the next call
                await sync_settings(runtime)
            await runtime.record_reading()
            for hook in runtime.shared.hooks:
                await run_hook(hook, "after_compaction", before, runtime.reading)
            return True
        case Stuck():
            runtime.stuck = found.error
            await runtime.ledger.write(found.events)
            return False


def _without_change(name: str, found: Commit) -> Iterator[Event]:
    """The events of a preview: those of the compaction up to its change, and one that holds the change."""
    for event in found.events:
        match event:
            case Pruned() | CompactionCommitted():
                yield CompactionRolledBack(
                    compaction=name,
                    reason=PREVIEWED,
                    proposed=event,
                    strategy=found.strategy,
                )
                return
            case CompactionStarted():
                continue
            case _:
                yield event


def _started(runtime: SessionRuntime, step: Compact, name: str) -> CompactionStarted:
    return CompactionStarted(
        compaction=name,
        trigger=step.trigger,
        snapshot=runtime.reading.snapshot_id,
        high=runtime.reading.proven_high,
        history=runtime.fold.view.digest,
    )


async def _is_allowed(runtime: SessionRuntime, step: Compact, name: str) -> bool:
    """Whether no hook refuses. Pins the messages that hooks name."""
    for hook in runtime.shared.hooks:
        wish = await run_hook(
            hook,
            "before_compaction",
            runtime.reading,
            step.trigger,
            takes=(Refusal, tuple),
        )
        if isinstance(wish, Refusal):
            await runtime.ledger.write(
                [
                    _started(runtime, step, name),
                    CompactionRolledBack(compaction=name, reason="vetoed", note=wish.why),
                ]
            )
            return False
        if wish:
            await runtime.ledger.write([Pinned(messages=wish)])
    return True


async def summarise(runtime: SessionRuntime, wanted: Ask) -> SummaryAnswer:
    """Call the model for a summary. Its usage is spend; an error of the provider is a value for the strategy."""
    ledger, settings = runtime.ledger, runtime.settings
    call = f"summary-{ledger.loop.seq + 1}"
    size = Amount(tokens=wanted.tokens, low=0, high=wanted.tokens)
    await ledger.write([CallStarted(call=call, purpose="summary", estimate=size)])
    try:
        endpoint, model = settings.endpoint(
            runtime.shared.environment, settings.summary_model
        )
        held = ledger.meter.request(stream=settings.stream)
        request = request_for(
            wanted, held, model, wire=endpoint.wire, provider=endpoint.provider
        )
        hooks = runtime.shared.hooks
        sent = await passed_request(hooks, "before_summary", request, runtime.reading)
        answer = await bounded_answer(
            wanted,
            sent.value,
            endpoint,
            known_output=known_output(runtime.fold, model, endpoint.provider),
            client=runtime.shared.client,
            call=call,
            policy=ledger.meter.policy,
            media=runtime.media if wanted.extends else {},
            slot=lambda: runtime.shared.slots.for_call(
                endpoint, model, settings.rates.per_minute
            ),
            waits=CallWaits(ledger.write, call, endpoint),
        )
    except ProviderError as problem:
        if wanted.compaction is not None and is_not_offered(problem):
            runtime.shared.client.without_compaction.add(_served(runtime))
        kind = type(problem).__name__
        failed = CallEnded(
            call=call,
            purpose="summary",
            outcome="failed",
            error=str(problem),
            error_kind=kind,
        )
        await ledger.write([failed])
        return SummaryAnswer(None, error=kind)
    ended = CallEnded(
        call=call,
        purpose="summary",
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


def is_not_offered(problem: ProviderError) -> bool:
    """Whether an endpoint's refusal says that it compacts no conversations of this model.

    A refusal of what the request holds is none: its size, its content, or the compaction in it, which Anthropic names
    with a code of its own (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand).
    """
    if isinstance(problem, Overflow | ContentFiltered | WrongConversation):
        return False
    is_refused = isinstance(problem, NotFound | RequestRejected)
    return is_refused and "compaction_" not in f"{problem.said} {problem}"


# -- limits on images and bytes --


def is_over_request(runtime: SessionRuntime) -> bool:
    """Whether the view has more images or bytes than one request may hold, by the known limits."""
    return runtime.limits.is_over(runtime.fold, runtime.settings.base_url)


def _served(runtime: SessionRuntime) -> Served:
    return served_by(runtime.fold, runtime.settings.base_url)

"""Carries out ``Compact``: tries the strategies, makes the calls they ask for, and commits the proved change.

The view does not change before the commit: an attempt abandoned by a cancel, a crash or an error leaves only rows that
say so. ``context/`` makes the decisions.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable
from typing import Final

from msgspec.structs import replace

from ullage.agent.loop import OVERFLOWS
from ullage.agent.steps import Compact
from ullage.codec.blocks import Options
from ullage.codec.stream import Answer
from ullage.codec.wires import default_output
from ullage.context.budget import (
    aim_of,
    bytes_limit_of,
    correction_of,
    image_limit_of,
    should_prepare,
)
from ullage.context.choice import ordered
from ullage.context.clear import ClearToolResults
from ullage.context.cold_cache import cache_lifetime_s, is_cold
from ullage.context.costs import count_images, size_bytes
from ullage.context.prepared import PreparedSummary, prepare
from ullage.context.request_limits import RequestLimits, request_limits
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import AskModel, Attempt, Commit, Strategies, Stuck
from ullage.context.strategy import Ask, Declined, SummaryAnswer
from ullage.errors import (
    BodyTooLarge,
    ContentFiltered,
    NotFound,
    Overflow,
    ProviderError,
    RequestRejected,
    SettingError,
    TooManyImages,
)
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
from ullage.models.providers import provider_named
from ullage.runtime.hooks import Refusal, run_hook
from ullage.runtime.session_runtime import LastLook, ReadySummary, Served, SessionRuntime
from ullage.runtime.settings import Settings
from ullage.tasks import start, stop, to_completion
from ullage.usage import Usage
from ullage.wire.call import Retries, ask
from ullage.wire.endpoints import Endpoint, destination_of

SUMMARY_TRIES: Final = 2
"""How often the request of a summary is sent until an answer begins: a strategy without a model follows it."""

NONE_MET: Final = RequestLimits()


def may_compact(runtime: SessionRuntime) -> bool:
    """Whether to try a compaction now. Cheap while none is due."""
    loop, reading = runtime.ledger.loop, runtime.reading
    if loop.compact_asked is not None:
        return True
    is_refused = loop.failed in OVERFLOWS
    is_too_large = (
        reading.input_limit is not None and reading.used.high > reading.input_limit
    )
    is_due = reading.should_compact() or is_too_large
    if not runtime.settings.compacts or not (
        is_refused or is_due or is_over_request(runtime)
    ):
        return False
    return not refusal(runtime, "overflow" if is_refused else "point")


def may_clear_cold(runtime: SessionRuntime) -> bool:
    """Whether to look for old tool results to clear because the provider's cache has expired. Once for each call."""
    share, started = runtime.settings.clear_cold_at, runtime.memory.started
    point = runtime.reading.compaction_point
    if share is None or started is None or point is None or not runtime.settings.compacts:
        return False
    if started.call == runtime.compactions.looked_cold:
        return False
    if runtime.reading.used.high < share * point:
        return False
    fold = fold_of(runtime)
    settings = runtime.settings
    lifetime = cache_lifetime_s(fold.provider, settings.options.cache, settings.params)
    return is_cold(lifetime, started.at, runtime.shared.clock())


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
    if step.trigger == "overflow" and not runtime.compactions.met:
        _note_earlier_refusal(runtime)
    situation = Situation(
        fold=fold_of(runtime),
        trigger=step.trigger,
        compaction=compaction,
        snapshot=reading.snapshot_id,
        epoch=memory.epoch,
        rules=rules_of(settings),
        pins=memory.pins,
        waiting=frozenset(call.call_id for call in runtime.ledger.loop.open),
        task_start=memory.task_start,
        instructions=step.instructions,
        up_to=step.up_to,
        from_=step.from_,
        has_refused=_served(runtime) in runtime.shared.client.without_compaction,
    )
    if step.trigger == "overflow" and memory.last_error == Overflow.__name__:
        refused = Overflow("", count=memory.refused, limit=reading.window.tokens)
        correction = correction_of(refused, reading.used.tokens, reading.window.tokens)
        situation = dataclasses.replace(situation, correction=correction)
    return limited(runtime, situation)


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
    note_limits(runtime, problem, situation_of(runtime, Compact("point"), ""))


def fold_of(runtime: SessionRuntime) -> Fold:
    """The fold behind the session's readings, for reading only."""
    return runtime.ledger.meter._fold


async def compact(runtime: SessionRuntime, step: Compact) -> None:
    """Try strategies until one commits or none is left. The ledger records each attempt.

    Raises only errors of the store and of hooks. A cancel is safe at any point and leaves the view unchanged.
    """
    before = (
        await runtime.record_reading()
    )  # so that displays show the reading that decides
    name = f"compaction-{runtime.ledger.loop.seq + 1}"
    compactions = runtime.compactions
    is_optional = step.trigger == "cold"
    if is_optional and runtime.memory.started is not None:
        compactions.looked_cold = runtime.memory.started.call
    if not await _is_allowed(runtime, step, name):
        return
    order = ordered(runtime.settings.strategy)
    if is_optional:
        order = tuple(each for each in order if isinstance(each, ClearToolResults))
    elif compactions.prepared is not None and not (step.up_to or step.from_):
        order = (PreparedSummary(*compactions.prepared), *order)
    strategies, attempt = Strategies(order), Attempt()
    while True:
        async with runtime.ledger.still():
            found = await to_completion(
                asyncio.to_thread(
                    strategies.next, situation_of(runtime, step, name), attempt
                )
            )
        match found:
            case AskModel():
                await runtime.ledger.write(found.events)
                attempt = found.attempt.answered(
                    await summarise(runtime, found.ask, "summary")
                )
            case Commit():
                compactions.prepared = None
                runtime.stuck = None
                await runtime.ledger.write(found.events, durable=True)
                await runtime.record_reading()
                for hook in runtime.shared.hooks:
                    await run_hook(hook.after_compaction(before, runtime.reading))
                return
            case Stuck() if is_optional:
                return
            case Stuck():
                runtime.stuck = found.error
                await runtime.ledger.write(found.events)
                return


async def _is_allowed(runtime: SessionRuntime, step: Compact, name: str) -> bool:
    """Whether no hook refuses. Pins the messages that hooks name."""
    for hook in runtime.shared.hooks:
        wish = await run_hook(hook.before_compaction(runtime.reading, step.trigger))
        if isinstance(wish, Refusal) and step.trigger == "cold":
            return False
        if isinstance(wish, Refusal):
            started = CompactionStarted(
                compaction=name,
                trigger=step.trigger,
                snapshot=runtime.reading.snapshot_id,
                high=runtime.reading.used.high,
                history=fold_of(runtime).view.digest,
            )
            await runtime.ledger.write(
                [
                    started,
                    CompactionRolledBack(compaction=name, reason="vetoed", note=wish.why),
                ]
            )
            return False
        if wish:
            await runtime.ledger.write([Pinned(messages=wish)])
    return True


async def summarise(
    runtime: SessionRuntime, wanted: Ask, purpose: Purpose, *, detached: bool = False
) -> SummaryAnswer:
    """Call the model for a summary. Its usage is spend; an error of the provider is a value for the strategy."""
    ledger, settings = runtime.ledger, runtime.settings
    call = f"{'prepare' if detached else 'summary'}-{ledger.loop.seq + 1}"
    size = Amount(tokens=wanted.tokens, low=0, high=wanted.tokens)
    started = CallStarted(call=call, purpose=purpose, estimate=size, detached=detached)
    await ledger.write([started])
    try:
        endpoint, model = settings.endpoint(
            runtime.shared.environment, settings.summary_model
        )
        request = _request(runtime, wanted, model, endpoint.wire, endpoint.provider)
        answer = await _bounded(runtime, wanted, request, endpoint, call)
    except ProviderError as problem:
        if wanted.compaction is not None and is_not_offered(problem):
            runtime.shared.client.without_compaction.add(_served(runtime))
        kind = type(problem).__name__
        failed = CallEnded(
            call=call,
            purpose=purpose,
            outcome="failed",
            error=str(problem),
            error_kind=kind,
        )
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


def is_not_offered(problem: ProviderError) -> bool:
    """Whether an endpoint's refusal says that it compacts no conversations of this model.

    A refusal of what the request holds is none: its size, its content, or the compaction in it, which Anthropic names
    with a code of its own (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand).
    """
    if isinstance(problem, Overflow | ContentFiltered):
        return False
    is_refused = isinstance(problem, NotFound | RequestRejected)
    return is_refused and "compaction_" not in f"{problem.said} {problem}"


async def _bounded(
    runtime: SessionRuntime, wanted: Ask, request: Request, endpoint: Endpoint, call: str
) -> Answer:
    """The answer, no longer than planned and than the model's longest. Raises ``ProviderError``.

    Where the model's longest is unknown and the wire needs no limit, only servers of one's own get one: they let a
    model that repeats itself fill the window, while a hosted API has a limit of its own and rejects more than that. A
    server of one's own that rejects the limit is asked once more without one.
    """
    known = _known_output(runtime, request.model, endpoint)
    is_own_server = provider_named(endpoint.provider).is_own_server
    most: int | None = wanted.max_output
    if known is not None:
        most = min(wanted.max_output, known)
    elif default_output(endpoint.wire) is None and not is_own_server:
        most = None
    options = Options(
        max_output=most,
        media=runtime.media if wanted.extends else {},
        compaction=wanted.compaction,
    )

    def attempt(options: Options) -> Awaitable[Answer]:
        return ask(
            request,
            endpoint,
            client=runtime.shared.client,
            message_id=f"{call}.answer",
            call=call,
            policy=runtime.ledger.meter.policy,
            options=options,
            retries=Retries(tries=SUMMARY_TRIES),
        )

    try:
        return await attempt(options)
    except RequestRejected:
        if most is None or known is not None or wanted.compaction is not None:
            raise
        if default_output(endpoint.wire) is not None:
            raise
    return await attempt(dataclasses.replace(options, max_output=None))


def _known_output(runtime: SessionRuntime, model: str, endpoint: Endpoint) -> int | None:
    """The longest answer of the model that summarises, if it is known."""
    fold = fold_of(runtime)
    if model == fold.model:
        own = fold.limits.max_output
        return None if own is None else own.tokens
    other = lookup(endpoint.provider, model)
    return None if other is None else other.max_output


def _request(
    runtime: SessionRuntime, wanted: Ask, model: str, wire: str, provider: str
) -> Request:
    held = runtime.ledger.meter.request(stream=runtime.settings.stream)
    if wanted.compaction is not None:
        return replace(held, messages=wanted.messages, stream=False)
    if wanted.extends:
        return replace(held, messages=wanted.messages)
    return Request(
        wire=wire,
        model=model,
        provider=provider,
        system=wanted.system,
        messages=wanted.messages,
        stream=held.stream,
    )


def prepare_ahead(runtime: SessionRuntime) -> None:
    """Start a summary in the background if ``background_at`` is reached and none is prepared or running."""
    compactions = runtime.compactions
    if compactions.preparing is not None or compactions.prepared is not None:
        return
    settings = runtime.settings
    if not settings.compacts or not settings.summarises:
        return
    if not should_prepare(runtime.reading, settings.background_at):
        return
    compactions.preparing = start(_prepare(runtime))


async def _prepare(runtime: SessionRuntime) -> None:
    compactions = runtime.compactions
    try:
        preparation = prepare(
            situation_of(
                runtime, Compact("point"), f"prepared-{runtime.ledger.loop.seq + 1}"
            )
        )
        if isinstance(preparation, Declined):
            return
        answer = await summarise(runtime, preparation.ask, "summary", detached=True)
        if answer.message is not None:
            compactions.prepared = ReadySummary(preparation.prefix, answer)
    finally:
        compactions.preparing = None


async def stop_preparing(runtime: SessionRuntime) -> None:
    """Stop a summary in the background, and close its call in the ledger."""
    task = runtime.compactions.preparing
    if task is not None:
        await stop(task)
    if runtime.memory.background:
        call = runtime.memory.background
        await runtime.ledger.write(background_closed(call, runtime.usage_of_aside(call)))


def background_closed(call: str, usage: Usage | None = None) -> list[Event]:
    """The end of a call for a summary in the background that is no longer needed."""
    return [CallEnded(call=call, purpose="summary", outcome="cancelled", usage=usage)]


# -- limits on images and bytes --


def is_over_request(runtime: SessionRuntime) -> bool:
    """Whether the view has more images or bytes than one request may hold, by the known limits.

    Searches the view once after each change, and not at all without images and known limits: text fills the window
    long before the body. The exact check runs only if the quick one finds that there may be too much.
    """
    view = runtime.ledger.meter._fold.view
    if not view.media and not runtime.compactions.met:
        return False
    met = _met(runtime)
    last = runtime.compactions.last_look
    if last is None or (last.view, last.served, last.met) != (
        view.digest,
        _served(runtime),
        met,
    ):
        last = LastLook(view.digest, _served(runtime), met, _is_over(runtime))
        runtime.compactions.last_look = last
    return last.is_over


def limited(runtime: SessionRuntime, situation: Situation) -> Situation:
    """The situation with the limits of one request: the lowest of the documented ones and those of refusals."""
    fold = situation.fold
    limits = _least(
        _met(runtime), request_limits(fold.provider, fold.model, situation.messages)
    )
    return dataclasses.replace(
        situation, image_limit=limits.most_images, bytes_limit=limits.most_bytes
    )


def note_limits(runtime: SessionRuntime, problem: Overflow, situation: Situation) -> None:
    """Note how many images or bytes this model accepts at its address, from its refusal of the current view."""
    met = _met(runtime)
    images, size = image_limit_of(problem, situation), bytes_limit_of(problem, situation)
    if images is not None:
        met = met._replace(most_images=images)
    if size is not None:
        met = met._replace(most_bytes=size)
    if met != NONE_MET:
        runtime.compactions.met[_served(runtime)] = met


def _is_over(runtime: SessionRuntime) -> bool:
    fold = runtime.ledger.meter._fold
    if _met(runtime) == NONE_MET:
        pictured = [entry.message for entry in fold.view if entry.cost.added.media]
        images, size = sum(map(count_images, pictured)), sum(map(size_bytes, pictured))
        limits = request_limits(fold.provider, fold.model, pictured)
        is_few = limits.most_images is None or images <= limits.most_images
        if is_few and (limits.most_bytes is None or size <= limits.most_bytes // 2):
            return False
    situation = limited(runtime, Situation(fold=fold))
    return situation.is_over_images or situation.is_over_bytes


def _met(runtime: SessionRuntime) -> RequestLimits:
    return runtime.compactions.met.get(_served(runtime), NONE_MET)


def _served(runtime: SessionRuntime) -> Served:
    fold = runtime.ledger.meter._fold
    return Served(fold.provider, fold.model, runtime.settings.base_url)


def _least(one: RequestLimits, other: RequestLimits) -> RequestLimits:
    least: list[int | None] = []
    for pair in zip(one, other, strict=True):
        known = [most for most in pair if most is not None]
        least.append(min(known, default=None))
    return RequestLimits(*least)

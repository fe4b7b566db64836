"""What every compaction shares, of a session or of a caller's own loop: the tries, and the call for a summary."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ullage import threads
from ullage.codec.blocks import Options
from ullage.codec.stream import Answer
from ullage.codec.wires import default_output
from ullage.compactor.call_waits import CallWaits
from ullage.context.situation import Situation
from ullage.context.strategies import (
    AskModel,
    Attempt,
    AttemptStep,
    Commit,
    Strategies,
    Stuck,
)
from ullage.context.strategy import Ask, SummaryAnswer
from ullage.errors import RequestRejected
from ullage.events import Event
from ullage.messages import Request
from ullage.meter.fold import Fold
from ullage.meter.limits import lookup
from ullage.models.providers import provider_named
from ullage.reasoning import ReasoningPolicy
from ullage.tasks import to_completion
from ullage.wire.call import CallSlot, Retries, ask
from ullage.wire.client import Client
from ullage.wire.endpoints import Endpoint

SUMMARY_TRIES: Final = 2
"""How often the request of a summary is sent until an answer begins: a strategy without a model follows it."""


async def in_thread(
    strategies: Strategies, situation: Situation, attempt: Attempt
) -> AttemptStep:
    """The next step of an attempt, computed beside the event loop. A cancel waits for it, since it reads the fold."""
    # A strategy of the program may wait for an agent, so it holds no thread of a pool that such an agent needs.
    return await to_completion(threads.in_thread(strategies.next, situation, attempt))


async def try_strategies(
    next_step: Callable[[Attempt], Awaitable[AttemptStep]],
    write: Callable[[Sequence[Event]], Awaitable[object]],
    ask_model: Callable[[Ask], Awaitable[SummaryAnswer]],
) -> Commit | Stuck:
    """The proved change, or why there is none; the caller writes its events. Raises what the functions raise.

    Ends after a bounded number of model calls, whatever they answer (``Strategies.calls_at_most``).
    """
    attempt = Attempt()
    while True:
        found = await next_step(attempt)
        if not isinstance(found, AskModel):
            return found
        await write(found.events)
        attempt = found.attempt.answered(await ask_model(found.ask))


def request_for(
    wanted: Ask, held: Request, model: str, *, wire: str, provider: str
) -> Request:
    """The request of a summary; ``held`` is the session's next one."""
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


def known_output(fold: Fold, model: str, provider: str) -> int | None:
    """The longest answer of the model that summarises, in tokens, if it is known."""
    if model == fold.model:
        own = fold.limits.max_output
        return None if own is None else own.tokens
    other = lookup(provider, model)
    return None if other is None else other.max_output


def most_output(
    wanted: Ask, known: int | None, *, wire: str, provider: str
) -> int | None:
    """The limit on a summary's output; ``None`` where none is sent.

    Where the model's longest is unknown and the wire needs no limit, only servers of one's own get one: they let a
    model that repeats itself fill the window, while a hosted API has a limit of its own and rejects more than that.
    """
    if known is not None:
        return min(wanted.max_output, known)
    if default_output(wire) is None and not provider_named(provider).is_own_server:
        return None
    return wanted.max_output


async def bounded_answer(
    wanted: Ask,
    request: Request,
    endpoint: Endpoint,
    *,
    known_output: int | None,
    client: Client,
    call: str,
    policy: ReasoningPolicy,
    media: Mapping[str, bytes],
    slot: Callable[[], CallSlot] | None = None,
    waits: CallWaits | None = None,
    make_body: Callable[[int | None], Mapping[str, Any]] | None = None,
) -> Answer:
    """The answer, no longer than planned and than the model's longest. Raises ``ProviderError``.

    A server of one's own that rejects the limit is asked once more without one. ``make_body`` gives the body for a
    limit, in the place of the encoded request, and ``slot`` the place of each request within the rate limits. ``waits``
    are told of.
    """
    most = most_output(
        wanted, known_output, wire=endpoint.wire, provider=endpoint.provider
    )
    options = Options(max_output=most, media=media, compaction=wanted.compaction)
    told: dict[str, Any] = {}
    if waits is not None:
        told = {
            "on_retry": waits.note_retry,
            "on_wait": waits.note_wait,
            "sleep": waits.pause,
        }

    def attempt(options: Options) -> Awaitable[Answer]:
        return ask(
            request,
            endpoint,
            client=client,
            message_id=f"{call}.answer",
            call=call,
            policy=policy,
            options=options,
            retries=Retries(tries=SUMMARY_TRIES),
            slot=None if slot is None else slot(),
            body=None if make_body is None else make_body(options.max_output),
            **told,
        )

    try:
        return await attempt(options)
    except RequestRejected:
        if most is None or known_output is not None or wanted.compaction is not None:
            raise
        if default_output(endpoint.wire) is not None:
            raise
    return await attempt(dataclasses.replace(options, max_output=None))

"""Has a session's next request counted by its provider, before the call and never in its way."""

from __future__ import annotations

import dataclasses

from ullage.context.exchanges import in_view
from ullage.errors import UllageError
from ullage.events import Amount, InputCounted
from ullage.wire.endpoints import Endpoint
from ullage_agent.loop.steps import CallModel, Compact, NextStep
from ullage_agent.runtime.calling import load_media
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.session_runtime import SessionRuntime


def needs_count(runtime: SessionRuntime, step: NextStep) -> bool:
    """Whether this step rests on a reading that is to be counted first, and the count was not asked for yet."""
    depends = isinstance(step, CallModel) or (
        isinstance(step, Compact) and step.trigger == "point"
    )
    if not depends:
        return False
    meter, mode = runtime.ledger.meter, runtime.settings.count
    if not runtime.fold.is_count_due(mode, runtime.reading):
        return False
    return runtime.count_asked != meter.fingerprint() and may_count(runtime) is not None


def may_count(runtime: SessionRuntime) -> Endpoint | None:
    """The session's endpoint if it may be asked for counts; without being ``always`` only where that is free.

    What hooks may replace before it is sent is not counted: it could hold what they take out.
    """
    if any(
        type(hook).before_call is not Hook.before_call for hook in runtime.shared.hooks
    ):
        return None
    try:
        endpoint = runtime.endpoint()
    except UllageError:
        return None  # the call itself fails with this error
    if endpoint.source is not None:
        return None
    mode = runtime.settings.count
    is_allowed = mode == "always" or (mode == "auto" and endpoint.counts_free)
    return endpoint if is_allowed else None


async def count_input(runtime: SessionRuntime) -> None:
    """Have the next request counted and record the count; nothing is recorded where there is none.

    Once for each content. Cancelling is safe at any point, and then the content may be counted again.
    """
    meter, endpoint = runtime.ledger.meter, may_count(runtime)
    asked, used = meter.fingerprint(), runtime.reading.used
    tokens = None
    if endpoint is not None:
        await load_media(runtime)
        request = meter.request(messages=in_view(meter.messages))
        options = dataclasses.replace(runtime.settings.options, media=runtime.media)
        tokens = await runtime.shared.counts.count(
            request, endpoint, policy=meter.policy, options=options
        )
    runtime.count_asked = asked
    if tokens is None:
        return
    counted = InputCounted(
        tokens=tokens,
        model=asked.model,
        fingerprint=asked,
        estimate=Amount(tokens=used.tokens, low=used.low, high=used.high),
    )
    await runtime.ledger.write([counted])

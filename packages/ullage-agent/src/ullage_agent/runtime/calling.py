"""Carries out ``CallModel``: sends one request, stores its answer as it streams, and records start and end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Sequence

from msgspec.structs import replace

from ullage.codec.blocks import JSON_HEADERS, Options
from ullage.codec.history import History
from ullage.codec.stream import Answer, ResponseHeld, UsageSeen
from ullage.codec.wires import default_output
from ullage.compactor.call_events import ended, failed
from ullage.compactor.call_waits import CallWaits
from ullage.context.costs import after
from ullage.context.exchanges import in_view
from ullage.errors import (
    Overflow,
    ProviderError,
    ServerError,
    SessionNotFound,
    WrongConversation,
)
from ullage.events import (
    Amount,
    CallEnded,
    CallHeld,
    CallStarted,
    DraftPiece,
    Event,
    LimitLearnt,
    ReasoningRefused,
    RequestRepaired,
    SettingsChanged,
)
from ullage.messages import Request
from ullage.meter.following import Following
from ullage.meter.reading import Reading
from ullage.wire.asking import ask
from ullage.wire.call import Retries, held_post, stream
from ullage.wire.client import Post
from ullage.wire.discovery import limits
from ullage_agent.loop.steps import CallModel
from ullage_agent.runtime.answer_tool import is_about_format
from ullage_agent.runtime.compacting import note_refusal
from ullage_agent.runtime.drafting import drafting
from ullage_agent.runtime.hooks import AfterHooks, HookFailed, passed, passed_request
from ullage_agent.runtime.policy import DROP_WAIT_S, LONGEST_DROP_WAIT_S
from ullage_agent.runtime.session_runtime import BLOB_SOURCE, SessionRuntime, sources_of

log = logging.getLogger("ullage.agent")


async def call_model(runtime: SessionRuntime, step: CallModel) -> None:
    """Make one call. Errors of the provider become events; raises only errors of the store and of hooks.

    Cancelling is safe at any point: streamed text is stored as a draft, and the call stays open in the ledger until
    the driver settles it.
    """
    ledger = runtime.ledger
    if drops := ledger.loop.drops:
        await asyncio.sleep(min(LONGEST_DROP_WAIT_S, DROP_WAIT_S * 2 ** (drops - 1)))
    meter, settings = ledger.meter, runtime.settings
    request = meter.request(
        stream=settings.stream, messages=runtime.requests.messages(meter)
    )
    await load_media(runtime)
    reading = runtime.reading
    sent = await passed_request(runtime.shared.hooks, "before_call", request, reading)
    max_output = step.max_output or asked_output(runtime)
    options = dataclasses.replace(
        settings.options,
        media=runtime.media,
        max_output=max_output,
        compare_with=runtime.response_id,
    )
    call = f"call-{ledger.loop.seq + 1}"
    requests = runtime.replaced_requests if sent.by else runtime.requests
    started = _started(runtime, call, request, sent, options)
    # Pieces of a call of this name are left where the database lost the call's events.
    await ledger.write(started, ends_draft=call)
    answer: Answer | ProviderError
    try:
        answer = await _answer(runtime, sent.value, call, options, requests.history)
    except ProviderError as problem:
        answer = problem
    finally:
        repaired = requests.settle()
    await _record(runtime, call, answer, repaired, reading)


async def fetch_answer(runtime: SessionRuntime) -> None:
    """Fetch the answer of the open call, which the provider holds, and record it as if it had not been interrupted.

    Where it can't be had, or contradicts what was shown of it, ``lost_response`` names it and the call stays open.
    Raises and may be cancelled as ``call_model``.
    """
    ledger, settings = runtime.ledger, runtime.settings
    call, response, reading = ledger.loop.call, ledger.loop.response, runtime.reading
    request = ledger.meter.request(stream=settings.stream)
    shown = await ledger.store.read_draft(ledger.session, call=call)
    try:
        answer = await _answer(
            runtime, request, call, settings.options, History(), response, shown
        )
    except ProviderError as problem:
        log.warning("The answer of %s is asked for again: %s", call, problem)
        runtime.lost_response = response
    else:
        await _record(runtime, call, answer, (), reading)


async def cancel_response(runtime: SessionRuntime) -> None:
    """Have the provider stop at an answer that it goes on with; it costs until then. Failing is no error."""
    response = runtime.ledger.loop.response
    if not response:
        return
    with contextlib.suppress(ProviderError):
        post = Post(
            endpoint=runtime.endpoint(), path="", headers=JSON_HEADERS, content=b""
        )
        stop = held_post(post, response, "/cancel", method="POST")
        await ask(stop, runtime.shared.client)


async def _record(
    runtime: SessionRuntime,
    call: str,
    answer: Answer | ProviderError,
    repaired: tuple[str, ...],
    reading: Reading,
) -> None:
    """Record the end of a call. Raises ``HookFailed``."""
    ledger = runtime.ledger
    repairs: list[Event] = []
    if repaired:
        repairs.append(RequestRepaired(call=call, repairs=repaired))
    if isinstance(answer, ProviderError):
        if isinstance(answer, Overflow):
            note_refusal(runtime, answer)
        rows = [*repairs, *failed(call, answer, runtime.fold.model)]
        if _is_schema_refused(runtime, answer):
            rows.append(SettingsChanged(settings={"output_by": "tool"}))
        if isinstance(answer, WrongConversation):
            rows += reasoning_refused(runtime, call)
        await ledger.write(rows, ends_draft=call)
        return
    lost = reasoning_refused(runtime, call) if answer.unbound else []
    try:
        ends = await _ended(runtime, call, answer, reading)
    except HookFailed:
        await ledger.write([*repairs, *lost, *ended(call, answer)], ends_draft=call)
        raise
    await ledger.write([*repairs, *lost, *ends], ends_draft=call)
    if runtime.was_unloaded:
        runtime.asked_limits, runtime.was_unloaded = "", False


def _started(
    runtime: SessionRuntime,
    call: str,
    request: Request,
    sent: AfterHooks[Request],
    options: Options,
) -> list[Event]:
    """The start of a call with its reading; of a request that hooks have replaced, with the size of what is sent."""
    reading, meter = runtime.reading, runtime.ledger.meter
    begins = CallStarted(
        call=call,
        fingerprint=meter.fingerprint(),
        estimate=reading.used.amount,
        snapshot=reading.snapshot_id,
        stream=request.stream,
    )
    events = runtime.reading_events()
    if not sent.by:
        return [*events, *epoch_changed(runtime, request, options), begins]
    fold, made = runtime.fold, sent.value
    if made.tools == request.tools:
        made = replace(made, tools=fold.tools or ())
    changes = Following().take(fold, made, request.messages).events
    whole, earlier = after(fold, changes).forecast(), round(fold.fixed.replaced)
    sizes = (whole.tokens, whole.low, whole.high)
    tokens, low, high = (max(0, size - earlier) for size in sizes)
    begins = replace(
        begins,
        fingerprint=None,
        estimate=Amount(tokens=tokens, low=low, high=high),
        replaced_by=sent.by,
        added=whole.tokens - fold.forecast().tokens,
    )
    return [*events, begins]


async def _ended(
    runtime: SessionRuntime, call: str, answer: Answer, reading: Reading
) -> list[Event]:
    """The events for an answer, with the message that hooks put in the place of the model's. Raises ``HookFailed``."""
    given = await passed(runtime.shared.hooks, "after_call", answer, reading)
    if not given.by:
        return ended(call, answer)
    message = replace(
        given.value.message, id=answer.message.id, role="assistant", call=call
    )
    end, *added = ended(call, answer._replace(message=message))
    assert isinstance(end, CallEnded)
    return [replace(end, replaced_by=given.by), *added]


def _is_schema_refused(runtime: SessionRuntime, problem: ProviderError) -> bool:
    """Whether the endpoint refuses the field with the schema of the answer: the session asks by a tool then."""
    is_asked = runtime.output is not None and runtime.settings.output_by == "schema"
    return is_asked and is_about_format(problem)


def reasoning_refused(runtime: SessionRuntime, call: str) -> list[Event]:
    """The provider did not take reasoning that this session took to be valid; nothing where none was sent."""
    fold = runtime.fold
    if not fold.reasoning.tokens:
        return []
    return [ReasoningRefused(call=call, model=fold.model)]


def lacks_limits(runtime: SessionRuntime) -> bool:
    """Whether the model's window or largest output is unknown, and its endpoint has not been asked."""
    meter = runtime.ledger.meter
    is_known = (
        runtime.reading.window.tokens is not None and meter.limits.max_output is not None
    )
    return not is_known and runtime.asked_limits != runtime.fold.model


async def learn_limits(runtime: SessionRuntime) -> None:
    """Ask the endpoint for the model's limits, once for each model.

    The next call asks again after a cancel, and where the server had to load the model first.
    """
    model = runtime.fold.model
    found = None
    with contextlib.suppress(ProviderError):
        found = await limits(runtime.endpoint(), model, client=runtime.shared.client)
    runtime.asked_limits = model
    runtime.was_unloaded = found is not None and not found.is_loaded
    if found is None or (found.window is None and found.max_output is None):
        return
    learnt = LimitLearnt(
        model=model,
        source="provider",
        window=found.window,
        input_cap=found.input_cap,
        max_output=found.max_output,
    )
    await runtime.ledger.write([learnt])


def epoch_changed(
    runtime: SessionRuntime, request: Request, options: Options
) -> list[Event]:
    """A new epoch if the request does not extend the last one and no event has announced it.

    That happens when the policy, or the model's wire, leaves out reasoning that was sent before.
    """
    memory, meter = runtime.memory, runtime.ledger.meter
    if memory.started is None or memory.is_declared:
        return []
    earlier = None
    if runtime.requests.history.last is None:
        places = [message.id for message in meter.messages]
        if memory.newest_sent in places:
            sent = in_view(meter.messages[: places.index(memory.newest_sent) + 1])
            earlier = meter.request(stream=request.stream, messages=sent)
    try:
        endpoint = runtime.endpoint()
    except ProviderError:
        return []  # the call itself will fail with this error
    changes_earlier = runtime.requests.changes_earlier(
        request, endpoint, earlier, policy=meter.policy, options=options
    )
    return [runtime.new_epoch("reasoning")] if changes_earlier else []


def asked_output(runtime: SessionRuntime) -> int | None:
    """The largest output that a call asks for; ``None`` if it is not set and the wire does not require one."""
    meter, asked = runtime.ledger.meter, runtime.settings.max_output
    if asked is None:
        asked = default_output(runtime.fold.wire)
    most = meter.limits.max_output
    if asked is None or most is None:
        return asked
    return min(asked, most.tokens)


async def _answer(
    runtime: SessionRuntime,
    request: Request,
    call: str,
    options: Options,
    history: History,
    response: str = "",
    shown: Sequence[DraftPiece] = (),
) -> Answer:
    """The answer; one that breaks off is fetched where the provider holds it, as often as a call is tried."""
    runtime.usage_seen, runtime.waits_to_retry = None, False
    runtime.first_chunk_at, runtime.response_id = 0.0, ""
    ledger = runtime.ledger
    asked = request, call, options, history
    answer = await _stream(runtime, *asked, response, shown)
    for _ in range(runtime.settings.tries - 1):
        if answer.outcome != "dropped" or not answer.is_held:
            break
        response = ledger.loop.response
        shown = await ledger.store.read_draft(ledger.session, call=call)
        try:
            answer = await _stream(runtime, *asked, response, shown)
        except ProviderError:
            break
    return answer


async def _stream(
    runtime: SessionRuntime,
    request: Request,
    call: str,
    options: Options,
    history: History,
    response: str,
    shown: Sequence[DraftPiece],
) -> Answer:
    ledger, settings = runtime.ledger, runtime.settings
    endpoint = runtime.endpoint()
    waits = CallWaits(ledger.write, call, endpoint)

    async def pause(seconds: float) -> None:
        runtime.waits_to_retry = True
        await waits.pause(seconds)
        runtime.waits_to_retry = False

    slot = runtime.shared.slots.for_call(
        endpoint, request.model, settings.rates.per_minute
    )
    events = stream(
        request,
        endpoint,
        client=runtime.shared.client,
        message_id=f"{call}.answer",
        call=call,
        policy=ledger.meter.policy,
        options=options,
        retries=Retries(tries=settings.tries),
        on_retry=waits.note_retry,
        slot=None if response else slot,
        on_wait=waits.note_wait,
        sleep=pause,
        history=history,
        response=response,
    )
    after, at = ledger.loop.seq, ledger.at
    drafted = drafting(ledger.store, ledger.held, call, after=after, at=at, shown=shown)
    async with drafted as draft, contextlib.aclosing(events) as coming:
        async for event in coming:
            if isinstance(event, Answer):
                runtime.response_id = event.response_id
                return event
            if isinstance(event, ResponseHeld):
                if event.response != ledger.loop.response:
                    await ledger.write([CallHeld(call=call, response=event.response)])
                continue
            if request.stream and not runtime.first_chunk_at:
                runtime.first_chunk_at = runtime.shared.clock()
            if isinstance(event, UsageSeen):
                runtime.usage_seen = event.usage
            draft.put(event)
    raise ServerError("The call ended without an answer. Try again.")


async def load_media(runtime: SessionRuntime) -> None:
    """Load the bytes of images and files that are new in view. Missing bytes are sent as a note."""
    if runtime.wanted is None:
        runtime.wanted = [
            source
            for message in runtime.ledger.meter.messages
            for source in sources_of(message)
        ]
    while runtime.wanted:
        source = runtime.wanted[-1]
        if source not in runtime.media:
            handle = source.removeprefix(BLOB_SOURCE)
            with contextlib.suppress(
                SessionNotFound
            ):  # an imported session may name bytes that came with no file
                runtime.media[source] = await runtime.ledger.store.kept(
                    runtime.ledger.session, handle
                )
        runtime.wanted.pop()

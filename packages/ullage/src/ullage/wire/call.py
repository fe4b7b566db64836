"""One model call: repaired, encoded, sent, tried again where that is safe, decoded as it streams.

    async with Client() as client, aclosing(stream(request, endpoint, client=client)) as events:
        async for event in events:
            match event:
                case TextDelta(): print(event.text, end="")
                case Answer(): ...

An attempt is repeated only while it has given nothing: once a piece of an answer is out, the answer ends as it ends.
Cancelling is safe at any point and closes the connection; what was given before is the caller's.
"""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote

from msgspec.structs import replace

from ullage.codec.blocks import PLAIN, Encoded, Options
from ullage.codec.decode import decoder_for
from ullage.codec.draft import shortened
from ullage.codec.foreign import as_wire_json, to_raw
from ullage.codec.history import History, encode_compaction
from ullage.codec.problems import problem_in_body
from ullage.codec.repair import EVERYTHING, Repaired
from ullage.codec.stream import (
    Answer,
    CallDelta,
    PartDone,
    ResponseHeld,
    StreamEvent,
    StreamFailed,
    UsageSeen,
)
from ullage.codec.wires import wire_named
from ullage.envelope import EMPTY_EVENTS, LOADING_S
from ullage.errors import (
    LimitExceeded,
    ModelLoading,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerError,
    Unreachable,
    WrongConversation,
)
from ullage.messages import Part, Request, ToolCallPart
from ullage.reasoning import ReasoningPolicy
from ullage.usage import Usage
from ullage.wire.client import Client, Incoming, Post
from ullage.wire.endpoints import Endpoint
from ullage.wire.provider_calls import provider_attempt, with_options

LARGE: Final = 256 * 1024
"""Bytes from which on an event or a body is read in a thread, so that other tasks go on running."""
LONGER_S: Final = 5.0
"""Seconds by which a wait must be longer than was told before it is told again."""
KEPT_EARLY: Final = 16
"""Reports of usage that are held back until the answer begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a call is tried. Waits double from ``first_s`` to ``longest_s`` and vary by a quarter.

    A wait that the provider asks for is kept up to ``patience_s``; one that asks for more is not tried again.
    """

    tries: int = 4
    first_s: float = 0.5
    longest_s: float = 30.0
    patience_s: float = 120.0
    loading_s: float = LOADING_S
    """How long a server that is loading its model is waited for, beside the ``tries``."""


class Loading:
    """The waits for a server that loads its model: each longer than the last, ``most_s`` seconds in all."""

    def __init__(self, most_s: float) -> None:
        self._left_s = most_s
        self._wait_s = 1.0

    def next_wait(self) -> float | None:
        """Seconds until the server is asked again; ``None`` when it was waited for long enough."""
        wait = min(self._wait_s, self._left_s)
        self._wait_s = min(10.0, self._wait_s * 1.5)
        self._left_s -= wait
        return wait if wait > 0 else None


class Retrying(NamedTuple):
    """An attempt failed before it gave anything; the next one begins in ``wait_s`` seconds."""

    attempt: int
    wait_s: float
    error: ProviderError


class SlotWait(NamedTuple):
    """A call may be sent in ``sent_s`` seconds, as far as is known; it asks again in ``ask_s``, which is no more."""

    sent_s: float
    ask_s: float


class CallSlot(Protocol):
    """The place of one call within the provider's rate limits."""

    async def wait(self) -> SlotWait:
        """How long the call waits; 0: it may be sent now. Raises ``RateLimited`` where it would wait too long."""
        ...

    def heard(self, status: int, headers: Mapping[str, str]) -> None:
        """See ``wire.client.Heard``."""
        ...

    async def refused(self, wait_s: float) -> None:
        """The provider refused the call and asks to wait so long. To be sent again it needs a new place: ``wait``."""
        ...

    async def give_back(self) -> None:
        """The call is not sent. Completes although its caller is cancelled."""
        ...

    def ended(self, usage: Usage | None) -> None:
        """The call has its answer."""
        ...


class Prepared(NamedTuple):
    """A request that is ready to go out: what had to be repaired, its encoded form, and the bytes."""

    request: Request
    repaired: Repaired
    encoded: Encoded
    post: Post


def prepare(
    request: Request,
    endpoint: Endpoint,
    *,
    policy: ReasoningPolicy = EVERYTHING,
    options: Options = PLAIN,
    history: History | None = None,
    body: Mapping[str, Any] | None = None,
    response: str = "",
) -> Prepared:
    """The request as ``endpoint`` gets it. Its body is made once and sent again as it is. Raises ``InvalidRequest``.

    With the ``history`` of its session it costs what was added since the last request. A ``body`` that is ready on the
    endpoint's wire goes out in the place of the encoded one. Of a ``response`` that the provider holds, only what it
    answers is asked for.
    """
    request = addressed(request, endpoint)
    history = History() if history is None else history
    repaired, encoded, content = history.prepare(request, policy=policy, options=options)
    if options.compaction is not None:
        encoded = encode_compaction(request, encoded, options.compaction)
        content = encoded.content
    if body is not None:
        content = _content_of(body, encoded)
    post = Post(
        endpoint=endpoint,
        path=encoded.path,
        headers=encoded.headers,
        content=content,
        model=request.model,
        stream=request.stream,
    )
    if response:
        post = held_post(post, response, "?stream=true" if request.stream else "")
    return Prepared(request, repaired, encoded, post)


def _content_of(body: Mapping[str, Any], encoded: Encoded) -> bytes:
    """The bytes of a ready body, which names the model only where the encoded request does so in its body."""
    named = dict(body)
    if "model" not in encoded.body:
        named.pop("model", None)
    return bytes(to_raw(as_wire_json(named)))


def addressed(request: Request, endpoint: Endpoint) -> Request:
    """The request with the wire and the provider of the endpoint it goes to."""
    provider = endpoint.provider or request.provider
    if (request.wire, request.provider) == (endpoint.wire, provider):
        return request
    return replace(request, wire=endpoint.wire, provider=provider)


async def stream(
    request: Request,
    endpoint: Endpoint,
    *,
    client: Client,
    message_id: str = "answer",
    call: str | None = None,
    policy: ReasoningPolicy = EVERYTHING,
    options: Options = PLAIN,
    retries: Retries = Retries(),
    history: History | None = None,
    body: Mapping[str, Any] | None = None,
    on_retry: Callable[[Retrying], None] | None = None,
    slot: CallSlot | None = None,
    on_wait: Callable[[float], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    response: str = "",
) -> AsyncGenerator[StreamEvent | Answer, None]:
    """One model call as it comes; the last thing given is the ``Answer``.

    ``request.stream`` says whether the provider is asked to stream; without it only the answer comes. Raises
    ``ProviderError`` for a call that gave nothing: refused, never answered, or failed before its first piece. A stream
    that breaks later ends with an answer that is ``dropped`` and holds what came; one that reports an error after it
    has begun, with an answer that is ``failed``.
    A loop hands in its ``history``: then a request costs what was added since the last one. A ready ``body`` is that of
    a request that does not stream. With a ``slot`` it waits for its place within the rate limits before it is sent, and
    ``on_wait`` is told for how many seconds; too long a wait raises ``RateLimited``, and a store that can't give it a
    place ``StoreUnavailable``.
    With a ``response`` that the provider holds nothing is asked for: it is handed out again, from its beginning. OpenAI
    streams one for five minutes (https://github.com/openai/openai-python/issues/2828); later it is fetched whole.
    Use ``contextlib.aclosing`` to leave early: only then is the connection closed at once.
    """
    options = _eased_before(options, client, endpoint.base_url)
    how: dict[str, Any] = {"policy": policy, "history": history, "body": body}
    how["response"] = response
    prepared = prepare(request, endpoint, options=options, **how)
    if client.on_call is not None:
        client.on_call(with_options(prepared.repaired.request, options))
    attempt = 0
    loading = Loading(retries.loading_s)
    while True:
        if slot is not None:
            await _wait_for(slot, on_wait, sleep)
        attempt += 1
        emitted = False
        try:
            async with aclosing(
                _attempt(prepared, client, message_id, call, options, slot)
            ) as events:
                async for event in events:
                    if isinstance(event, Answer):
                        if not emitted and _is_lost(event):
                            raise event.error or Unreachable(
                                f"{_where(prepared)} ended its answer before it began. Try again."
                            )
                        if slot is not None:
                            slot.ended(event.usage)
                        yield event
                        return
                    emitted = emitted or not isinstance(event, ResponseHeld)
                    yield event
            raise ServerError(f"{_where(prepared)} gave no answer. Try again.")
        except RequestRejected as rejected:
            is_old = request.stream and bool(response)
            eased = options if is_old else _eased(options, rejected, client, endpoint)
            if emitted or eased is None:
                raise
            request = replace(request, stream=request.stream and not is_old)
            options, attempt = eased, attempt - 1
            prepared = prepare(request, endpoint, options=options, **how)
            continue
        except ProviderError as problem:
            wait = None
            if not emitted and isinstance(problem, ModelLoading):
                wait = loading.next_wait()
                attempt -= 1
            elif not emitted:
                wait = _wait_before(attempt, problem, retries)
            refused = slot if isinstance(problem, RateLimited) else None
            if refused is not None:
                wait = await _wait_after_refusal(refused, wait, problem, retries)
            if wait is None:
                raise
            if on_retry is not None:
                on_retry(Retrying(max(1, attempt), wait, problem))
        await (sleep(wait) if refused is None else _wait_for(refused, None, sleep))


def held_post(post: Post, response: str, then: str = "", *, method: str = "GET") -> Post:
    """A request about a response that the provider holds."""
    name = quote(response, safe="")  # a server has named it
    path = f"{wire_named(post.endpoint.wire).held_path}{name}{then}"
    content = b"" if method == "GET" else b"{}"
    return dataclasses.replace(post, path=path, method=method, content=content)


async def _wait_for(
    slot: CallSlot,
    on_wait: Callable[[float], None] | None,
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Return when the call may be sent. Tells ``on_wait`` once, and again when it takes longer than was told."""
    waited_s = told_s = 0.0
    while (wait := await _wait_of(slot)).sent_s > 0:
        if on_wait is not None and waited_s + wait.sent_s > told_s + LONGER_S:
            on_wait(wait.sent_s)
            told_s = waited_s + wait.sent_s
        try:
            await sleep(wait.ask_s)
        except BaseException:
            await slot.give_back()
            raise
        waited_s += wait.ask_s


async def _wait_of(slot: CallSlot) -> SlotWait:
    """What the slot says; its place is given back where it says nothing."""
    try:
        return await slot.wait()
    except BaseException:
        await slot.give_back()
        raise


async def _wait_after_refusal(
    slot: CallSlot, wait_s: float | None, problem: ProviderError, retries: Retries
) -> float | None:
    """Have all calls of the key wait. Seconds until this one may be sent again; ``None`` if it is not."""
    asked_s = wait_s if wait_s is not None else problem.retry_after_s
    blocked_s = retries.first_s if asked_s is None else min(asked_s, retries.patience_s)
    await slot.refused(blocked_s)
    return None if wait_s is None else (await _wait_of(slot)).sent_s


async def ask(request: Request, endpoint: Endpoint, **how: Any) -> Answer:
    """The answer of one call, whole. Takes what ``stream`` takes, and raises what it raises."""
    async with aclosing(stream(request, endpoint, **how)) as events:
        async for event in events:
            if isinstance(event, Answer):
                return event
    raise ServerError("The call ended without an answer. Try again.")


async def _attempt(
    prepared: Prepared,
    client: Client,
    message_id: str,
    call: str | None,
    options: Options,
    slot: CallSlot | None,
) -> AsyncGenerator[StreamEvent | Answer, None]:
    """One attempt. What it reports of usage is held back until it gives something, so that a repeat leaves no trace."""
    own, max_output = prepared.repaired.names, options.max_output
    if (source := prepared.post.endpoint.source) is not None:
        answering = provider_attempt(
            source,
            prepared.repaired.request,
            options,
            message_id=message_id,
            call=call,
            timeouts=client.timeouts,
        )
        async with aclosing(answering) as pieces:
            async for piece in pieces:
                if isinstance(piece, Answer):
                    yield _renamed_answer(_within_limits(piece), own)
                elif prepared.request.stream:
                    yield _renamed(piece, own)
        return
    heard = None if slot is None else slot.heard
    async with client.send(prepared.post, heard) as incoming:
        if not prepared.request.stream or not incoming.is_stream:
            yield _renamed_answer(
                await _whole(prepared, incoming, message_id, call, max_output), own
            )
            return
        decoder = decoder_for(
            prepared.request, message_id=message_id, call=call, max_output=max_output
        )
        held: list[StreamEvent] = []
        emitted = False
        empty = 0
        tally = decoder.draft.tally
        broken: ProviderError | None = None
        async with aclosing(incoming.events()) as events:
            try:
                async for event in events:
                    if len(event.data) < LARGE:
                        outs = decoder.feed(event)
                    else:
                        outs = await asyncio.to_thread(decoder.feed, event)
                    empty = 0 if outs else empty + 1
                    for out in outs:
                        if not emitted and isinstance(out, UsageSeen | StreamFailed):
                            held = [*held, out][-KEPT_EARLY:]
                            continue
                        if not (emitted or isinstance(out, ResponseHeld)):
                            emitted = True
                            for early in held:
                                yield early
                        yield _renamed(out, own) if own else out
                    if decoder.is_done or tally.broken is not None:
                        break
                    if empty > EMPTY_EVENTS:
                        raise _says_nothing(prepared)
            except ProviderError as problem:
                broken = problem
        answer = decoder.finish(
            broken is None and (decoder.is_done or incoming.reader.is_whole)
        )
        if broken is not None and answer.error is None and answer.outcome != "finished":
            answer = answer._replace(error=broken)
        answer = _within_limits(answer)
        if not emitted and not _is_lost(answer):
            for early in held:
                yield early
        if decoder.is_done:
            await incoming.drain()
        yield _renamed_answer(answer, own)


async def _whole(
    prepared: Prepared,
    incoming: Incoming,
    message_id: str,
    call: str | None,
    max_output: int | None,
) -> Answer:
    body = await incoming.body()
    if body[:100].lstrip()[:1] not in (b"{", b"["):
        kind = incoming.content_type or "something"
        raise problem_in_body(_where(prepared), body, kind)
    decoder = decoder_for(
        prepared.request, message_id=message_id, call=call, max_output=max_output
    )
    if len(body) < LARGE:
        answer = decoder.read(body)
    else:
        answer = await asyncio.to_thread(decoder.read, body)
    return _within_limits(answer)


def _within_limits(answer: Answer) -> Answer:
    if isinstance(answer.error, LimitExceeded):
        return answer._replace(message=shortened(answer.message))
    return answer


def _says_nothing(prepared: Prepared) -> LimitExceeded:
    return LimitExceeded(
        f"{_where(prepared)} sent {EMPTY_EVENTS:,} events in a row that say nothing, so the answer was stopped. "
        "Check the server.",
        limit="EMPTY_EVENTS",
    )


def _where(prepared: Prepared) -> str:
    return prepared.post.endpoint.provider or prepared.post.endpoint.base_url


def _is_lost(answer: Answer) -> bool:
    """Whether an answer is none: it holds nothing, did not come to its end, and the provider does not go on with it."""
    if answer.outcome == "dropped" and answer.is_held:
        return False
    return answer.outcome != "finished" and not answer.message.parts


def _wait_before(attempt: int, problem: ProviderError, retries: Retries) -> float | None:
    """Seconds until the next attempt; ``None`` when there is none."""
    if not problem.may_retry or attempt >= retries.tries:
        return None
    asked_s = problem.retry_after_s
    if asked_s is not None:
        return asked_s if asked_s <= retries.patience_s else None
    wait: float = min(retries.longest_s, retries.first_s * 2.0 ** (attempt - 1))
    return wait * (0.75 + random.random() / 2)


def _eased_before(options: Options, client: Client, address: str) -> Options:
    """The options without the fields that this server has refused before."""
    if address in client.without_usage:
        options = dataclasses.replace(options, include_usage=False)
    if address in client.without_binding:
        options = dataclasses.replace(options, drops_unbound=False)
    if address in client.without_diagnostics:
        options = dataclasses.replace(options, compare_with=None)
    return options


def _eased(
    options: Options, rejected: RequestRejected, client: Client, endpoint: Endpoint
) -> Options | None:
    """The options without the field that this server does not know; ``None`` if that is not why it refused."""
    said = f"{rejected.said} {rejected}".lower()
    if options.include_usage and any(name in said for name in _USAGE_FIELDS):
        client.without_usage.add(endpoint.base_url)
        return dataclasses.replace(options, include_usage=False)
    is_binding = not isinstance(rejected, WrongConversation)
    is_binding = is_binding and any(name in said for name in _BINDING_NAMES)
    if options.drops_unbound and is_binding:
        client.without_binding.add(endpoint.base_url)
        return dataclasses.replace(options, drops_unbound=False)
    is_told = any(name in said for name in _DIAGNOSTICS)
    if options.compare_with is not None and is_told:
        client.without_diagnostics.add(endpoint.base_url)
        return dataclasses.replace(options, compare_with=None)
    return None


_DIAGNOSTICS: Final = ("diagnostics", "prompt_cache_options", "comparison_response")
"""How a server names the fields that ask why its cache was not read."""


_USAGE_FIELDS: Final = ("stream_options", "include_usage")
"""How a server names the field that asks a Chat stream for its usage."""

_BINDING_NAMES: Final = ("block_binding", "thinking-binding-controls")
"""The field, and the beta, that has Claude drop what it would refuse."""


def _renamed(event: StreamEvent, own: Mapping[str, str]) -> StreamEvent:
    if isinstance(event, CallDelta):
        return event._replace(name=own.get(event.name, event.name))
    return PartDone(_own_part(event.part, own)) if isinstance(event, PartDone) else event


def _own_part(part: Part, own: Mapping[str, str]) -> Part:
    if not isinstance(part, ToolCallPart):
        return part
    return replace(part, name=own.get(part.name, part.name))


def _renamed_answer(answer: Answer, own: Mapping[str, str]) -> Answer:
    """The answer with our own names of tools that were sent under others."""
    if not own:
        return answer
    parts = tuple(_own_part(part, own) for part in answer.message.parts)
    return answer._replace(message=replace(answer.message, parts=parts))

"""One attempt of a call by a ``Provider`` of the program, in the place of a request over HTTP."""

from __future__ import annotations

import asyncio
import base64
import inspect
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final

from msgspec.structs import replace

from ullage.codec.blocks import Options
from ullage.codec.pieces import PieceReader
from ullage.codec.stream import Answer, StreamEvent
from ullage.errors import (
    LimitExceeded,
    NoAnswer,
    ProviderError,
    Unreachable,
    WrongType,
)
from ullage.messages import FilePart, ImagePart, Part, Request, ToolResultPart
from ullage.provider import AnswerPiece, Provider
from ullage.wire.client import Timeouts

_OPTIONS: Final = ("max_output", "temperature", "effort", "thinking_budget")
"""Settings of a call that a provider finds among the request's ``params``."""


async def provider_attempt(
    provider: Provider,
    request: Request,
    options: Options,
    *,
    message_id: str,
    call: str | None,
    timeouts: Timeouts,
) -> AsyncGenerator[StreamEvent | Answer, None]:
    """The answer to a repaired request as it comes; the last thing given is the ``Answer``.

    Raises ``ProviderError`` before the first piece, ``WrongType`` for what no provider may yield, and whatever else
    the provider raises.
    """
    reader = PieceReader(
        request, message_id=message_id, call=call, max_output=options.max_output
    )
    pieces = provider.stream(with_options(request, options))
    if not isinstance(pieces, AsyncIterator):
        if inspect.iscoroutine(pieces):
            pieces.close()
        raise WrongType(
            f"{type(provider).__name__}.stream gave {type(pieces).__name__}. Make it an async generator: `async def "
            "stream(self, request)` with `yield` in it."
        )
    problem: ProviderError | None = None
    async with aclosing(_in_time(pieces, request.provider, timeouts)) as coming:
        try:
            async for piece in coming:
                for event in reader.feed(piece):
                    yield event
                if reader.draft.tally.broken is not None:
                    break
        except ProviderError as raised:
            if not reader.draft.parts:
                raise
            problem = raised
    if problem is None:
        for event in reader.end():
            yield event
    yield reader.answer(problem)


async def _in_time(
    pieces: AsyncIterator[AnswerPiece], who: str, timeouts: Timeouts
) -> AsyncGenerator[AnswerPiece, None]:
    """The pieces, within the limits of time of an answer. Raises ``ProviderError`` for one that takes too long."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + timeouts.call_s
    wait_s, has_begun = timeouts.first_byte_s, False
    try:
        while True:
            limit = asyncio.timeout(wait_s)
            try:
                async with limit:
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            except TimeoutError as problem:
                if not limit.expired():
                    raise  # the provider's own
                if has_begun:
                    raise Unreachable(
                        f"{who} sent nothing for {wait_s:g} s in the middle of its answer. Try again."
                    ) from problem
                raise NoAnswer(
                    f"{who} did not begin to answer in {wait_s:g} s. It may be charged. Try again, or set a longer "
                    "timeout."
                ) from problem
            yield piece
            wait_s, has_begun = timeouts.between_s, True
            if loop.time() > ends:
                raise LimitExceeded(
                    f"{who} was still answering after {timeouts.call_s:g} s, so the answer was stopped. Ask for less "
                    "at once, or set timeout higher.",
                    limit="call_s",
                )
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


def with_options(request: Request, options: Options) -> Request:
    """The request with the call's settings among ``params`` and the bytes of media in their parts."""
    params = dict(request.params)
    for name in _OPTIONS:
        if (value := getattr(options, name)) is not None:
            params[name] = value
    messages = request.messages
    if options.media:
        messages = tuple(
            replace(
                message, parts=tuple(_inline(part, options) for part in message.parts)
            )
            for message in messages
        )
    return replace(request, params=params, messages=messages)


def _inline(part: Part, options: Options) -> Part:
    if isinstance(part, ToolResultPart):
        content = tuple(_inline(one, options) for one in part.content)
        return replace(part, content=content)
    if not isinstance(part, ImagePart | FilePart) or part.source not in options.media:
        return part
    encoded = base64.b64encode(options.media[part.source]).decode()
    return replace(part, source=f"data:{part.mime};base64,{encoded}")

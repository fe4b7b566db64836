"""The HTTP client under an SDK: its ``send`` passes calls to ``SdkCalls``, and the answer's bytes on as they come.

Of ``httpx`` and ``httpx2``, sync and async, only public names are used: ``Client.send``, ``Request``, ``Response`` and
the byte streams. Neither is imported here: the client's own classes lead to its package.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final

from ullage.bounds import ANSWER_AT_MOST
from ullage.events import Outcome
from ullage.plugins.sdk_calls import (
    NAME_HEADER,
    READ_WHILE_PASSING,
    SdkAnswer,
    SdkCall,
    SdkCalls,
    SentRequest,
    is_followed,
)

_STREAMED: Final = ":streamGenerateContent"
PACKAGES: Final = ("httpx", "httpx2")

SdkSend = Callable[..., Any]
AsyncSdkSend = Callable[..., Awaitable[Any]]


def package_of(client: object) -> str:
    """``httpx`` or ``httpx2`` for a client of it; empty for anything else."""
    for kind in type(client).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in PACKAGES and kind.__name__ in ("Client", "AsyncClient"):
            return root
    return ""


def is_async(client: object) -> bool:
    """Whether its ``send`` is to be awaited."""
    return any(kind.__name__ == "AsyncClient" for kind in type(client).__mro__)


def sending(calls: SdkCalls, send: SdkSend, package: str) -> SdkSend:
    """``Client.send`` with calls of a model followed."""

    def followed_send(request: Any, **options: Any) -> Any:
        call = _begun(calls, request)
        if call is None:
            return send(request, **options)
        try:
            if call.compactor is not None:
                call.conversation.lend(_summariser(calls, call, request, send, options))
            request = _fitted(calls, call, request)
            response = send(request, **options)
            if response.status_code >= 400:
                response.read()
                problem = calls.overflow(call, _whole(response))
                again = None
                if problem is not None and call.compactor is not None:
                    with calls.fitting():
                        fitted = call.compactor.recover_sync(problem)
                        again = calls.fitted(call, fitted)
                if again is not None:
                    response = send(_with_content(request, again), **options)
        except BaseException as error:
            calls.end(call, SdkAnswer(outcome=_outcome_of(error)))
            raise
        return _followed(calls, call, response, package)

    return followed_send


def _fitted(calls: SdkCalls, call: SdkCall, request: Any) -> Any:
    if call.compactor is None:
        return request
    content = None
    with calls.fitting():
        fitted = call.compactor.fit_sync(
            calls.to_fit(call), wire=call.wire, provider=call.provider
        )
        content = calls.fitted(call, fitted)
    return request if content is None else _with_content(request, content)


def sending_async(calls: SdkCalls, send: AsyncSdkSend, package: str) -> AsyncSdkSend:
    """``AsyncClient.send`` with calls of a model followed."""

    async def followed_send(request: Any, **options: Any) -> Any:
        call = _begun(calls, request)
        if call is None:
            return await send(request, **options)
        try:
            if call.compactor is not None:
                lent = _async_summariser(calls, call, request, send, options)
                call.conversation.lend(lent)
            request = await _fitted_async(calls, call, request)
            response = await send(request, **options)
            if response.status_code >= 400:
                await response.aread()
                problem = calls.overflow(call, _whole(response))
                again = None
                if problem is not None and call.compactor is not None:
                    with calls.fitting():
                        fitted = await call.compactor.recover(problem)
                        again = calls.fitted(call, fitted)
                if again is not None:
                    response = await send(_with_content(request, again), **options)
        except BaseException as error:
            calls.end(call, SdkAnswer(outcome=_outcome_of(error)))
            raise
        return _followed(calls, call, response, package)

    return followed_send


async def _fitted_async(calls: SdkCalls, call: SdkCall, request: Any) -> Any:
    if call.compactor is None:
        return request
    content = None
    with calls.fitting():
        fitted = await call.compactor.fit(
            calls.to_fit(call), wire=call.wire, provider=call.provider
        )
        content = calls.fitted(call, fitted)
    return request if content is None else _with_content(request, content)


def _summariser(
    calls: SdkCalls, call: SdkCall, request: Any, send: SdkSend, options: dict[str, Any]
) -> Callable[[dict[str, Any]], object]:
    """A function that sends a body where the call goes, with its key, and gives the answer's JSON."""

    def summarise(body: dict[str, Any]) -> object:
        asked = _summary_request(request, calls.summary_content(call, body))
        response = send(asked, **{**options, "stream": False})
        if response.status_code >= 400:
            raise calls.problem(call, _whole(response))
        return response.json()

    return summarise


def _async_summariser(
    calls: SdkCalls,
    call: SdkCall,
    request: Any,
    send: AsyncSdkSend,
    options: dict[str, Any],
) -> Callable[[dict[str, Any]], Awaitable[object]]:
    async def summarise(body: dict[str, Any]) -> object:
        asked = _summary_request(request, calls.summary_content(call, body))
        response = await send(asked, **{**options, "stream": False})
        if response.status_code >= 400:
            raise calls.problem(call, _whole(response))
        return response.json()

    return summarise


def _summary_request(request: Any, content: bytes) -> Any:
    """The request with another body, and not streaming: Gemini has that in the address."""
    asked = _with_content(request, content)
    url = request.url
    if url.path.endswith(_STREAMED):
        path = url.path.removesuffix(_STREAMED) + ":generateContent"
        asked.url = url.copy_with(path=path, query=None)
    return asked


def _begun(calls: SdkCalls, request: Any) -> SdkCall | None:
    if not is_followed(request.method, request.url.path):
        return None
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        content = request.content
    except RuntimeError:
        return None  # a body that is sent while it is made: no SDK does so for a call
    sent = SentRequest(
        method=request.method,
        host=request.url.host,
        path=request.url.path,
        headers=headers,
        content=content,
    )
    call = calls.begin(sent)
    request.headers.pop(NAME_HEADER, None)
    if call is not None:
        request.headers["accept-encoding"] = READ_WHILE_PASSING
    return call


def _with_content(request: Any, content: bytes) -> Any:
    """The request with another body."""
    headers = request.headers.copy()
    headers.pop("content-encoding", None)
    headers["content-length"] = str(len(content))
    return type(request)(
        request.method,
        request.url,
        headers=headers,
        content=content,
        extensions=request.extensions,
    )


def _whole(response: Any) -> SdkAnswer:
    """An answer that was read, which is unpacked then."""
    headers = _headers_of(response)
    headers.pop("content-encoding", None)
    return SdkAnswer(response.status_code, headers, response.content)


def _headers_of(response: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _outcome_of(error: BaseException) -> Outcome:
    is_cancelled = isinstance(
        error, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt
    )
    return "cancelled" if is_cancelled else "failed"


def _followed(calls: SdkCalls, call: SdkCall, response: Any, package: str) -> Any:
    """The response, of whose bytes a copy is kept until its end if it was not read yet."""
    if response.is_closed:
        calls.end(call, _whole(response))
        return response
    copy = _AnswerCopy(calls, call, response)
    response.stream = _tee(package, response.stream, copy)
    return response


class _AnswerCopy:
    """The bytes of an answer that is read by someone else, as far as they have come."""

    def __init__(self, calls: SdkCalls, call: SdkCall, response: Any) -> None:
        self._calls = calls
        self._call = call
        self._status = response.status_code
        self._headers = _headers_of(response)
        self._pieces: list[bytes] = []
        self._size = 0
        call.cut = self.cut

    def take(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= ANSWER_AT_MOST:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def end(self, outcome: Outcome) -> None:
        if self._call.is_over:
            return
        payload = b"".join(self._pieces)
        self._pieces.clear()
        is_too_long = self._size > ANSWER_AT_MOST
        answer = SdkAnswer(self._status, self._headers, payload, outcome, is_too_long)
        self._calls.end(self._call, answer)

    def cut(self) -> None:
        """No more comes of it, or nobody reads it. What was complete by then is finished all the same."""
        self.end("cancelled")

    def __del__(self) -> None:
        if not self._call.is_over:
            self._calls.abandon(self._call)


def _tee(package: str, stream: Any, copy: _AnswerCopy) -> Any:
    """The stream, each piece of which is copied on its way."""
    library = sys.modules[package]

    class FollowedStream(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[name-defined, misc]
        def __iter__(self) -> Iterator[bytes]:
            try:
                for piece in stream:
                    copy.take(piece)
                    yield piece
            except BaseException as error:
                copy.end(_outcome_of(error))
                raise
            copy.end("finished")

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for piece in stream:
                    copy.take(piece)
                    yield piece
            except BaseException as error:
                copy.end(_outcome_of(error))
                raise
            copy.end("finished")

        def close(self) -> None:
            copy.cut()
            stream.close()

        async def aclose(self) -> None:
            copy.cut()
            await stream.aclose()

    return FollowedStream()

"""The HTTP client under an SDK: its ``send`` passes calls to ``SdkCalls``, and the answer's bytes on as they come.

Of ``httpx`` and ``httpx2``, sync and async, only public names are used: ``Client.send``, ``Request``, ``Response`` and
the byte streams. Neither is imported here: the client's own classes lead to its package.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from ullage.bounds import ANSWER_AT_MOST
from ullage.compactor.summaries import Summariser
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
    client = _FollowedClient(calls=calls, sends=send, package=package, is_async=False)
    return lambda request, **options: _run(client.send(request, options))


def sending_async(calls: SdkCalls, send: SdkSend, package: str) -> SdkSend:
    """``AsyncClient.send`` with calls of a model followed."""
    client = _FollowedClient(calls=calls, sends=send, package=package, is_async=True)
    return lambda request, **options: client.send(request, options)


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a synchronous client has waited")


@dataclass(frozen=True, slots=True, kw_only=True)
class _FollowedClient:
    """A client of either kind: one way through a call, in which a synchronous one never waits."""

    calls: SdkCalls
    sends: SdkSend
    package: str
    is_async: bool

    async def _result(self, result: Any) -> Any:
        return await result if self.is_async else result

    async def send(self, request: Any, options: dict[str, Any]) -> Any:
        """The response for the program."""
        call = _begun(self.calls, request)
        if call is None:
            return await self._result(self.sends(request, **options))
        try:
            response = await self._answer(call, request, options)
        except BaseException as error:
            self.calls.end(call, SdkAnswer(outcome=_outcome_of(error)))
            raise
        return _followed(self.calls, call, response, self.package)

    async def _answer(self, call: SdkCall, request: Any, options: dict[str, Any]) -> Any:
        compactor = call.compactor
        if compactor is None:
            return await self._result(self.sends(request, **options))
        call.conversation.lend(self._summariser(call, request, options))
        fit = compactor.fit if self.is_async else compactor.fit_sync
        content = None
        with self.calls.fitting():
            body = self.calls.to_fit(call)
            fitted = await self._result(fit(body, wire=call.wire, provider=call.provider))
            content = self.calls.fitted(call, fitted)
        if content is not None:
            request = _with_content(request, content)
        response = await self._result(self.sends(request, **options))
        if response.status_code < 400:
            return response
        await self._result(response.aread() if self.is_async else response.read())
        problem = self.calls.overflow(call, _whole(response))
        if problem is None:
            return response
        recover = compactor.recover if self.is_async else compactor.recover_sync
        again = None
        with self.calls.fitting():
            again = self.calls.fitted(call, await self._result(recover(problem)))
        if again is None:
            return response
        return await self._result(self.sends(_with_content(request, again), **options))

    def _summariser(
        self, call: SdkCall, request: Any, options: dict[str, Any]
    ) -> Summariser:
        """A function that sends a body where the call goes, with its key, and gives the answer's JSON."""

        async def summarise(body: dict[str, Any]) -> object:
            asked = _summary_request(request, self.calls.summary_content(call, body))
            sent = self.sends(asked, **{**options, "stream": False})
            response = await self._result(sent)
            if response.status_code >= 400:
                raise self.calls.problem(call, _whole(response))
            return response.json()

        return summarise if self.is_async else lambda body: _run(summarise(body))


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

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Around the reading of all of it."""
        try:
            yield
        except BaseException as error:
            self.end(_outcome_of(error))
            raise
        self.end("finished")

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
            with copy.whole():
                for piece in stream:
                    copy.take(piece)
                    yield piece

        async def __aiter__(self) -> AsyncIterator[bytes]:
            with copy.whole():
                async for piece in stream:
                    copy.take(piece)
                    yield piece

        def close(self) -> None:
            copy.cut()
            stream.close()

        async def aclose(self) -> None:
            copy.cut()
            await stream.aclose()

    return FollowedStream()

"""The HTTP client: one request out, bytes in, connections reused. Knows status codes and nothing of their meaning.

Closing is prompt: leaving the block of ``Client.send``, by an exception or a cancelled task too, closes a connection
whose answer was not read to its end.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import httpx2

from ullage.codec.problems import read_problem, strike_keys
from ullage.codec.stream import ServerEvent
from ullage.errors import NoAnswer, SettingError, Unreachable
from ullage.wire.endpoints import Endpoint
from ullage.wire.sse import EventReader

USER_AGENT: Final = "ullage"
DRAIN_S: Final = 0.05  # seconds to wait for the last bytes of an answer that is over, so that the connection is kept
_LONGEST_PROBLEM: Final = 200_000  # bytes of an error's body that are read


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds. ``first_byte_s`` is until the answer begins, ``between_s`` the longest silence inside it.

    Ten minutes for the first byte is what the official SDKs wait for a whole answer.
    """

    connect_s: float = 10.0
    first_byte_s: float = 600.0
    between_s: float = 180.0
    write_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One request as it goes out, but for the key, which the endpoint adds when it is sent."""

    endpoint: Endpoint
    path: str
    headers: Mapping[str, str]
    content: bytes = field(repr=False)
    model: str = ""
    stream: bool = False
    method: str = "POST"

    @property
    def url(self) -> str:
        return self.endpoint.base_url + self.path


class Incoming:
    """An answer that has begun well. To be read once, inside the block that gave it."""

    def __init__(self, response: httpx2.Response, post: Post, between_s: float) -> None:
        self._response = response
        self._post = post
        self._between_s = between_s
        self._pieces = _pieces(response)
        self.reader = EventReader()

    @property
    def is_stream(self) -> bool:
        """Whether the server answers with events; one that was asked to stream may answer whole all the same."""
        return "text/event-stream" in self._response.headers.get("content-type", "")

    @property
    def content_type(self) -> str:
        return str(self._response.headers.get("content-type", ""))

    async def events(self) -> AsyncGenerator[ServerEvent, None]:
        """The events, each as soon as it is whole. Raises ``Unreachable`` when the connection breaks or goes silent."""
        reader = self.reader
        try:
            async for piece in self._pieces:
                for event in reader.feed(piece):
                    yield event
        except (httpx2.HTTPError, httpx2.StreamError) as problem:
            raise self._broken(problem) from problem
        for event in reader.close():
            yield event

    async def body(self) -> bytes:
        """All of it. Raises ``Unreachable``."""
        try:
            return b"".join([piece async for piece in self._pieces])
        except (httpx2.HTTPError, httpx2.StreamError) as problem:
            raise self._broken(problem) from problem

    async def drain(self) -> None:
        """Read what is left of an answer that is over, if it comes at once: then the connection can be used again."""
        try:
            async with asyncio.timeout(DRAIN_S):
                async for _ in self._pieces:
                    pass
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
            return  # the answer is whole: the connection is closed instead

    def _broken(self, problem: Exception) -> Unreachable:
        if isinstance(problem, httpx2.TimeoutException):
            return Unreachable(
                f"{_who(self._post)} sent nothing for {self._between_s:g} s in the middle of its answer. Try again."
            )
        return Unreachable(f"The connection to {_who(self._post)} broke in the middle of its answer.")


def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it comes; unpacked where it is packed, otherwise straight from the transport, which costs less."""
    if "content-encoding" in response.headers or not isinstance(response.stream, httpx2.AsyncByteStream):
        return response.aiter_bytes()
    return aiter(response.stream)


class Client:
    """Sends requests and keeps connections. Use as ``async with``, or ``close`` it; belongs to one event loop.

    Proxies and certificates are taken from the environment (``HTTPS_PROXY``, ``NO_PROXY``, ``SSL_CERT_FILE``) as httpx2
    does. Redirects are not followed: a key goes to the address it was meant for or nowhere.
    """

    def __init__(self, *, timeouts: Timeouts | None = None, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self.timeouts = timeouts or Timeouts()
        self._transport = transport
        self._http: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()
        self.without_usage: set[str] = set()
        """Addresses of servers that refuse to be asked for usage in a stream."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. May be called twice."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    @asynccontextmanager
    async def send(self, post: Post) -> AsyncIterator[Incoming]:
        """Send one request, once, and give its answer. Raises ``ProviderError`` for one that is refused or never comes.

        Nothing is retried here. The key is in the headers that are sent and in no error.
        """
        response = await self._begin(post)
        try:
            if not response.is_success:
                raise read_problem(
                    post.endpoint.wire,
                    response.status_code,
                    dict(response.headers),
                    await _problem_body(response),
                    provider=post.endpoint.provider,
                    model=post.model,
                )
            yield Incoming(response, post, self.timeouts.between_s)
        finally:
            await response.aclose()

    async def _begin(self, post: Post) -> httpx2.Response:
        http = await self._opened()
        request = http.build_request(post.method, post.url, headers=self._headers(post), content=post.content)
        try:
            response = await http.send(request, stream=True)
        except httpx2.TimeoutException as problem:
            raise _late(post, problem, self.timeouts) from problem
        except httpx2.UnsupportedProtocol as problem:
            raise SettingError(f"{post.endpoint.base_url} is no address of a server.") from problem
        except httpx2.TransportError as problem:
            raise _no_connection(post, problem) from problem
        # The transport reads this when it begins with the body.
        limits = request.extensions.get("timeout")
        if isinstance(limits, dict):
            limits["read"] = self.timeouts.between_s
        return response

    def _headers(self, post: Post) -> dict[str, str]:
        headers = {"user-agent": USER_AGENT, **post.headers}
        if post.stream:
            headers |= {"accept": "text/event-stream", "accept-encoding": "identity"}
        return {**headers, **dict(post.endpoint.headers), **post.endpoint.auth_header()}

    async def _opened(self) -> httpx2.AsyncClient:
        if self._http is None:
            async with self._opening:
                if self._http is None:
                    # In a thread, as certificates are loaded: some 85 ms in which everything else would stand still.
                    self._http = await asyncio.to_thread(self._made)
        return self._http

    def _made(self) -> httpx2.AsyncClient:
        limits = self.timeouts
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(connect=limits.connect_s, read=limits.first_byte_s, write=limits.write_s, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0),
            transport=self._transport,
        )


async def _problem_body(response: httpx2.Response) -> bytes:
    """The body of an error, as far as it comes."""
    pieces: list[bytes] = []
    try:
        async for piece in response.aiter_bytes():
            pieces.append(piece)
            if sum(map(len, pieces)) > _LONGEST_PROBLEM:
                break
    except (httpx2.HTTPError, httpx2.StreamError):
        pass  # the status says enough
    return b"".join(pieces)


def _who(post: Post) -> str:
    host = urlsplit(post.endpoint.base_url).netloc.rpartition("@")[2]
    return f"{post.endpoint.provider or 'the server'} ({host})"


def _late(post: Post, problem: httpx2.TimeoutException, timeouts: Timeouts) -> Unreachable:
    if isinstance(problem, httpx2.ConnectTimeout):
        return Unreachable(f"{_who(post)} did not take a connection in {timeouts.connect_s:g} s. Check the network.")
    if isinstance(problem, httpx2.ReadTimeout):
        return NoAnswer(f"{_who(post)} did not begin to answer in {timeouts.first_byte_s:g} s. It may be charged.")
    return Unreachable(f"{_who(post)} did not take the request in {timeouts.write_s:g} s. Check the network.")


def _no_connection(post: Post, problem: httpx2.TransportError) -> Unreachable:
    said = strike_keys(str(problem)).strip()
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return Unreachable(f"{_who(post)} has no certificate that is trusted here: {said}. Check SSL_CERT_FILE.")
        cause = cause.__cause__ or cause.__context__
    if isinstance(problem, httpx2.ConnectError | httpx2.ProxyError):
        return Unreachable(f"{_who(post)} can't be reached: {said}. Check the network, the address and the proxy.")
    return Unreachable(f"The connection to {_who(post)} broke before it answered: {said or type(problem).__name__}.")

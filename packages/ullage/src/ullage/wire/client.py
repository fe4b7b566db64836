"""The HTTP client: one request out, bytes in, connections reused. Knows status codes and nothing of their meaning.

Closing is prompt: leaving the block of ``Client.send``, by an exception or a cancelled task too, closes a connection
whose answer was not read to its end.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urljoin, urlsplit

import httpx2

from ullage.codec.problems import problem_in_body, read_problem, strike_keys
from ullage.codec.stream import ServerEvent
from ullage.envelope import (
    BODY_BYTES,
    CALL_S,
    DRAIN_BYTES,
    ERROR_BODY_BYTES,
    PROBLEM_S,
    STREAM_BYTES,
    STREAM_EVENTS,
)
from ullage.errors import (
    LimitExceeded,
    NoAnswer,
    NoSuchHost,
    NotFound,
    ProviderError,
    SettingError,
    Unreachable,
)
from ullage.isolation import reaches_network
from ullage.messages import Request
from ullage.wire.endpoints import Endpoint
from ullage.wire.sse import EventReader

USER_AGENT: Final = "ullage"
DRAIN_S: Final = 0.05  # seconds to wait for the last bytes of an answer that is over, so that the connection is kept
SLOWEST_UPLOAD: Final = (
    32 * 1024
)  # bytes a second that a request is sent with at the least
PIECES_AT_ONCE: Final = (
    250  # pieces of a body that are read without a turn for others: some 10 ms
)
_SENT: Final = "http11.send_request_body.complete"
"""https://www.encode.io/httpcore/extensions/#trace"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds. ``first_byte_s`` is until the answer begins, ``between_s`` the longest silence inside it.

    ``call_s`` is the longest an answer may take from its first byte to its last. Ten minutes for the first byte is what
    the official SDKs wait for a whole answer.
    """

    connect_s: float = 10.0
    first_byte_s: float = 600.0
    between_s: float = 180.0
    write_s: float = 60.0
    call_s: float = CALL_S

    @classmethod
    def of(cls, timeout: float) -> Timeouts:
        """All of them for one limit until the answer begins, in the relation that they have by default."""
        return cls(
            connect_s=min(cls().connect_s, timeout),
            first_byte_s=timeout,
            between_s=0.3 * timeout,
            call_s=6 * timeout,
        )


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
    sent: Callable[[], None] | None = None
    """Is called when the whole request has gone out."""

    @property
    def url(self) -> str:
        return self.endpoint.base_url + self.path


Heard = Callable[[int, Mapping[str, str]], None]
"""Is told the status and the headers of an answer, with lower-case names."""


class Incoming:
    """An answer that has begun well. To be read once, inside the block that gave it."""

    def __init__(self, response: httpx2.Response, post: Post, timeouts: Timeouts) -> None:
        self._response = response
        self._post = post
        self._timeouts = timeouts
        self._transport = _bytes_of(response)
        self.reader = EventReader()

    @property
    def is_stream(self) -> bool:
        """Whether the server answers with events; one that was asked to stream may answer whole all the same."""
        return "text/event-stream" in self._response.headers.get("content-type", "")

    @property
    def content_type(self) -> str:
        return str(self._response.headers.get("content-type", ""))

    async def events(self) -> AsyncGenerator[ServerEvent, None]:
        """The events, each as soon as it is whole. Raises ``ProviderError``.

        That is ``Unreachable`` when the connection breaks or goes silent, ``LimitExceeded`` for what is too large or
        takes too long, and for bytes that are no event ``DamagedAnswer`` or the error that they say.
        """
        reader = self.reader
        size = seen = 0
        ends = time.monotonic() + self._timeouts.call_s
        try:
            async for piece in self._transport:
                size += len(piece)
                if size > STREAM_BYTES or time.monotonic() > ends:
                    raise self._exceeded(size, STREAM_BYTES, "STREAM_BYTES")
                for event in reader.feed(piece):
                    yield event
                    seen += 1
                if reader.stray:
                    raise self._misplaced(reader.stray)
                if seen > STREAM_EVENTS:
                    raise self._exceeded(seen, STREAM_EVENTS, "STREAM_EVENTS")
        except (httpx2.HTTPError, httpx2.StreamError) as problem:
            raise self._broken(problem) from problem
        if reader.rest and not seen:
            raise self._misplaced(reader.rest)
        for event in reader.close():
            yield event

    async def body(self, most: int = BODY_BYTES) -> bytes:
        """All of it. Raises ``Unreachable``, or ``LimitExceeded`` for more than ``most`` bytes."""
        pieces: list[bytes] = []
        size = 0
        ends = time.monotonic() + self._timeouts.call_s
        try:
            async for piece in self._transport:
                size += len(piece)
                if size > most or time.monotonic() > ends:
                    raise self._exceeded(size, most, "BODY_BYTES")
                pieces.append(piece)
        except (httpx2.HTTPError, httpx2.StreamError) as problem:
            raise self._broken(problem) from problem
        return b"".join(pieces)

    async def drain(self) -> None:
        """Read what is left of an answer that is over, if it comes at once: then the connection can be used again."""
        left = DRAIN_BYTES
        try:
            async with asyncio.timeout(DRAIN_S):
                async for piece in self._transport:
                    left -= len(piece)
                    if left < 0:
                        return
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
            return  # the answer is whole: the connection is closed instead

    def _exceeded(self, count: int, most: int, limit: str) -> LimitExceeded:
        """The error for an answer of ``count`` bytes or events; below ``most`` it took too long instead."""
        who, call_s = _who(self._post), self._timeouts.call_s
        if count <= most:
            return LimitExceeded(
                f"{who} was still answering after {call_s:g} s, so the answer was stopped. "
                "Ask for less at once, or set timeout higher.",
                limit="call_s",
            )
        unit = "events" if limit == "STREAM_EVENTS" else "bytes"
        return LimitExceeded(
            f"{who} sent more than {most:,} {unit} for one answer, so it was stopped. Check the model and the address.",
            limit=limit,
        )

    def _misplaced(self, data: bytes) -> ProviderError:
        """The error for bytes in a stream that are no event: what they say, where it is an error."""
        return problem_in_body(_who(self._post), data, "something that is no event")

    def _broken(self, problem: Exception) -> Unreachable:
        if isinstance(problem, httpx2.TimeoutException):
            return Unreachable(
                f"{_who(self._post)} sent nothing for {self._timeouts.between_s:g} s in the middle of its answer. "
                "Try again."
            )
        return Unreachable(
            f"The connection to {_who(self._post)} broke in the middle of its answer. Try again."
        )


async def _bytes_of(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body as it comes, never unpacked. Straight from the transport, where that costs less.

    One read of the transport may hold thousands of chunks of a byte, for which it does not wait: everything else gets a
    turn in between.
    """
    stream = response.stream
    pieces = (
        aiter(stream)
        if isinstance(stream, httpx2.AsyncByteStream)
        else response.aiter_raw()
    )
    count = 0
    async for piece in pieces:
        yield piece
        count += 1
        if count % PIECES_AT_ONCE == 0:
            await asyncio.sleep(0)


class Client:
    """Sends requests and keeps connections. Use as ``async with``, or ``close`` it; belongs to one event loop.

    Proxies and certificates are taken from the environment (``HTTPS_PROXY``, ``NO_PROXY``, ``SSL_CERT_FILE``) as httpx2
    does. Redirects are not followed: a key goes to the address it was meant for or nowhere.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        on_call: Callable[[Request], None] | None = None,
    ) -> None:
        self.on_call = on_call
        """Is given each request of a model call before it is sent, with the settings of the call in its ``params``."""
        self.timeouts = timeouts or Timeouts()
        self._transport = transport
        self._http: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()
        self.without_usage: set[str] = set()
        """Addresses of servers that refuse to be asked for usage in a stream."""
        self.without_binding: set[str] = set()
        """Addresses of servers that do not know how to drop thinking in the place of a refusal."""
        self.without_diagnostics: set[str] = set()
        """Addresses of servers that do not tell why their cache was not read."""
        self.without_compaction: set[tuple[str, str, str]] = set()
        """Provider, model and address of endpoints that refuse to compact a conversation."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. May be called twice."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    @asynccontextmanager
    async def send(
        self, post: Post, heard: Heard | None = None
    ) -> AsyncIterator[Incoming]:
        """Send one request, once, and give its answer. Raises ``ProviderError`` for one that is refused or never comes.

        ``heard`` is told of each answer, also of a refusal. Nothing is retried here. The key is in the headers that are
        sent and in no error.
        """
        if not (post.endpoint.is_local or reaches_network()):
            raise SettingError(
                f"A test called {_who(post)} over the network. Use agent.override(model=…) with a model of "
                "ullage.testing, or mark the test with @pytest.mark.ullage_network. Nothing was sent."
            )
        response = await self._begin(post)
        try:
            if heard is not None:
                heard(response.status_code, dict(response.headers))
            if 300 <= response.status_code < 400:
                raise _redirected(
                    post, response.status_code, response.headers.get("location", "")
                )
            if not response.is_success:
                raise read_problem(
                    post.endpoint.wire,
                    response.status_code,
                    dict(response.headers),
                    await _problem_body(response),
                    provider=post.endpoint.provider,
                    model=post.model,
                )
            _refuse_packed(response, post)
            yield Incoming(response, post, self.timeouts)
        finally:
            await _close(response)

    async def _begin(self, post: Post) -> httpx2.Response:
        async def trace(name: str, info: Mapping[str, Any]) -> None:
            if post.sent is not None and name == _SENT:
                post.sent()

        http = await self._opened()
        request = http.build_request(
            post.method,
            post.url,
            headers=self._headers(post),
            content=post.content,
            extensions=None if post.sent is None else {"trace": trace},
        )
        limits = self.timeouts
        try:
            # The limits of the transport are for each read and write: headers could come byte by byte for ever.
            upload_s = len(post.content) / SLOWEST_UPLOAD
            async with asyncio.timeout(limits.connect_s + upload_s + limits.first_byte_s):
                response = await http.send(request, stream=True)
        except TimeoutError as problem:
            raise _late(post, httpx2.ReadTimeout(""), limits) from problem
        except httpx2.TimeoutException as problem:
            raise _late(post, problem, self.timeouts) from problem
        except httpx2.UnsupportedProtocol as problem:
            raise SettingError(
                f"{post.endpoint.base_url} is no address of a server. Give one like https://host/v1."
            ) from problem
        except httpx2.TransportError as problem:
            raise _no_connection(post, problem) from problem
        except (httpx2.InvalidURL, ValueError) as problem:
            # httpx2 reads where a redirect leads although it is not followed.
            raise NotFound(
                f"{_who(post)} redirects to no address that can be read, or sent headers that can't be. "
                "Check the address."
            ) from problem
        # The transport reads this when it begins with the body.
        waits = request.extensions.get("timeout")
        if isinstance(waits, dict):
            waits["read"] = limits.between_s
        return response

    def _headers(self, post: Post) -> dict[str, str]:
        headers = {
            "user-agent": USER_AGENT,
            "accept-encoding": "identity",
            **post.headers,
        }
        if post.stream:
            headers["accept"] = "text/event-stream"
        return {**headers, **dict(post.endpoint.headers), **post.endpoint.auth_header()}

    async def _opened(self) -> httpx2.AsyncClient:
        if self._http is None:
            async with self._opening:
                if self._http is None:
                    # In a thread, as certificates are loaded: some 85 ms in which no other task would run.
                    self._http = await asyncio.to_thread(self._made)
        return self._http

    def _made(self) -> httpx2.AsyncClient:
        limits = self.timeouts
        logging.getLogger(httpx2.__name__).addFilter(
            _strike_record
        )  # taken once, however often it is added
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(
                connect=limits.connect_s,
                read=limits.first_byte_s,
                write=limits.write_s,
                pool=None,
            ),
            limits=httpx2.Limits(
                max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0
            ),
            transport=self._transport,
            # No cookie is kept: it would go to other ports of the host, and enough of them make a request too large.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )


def _strike_record(record: logging.LogRecord) -> bool:
    """Strike keys out of what the transport logs: the words of a status line are the server's, which knows the key."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            strike_keys(one) if isinstance(one, str) else one for one in record.args
        )
    return True


async def _problem_body(response: httpx2.Response) -> bytes:
    """The body of an error, as far as it comes in ``PROBLEM_S`` seconds and up to ``ERROR_BODY_BYTES``."""
    pieces: list[bytes] = []
    left = ERROR_BODY_BYTES
    try:
        async with asyncio.timeout(PROBLEM_S):
            async for piece in _bytes_of(response):
                pieces.append(piece[:left])
                left -= len(piece)
                if left <= 0:
                    break
    except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
        pass  # the status says enough
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return b""  # it came packed all the same
    return b"".join(pieces)


def _refuse_packed(response: httpx2.Response, post: Post) -> None:
    """Raises ``LimitExceeded`` for an answer that is packed: a few bytes of it could unpack to any size."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise LimitExceeded(
            f"{_who(post)} packed its answer ({encoding[:40]}) although it was asked not to, so it was not read. "
            "Turn off compression in the server or the proxy before it.",
            limit="content-encoding",
        )


def _redirected(post: Post, status: int, location: str) -> NotFound:
    """The error for a redirect, which is not followed: the key belongs to the address that was configured."""
    try:
        to = urlsplit(urljoin(post.url, location))
        port = f":{to.port}" if to.port else ""
        origin = (
            strike_keys(f"{to.scheme}://{to.hostname}{port}")[:200]
            if location and to.hostname
            else ""
        )
    except ValueError:
        origin = ""
    return NotFound(
        f"{_who(post)} redirects to {origin or 'no address that can be read'} [{status}]. The redirect was not "
        "followed, because the key belongs to the address that was configured. If you trust the new address, set it "
        "as base_url.",
        status=status,
    )


def _who(post: Post) -> str:
    host = urlsplit(post.endpoint.base_url).netloc.rpartition("@")[2]
    return f"{post.endpoint.provider or 'the server'} ({host})"


def _late(
    post: Post, problem: httpx2.TimeoutException, timeouts: Timeouts
) -> Unreachable:
    if isinstance(problem, httpx2.ConnectTimeout):
        return Unreachable(
            f"{_who(post)} did not take a connection in {timeouts.connect_s:g} s. Check the network."
        )
    if isinstance(problem, httpx2.ReadTimeout):
        return NoAnswer(
            f"{_who(post)} did not begin to answer in {timeouts.first_byte_s:g} s. It may be charged. "
            "Try again, or set a longer timeout."
        )
    return Unreachable(
        f"{_who(post)} did not take the request in {timeouts.write_s:g} s. Check the network."
    )


def _no_connection(post: Post, problem: httpx2.TransportError) -> Unreachable:
    said = strike_keys(str(problem)).strip()
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return Unreachable(
                f"{_who(post)} has no certificate that is trusted here: {said}. Check SSL_CERT_FILE."
            )
        if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME:
            return NoSuchHost(
                f"{_who(post)} can't be reached: no server has that name ({said}). Check the address and the network."
            )
        cause = cause.__cause__ or cause.__context__
    if isinstance(problem, httpx2.ConnectError | httpx2.ProxyError):
        return Unreachable(
            f"{_who(post)} can't be reached: {said}. Check the network, the address and the proxy."
        )
    return Unreachable(
        f"The connection to {_who(post)} broke before it answered: {said or type(problem).__name__}."
    )


async def _close(response: httpx2.Response) -> None:
    """Close an answer, and its connection too where the answer was left unread or bytes have arrived behind it.

    HTTP/1.1 has no number that binds an answer to its request. Bytes behind an answer, of a broken gateway or a hostile
    server, would be read as the answer to the next request. The transport looks at the socket before it reuses a
    connection, but not at bytes that were read from it already. Those wait in three places: the HTTP parser, the queue
    of the stream, and the TLS layer. No public interface shows them, so this looks inside; where a new version keeps
    them elsewhere, connections are closed rather than reused.
    """
    stream = response.extensions.get("network_stream")
    try:
        if stream is not None and _holds_more(response.stream, stream):
            await stream.aclose()
    finally:
        await response.aclose()


def _holds_more(body: Any, stream: Any) -> bool:
    try:
        return _is_behind_body(body) or _is_waiting(stream)
    except (AttributeError, TypeError):
        return True


def _is_behind_body(body: Any) -> bool:
    """Whether the parser holds bytes that belong to no answer: ``h11.Connection.trailing_data``."""
    while not hasattr(body, "_connection"):
        body = (
            body._httpcore_stream if hasattr(body, "_httpcore_stream") else body._stream
        )
    parser = body._connection._h11_state
    return bool(parser.trailing_data[0])


def _is_waiting(stream: Any) -> bool:
    """Whether bytes were read from the socket, or decrypted, that the parser has not asked for yet."""
    layer = stream._stream
    while hasattr(layer, "transport_stream"):
        if layer._read_bio.pending or layer._ssl_object.pending():
            return True
        layer = layer.transport_stream
    return bool(layer._protocol.read_queue)

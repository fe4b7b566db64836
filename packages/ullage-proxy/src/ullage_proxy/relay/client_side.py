"""The connection of a client: its requests go to their upstream one after the other, the answers come back unchanged.

A client's connection has at most one connection to an upstream, so that it sees what it would see without the relay:
an upstream that closes an idle connection closes the client's. One task serves it; the pieces of an answer go straight
from one connection to the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ullage.upstreams import RelayedPath, is_loopback, relayed_path
from ullage_proxy.relay.access import objection
from ullage_proxy.relay.connections import ClientConnections, has_left
from ullage_proxy.relay.heads import HttpRequest, Malformed, RequestReader
from ullage_proxy.relay.own_answers import error_body, own_answer
from ullage_proxy.relay.passing import PassedRequest, RelayState
from ullage_proxy.relay.upstream_side import CannotConnect, UpstreamConnection

WAITING_AT_MOST: Final = 64 * 1024
"""Bytes of a client that wait for an upstream. Beyond that, nothing more is read from the client."""

LINGER_S: Final = 10.0
"""How long a client may go on sending after it was refused. Closing at once could lose the answer (RFC 9112, 9.6)."""

WAITS_AT_MOST_S: Final = 60.0
"""How long a connection may be open without a request, or a request's head be incomplete. nginx has 60 s for a head
(https://nginx.org/en/docs/http/ngx_http_core_module.html#client_header_timeout)."""

BODY_S: Final = 20.0
BODY_BYTES_PER_S: Final = 10_000
"""How long the relay waits for a body that does not come; each ten kilobytes that come give back one second of it.
``ullage_server.connections`` has the same figures."""

TOO_MANY: Final = (
    "Too many calls run at the same time, and this one was not sent on."
    " Wait until others have ended, then try again."
)


class ClientConnection(asyncio.Protocol):
    """One connection, for as many requests as the client sends."""

    _transport: asyncio.Transport
    _task: asyncio.Task[None]

    def __init__(self, state: RelayState, open_ones: ClientConnections) -> None:
        state.connections += 1
        self._state = state
        self._name = f"c{state.connections}"
        self._open_ones = open_ones
        self._input = bytearray()
        """What has come of the client and was not read yet."""
        self._passed: PassedRequest | None = None
        self._upstream: UpstreamConnection | None = None
        self._changed = asyncio.Event()
        self._is_refusing = False
        """Whether the last answer was given, and what still comes is thrown away."""
        self._is_stopping = False
        self._is_paused = False
        self._full_since: float | None = None
        """Since when the client does not read what was written."""
        self._waits_since: float | None = self._now()
        """Since when its next request or more of a body is awaited."""
        self._patience_s = BODY_S
        """How long the body of the present request may still keep the relay waiting."""

    # what happens on the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        has_room = self._open_ones.add(self)
        self._task = asyncio.create_task(self._serve(has_room=has_room))

    def data_received(self, data: bytes) -> None:
        if not self._is_refusing:
            self._input += data
            self._input_changed()

    def eof_received(self) -> None:
        if self._passed is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_ones.discard(self)
        self._task.cancel()
        self._leave_upstream()

    def pause_writing(self) -> None:
        self._full_since = self._now()
        if self._upstream is not None:
            self._upstream.pause_reading()

    def resume_writing(self) -> None:
        self._full_since = None
        if self._upstream is not None:
            self._upstream.resume_reading()
        self._changed.set()

    # what others ask of it

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self._passed is None

    @property
    def address(self) -> str:
        """See ``KeptConnection``."""
        peer = self._transport.get_extra_info("peername")
        host = str(peer[0]) if peer else ""
        return "" if is_loopback(host) else host

    @property
    def waits_since(self) -> float | None:
        """See ``KeptConnection``."""
        return self._full_since if self._waits_since is None else self._waits_since

    def stop(self) -> None:
        """Take no other request; what runs may end."""
        self._is_stopping = True
        self._changed.set()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def look_after(self) -> None:
        """End the connection if its client has left while nothing is read from it."""
        if self._is_paused and has_left(self._transport):
            self._transport.abort()

    # what the upstream does

    def upstream_came(self, data: bytes) -> None:
        passed = self._passed
        if passed is None or not passed.is_sent:
            self._leave_upstream()
            self._transport.close()
        else:
            shown = passed.answer_came(data)
            if shown:
                self._transport.write(shown)
            if passed.is_over:
                self._changed.set()

    def upstream_ended(self) -> None:
        self._upstream = None
        if self._passed is not None and self._passed.is_sent:
            self._passed.cut_off()
        self._changed.set()

    def upstream_drained(self) -> None:
        self._changed.set()

    # the task

    async def _serve(self, *, has_room: bool) -> None:
        try:
            if has_room:
                while await self._next_request():
                    pass
            else:
                await self._refuse(None, "", 503, TOO_MANY)
        finally:
            self._leave_upstream()
            self._transport.close()

    async def _next_request(self) -> bool:
        """Read one request and answer it. Gives whether another may follow."""
        reader = RequestReader()
        try:
            request = await self._head(reader)
        except TimeoutError:
            self._transport.abort()
            return False
        except Malformed as problem:
            return await self._refuse(
                None, "", 400, f"This request was not sent on: {problem}."
            )
        if request is None:
            return False
        state = self._state
        path = relayed_path(request.target)
        name = path.upstream
        refused = objection(request, path, state.token, state.wrong, self.address)
        if refused is not None:
            return await self._refuse(request, name, refused.status, refused.message)
        if name == "ullage":
            return await self._answer_itself(request, path, reader)
        if name not in state.upstreams:
            known = ", ".join(f"/{each}" for each in state.upstreams)
            return await self._refuse(
                request,
                name,
                404,
                f"No upstream is named {name[:80]!r}, and nothing was sent on."
                f" The address has to continue with one of {known}."
                " More are named when the proxy is started: --upstream NAME=URL.",
            )
        if request.upgrade == b"websocket":
            return await self._refuse(
                request,
                name,
                426,
                "This address has no WebSocket, since its calls could not be metered. Use HTTP.",
            )
        passed = PassedRequest(state, request, path, self._name)
        self._passed = passed
        try:
            return await self._pass_on(passed, reader)
        except TimeoutError:
            message = "The body of this request did not come in time."
            return await self._damaged(passed, 408, message)
        except Malformed as problem:
            message = f"The body of this request is damaged: {problem}."
            return await self._damaged(passed, 400, message)
        finally:
            self._passed = None
            passed.ended("cancelled", "the client closed the connection")

    async def _head(self, reader: RequestReader) -> HttpRequest | None:
        """The next request; ``None`` when there will be none. Raises ``Malformed`` and ``TimeoutError``."""
        while self._full_since is not None:
            await self._change()
        self._waits_since = since = self._now()
        had_upstream = self._upstream is not None
        while not self._is_stopping and had_upstream == (self._upstream is not None):
            if self._input:
                if not reader.has_begun:
                    self._waits_since = since = self._now()
                request = reader.feed(self._taken())
                if request is not None:
                    self._waits_since = None
                    return request
            # An idle connection to an upstream is the upstream's to end.
            is_bounded = reader.has_begun or not had_upstream
            deadline = since + WAITS_AT_MOST_S if is_bounded else None
            async with asyncio.timeout_at(deadline):
                await self._change()
        return None

    async def _pass_on(self, passed: PassedRequest, reader: RequestReader) -> bool:
        """Send the request on, and wait for the end of its answer. Gives whether another request may follow."""
        self._patience_s = BODY_S
        head = passed.head()
        used = self._upstream
        try:
            upstream = await self._reach(passed)
        except CannotConnect as problem:
            return await self._fail(passed, reader, str(problem))
        passed.is_sent = True
        upstream.write(head)
        await self._take_body(passed, reader, upstream.write)
        while not passed.is_over and not upstream.is_ended:
            await self._change()
        return await self._answered(passed, reader, is_used=used is upstream)

    async def _take_body(
        self,
        passed: PassedRequest,
        reader: RequestReader,
        give: Callable[[bytes], object],
    ) -> None:
        """Give the body on as it comes. Raises ``Malformed``, and ``TimeoutError`` when it does not come.

        It ends early when the answer is over.
        """
        while passed.is_open and not passed.is_over:
            upstream = self._upstream
            if passed.is_sent and upstream is not None and upstream.is_full:
                await self._change()
                continue
            event = reader.next_piece()
            if event is not None:
                give(passed.piece(event))
            else:
                await self._more_of_body(passed, reader)

    async def _more_of_body(self, passed: PassedRequest, reader: RequestReader) -> None:
        """Wait for more of the body. Raises ``TimeoutError``."""
        self._waits_since = begun = self._now()
        async with asyncio.timeout(self._patience_s):
            while not self._input and not passed.is_over:
                await self._change()
        self._waits_since = None
        data = self._taken()
        given_back_s = begun - self._now() + len(data) / BODY_BYTES_PER_S
        self._patience_s = min(BODY_S, self._patience_s + given_back_s)
        if data:
            reader.feed_body(data)

    async def _reach(self, passed: PassedRequest) -> UpstreamConnection:
        """The connection that there is, or a new one. Raises ``CannotConnect``."""
        upstream = self._upstream
        if upstream is None or upstream.upstream != passed.upstream:
            self._leave_upstream()
            upstream = await self._state.connector.connect(self, passed.upstream)
            self._upstream = upstream
            if self._full_since is not None:
                upstream.pause_reading()
        return upstream

    async def _answered(
        self, passed: PassedRequest, reader: RequestReader, *, is_used: bool
    ) -> bool:
        """No more comes of the answer: gives whether another request may follow."""
        answer = passed.answer
        if answer.is_complete:
            self._passed = None
            is_last = passed.request.is_last or passed.is_open or self._is_stopping
            if self._upstream is None or is_last or not answer.is_reusable:
                if passed.is_open:
                    await self._linger()
                return False
            self._give_back(reader)
            return True
        if answer.has_passed or is_used:
            outcome = "dropped" if answer.has_passed else "failed"
            note = answer.problem or "the upstream closed the connection"
            self._end(passed, outcome, note)
            return False
        message = f"{passed.upstream.origin} closed the connection without an answer. Try again."
        if answer.problem:
            message = f"The upstream's answer is not HTTP/1.1: {answer.problem}."
        return await self._fail(passed, reader, message)

    # answers of the relay's own

    async def _answer_itself(
        self, request: HttpRequest, path: RelayedPath, reader: RequestReader
    ) -> bool:
        if path.rest == b"/health" and request.method in (b"GET", b"HEAD"):
            self._give_back(reader)
            is_last = request.has_body
            body = self._state.health()
            return await self._give(request, 200, body, is_last=is_last)
        message = "Only GET /ullage/health is answered here."
        return await self._refuse(request, "", 404, message)

    async def _fail(
        self, passed: PassedRequest, reader: RequestReader, message: str
    ) -> bool:
        """The upstream gave no answer: the client gets one from the relay.

        It comes when the request is complete, so that metering has the call. A client whose request was interrupted
        may be waiting, and gets it at once.
        """
        self._leave_upstream()
        self._state.say_once(message)
        if not passed.is_sent and not passed.request.has(b"expect"):
            await self._take_body(passed, reader, len)
        self._end(passed, "failed", message)
        if passed.is_open:
            return await self._refuse(passed.request, passed.path.upstream, 502, message)
        self._give_back(reader)
        body = error_body(passed.request, passed.path.upstream, 502, message)
        return await self._give(passed.request, 502, body)

    async def _damaged(self, passed: PassedRequest, status: int, message: str) -> bool:
        """End a request that will not be whole."""
        self._leave_upstream()
        self._end(passed, "failed", message)
        if passed.answer.has_passed:
            self._transport.abort()
            return False
        return await self._refuse(passed.request, passed.path.upstream, status, message)

    async def _refuse(
        self, request: HttpRequest | None, upstream: str, status: int, message: str
    ) -> bool:
        """An error of the relay's own, and the last answer: more requests are not worth its time."""
        body = error_body(request, upstream, status, message)
        return await self._give(request, status, body, is_last=True)

    async def _give(
        self,
        request: HttpRequest | None,
        status: int,
        body: bytes,
        *,
        is_last: bool = False,
    ) -> bool:
        """An answer of the relay's own. Gives whether another request may follow."""
        is_head = request is not None and request.method == b"HEAD"
        if request is None or request.is_last or self._is_stopping:
            is_last = True
        answer = own_answer(status, body, is_head=is_head, is_last=is_last)
        self._transport.write(answer)
        if is_last:
            await self._linger()
        else:
            await asyncio.sleep(0)  # other clients have their turn
        return not is_last

    async def _linger(self) -> None:
        """What still comes is thrown away until the client closes, or for a while."""
        self._is_refusing = True
        self._input.clear()
        self._input_changed()
        self._leave_upstream()
        self._waits_since = self._now()
        if not self._transport.is_closing():
            self._transport.write_eof()
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    while not self._is_stopping:
                        await self._change()

    # small things

    def _end(self, passed: PassedRequest, outcome: str, note: str) -> None:
        self._passed = None
        passed.ended(outcome, note)

    def _leave_upstream(self) -> None:
        upstream = self._upstream
        self._upstream = None
        if upstream is not None:
            upstream.abandon()

    async def _change(self) -> None:
        """Wait until something has happened."""
        self._changed.clear()
        await self._changed.wait()

    def _taken(self) -> bytes:
        """All that has come of the client, which is then no longer kept here."""
        data = bytes(self._input)
        self._input.clear()
        self._input_changed()
        return data

    def _give_back(self, reader: RequestReader) -> None:
        """Keep what follows the request for the next."""
        self._input[:0] = reader.rest
        self._input_changed()

    def _input_changed(self) -> None:
        """Read no more than can go on."""
        should_pause = len(self._input) > WAITING_AT_MOST
        if should_pause and not self._is_paused:
            self._transport.pause_reading()
        elif self._is_paused and not should_pause:
            self._transport.resume_reading()
        self._is_paused = should_pause
        self._changed.set()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

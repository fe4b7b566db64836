"""The connection of a client: its requests go to their upstream one after the other, the answers come back unchanged.

A client's connection has at most one connection to an upstream, so that it sees what it would see without the relay:
an upstream that closes an idle connection closes the client's.
"""

from __future__ import annotations

import asyncio
from typing import Final

from ullage_relay.access import objection
from ullage_relay.connections import ClientConnections, has_left
from ullage_relay.heads import HttpRequest, Malformed, find_head, read_request
from ullage_relay.own_answers import error_body, own_answer
from ullage_relay.passing import PassedRequest, RelayState
from ullage_relay.requests import head_for_upstream
from ullage_relay.upstream_side import CannotConnect, UpstreamConnection
from ullage_relay.upstreams import RelayedPath, is_loopback, relayed_path

WAITING_AT_MOST: Final = 64 * 1024
"""Bytes of a client that wait for an upstream. Beyond that, nothing more is read from the client."""

LINGER_S: Final = 2.0
"""How long a client may go on sending after it was refused. Closing at once could lose the answer (RFC 9112, 9.6)."""

WAITS_AT_MOST_S: Final = 60.0
"""How long a connection may be open without a request, or a request's head be incomplete. nginx has 60 s for a head
(https://nginx.org/en/docs/http/ngx_http_core_module.html#client_header_timeout)."""

BODY_S: Final = 20.0
BODY_BYTES_PER_S: Final = 10_000
"""How long the relay waits for a body that does not come; each ten kilobytes that come give back one second of it.
``ullage.server.connections`` has the same figures."""

OWN_IN_A_ROW: Final = 20
"""Answers of the relay's own to one client, before other clients have their turn."""

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

TOO_MANY: Final = (
    "Too many calls run at the same time, and this one was not sent on."
    " Wait until others have ended, then try again."
)


class ClientConnection(asyncio.Protocol):
    """One connection, for as many requests as the client sends."""

    def __init__(self, state: RelayState, open_ones: ClientConnections) -> None:
        state.connections += 1
        self._state = state
        self._name = f"c{state.connections}"
        self._open_ones = open_ones
        self._transport: asyncio.Transport | None = None
        self._input = bytearray()
        self._passed: PassedRequest | None = None
        self._upstream: UpstreamConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_tunnel = False
        self._is_refusing = False
        """Whether the last answer was given, and what still comes is thrown away."""
        self._is_stopping = False
        self._is_paused = False
        self._is_full = False
        self._waits_since = asyncio.get_running_loop().time()
        """When a request was last ended, or the next one begun, or more of its body came, or it stopped reading."""
        self._body_until = 0.0
        """When the body of the present request is late."""
        self._own_in_a_row = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._open_ones.add(self):
            self._refuse(None, "", 503, TOO_MANY)

    def data_received(self, data: bytes) -> None:
        if self._is_refusing:
            return
        if self._is_tunnel and self._upstream is not None:
            self._upstream.write(data)
        else:
            if not self._input:
                self._waits_from_now()
            self._more_came(len(data))
            self._input += data
            self._go_on()

    def eof_received(self) -> None:
        if self._passed is not None and self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_ones.discard(self)
        self._transport = None
        passed = self._passed
        self._passed = None
        if self._task is not None:
            self._task.cancel()
        self._leave_upstream()
        if passed is not None:
            passed.answer_came("cancelled", "the client closed the connection")

    def pause_writing(self) -> None:
        self._is_full = True
        self._waits_from_now()
        if self._upstream is not None:
            self._upstream.pause_reading()

    def resume_writing(self) -> None:
        self._is_full = False
        if self._upstream is not None:
            self._upstream.resume_reading()
        self._go_on()

    def stop(self) -> None:
        """Take no other request; what runs may end."""
        self._is_stopping = True
        if self._passed is None:
            self._close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self._passed is None and not self._is_tunnel

    @property
    def address(self) -> str:
        """See ``KeptConnection``."""
        peer = self._transport.get_extra_info("peername") if self._transport else None
        host = str(peer[0]) if peer else ""
        return "" if is_loopback(host) else host

    @property
    def waits_since(self) -> float | None:
        """See ``KeptConnection``."""
        is_awaited = self._is_full or self.is_idle or self._awaits_body
        return self._waits_since if is_awaited else None

    @property
    def _awaits_body(self) -> bool:
        """Whether the present request goes on as soon as its client sends more of it."""
        passed = self._passed
        return passed is not None and passed.is_open and not self._input

    def look_after(self, now: float) -> None:
        """End the connection if its client has left, or has let it wait too long."""
        transport = self._transport
        if transport is None:
            return
        # An idle connection to an upstream is the upstream's to end.
        is_waiting = self.is_idle and (self._upstream is None or bool(self._input))
        waited_s = now - self._waits_since
        is_late = is_waiting and waited_s > WAITS_AT_MOST_S
        if is_late or (self._is_paused and has_left(transport)):
            transport.abort()
        elif not self._awaits_body:
            self._body_until = now + BODY_S
        elif now > self._body_until:
            self._body_is_late()

    def _body_is_late(self) -> None:
        passed = self._passed
        assert passed is not None
        if passed.answer.has_passed:
            self.abort()
            return
        self._damaged(passed, 408, "The body of this request did not come in time.")

    def _more_came(self, size: int) -> None:
        until = self._body_until + size / BODY_BYTES_PER_S
        self._body_until = min(until, asyncio.get_running_loop().time() + BODY_S)

    def _waits_from_now(self) -> None:
        self._waits_since = asyncio.get_running_loop().time()

    # what the upstream does

    def upstream_came(self, data: bytes) -> None:
        if self._transport is None:
            return
        if self._is_tunnel:
            self._transport.write(data)
            return
        passed = self._passed
        if passed is None or not passed.is_sent:
            self._leave_upstream()
            self._close()
            return
        passed.answer_begins()
        answer = passed.answer
        shown = answer.feed(data)
        if shown:
            self._transport.write(shown)
        if answer.problem and not answer.has_passed:
            self._fail(
                passed, f"The upstream's answer is not HTTP/1.1: {answer.problem}."
            )
        elif answer.is_switched:
            self._become_tunnel(passed)
        elif answer.is_complete:
            self._answer_came(passed)

    def upstream_ended(self) -> None:
        self._upstream = None
        passed = self._passed
        if passed is None or self._is_tunnel:
            self._close()
        elif not passed.is_sent:
            return
        elif passed.answer.end():
            self._answer_came(passed)
        elif passed.answer.has_passed or passed.is_on_used_connection:
            note = passed.answer.problem or "the upstream closed the connection"
            outcome = "dropped" if passed.answer.has_passed else "failed"
            passed.answer_came(outcome, note)
            self._passed = None
            self._close()
        else:
            origin = passed.upstream.origin
            self._fail(
                passed, f"{origin} closed the connection without an answer. Try again."
            )

    def upstream_full(self) -> None:
        self._limit_reading()

    def upstream_drained(self) -> None:
        self._go_on()

    # requests

    def _go_on(self) -> None:
        self._advance()
        self._limit_reading()

    def _advance(self) -> None:
        """Go on with what has come from the client, as far as that can go on."""
        while self._input and not self._is_refusing and self._transport is not None:
            passed = self._passed
            if passed is None:
                if self._transport.is_closing() or self._is_full or self._has_had_turn():
                    break
                if not self._begin():
                    break
            elif not self._take_body(passed):
                break

    def _has_had_turn(self) -> bool:
        """Whether other clients come first, since this one got so many answers of the relay's own. It goes on later."""
        if self._own_in_a_row < OWN_IN_A_ROW:
            return False
        self._own_in_a_row = 0
        asyncio.get_running_loop().call_soon(self._go_on)
        return True

    def _begin(self) -> bool:
        """Begin with the next request; false when its head is not complete."""
        while self._input[:2] == b"\r\n":
            del self._input[:2]
        try:
            size = find_head(self._input)
            if not size:
                return False
            request = read_request(bytes(self._input[:size]))
        except Malformed as problem:
            self._refuse(None, "", 400, f"This request was not sent on: {problem}.")
            return False
        del self._input[:size]
        self._request_came(request)
        return True

    def _request_came(self, request: HttpRequest) -> None:
        state = self._state
        path = relayed_path(request.target)
        name = path.upstream
        refused = objection(request, path, state.token, state.wrong, self.address)
        if refused is not None:
            self._refuse(request, name, refused.status, refused.message)
        elif name == "ullage":
            self._answer_itself(request, path)
        elif name not in state.upstreams:
            known = ", ".join(f"/{each}" for each in state.upstreams)
            self._refuse(
                request,
                name,
                404,
                f"No upstream is named {name[:80]!r}, and nothing was sent on."
                f" The address has to go on with one of {known}."
                " More are named when the proxy is started: --upstream NAME=URL.",
            )
        elif request.upgrade == b"websocket" and request.path.endswith("/responses"):
            self._refuse(
                request,
                name,
                426,
                "This address has no WebSocket, since its calls could not be metered. Use HTTP.",
            )
        else:
            self._pass_on(PassedRequest(state, request, path, self._name))

    def _answer_itself(self, request: HttpRequest, path: RelayedPath) -> None:
        if path.rest == b"/health" and request.method in (b"GET", b"HEAD"):
            self._give(request, 200, self._state.health())
        else:
            message = "Only GET /ullage/health is answered here."
            self._refuse(request, "", 404, message)

    def _pass_on(self, passed: PassedRequest) -> None:
        self._passed = passed
        self._body_until = asyncio.get_running_loop().time() + BODY_S
        if passed.upgrade:
            where = passed.where[:80]
            self._state.say_once(
                f"a WebSocket of {where!r} is passed on and not metered."
            )
        if passed.held is None:
            self._reach(passed)
        elif passed.request.fields.has(b"expect") and self._transport is not None:
            self._transport.write(CONTINUE)
        self._take_body(passed)

    def _take_body(self, passed: PassedRequest) -> bool:
        """Take what has come of the body; false when it has to wait for the upstream."""
        upstream = self._upstream
        is_kept = passed.held is not None and self._task is None
        is_sent = passed.is_sent and upstream is not None and not upstream.is_full
        if not passed.is_open or not (is_kept or is_sent or passed.refusal):
            return False
        data = bytes(self._input)
        try:
            end = passed.take(data)
        except Malformed as problem:
            self._damaged(passed, 400, f"The body of this request is damaged: {problem}.")
            return False
        del self._input[:end]
        if passed.held is not None:
            passed.held.append(data[:end])
        elif upstream is not None and passed.is_sent and end:
            upstream.write(data[:end])
        if passed.body.is_complete:
            self._body_came(passed)
        elif (
            passed.held is not None and passed.call is not None and passed.call.is_dropped
        ):
            self._reach(passed)
        return True

    def _damaged(self, passed: PassedRequest, status: int, message: str) -> None:
        """End a request that will not be whole."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._leave_upstream()
        self._passed = None
        passed.answer_came("failed", message)
        self._refuse(passed.request, passed.path.upstream, status, message)

    def _body_came(self, passed: PassedRequest) -> None:
        passed.is_open = False
        passed.request_came()
        if passed.refusal:
            self._give_refusal(passed)
        elif passed.held is not None:
            self._task = asyncio.create_task(self._judge(passed))

    async def _judge(self, passed: PassedRequest) -> None:
        """Wait for the guard's word."""
        call = passed.call
        if call is not None and not call.is_dropped:
            verdict = await self._state.metering.verdict(call.name)
            if verdict.refuses:
                self._task = None
                passed.failure = "refused by the guard"
                passed.refusal = own_answer(
                    verdict.status,
                    verdict.body,
                    verdict.content_type,
                    is_last=passed.request.is_last,
                )
                self._give_refusal(passed)
                return
        self._task = None
        self._reach(passed)

    def _reach(self, passed: PassedRequest) -> None:
        """Send the request on the connection that there is, or on a new one."""
        upstream = self._upstream
        if upstream is not None and upstream.upstream == passed.upstream:
            passed.is_on_used_connection = True
            self._send(passed, upstream)
            return
        self._leave_upstream()
        self._task = asyncio.create_task(self._connect(passed))

    async def _connect(self, passed: PassedRequest) -> None:
        try:
            upstream = await self._state.connector.connect(self, passed.upstream)
        except CannotConnect as problem:
            self._task = None
            self._fail(passed, str(problem))
            return
        self._task = None
        self._upstream = upstream
        if self._is_full:
            upstream.pause_reading()
        self._send(passed, upstream)
        self._go_on()

    def _send(self, passed: PassedRequest, upstream: UpstreamConnection) -> None:
        head = head_for_upstream(
            passed.request,
            passed.path,
            passed.upstream,
            metered=passed.call is not None,
            upgrade=passed.upgrade,
            without=b"expect" if passed.held is not None else b"",
        )
        held = passed.held or []
        passed.held = None
        passed.is_sent = True
        upstream.write(b"".join((head, *held)))
        self._take_body(passed)
        self._limit_reading()

    # the end of an answer

    def _answer_came(self, passed: PassedRequest) -> None:
        passed.answer_came()
        self._passed = None
        self._waits_from_now()
        response = passed.answer.response
        is_last = passed.request.is_last or passed.is_open or self._is_stopping
        if response is None or response.is_last or passed.answer.extra:
            is_last = True
        if self._upstream is None or is_last:
            self._leave_upstream()
            self._close_after(passed)
        else:
            self._go_on()

    def _fail(self, passed: PassedRequest, message: str) -> None:
        """The upstream gave no answer: the client gets one from the relay.

        It comes when the request is complete, so that metering has the call. A client whose request was interrupted
        may be waiting, and gets it at once.
        """
        self._leave_upstream()
        self._state.say_once(message)
        request = passed.request
        is_interrupted = passed.is_sent or request.fields.has(b"expect")
        is_waiting = passed.is_open and is_interrupted
        body = error_body(request, passed.path.upstream, 502, message)
        passed.failure = message
        passed.is_sent = False
        passed.held = None
        passed.refusal = own_answer(
            502,
            body,
            is_head=request.method == b"HEAD",
            is_last=request.is_last or is_waiting,
        )
        if is_waiting or not passed.is_open:
            self._give_refusal(passed)
        else:
            self._take_body(passed)
            self._go_on()

    def _give_refusal(self, passed: PassedRequest) -> None:
        self._passed = None
        self._waits_from_now()
        passed.answer_came("failed", passed.failure)
        if self._transport is None:
            return
        self._transport.write(passed.refusal)
        if passed.is_open or passed.request.is_last or self._is_stopping:
            self._close_after(passed)
        else:
            self._go_on()

    def _become_tunnel(self, passed: PassedRequest) -> None:
        self._passed = None
        if not passed.upgrade or self._upstream is None:
            passed.answer_came("dropped", "the upstream changed the protocol")
            self._leave_upstream()
            self._close()
            return
        self._is_tunnel = True
        self._upstream.write(bytes(self._input))
        self._input.clear()

    def _refuse(
        self, request: HttpRequest | None, upstream: str, status: int, message: str
    ) -> None:
        """An error of the relay's own, at once, and the last answer: more requests are not worth its time."""
        body = error_body(request, upstream, status, message)
        self._give(request, status, body, is_last=True)

    def _give(
        self,
        request: HttpRequest | None,
        status: int,
        body: bytes,
        *,
        is_last: bool = False,
    ) -> None:
        """An answer of the relay's own, at once. What the client still sends of its request is thrown away."""
        if self._transport is None:
            return
        self._own_in_a_row += 1
        is_head = request is not None and request.method == b"HEAD"
        if request is None or request.length != 0 or request.is_last or self._is_stopping:
            is_last = True
        self._transport.write(own_answer(status, body, is_head=is_head, is_last=is_last))
        if is_last:
            self._linger()

    def _close_after(self, passed: PassedRequest) -> None:
        if passed.is_open:
            self._linger()
        else:
            self._close()

    def _linger(self) -> None:
        """No more answers. What still comes is thrown away until the client closes, or for a while."""
        self._is_refusing = True
        self._input.clear()
        self._leave_upstream()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()
            asyncio.get_running_loop().call_later(LINGER_S, self._close)

    def _close(self) -> None:
        """Close once all is written."""
        if self._transport is not None:
            self._transport.close()

    def _leave_upstream(self) -> None:
        upstream = self._upstream
        self._upstream = None
        if upstream is not None:
            upstream.abandon()

    def _limit_reading(self) -> None:
        """Read no more than can go on."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        is_upstream_full = self._upstream is not None and self._upstream.is_full
        is_too_much = len(self._input) > WAITING_AT_MOST
        should_pause = is_too_much or (self._is_tunnel and is_upstream_full)
        if should_pause and not self._is_paused:
            transport.pause_reading()
        elif self._is_paused and not should_pause:
            transport.resume_reading()
        self._is_paused = should_pause

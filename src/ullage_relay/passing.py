"""One request while it passes, and what all connections of the relay share."""

from __future__ import annotations

import time
from typing import Final

from ullage_relay.answers import AnswerReader
from ullage_relay.bodies import ChunkedBody, FixedBody, MessageBody
from ullage_relay.heads import HttpRequest
from ullage_relay.metering import MeteringChild, say
from ullage_relay.own_answers import json_body
from ullage_relay.requests import SESSION, SHOWN_OF_ANSWER, is_metered, shown_headers
from ullage_relay.taps import TappedCall, Taps
from ullage_relay.tokens import WrongTokens
from ullage_relay.upstream_side import Connector
from ullage_relay.upstreams import RelayedPath, Upstream, session_name

WITHOUT_METER: Final = (b"websocket",)
"""Protocols that a client may change to. Others (``h2c``) are offers that a server may leave out."""


class RelayState:
    """What the connections of one relay share."""

    def __init__(
        self,
        upstreams: list[Upstream],
        taps: Taps,
        metering: MeteringChild,
        *,
        token: bytes = b"",
        guard: bool = False,
        version: str = "",
    ) -> None:
        self.upstreams = {upstream.name: upstream for upstream in upstreams}
        self.taps = taps
        self.metering = metering
        self.connector = Connector()
        self.token = token
        self.wrong = WrongTokens()
        self.guard = guard
        self.version = version
        self.connections = 0
        self._said: set[str] = set()

    def say_once(self, text: str) -> None:
        """A line on stderr, unless it was said before."""
        if text not in self._said and len(self._said) < 100:
            self._said.add(text)
            say(text)

    def health(self) -> bytes:
        """The body of ``GET /ullage/health``."""
        return json_body(
            {
                "program": "ullage",
                "version": self.version,
                "upstreams": list(self.upstreams),
                "metering": self.metering.state,
                "calls": self.taps.begun,
                "not_metered": self.taps.dropped,
            }
        )


class PassedRequest:
    """A request that is passed on, and its answer."""

    def __init__(
        self, state: RelayState, request: HttpRequest, path: RelayedPath, connection: str
    ) -> None:
        self._state = state
        self._connection = connection
        self.request = request
        self.path = path
        self.upstream = state.upstreams[path.upstream]
        self.body: MessageBody = _body_of(request)
        self.call: TappedCall | None = None
        self.upgrade = request.upgrade if request.upgrade in WITHOUT_METER else b""
        if is_metered(request) and not self.upgrade and state.metering.state != "off":
            self.call = state.taps.begin()
        keep = self._keep_answer if self.call is not None else None
        self.answer = AnswerReader(request.method, keep)
        self.held: list[bytes] | None = None
        """The request's bytes, while the guard has not spoken."""
        if self.call is not None and state.guard:
            self.held = []
        self.is_open = True
        """Whether more of the request is to come."""
        self.is_sent = False
        self.is_on_used_connection = False
        self.refusal = b""
        """The relay's own answer, which the client gets when its request is complete."""
        self.failure = ""
        """Why, for metering."""
        self._at = time.time()
        self._begun = 0.0

    @property
    def where(self) -> str:
        """The path at the upstream, without its query: what may be shown and kept."""
        return self.path.rest.partition(b"?")[0].decode("latin-1")

    def take(self, data: bytes) -> int:
        """How much of the data belongs to the request. Raises ``Malformed``."""
        keep = self._keep_request if self.call is not None else None
        return self.body.take(data, 0, keep)

    def request_came(self) -> None:
        """The request is complete: metering gets it."""
        if self.call is None:
            return
        shown = self.request.fields
        session = self.path.session or session_name(shown.get(SESSION))
        header: dict[str, object] = {
            "at": self._at,
            "connection": self._connection,
            "method": self.request.method.decode(),
            "path": self.where[:2_000],
            "upstream": self.path.upstream,
            "headers": shown_headers(shown),
            "session": session,
            "guard": self.held is not None,
        }
        self._state.taps.request_came(self.call, header)
        self._state.metering.pump()

    def answer_begins(self) -> None:
        self._begun = self._begun or time.time()

    def answer_came(self, outcome: str = "", note: str = "", status: int = 0) -> None:
        """The answer is complete, or there will be none: metering gets it."""
        call = self.call
        if call is None:
            return
        self.call = None
        headers: dict[str, object] = {}
        response = self.answer.response
        if response is not None:
            status = response.status
            headers = shown_headers(response.fields, SHOWN_OF_ANSWER)
        if not outcome:
            outcome = "failed" if status >= 400 else "finished"
        header: dict[str, object] = {
            "at": time.time(),
            "begun": self._begun or None,
            "status": status,
            "headers": headers,
            "outcome": outcome,
            "note": note,
        }
        self._state.taps.answer_came(call, header)
        self._state.metering.pump()

    def _keep_request(self, data: bytes) -> None:
        if self.call is not None:
            self._state.taps.keep_request(self.call, data)

    def _keep_answer(self, data: bytes) -> None:
        if self.call is not None:
            self._state.taps.keep_answer(self.call, data)


def _body_of(request: HttpRequest) -> MessageBody:
    if request.length is None:
        return ChunkedBody()
    return FixedBody(request.length)

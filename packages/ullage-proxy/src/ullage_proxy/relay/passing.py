"""One request while it passes, and what all connections of the relay share."""

from __future__ import annotations

import time
from collections.abc import Sequence

import h11

from ullage.guessing import WrongTokens
from ullage.upstreams import RelayedPath, Upstream, session_name
from ullage_proxy.relay.answers import AnswerReader
from ullage_proxy.relay.heads import HEAD_AT_MOST, HttpRequest
from ullage_proxy.relay.metering import MeteringChild, say
from ullage_proxy.relay.own_answers import json_body
from ullage_proxy.relay.requests import (
    SESSION,
    SHOWN_HEADERS,
    SHOWN_OF_ANSWER,
    is_metered,
    request_for_upstream,
    shown_headers,
)
from ullage_proxy.relay.taps import TappedCall, Taps
from ullage_proxy.relay.upstream_side import Connector


class RelayState:
    """What the connections of one relay share."""

    def __init__(
        self,
        upstreams: list[Upstream],
        taps: Taps,
        metering: MeteringChild,
        *,
        token: bytes = b"",
        version: str = "",
        marks: Sequence[str] = (),
    ) -> None:
        self.upstreams = {upstream.name: upstream for upstream in upstreams}
        self.taps = taps
        self.metering = metering
        self.connector = Connector()
        self.token = token
        self.wrong = WrongTokens()
        self.version = version
        self.shown = frozenset((*SHOWN_HEADERS, *marks))
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
        self.call: TappedCall | None = None
        if is_metered(request) and state.metering.state != "off":
            self.call = state.taps.begin()
        self.is_open = True
        """Whether more of the request is to come."""
        self.is_sent = False
        self.is_cut_off = False
        """Whether the upstream's connection has ended."""
        self._http = h11.Connection(h11.CLIENT, HEAD_AT_MOST)
        self.answer = AnswerReader(self._http, self._keep_answer)
        self._at = time.time()
        self._begun = 0.0

    @property
    def where(self) -> str:
        """The path at the upstream, without its query: what may be shown and kept."""
        return self.path.rest.partition(b"?")[0].decode("latin-1")

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come of the answer."""
        return self.is_cut_off or self.answer.is_over

    def head(self) -> bytes:
        """The head as the upstream gets it."""
        request = request_for_upstream(
            self.request,
            self.path,
            self.upstream,
            metered=self.call is not None,
        )
        head = self._http.send(request)
        if self.request.head.http_version == b"1.0":  # its client reads no chunks
            head = head.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)
        return head

    def piece(self, event: h11.Data | h11.EndOfMessage) -> bytes:
        """A piece of the body as the upstream gets it; metering gets it too."""
        if isinstance(event, h11.EndOfMessage):
            self.is_open = False
            self._request_came()
        elif self.call is not None:
            self._state.taps.keep_request(self.call, event.data)
        return self._http.send(event)

    def answer_came(self, data: bytes) -> bytes:
        """What the client gets of these bytes of the upstream."""
        self._begun = self._begun or time.time()
        shown = self.answer.feed(data)
        if self.answer.is_complete:
            self.ended()
        return shown

    def cut_off(self) -> None:
        """The connection to the upstream has ended."""
        self.is_cut_off = True
        if self.answer.end():
            self.ended()

    def ended(self, outcome: str = "", note: str = "") -> None:
        """The answer is complete, or there will be none: metering gets it, once."""
        call = self.call
        if call is None:
            return
        self.call = None
        status = 0
        headers: dict[str, object] = {}
        response = self.answer.response
        if response is not None:
            status = response.status_code
            headers = shown_headers(response.headers, SHOWN_OF_ANSWER)
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

    def _request_came(self) -> None:
        """The request is complete: metering gets it."""
        if self.call is None:
            return
        header: dict[str, object] = {
            "at": self._at,
            "connection": self._connection,
            "method": self.request.method.decode(),
            "path": self.where[:2_000],
            "upstream": self.path.upstream,
            "headers": shown_headers(self.request.head.headers, self._state.shown),
            "session": self.path.session or session_name(self.request.get(SESSION)),
        }
        self._state.taps.request_came(self.call, header)
        self._state.metering.pump()

    def _keep_answer(self, data: bytes) -> None:
        if self.call is not None:
            self._state.taps.keep_answer(self.call, data)

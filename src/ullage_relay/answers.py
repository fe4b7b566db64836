"""Follows the bytes of an upstream's answer: which may be passed on, where the answer ends, and what it holds.

The bytes that come out are those that went in, whatever they are.
"""

from __future__ import annotations

from typing import Final

from ullage_relay.bodies import ChunkedBody, FixedBody, KeepContent, MessageBody, OpenBody
from ullage_relay.heads import HttpResponse, Malformed, find_head, read_response

WITHOUT_BODY: Final = (204, 304)


class AnswerReader:
    """One answer, interim responses (1xx) before it included."""

    def __init__(self, method: bytes, keep: KeepContent | None = None) -> None:
        self._method = method
        self._keep = keep
        self._head = b""
        self._body: MessageBody | None = None
        self.response: HttpResponse | None = None
        """The head of the final response, once it has come."""
        self.problem = ""
        """Why the end of the answer can't be told. All that comes is passed on until the connection ends."""
        self.is_switched = False
        """Whether the upstream has changed to another protocol (101)."""
        self.has_passed = False
        """Whether the client has been given anything of this answer."""
        self.extra = b""
        """What came after the end."""

    @property
    def is_complete(self) -> bool:
        return self._body is not None and self._body.is_complete and not self.problem

    def feed(self, data: bytes) -> bytes:
        """What is passed on now. Only a head that is not complete is held back."""
        passed = self._head_and_body(data) if self._body is None else self._rest(data)
        if passed:
            self.has_passed = True
        return passed

    def end(self) -> bool:
        """Whether the answer is whole when the connection ends here."""
        return self._body is not None and self._body.end() and not self.problem

    def _rest(self, data: bytes) -> bytes:
        end = self._take(data, 0)
        return data[:end]

    def _take(self, data: bytes, at: int) -> int:
        """Where the body ends in the data; what follows is extra."""
        if self._body is None or self.problem:
            return len(data)
        try:
            end = self._body.take(data, at, self._keep)
        except Malformed as problem:
            self.problem = str(problem)
            return len(data)
        self.extra += data[end:]
        return end

    def _head_and_body(self, data: bytes) -> bytes:
        data = self._head + data
        at = 0
        while self._body is None and not self.is_switched and not self.problem:
            try:
                size = find_head(data[at:])
                if size:
                    self._head_came(data[at : at + size])
            except Malformed as problem:
                self.problem = str(problem)
                break
            if not size:
                break
            at += size
        if self.problem and not self.has_passed and not at:
            self._head = data
            return b""
        if self._body is not None:
            at = self._take(data, at)
        elif self.is_switched or self.problem:
            at = len(data)
        self._head = data[at:] if self._body is None else b""
        return data[:at]

    def _head_came(self, head: bytes) -> None:
        response = read_response(head)
        if response.status == 101:
            self.is_switched = True
            self.response = response
        elif response.status >= 200:
            self._body = self._body_of(response)
            self.response = response

    def _body_of(self, response: HttpResponse) -> MessageBody:
        if self._method == b"HEAD" or response.status in WITHOUT_BODY:
            return FixedBody(0)
        if response.fields.has(b"transfer-encoding"):
            return ChunkedBody() if response.is_chunked else OpenBody()
        length = response.length
        return OpenBody() if length is None else FixedBody(length)

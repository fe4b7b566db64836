"""Requests of clients: h11 reads them, and what two servers could read in two ways is refused.

What goes on to an upstream is written anew from what h11 read, so that the upstream reads the same request.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import h11

from ullage.hosts import host_name

HEAD_AT_MOST: Final = 64 * 1024
"""Bytes of a head. Node's limit is 16 KB, that of most servers 8 to 64 KB."""

ENCODED_AT_MOST: Final = 3
"""How many times a dot, a slash or a percent sign of a path may be percent-encoded."""

PROBLEM_AT_MOST: Final = 200
"""Characters of what h11 says of a message, part of which it may repeat."""

_ESCAPED: Final = re.compile(rb"%(2[ef]|5c|25)", re.I)
_ELEMENT_ENDS: Final = re.compile(rb"[/\\]")
_AMBIGUOUS: Final = re.compile(
    rb"(?<!\r)\n|\r(?!\n)|\n[ \t]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Bare ends of lines, a header over two lines, control characters: h11 reads them, another server might not."""


class Malformed(ValueError):
    """What came is not HTTP/1, or could be read in two ways. The message says what is wrong."""


class HttpRequest(NamedTuple):
    """The head of a request. Names of headers are asked for in lower case."""

    head: h11.Request

    @property
    def method(self) -> bytes:
        return self.head.method

    @property
    def target(self) -> bytes:
        return self.head.target

    def all(self, name: bytes) -> list[bytes]:
        """The values of the headers of this name."""
        return [value for found, value in self.head.headers if found == name]

    def get(self, name: bytes) -> bytes:
        """The values of the headers of this name, joined by commas; empty when there is none."""
        return b", ".join(self.all(name))

    def has(self, name: bytes) -> bool:
        return any(found == name for found, _ in self.head.headers)

    def tokens(self, name: bytes) -> list[bytes]:
        """The elements of a list such as ``connection``, in lower case."""
        parts = self.get(name).lower().split(b",")
        return [part.strip() for part in parts if part.strip()]

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition(b"?")[0].decode("latin-1")

    @property
    def is_last(self) -> bool:
        """Whether the client wants the connection closed after the answer."""
        is_old = self.head.http_version != b"1.1"
        return is_old or b"close" in self.tokens(b"connection")

    @property
    def has_body(self) -> bool:
        has_length = self.get(b"content-length") not in (b"", b"0")
        return has_length or self.has(b"transfer-encoding")

    @property
    def upgrade(self) -> bytes:
        """The protocol that the client wants to change to, in lower case; empty for none."""
        if b"upgrade" not in self.tokens(b"connection"):
            return b""
        return self.get(b"upgrade").lower()


class RequestReader:
    """Reads one request from a client's bytes. All but ``feed`` raise ``Malformed``."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.SERVER, HEAD_AT_MOST)
        self._head = b""
        """The bytes of a head that is not complete."""

    @property
    def has_begun(self) -> bool:
        return bool(self._head)

    def feed(self, data: bytes) -> HttpRequest | None:
        """The head, once these bytes complete it."""
        if not self._head:
            data = data.lstrip(b"\r\n")  # RFC 9112, section 2.2
        self._head += data
        if not data:
            return None
        self._http.receive_data(data)
        event = self._next()
        if not isinstance(event, h11.Request):
            return None
        end = self._head.find(b"\r\n\r\n")
        _check_bytes(self._head[: end + 2], is_whole=0 <= end <= HEAD_AT_MOST)
        request = HttpRequest(event)
        _check(request)
        self._head = b""
        return request

    def feed_body(self, data: bytes) -> None:
        """More bytes of the body."""
        self._http.receive_data(data)

    def next_piece(self) -> h11.Data | h11.EndOfMessage | None:
        """The next piece of the body, or its end; ``None`` when more bytes have to come."""
        event = self._next()
        if isinstance(event, h11.Data | h11.EndOfMessage):
            return event
        return None

    @property
    def rest(self) -> bytes:
        """What follows the part that was read."""
        return self._http.trailing_data[0]

    def _next(self) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as problem:
            raise Malformed(problem_of(problem)) from problem


def problem_of(error: h11.ProtocolError) -> str:
    """What h11 found wrong, in few words."""
    return str(error)[:PROBLEM_AT_MOST].rstrip(".")


def _check_bytes(head: bytes, *, is_whole: bool) -> None:
    if not is_whole:
        raise Malformed(f"the head has more than {HEAD_AT_MOST} bytes, or no end")
    if _AMBIGUOUS.search(head):
        raise Malformed("the head holds a control character or a bare end of a line")


def _check(request: HttpRequest) -> None:
    """Raise ``Malformed`` for a request that a server might read differently."""
    version = request.head.http_version
    if version not in (b"1.0", b"1.1"):
        raise Malformed("its version is not HTTP/1.1")
    if not request.target.startswith(b"/") or request.method == b"CONNECT":
        raise Malformed("the target is not a path that begins with /")
    if request.has(b"host") and not host_name(request.get(b"host").decode("latin-1")):
        raise Malformed("the Host line names no host")
    if request.has(b"transfer-encoding"):
        if request.has(b"content-length"):
            raise Malformed("there are both Content-Length and Transfer-Encoding")
        if version == b"1.0":
            raise Malformed("HTTP/1.0 has no Transfer-Encoding")
    if _leaves_its_place(request.target):
        raise Malformed("the path has . or .. as an element")


def _leaves_its_place(target: bytes) -> bool:
    """Whether a server could read an element of the path as ``.`` or ``..``, also one that is encoded, once or again.

    Such a path would lead out of the upstream's own (https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4). What stands
    behind a semicolon is a parameter to some servers.
    """
    path = target.partition(b"?")[0]
    for _ in range(ENCODED_AT_MOST):
        path = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), path)
    if _ESCAPED.search(path):
        return True
    elements = _ELEMENT_ENDS.split(path)
    return any(each.partition(b";")[0] in (b".", b"..") for each in elements)

"""Heads of HTTP/1 requests and responses: strict for requests, since two readings of one request are an attack.

Rules: RFC 9112 (https://www.rfc-editor.org/rfc/rfc9112), sections 2.2, 3, 5 and 6.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

HEAD_AT_MOST: Final = 64 * 1024
"""Bytes of a head. Node's limit is 16 KB, that of most servers 8 to 64 KB."""

LENGTH_AT_MOST: Final = 15
"""Digits of a length: a petabyte."""

ENCODED_AT_MOST: Final = 3
"""How many times a dot, a slash or a percent sign of a path may be percent-encoded."""

_REQUEST_LINE: Final = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}) ([!-~\x80-\xff]+) HTTP/1\.([01])"
)
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: .*)?", re.S)
_FIELD: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*", re.S)
_HOST: Final = re.compile(
    r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)(:(?P<port>[0-9]{1,5}))?"
)
_ESCAPED: Final = re.compile(rb"%(2[ef]|5c|25)", re.I)
_ELEMENT_ENDS: Final = re.compile(rb"[/\\]")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class Malformed(ValueError):
    """What came is not HTTP/1, or could be read in two ways. The message says what is wrong."""


class HeaderField(NamedTuple):
    """One line of a head: the name in lower case, the value, and the line as it came."""

    name: bytes
    value: bytes
    line: bytes


class HeaderFields(tuple[HeaderField, ...]):
    """The fields of a head, in their order."""

    __slots__ = ()

    def all(self, name: bytes) -> list[bytes]:
        """The values of the fields of this name."""
        return [field.value for field in self if field.name == name]

    def get(self, name: bytes) -> bytes:
        """The values of the fields of this name, joined by commas; empty when there is none."""
        return b", ".join(self.all(name))

    def has(self, name: bytes) -> bool:
        return any(field.name == name for field in self)

    def tokens(self, name: bytes) -> list[bytes]:
        """The elements of a list such as ``connection``, in lower case."""
        parts = self.get(name).lower().split(b",")
        return [part.strip() for part in parts if part.strip()]


class HttpRequest(NamedTuple):
    """The head of a request. ``length`` is ``None`` for a chunked body."""

    method: bytes
    target: bytes
    minor: int
    fields: HeaderFields
    length: int | None

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition(b"?")[0].decode("latin-1")

    @property
    def is_last(self) -> bool:
        """Whether the client wants the connection closed after the answer."""
        tokens = self.fields.tokens(b"connection")
        return b"close" in tokens or (self.minor == 0 and b"keep-alive" not in tokens)

    @property
    def upgrade(self) -> bytes:
        """The protocol that the client wants to change to, in lower case; empty for none."""
        if b"upgrade" not in self.fields.tokens(b"connection"):
            return b""
        return self.fields.get(b"upgrade").lower()


class HttpResponse(NamedTuple):
    """The head of a response."""

    status: int
    minor: int
    fields: HeaderFields

    @property
    def is_last(self) -> bool:
        """Whether the server closes the connection after this response."""
        tokens = self.fields.tokens(b"connection")
        return b"close" in tokens or (self.minor == 0 and b"keep-alive" not in tokens)

    @property
    def is_chunked(self) -> bool:
        return self.fields.tokens(b"transfer-encoding")[-1:] == [b"chunked"]

    @property
    def length(self) -> int | None:
        """The length of the body; ``None`` when the head does not give it. Raises ``Malformed``."""
        values = set(self.fields.tokens(b"content-length"))
        if not values:
            return None
        if len(values) > 1:
            raise Malformed("the response has two lengths")
        return _length(values.pop())


def host_name(host: str) -> str:
    """The name in a ``Host`` without its port; empty if the value is not exactly a host."""
    found = _HOST.fullmatch(host.lower())
    if found is None or not 0 < int(found["port"] or 80) <= 65_535:
        return ""
    return found["name"]


def find_head(data: bytes | bytearray) -> int:
    """Where the first head ends; 0 when it is not complete. Raises ``Malformed`` when it is too large."""
    end = data.find(b"\r\n\r\n", 0, HEAD_AT_MOST)
    if end >= 0:
        return end + 4
    if len(data) >= HEAD_AT_MOST:
        raise Malformed(f"the head has more than {HEAD_AT_MOST} bytes")
    return 0


def read_request(head: bytes) -> HttpRequest:
    """The head of a request. Raises ``Malformed`` for everything that a server might read differently."""
    first, lines = _lines(head)
    line = _REQUEST_LINE.fullmatch(first)
    if line is None:
        raise Malformed("the first line is not METHOD TARGET HTTP/1.1")
    method, target, minor = line.groups()
    fields = _fields(lines)
    if not target.startswith(b"/"):
        raise Malformed("the target is not a path that begins with /")
    if len(fields.all(b"host")) > 1:
        raise Malformed("there are two Host lines")
    if minor == b"1" and not fields.has(b"host"):
        raise Malformed("the Host line is missing")
    if fields.has(b"host") and not host_name(fields.get(b"host").decode("latin-1")):
        raise Malformed("the Host line names no host")
    if _leaves_its_place(target):
        raise Malformed("the path has . or .. as an element")
    length = _request_length(fields, int(minor))
    return HttpRequest(method, target, int(minor), fields, length)


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


def read_response(head: bytes) -> HttpResponse:
    """The head of a response. Raises ``Malformed``."""
    first, lines = _lines(head)
    line = _STATUS_LINE.fullmatch(first)
    if line is None:
        raise Malformed("the first line is not HTTP/1.1 STATUS")
    return HttpResponse(int(line[2]), int(line[1]), _readable_fields(lines))


def _lines(head: bytes) -> tuple[bytes, list[bytes]]:
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    return first, lines


def _fields(lines: list[bytes]) -> HeaderFields:
    found = []
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            raise Malformed("a header is folded over two lines")
        match = _FIELD.fullmatch(line)
        if match is None:
            raise Malformed("a header line has no name")
        if _CONTROL.search(line):
            raise Malformed("a header holds a control character")
        found.append(HeaderField(match[1].lower(), match[2], line))
    return HeaderFields(found)


def _readable_fields(lines: list[bytes]) -> HeaderFields:
    """The fields of a response, which is passed on unchanged: a line that is no field is left out here."""
    found = []
    for line in lines:
        match = _FIELD.fullmatch(line)
        if match is not None:
            found.append(HeaderField(match[1].lower(), match[2], line))
    return HeaderFields(found)


def _request_length(fields: HeaderFields, minor: int) -> int | None:
    lengths = fields.all(b"content-length")
    codings = fields.all(b"transfer-encoding")
    if len(lengths) > 1:
        raise Malformed("there are two Content-Length lines")
    if codings and lengths:
        raise Malformed("there are both Content-Length and Transfer-Encoding")
    if codings and minor == 0:
        raise Malformed("HTTP/1.0 has no Transfer-Encoding")
    if codings and [coding.lower() for coding in codings] != [b"chunked"]:
        raise Malformed("the only Transfer-Encoding that is read is chunked")
    if codings:
        return None
    return _length(lengths[0]) if lengths else 0


def _length(value: bytes) -> int:
    if not value.isdigit() or len(value) > LENGTH_AT_MOST:
        raise Malformed("Content-Length is no plausible number")
    return int(value)

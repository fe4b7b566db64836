"""HTTP clients that send what no client library would: the table of raw requests."""

from __future__ import annotations

from typing import NamedTuple

BODY = b'{"text":"hi"}'
PATH = b"/v1/sessions/canary/messages"


class RawRequest(NamedTuple):
    """Bytes a client sends. ``sends`` completes "a client that …"; ``may`` are the statuses that are right, 0 being an
    answer without one: the server closed."""

    name: str
    sends: str
    data: bytes
    may: frozenset[int]


RAW_REQUESTS: list[RawRequest] = []
REFUSED = frozenset(
    {0, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 422, 426, 431, 501, 505}
)


def add(name: str, sends: str, data: bytes, *more: int) -> None:
    RAW_REQUESTS.append(RawRequest(name, sends, data, REFUSED | set(more)))


def post(
    body: bytes, *headers: bytes, path: bytes = PATH, host: bytes = b"HOST"
) -> bytes:
    """A POST of JSON that ends its connection."""
    lines = [
        b"POST %s HTTP/1.1" % path,
        b"Host: " + host,
        b"Content-Type: application/json",
        b"Connection: close",
        *headers,
    ]
    if not any(
        line.lower().startswith((b"content-length", b"transfer-encoding"))
        for line in headers
    ):
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", b""]) + body


def get(path: bytes, *headers: bytes, host: bytes = b"HOST") -> bytes:
    return b"\r\n".join(
        [
            b"GET %s HTTP/1.1" % path,
            b"Host: " + host,
            b"Connection: close",
            *headers,
            b"",
            b"",
        ]
    )


add("nothing", "connects and says nothing more than a line's end", b"\r\n")
add("garbage", "sends bytes that are no protocol", bytes(range(256)) * 100)
add("tls", "begins a TLS handshake", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500)  # fmt: skip
add("http2", "speaks HTTP/2 at once", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
add("no-host", "names no host", b"GET /v1/sessions HTTP/1.1\r\nConnection: close\r\n\r\n")
add("host-rebound", "names a rebound host", get(b"/v1/sessions", host=b"evil.example"))
add("host-prefix", "names a host that begins like ours", get(b"/v1/sessions", host=b"[::1].evil.com"))  # fmt: skip
add(
    "host-user",
    "names ours as the user of another host",
    get(b"/v1/sessions", host=b"127.0.0.1:1@evil.com"),
)
add("host-two", "names two hosts", get(b"/v1/sessions", b"Host: evil.example"))
add("host-null", "names a host with a NUL in it", get(b"/v1/sessions", host=b"localhost\0.evil.com"))  # fmt: skip
add("origin", "comes from another origin", post(BODY, b"Origin: https://evil.example"))
add("origin-null", "comes from no origin", post(BODY, b"Origin: null"))
add(
    "origin-two",
    "comes from two origins",
    post(BODY, b"Origin: https://evil.example", b"Origin: http://HOST"),
)
add("origin-scheme", "comes from our host by another scheme", post(BODY, b"Origin: ftp://HOST"))  # fmt: skip
add("cross-site", "says that it is cross-site", post(BODY, b"Sec-Fetch-Site: cross-site"))
add(
    "text-plain",
    "posts text, as a form can",
    post(BODY, b"Sec-Fetch-Site: cross-site", b"Content-Type: text/plain"),
)
add("not-utf8", "posts bytes that are no UTF-8", post(b'{"text":"\xff\xfe"}'))
add(
    "deep",
    "posts JSON nested 200,000 deep",
    post(b'{"text":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
)
add("deep-settings", "posts settings nested 900 deep", post(
    b'{"settings":{"params":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}}", path=b"/v1/sessions"))  # fmt: skip
add("not-json", "posts what is no JSON", post(b"{{{"))
add("null", "posts null", post(b"null"))
add("wrong-types", "posts fields of other types", post(b'{"text":{"a":1},"id":[],"kind":7}'))  # fmt: skip
add("nan", "posts NaN and a number of 5,000 digits", post(b'{"text":NaN,"x":' + b"9" * 5000 + b"}"))  # fmt: skip
add("surrogate", "posts half a surrogate pair", post(b'{"text":"\\ud83d"}'), 202)
add("twice", "posts one field twice", post(b'{"text":"a","text":"b"}'), 202)
add(
    "id-control",
    "posts an id of control characters",
    post(b'{"text":"a","id":"\\u0000\\u001b[2J\\n"}'),
)
add("id-huge", "posts an id of 1 MB", post(b'{"text":"a","id":"' + b"i" * 1_000_000 + b'"}'))  # fmt: skip
BOTH = (b"Content-Length: 4", b"Transfer-Encoding: chunked")
HIDDEN = b"0\r\n\r\nGET /v1/sessions HTTP/1.1\r\nHost: evil\r\n\r\n"
add("length-and-chunks", "gives a length and chunks, and hides a request", post(HIDDEN, *BOTH))  # fmt: skip
add("two-lengths", "gives two lengths", post(BODY, b"Content-Length: 5", b"Content-Length: 13"))  # fmt: skip
add("length-negative", "gives a negative length", post(BODY, b"Content-Length: -5"))
add("length-word", "gives a length that is no number", post(BODY, b"Content-Length: ten"))
add(
    "length-absurd", "announces 10^30 bytes", post(BODY, b"Content-Length: 1" + b"0" * 30)
)
add(
    "chunk-word",
    "sends a chunk whose size is no number",
    post(b"zz\r\nabc\r\n", b"Transfer-Encoding: chunked"),
)
add(
    "chunk-absurd",
    "announces a chunk of 2^64 bytes",
    post(b"ffffffffffffffffff\r\nabc", b"Transfer-Encoding: chunked"),
)
add("chunked-twice", "is chunked twice", post(b"0\r\n\r\n", b"Transfer-Encoding: chunked, chunked"))  # fmt: skip
add(
    "headers-many",
    "sends ten thousand headers",
    get(b"/v1/sessions", *(b"X-%d: a" % at for at in range(10_000))),
)
add("header-huge", "sends a header of 1 MB", get(b"/v1/sessions", b"X-Huge: " + b"a" * 1_000_000))  # fmt: skip
add("header-folded", "folds a header", get(b"/v1/sessions", b"X-Fold: a\r\n b"), 200)
add("header-no-colon", "sends a header without a colon", get(b"/v1/sessions", b"nothing here"))  # fmt: skip
add("path-huge", "asks for a path of 1 MB", get(b"/v1/sessions/" + b"a" * 1_000_000))
add("path-up", "asks for files above", get(b"/v1/sessions/../../../../etc/passwd"))
add(
    "path-escaped",
    "asks for files above, escaped twice",
    get(b"/v1/sessions/%252e%252e%252fetc%252fpasswd/context"),
)
add("path-nul", "asks for a path with a NUL", get(b"/v1/sessions/a%00b/context"))
add("path-not-utf8", "asks for a path that is no UTF-8", get(b"/v1/sessions/%ff%fe/context"))  # fmt: skip
add("path-sql", "asks for a session by SQL", get(b"/v1/sessions/x'%20OR%201=1--/context"))
add("query-huge", "asks with a query of 100 KB", get(b"/v1/sessions?limit=" + b"9" * 100_000))  # fmt: skip
add("query-negative", "asks for -1 sessions", get(b"/v1/sessions?limit=-1"))
add("query-nan", "asks for sessions before NaN", get(b"/v1/sessions?before=nan"), 200)
add(
    "method",
    "asks with a method nobody has",
    b"EVIL /v1/sessions HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
)
add(
    "connect",
    "asks for a tunnel",
    b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
)
add(
    "absolute",
    "asks for an absolute address elsewhere",
    get(b"http://evil.example/v1/sessions"),
    200,
)
add(
    "upgrade",
    "asks for a websocket",
    get(b"/v1/sessions", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13"),
    200,
)
add(
    "smuggled",
    "puts a second request behind the first",
    post(BODY) + get(b"/v1/sessions", host=b"evil.example"),
    202,
)
add("gzip", "packs its body", post(b"\x1f\x8b\x08" + b"\0" * 50, b"Content-Encoding: gzip"))  # fmt: skip
add("base-url", "asks for a session at its own address", post(
    b'{"id":"lured","settings":{"base_url":"http://127.0.0.1:1"}}', path=b"/v1/sessions"))  # fmt: skip
add("tools", "asks for a session with a shell", post(
    b'{"id":"armed","settings":{"tools":["shell"],"root":"/"}}', path=b"/v1/sessions"))  # fmt: skip
add("mcp", "asks for a session with an MCP server", post(
    b'{"id":"served","settings":{"mcp":{"x":{"command":"touch"}}}}', path=b"/v1/sessions"))  # fmt: skip

"""HTTP clients that send what no client library would: the table of raw requests."""

from __future__ import annotations

from typing import NamedTuple

BODY = b'{"text":"hi"}'
PATH = b"/v1/sessions/canary/messages"


class RawRequest(NamedTuple):
    """Bytes a client sends. ``may`` are the statuses that are right; 0 is an answer without one: the server closed."""

    name: str
    data: bytes
    may: frozenset[int]


RAW_REQUESTS: list[RawRequest] = []
REFUSED = frozenset(
    {0, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 422, 426, 431, 501, 505}
)


def add(name: str, data: bytes, *more: int) -> None:
    RAW_REQUESTS.append(RawRequest(name, data, REFUSED | set(more)))


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


add("nothing", b"\r\n")
add("garbage", bytes(range(256)) * 100)
add("tls", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500)
add("http2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
add("no-host", b"GET /v1/sessions HTTP/1.1\r\nConnection: close\r\n\r\n")
add("host-rebound", get(b"/v1/sessions", host=b"evil.example"))
add("host-prefix", get(b"/v1/sessions", host=b"[::1].evil.com"))
add("host-user", get(b"/v1/sessions", host=b"127.0.0.1:1@evil.com"))
add("host-two", get(b"/v1/sessions", b"Host: evil.example"))
add("host-null", get(b"/v1/sessions", host=b"localhost\0.evil.com"))
add("origin", post(BODY, b"Origin: https://evil.example"))
add("origin-null", post(BODY, b"Origin: null"))
add("origin-two", post(BODY, b"Origin: https://evil.example", b"Origin: http://HOST"))
add("origin-scheme", post(BODY, b"Origin: ftp://HOST"))
add("cross-site", post(BODY, b"Sec-Fetch-Site: cross-site"))
add("text-plain", post(BODY, b"Sec-Fetch-Site: cross-site", b"Content-Type: text/plain"))  # fmt: skip
add("not-utf8", post(b'{"text":"\xff\xfe"}'))
add("deep", post(b'{"text":' + b"[" * 200_000 + b"]" * 200_000 + b"}"))
add(
    "deep-settings",
    post(
        b'{"settings":{"params":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}}",
        path=b"/v1/sessions",
    ),
)
add("not-json", post(b"{{{"))
add("null", post(b"null"))
add("wrong-types", post(b'{"text":{"a":1},"id":[],"kind":7}'))
add("nan", post(b'{"text":NaN,"x":' + b"9" * 5000 + b"}"))
add("surrogate", post(b'{"text":"\\ud83d"}'), 202)
add("twice", post(b'{"text":"a","text":"b"}'), 202)
add("id-control", post(b'{"text":"a","id":"\\u0000\\u001b[2J\\n"}'))
add("id-huge", post(b'{"text":"a","id":"' + b"i" * 1_000_000 + b'"}'))
BOTH = (b"Content-Length: 4", b"Transfer-Encoding: chunked")
HIDDEN = b"0\r\n\r\nGET /v1/sessions HTTP/1.1\r\nHost: evil\r\n\r\n"
add("length-and-chunks", post(HIDDEN, *BOTH))
add("two-lengths", post(BODY, b"Content-Length: 5", b"Content-Length: 13"))
add("length-negative", post(BODY, b"Content-Length: -5"))
add("length-word", post(BODY, b"Content-Length: ten"))
add("length-absurd", post(BODY, b"Content-Length: 1" + b"0" * 30))
add("chunk-word", post(b"zz\r\nabc\r\n", b"Transfer-Encoding: chunked"))
add("chunk-absurd", post(b"ffffffffffffffffff\r\nabc", b"Transfer-Encoding: chunked"))
add("chunked-twice", post(b"0\r\n\r\n", b"Transfer-Encoding: chunked, chunked"))
add("headers-many", get(b"/v1/sessions", *(b"X-%d: a" % at for at in range(10_000))))
add("header-huge", get(b"/v1/sessions", b"X-Huge: " + b"a" * 1_000_000))
add("header-folded", get(b"/v1/sessions", b"X-Fold: a\r\n b"), 200)
add("header-no-colon", get(b"/v1/sessions", b"nothing here"))
add("path-huge", get(b"/v1/sessions/" + b"a" * 1_000_000))
add("path-up", get(b"/v1/sessions/../../../../etc/passwd"))
add("path-escaped", get(b"/v1/sessions/%252e%252e%252fetc%252fpasswd/context"))
add("path-nul", get(b"/v1/sessions/a%00b/context"))
add("path-not-utf8", get(b"/v1/sessions/%ff%fe/context"))
add("path-sql", get(b"/v1/sessions/x'%20OR%201=1--/context"))
add("query-huge", get(b"/v1/sessions?limit=" + b"9" * 100_000))
add("query-negative", get(b"/v1/sessions?limit=-1"))
add("query-nan", get(b"/v1/sessions?before=nan"), 200)
add("method", b"EVIL /v1/sessions HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
add("connect", b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n")
add("absolute", get(b"http://evil.example/v1/sessions"), 200)
add("upgrade", get(b"/v1/sessions", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13"), 200)  # fmt: skip
add("smuggled", post(BODY) + get(b"/v1/sessions", host=b"evil.example"), 202)
add("gzip", post(b"\x1f\x8b\x08" + b"\0" * 50, b"Content-Encoding: gzip"))
add(
    "base-url",
    post(
        b'{"id":"lured","settings":{"base_url":"http://127.0.0.1:1"}}',
        path=b"/v1/sessions",
    ),
)
add("tools", post(b'{"id":"armed","settings":{"tools":["shell"],"root":"/"}}', path=b"/v1/sessions"))  # fmt: skip
add(
    "mcp",
    post(
        b'{"id":"served","settings":{"mcp":{"x":{"command":"touch"}}}}',
        path=b"/v1/sessions",
    ),
)

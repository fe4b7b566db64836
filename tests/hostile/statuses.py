"""Behaviours of the status, the headers and the kind of the body: refusals, redirects, pages, and packed bodies."""

from __future__ import annotations

import gzip
import zlib
from functools import cache

from tests.hostile.provider import CALM, Connection
from tests.hostile.rows import (
    BEGUN,
    ENDED,
    HEAD,
    OVER,
    Adder,
    Step,
    Table,
    body,
    closed,
    ended,
    forever,
    head,
    times,
    whole,
)
from tests.hostile.speech import frame

STATUSES: Table = []
row = Adder(STATUSES, "status")
packed = Adder(STATUSES, "compression")
PAGE = b"<!doctype html><title>Sign in</title><script>alert(1)</script><p>Please sign in.</p>"
OVERLOADED = "overloaded, words of the provider"


def key_of(line: Connection) -> str:
    """The key that came with the request."""
    headers = line.request.headers
    return (
        headers.get("x-api-key")
        or headers.get("x-goog-api-key")
        or headers.get("authorization", "").split(" ")[-1]
    )


def elsewhere(status: str) -> Step:
    return lambda line: line.whole(status, b"", f"location: {line.elsewhere}/v1/messages")


def refusal(said: str, status: str = "400 Bad Request", *more: str) -> Step:
    """The body of an error in the form of the wire."""
    return lambda line: line.whole(status, line.speaker.refusal(said), *more)


def failure(said: str) -> Step:
    """An error inside the stream."""
    return lambda line: line.body(line.speaker.failure(said))


def error(status: str) -> Step:
    return lambda line: line.head(status, kind="application/json")


async def begin(line: Connection) -> None:
    await line.body(line.speaker.begin())


for _status in (
    "301 Moved",
    "302 Found",
    "303 See Other",
    "307 Temporary Redirect",
    "308 Permanent Redirect",
):
    row(
        f"redirect-{_status[:3]}",
        f"redirects to another origin with {_status[:3]}",
        elsewhere(_status),
        says="redirect",
    )
# fmt: off
row("redirect-loop", "redirects to itself, for ever", lambda line: line.whole("307 Temporary Redirect", b"",
    f"location: {line.request.path}"), says="redirect")
row("redirect-to-file", "redirects to a file of the user", whole("302 Found", b"", "location: file:///etc/passwd"),
    says="redirect")


@row.named("redirects to an address with the key in it, of 5 MB", says="redirect")
async def redirect_huge(line: Connection) -> None:
    query = f"{key_of(line)}{'a' * line.size(50_000)}"
    await line.whole("302 Found", b"", f"location: {line.elsewhere}/?{query}")


row("redirect-nowhere", "redirects without saying where", whole("302 Found", b""), says="redirect")


@row.named("repeats the key in its refusal")
async def key_echoed(line: Connection) -> None:
    said = f"Incorrect API key provided: {key_of(line)}."
    await line.whole("401 Unauthorized", line.speaker.refusal(said))


@row.named("repeats the key in the status line and in headers")
async def key_in_headers(line: Connection) -> None:
    key = key_of(line)
    names = ("request-id", "x-request-id", "retry-after")
    await line.whole(f"400 bad key {key}", b"{}", *(f"{name}: {key}" for name in names))


row("key-in-stream", "repeats the key in an error inside the stream", BEGUN,
    lambda line: failure(f"no money for {key_of(line)}")(line), OVER)


@row.named("repeats the key in a page")
async def key_in_page(line: Connection) -> None:
    page = f"<html><title>{key_of(line)}</title></html>".encode()
    kind = f"content-type: text/html; x={key_of(line)}"
    await line.whole("502 Bad Gateway", page, kind, kind="")


row("error-huge", "refuses with an error of 100 MB", error("500 Internal Server Error"),
    body(b'{"error":{"message":"'), times(100, body(b"a" * 1_000_000)), body(b'"}}'), OVER)
row("error-forever", "refuses with an error that never ends", error("500 Internal Server Error"),
    forever(body(b"a" * 1000)))
row("error-slow", "refuses and sends the error a byte at a time, for ever", error("400 Bad Request"),
    forever(body(b"a"), 0.02))


@row.named("refuses with an error that is nested 100,000 deep")
async def error_deep(line: Connection) -> None:
    depth = line.size(100_000)
    await line.whole("400 Bad Request", b'{"error":' * depth + b"1" + b"}" * depth)


row("error-mistyped", "refuses with an error of other types than documented",
    whole("400 Bad Request", b'{"error":{"message":[1,{"a":null}],"type":7,"code":{"x":[]},"status":true}}'))
row("error-escapes", "refuses with escape sequences in the error",
    refusal("\x1b]0;owned\x07\x1b[2J\x1b[31mred\x00\u202etxt.exe"))
row("error-not-utf8", "refuses with bytes that are no UTF-8", whole("500 Internal Server Error",
    b'{"error":{"message":"\xff\xfe\xc3\x28"}}'))


def told(wait: str) -> Step:
    return refusal("slow down", "429 Too Many Requests", f"retry-after: {wait}")


for _wait, _name in (("1e308", "1e308"), ("99999999999", "aeons"), ("-5", "negative"), ("NaN", "nan")):
    row(f"retry-after-{_name}", f"asks to wait for {_wait} seconds", told(_wait))
row("retry-after-9999", "asks to wait until the year 9999", told("Fri, 31 Dec 9999 23:59:59 GMT"))
row("retry-after-word", "asks to wait for a word of 1 MB", told("soon" * 20_000))
row("retry-after-many", "asks to wait in ten headers that differ",
    refusal("busy", "503 Service Unavailable", *(f"retry-after: {10**at}" for at in range(10)),
    "retry-after-ms: -1e9"))
row("status-999", "answers with status 999", whole("999 Strange", b"{}"))
row("status-204", "answers 204 without a body", lambda line: line.head("204 No Content", kind="", frame=""), closed)
row("status-304", "answers 304 to a POST", lambda line: line.head("304 Not Modified", kind="", frame=""), closed)
row("status-206", "answers 206 with a part", lambda line: line.head("206 Partial Content",
    "content-range: bytes 0-10/99999"), begin, ended("AAA"), must="ends")
row("page-200", "answers as a portal does, 200 and a page", whole("200 OK", PAGE, kind="text/html"))
row("page-as-stream", "answers with a page that says it is a stream", whole("200 OK", PAGE, kind="text/event-stream"))
row("page-502", "answers 502 with a gateway's page", whole("502 Bad Gateway", PAGE, kind="text/html"))
row("error-in-200", "answers 200 with an overload in a JSON body", refusal(OVERLOADED, "200 OK"), says=OVERLOADED)
row("error-in-200-as-stream", "answers 200 with an overload in a JSON body that says it is a stream",
    lambda line: line.whole("200 OK", line.speaker.refusal(OVERLOADED), kind="text/event-stream"),
    says="words of the provider")
row("error-first", "begins a stream with an error", HEAD, failure(OVERLOADED), OVER, says="words of the provider")
row("error-in-middle", "reports an error in the middle of a text", BEGUN, failure(OVERLOADED), OVER,
    says="words of the provider")
row("error-then-more", "reports an error in the middle and goes on as if nothing had been", BEGUN,
    failure("overloaded"), ENDED)
row("empty-200", "answers 200 with nothing", whole("200 OK", b""))
row("empty-stream", "answers 200 with an empty stream", HEAD, OVER)
row("null-200", "answers 200 with the JSON value null", whole("200 OK", b"null"))
row("list-200", "answers 200 with a list of 100,000 empty objects",
    lambda line: line.whole("200 OK", b"[" + b"{}," * line.size(100_000) + b"{}]"))
row("object-200", "answers 200 with an empty object", whole("200 OK", b"{}"))
row("not-streamed", "answers whole where a stream was asked for",
    lambda line: line.whole("200 OK", line.speaker.whole(CALM)), must="finishes", text=CALM)
row("stream-as-json", "streams and says it is JSON", head(kind="application/json"), begin, ended("AAA"), must="ends")
row("stream-without-kind", "streams and says no kind", head(kind=""), begin, ended("AAA"), must="ends")
row("strange-charset", "streams and names a character set nobody has",
    head(kind="text/event-stream; charset=x-klingon"), begin, ended("AAA"), must="finishes", text="AAA")
row("two-kinds", "names two kinds of body", head("content-type: image/png"), begin, ended("AAA"), must="ends")
row("cookies", "sets two hundred cookies of 400 bytes, which no later request may carry",
    head(*(f"set-cookie: c{at}={'c' * 400}; path=/; max-age=99999" for at in range(200))), begin, ended("AAA"),
    must="finishes", text="AAA")


@cache
def bomb(size: int, layers: int = 1) -> bytes:
    """``size`` bytes of one endless SSE line, packed; once more for each layer."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"a" * 1_000_000
    pieces = [packer.compress(b"data: ")]
    pieces += [packer.compress(block) for _ in range(max(1, size // len(block)))]
    data = b"".join([*pieces, packer.flush()])
    for _ in range(layers - 1):
        data = gzip.compress(data, 9)
    return data


def packs(layers: int = 1) -> Step:
    return lambda line: line.body(bomb(line.size(600_000_000), layers))


packed("gzip-bomb", "packs 600 MB into 600 KB with gzip, unasked", head("content-encoding: gzip"), packs(), OVER)
packed("gzip-twice", "packs 600 MB twice with gzip", head("content-encoding: gzip, gzip"), packs(2), OVER)


@packed.named("packs 600 MB with deflate")
async def deflate_bomb(line: Connection) -> None:
    packer = zlib.compressobj(9)
    block = b"a" * 1_000_000
    await line.head("200 OK", "content-encoding: deflate")
    await line.bodies(packer.compress(block) for _ in range(line.size(600)))
    await line.body(packer.flush())
    await line.over()


packed("gzip-error", "packs 600 MB into a refusal", lambda line: line.head("500 Internal Server Error",
    "content-encoding: gzip", kind="application/json"), packs(), OVER)
packed("gzip-json", "packs 600 MB into a whole JSON answer", head("content-encoding: gzip", kind="application/json"),
    packs(), OVER)


@packed.named("packs a good answer, unasked", must="ends")
async def gzip_good(line: Connection) -> None:
    speaker = line.speaker
    await line.head("200 OK", "content-encoding: gzip")
    await line.body(gzip.compress(speaker.begin() + speaker.text("AAA") + speaker.end()))
    await line.over()


packed("gzip-broken", "says gzip and sends something else", head("content-encoding: gzip"), begin, ENDED)
packed("unknown-packing", "says it packs in a way nobody knows", head("content-encoding: x-secret"),
    body(frame(b"\x00\x01\x02")), OVER)

"""Behaviours of the status, the headers and the kind of the body: refusals, redirects, pages, and packed bodies."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from functools import cache

from tests.hostile.provider import CALM, Connection, Play
from tests.hostile.rows import Table, adder, closed
from tests.hostile.speech import frame

STATUSES: Table = []
row = adder(STATUSES, "status")
packed = adder(STATUSES, "compression")
PAGE = b"<!doctype html><title>Sign in</title><script>alert(1)</script><p>Please sign in.</p>"


def key_of(line: Connection) -> str:
    """The key that came with the request."""
    headers = line.request.headers
    return (
        headers.get("x-api-key")
        or headers.get("x-goog-api-key")
        or headers.get("authorization", "").split(" ")[-1]
    )


def redirect(status: str) -> Play:
    async def play(line: Connection) -> None:
        await line.whole(status, b"", f"location: {line.elsewhere}/v1/messages")

    play.__name__ = f"redirect_{status[:3]}"
    return play


for _status in (
    "301 Moved",
    "302 Found",
    "303 See Other",
    "307 Temporary Redirect",
    "308 Permanent Redirect",
):
    row(f"redirects to another origin with {_status[:3]}", says="redirect")(
        redirect(_status)
    )


@row("redirects to itself, for ever", says="redirect")
async def redirect_loop(line: Connection) -> None:
    await line.whole("307 Temporary Redirect", b"", f"location: {line.request.path}")


@row("redirects to a file of the user", says="redirect")
async def redirect_to_file(line: Connection) -> None:
    await line.whole("302 Found", b"", "location: file:///etc/passwd")


@row("redirects to an address with the key in it, of 5 MB", says="redirect")
async def redirect_huge(line: Connection) -> None:
    await line.whole(
        "302 Found",
        b"",
        f"location: {line.elsewhere}/?{key_of(line)}{'a' * line.size(50_000)}",
    )


@row("redirects without saying where", says="redirect")
async def redirect_nowhere(line: Connection) -> None:
    await line.whole("302 Found", b"")


@row("repeats the key in its refusal")
async def key_echoed(line: Connection) -> None:
    await line.whole(
        "401 Unauthorized",
        line.speaker.refusal(f"Incorrect API key provided: {key_of(line)}."),
    )


@row("repeats the key in the status line and in headers")
async def key_in_headers(line: Connection) -> None:
    key = key_of(line)
    await line.whole(
        f"400 bad key {key}",
        b"{}",
        f"request-id: {key}",
        f"x-request-id: {key}",
        f"retry-after: {key}",
    )


@row("repeats the key in an error inside the stream")
async def key_in_stream(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.failure(f"no money for {key_of(line)}"))
    await line.over()


@row("repeats the key in a page")
async def key_in_page(line: Connection) -> None:
    page = f"<html><title>{key_of(line)}</title></html>".encode()
    await line.whole(
        "502 Bad Gateway", page, f"content-type: text/html; x={key_of(line)}", kind=""
    )


@row("refuses with an error of 100 MB")
async def error_huge(line: Connection) -> None:
    await line.head("500 Internal Server Error", kind="application/json")
    await line.body(b'{"error":{"message":"')
    for _ in range(line.size(100)):
        await line.body(b"a" * 1_000_000)
    await line.body(b'"}}')
    await line.over()


@row("refuses with an error that never ends")
async def error_forever(line: Connection) -> None:
    await line.head("500 Internal Server Error", kind="application/json")
    while True:
        await line.body(b"a" * 1000)


@row("refuses and sends the error a byte at a time, for ever")
async def error_slow(line: Connection) -> None:
    await line.head("400 Bad Request", kind="application/json")
    while True:
        await line.body(b"a")
        await asyncio.sleep(0.02)


@row("refuses with an error that is nested 100,000 deep")
async def error_deep(line: Connection) -> None:
    depth = line.size(100_000)
    await line.whole("400 Bad Request", b'{"error":' * depth + b"1" + b"}" * depth)


@row("refuses with an error of other types than documented")
async def error_mistyped(line: Connection) -> None:
    await line.whole(
        "400 Bad Request",
        b'{"error":{"message":[1,{"a":null}],"type":7,"code":{"x":[]},"status":true}}',
    )


@row("refuses with escape sequences in the error")
async def error_escapes(line: Connection) -> None:
    await line.whole(
        "400 Bad Request",
        line.speaker.refusal("\x1b]0;owned\x07\x1b[2J\x1b[31mred\x00\u202etxt.exe"),
    )


@row("refuses with bytes that are no UTF-8")
async def error_not_utf8(line: Connection) -> None:
    await line.whole(
        "500 Internal Server Error", b'{"error":{"message":"\xff\xfe\xc3\x28"}}'
    )


def told(wait: str, name: str) -> Play:
    async def play(line: Connection) -> None:
        await line.whole(
            "429 Too Many Requests",
            line.speaker.refusal("slow down"),
            f"retry-after: {wait}",
        )

    play.__name__ = f"retry_after_{name}"
    return play


for _wait, _name in (
    ("1e308", "1e308"),
    ("99999999999", "aeons"),
    ("-5", "negative"),
    ("NaN", "nan"),
):
    row(f"asks to wait for {_wait} seconds")(told(_wait, _name))
row("asks to wait until the year 9999")(told("Fri, 31 Dec 9999 23:59:59 GMT", "9999"))
row("asks to wait for a word of 1 MB")(told("soon" * 20_000, "word"))


@row("asks to wait in ten headers that differ")
async def retry_after_many(line: Connection) -> None:
    waits = [f"retry-after: {10**at}" for at in range(10)]
    await line.whole(
        "503 Service Unavailable",
        line.speaker.refusal("busy"),
        *waits,
        "retry-after-ms: -1e9",
    )


@row("answers with status 999")
async def status_999(line: Connection) -> None:
    await line.whole("999 Strange", b"{}")


@row("answers 204 without a body")
async def status_204(line: Connection) -> None:
    await line.head("204 No Content", kind="", frame="")
    await closed(line)


@row("answers 304 to a POST")
async def status_304(line: Connection) -> None:
    await line.head("304 Not Modified", kind="", frame="")
    await closed(line)


@row("answers 206 with a part", "ends")
async def status_206(line: Connection) -> None:
    await line.head("206 Partial Content", "content-range: bytes 0-10/99999")
    await line.body(line.speaker.begin())
    await line.ended("AAA")


@row("answers as a portal does, 200 and a page")
async def page_200(line: Connection) -> None:
    await line.whole("200 OK", PAGE, kind="text/html")


@row("answers with a page that says it is a stream")
async def page_as_stream(line: Connection) -> None:
    await line.whole("200 OK", PAGE, kind="text/event-stream")


@row("answers 502 with a gateway's page")
async def page_502(line: Connection) -> None:
    await line.whole("502 Bad Gateway", PAGE, kind="text/html")


@row(
    "answers 200 with an overload in a JSON body",
    says="overloaded, words of the provider",
)
async def error_in_200(line: Connection) -> None:
    await line.whole("200 OK", line.speaker.refusal("overloaded, words of the provider"))


@row(
    "answers 200 with an overload in a JSON body that says it is a stream",
    says="words of the provider",
)
async def error_in_200_as_stream(line: Connection) -> None:
    body = line.speaker.refusal("overloaded, words of the provider")
    await line.whole("200 OK", body, kind="text/event-stream")


@row("begins a stream with an error", says="words of the provider")
async def error_first(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.failure("overloaded, words of the provider"))
    await line.over()


@row("reports an error in the middle of a text", says="words of the provider")
async def error_in_middle(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.failure("overloaded, words of the provider"))
    await line.over()


@row("reports an error in the middle and goes on as if nothing had been")
async def error_then_more(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.failure("overloaded"))
    await line.ended()


@row("answers 200 with nothing")
async def empty_200(line: Connection) -> None:
    await line.whole("200 OK", b"")


@row("answers 200 with an empty stream")
async def empty_stream(line: Connection) -> None:
    await line.head()
    await line.over()


@row("answers 200 with the JSON value null")
async def null_200(line: Connection) -> None:
    await line.whole("200 OK", b"null")


@row("answers 200 with a list of 100,000 empty objects")
async def list_200(line: Connection) -> None:
    await line.whole("200 OK", b"[" + b"{}," * line.size(100_000) + b"{}]")


@row("answers 200 with an empty object")
async def object_200(line: Connection) -> None:
    await line.whole("200 OK", b"{}")


@row("answers whole where a stream was asked for", "finishes", text=CALM)
async def not_streamed(line: Connection) -> None:
    await line.whole("200 OK", line.speaker.whole(CALM))


@row("streams and says it is JSON", "ends")
async def stream_as_json(line: Connection) -> None:
    await line.head(kind="application/json")
    await line.body(line.speaker.begin())
    await line.ended("AAA")


@row("streams and says no kind", "ends")
async def stream_without_kind(line: Connection) -> None:
    await line.head(kind="")
    await line.body(line.speaker.begin())
    await line.ended("AAA")


@row("streams and names a character set nobody has", "finishes", text="AAA")
async def strange_charset(line: Connection) -> None:
    await line.head(kind="text/event-stream; charset=x-klingon")
    await line.body(line.speaker.begin())
    await line.ended("AAA")


@row("names two kinds of body", "ends")
async def two_kinds(line: Connection) -> None:
    await line.head("200 OK", "content-type: image/png")
    await line.body(line.speaker.begin())
    await line.ended("AAA")


@row(
    "sets two hundred cookies of 400 bytes, which no later request may carry",
    "finishes",
    text="AAA",
)
async def cookies(line: Connection) -> None:
    set_each = [
        f"set-cookie: c{at}={'c' * 400}; path=/; max-age=99999" for at in range(200)
    ]
    await line.head("200 OK", *set_each)
    await line.body(line.speaker.begin())
    await line.ended("AAA")


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


@packed("packs 600 MB into 600 KB with gzip, unasked")
async def gzip_bomb(line: Connection) -> None:
    await line.head("200 OK", "content-encoding: gzip")
    await line.body(bomb(line.size(600_000_000)))
    await line.over()


@packed("packs 600 MB twice with gzip")
async def gzip_twice(line: Connection) -> None:
    await line.head("200 OK", "content-encoding: gzip, gzip")
    await line.body(bomb(line.size(600_000_000), 2))
    await line.over()


@packed("packs 600 MB with deflate")
async def deflate_bomb(line: Connection) -> None:
    packer = zlib.compressobj(9)
    block = b"a" * 1_000_000
    await line.head("200 OK", "content-encoding: deflate")
    await line.bodies(packer.compress(block) for _ in range(line.size(600)))
    await line.body(packer.flush())
    await line.over()


@packed("packs 600 MB into a refusal")
async def gzip_error(line: Connection) -> None:
    await line.head(
        "500 Internal Server Error", "content-encoding: gzip", kind="application/json"
    )
    await line.body(bomb(line.size(600_000_000)))
    await line.over()


@packed("packs 600 MB into a whole JSON answer")
async def gzip_json(line: Connection) -> None:
    await line.head("200 OK", "content-encoding: gzip", kind="application/json")
    await line.body(bomb(line.size(600_000_000)))
    await line.over()


@packed("packs a good answer, unasked", "ends")
async def gzip_good(line: Connection) -> None:
    await line.head("200 OK", "content-encoding: gzip")
    await line.body(
        gzip.compress(
            line.speaker.begin() + line.speaker.text("AAA") + line.speaker.end()
        )
    )
    await line.over()


@packed("says gzip and sends something else")
async def gzip_broken(line: Connection) -> None:
    await line.head("200 OK", "content-encoding: gzip")
    await line.body(line.speaker.begin())
    await line.ended()


@packed("says it packs in a way nobody knows")
async def unknown_packing(line: Connection) -> None:
    await line.head("200 OK", "content-encoding: x-secret")
    await line.body(frame(b"\x00\x01\x02"))
    await line.over()

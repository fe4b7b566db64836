"""Random responses of HTTP/1 with all framings, sizes, encodings, interim responses and early ends."""

from __future__ import annotations

import gzip
import random
import zlib
from typing import NamedTuple

FRAMINGS = ("length", "chunked", "close", "none", "empty", "old")
SIZES = (0, 1, 7, 60, 300, 2_000, 5_000, 20_000, 70_000, 300_000)
INTERIM = (
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n",
    b"HTTP/1.1 102 Processing\r\n\r\n",
)


class RandomResponse(NamedTuple):
    """A response, and what a relay has to make of it."""

    method: str
    raw: bytes
    """All bytes, cut where the upstream dies."""
    content: bytes
    """The body without its transfer coding, as far as it comes."""
    is_whole: bool
    ends_by_closing: bool
    status: int


def random_response(draw: random.Random, *, may_die: bool = True) -> RandomResponse:
    """One response."""
    framing = draw.choice(FRAMINGS)
    method = "POST" if framing != "none" or draw.random() < 0.5 else "HEAD"
    status = draw.choice((200, 200, 201, 400, 429, 500, 529))
    if framing == "none" and method == "POST":
        status = draw.choice((204, 304))
    content = _encoded(draw, _content(draw))
    interim = b"".join(draw.choices(INTERIM, k=draw.choice((0, 0, 0, 1, 2))))
    lines = [f"HTTP/1.1 {status} {draw.choice(('OK', '', 'Any words: here'))}"]
    lines.append(f"X-Any:{' ' * draw.randrange(3)}{draw.choice(('', 'ü', 'a b'))}")
    body = content
    if framing == "length":
        lines.append(f"CONTENT-length: {len(content)}")
    elif framing == "chunked":
        lines.append("transfer-encoding:  Chunked")
        body = _chunked(draw, content)
    elif framing == "none":
        body = content = b""
        lines.append(
            draw.choice(("X-None: 1", "content-length: 12", "transfer-encoding: chunked"))
        )
    elif framing == "empty":
        body = content = b""
        lines.append("Content-Length: 0")
    elif framing == "old":
        lines[0] = lines[0].replace("HTTP/1.1", "HTTP/1.0")
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    raw = interim + head + body
    ends_by_closing = framing in ("close", "old")
    response = RandomResponse(method, raw, content, True, ends_by_closing, status)
    if may_die and framing in ("length", "chunked") and body and draw.random() < 0.15:
        return _dying(draw, response, len(interim + head), framing)
    return response


def cuts(draw: random.Random, raw: bytes) -> list[bytes]:
    """The bytes in pieces, some of them tiny."""
    pieces: list[bytes] = []
    at = 0
    count = draw.choice((1, 2, 5, 30))
    while at < len(raw) and len(pieces) < count:
        size = draw.choice((1, 2, 3, 17, 400, 9_000, 100_000))
        pieces.append(raw[at : at + size])
        at += size
    return [*pieces, raw[at:]] if at < len(raw) else pieces


def _content(draw: random.Random) -> bytes:
    size = draw.choice(SIZES)
    if draw.random() < 0.5:
        return draw.randbytes(size)
    event = (
        b'event: content_block_delta\ndata: {"delta":{"text":"\xc3\xbc 0\\r\\n"}}\r\n\r\n'
    )
    return (event * (size // len(event) + 1))[:size]


def _encoded(draw: random.Random, content: bytes) -> bytes:
    coding = draw.choice(("", "", "gzip", "deflate"))
    if coding == "gzip":
        return gzip.compress(content, 1, mtime=0)
    return zlib.compress(content, 1) if coding else content


def _chunked(draw: random.Random, content: bytes) -> bytes:
    found = []
    at = 0
    while at < len(content):
        size = draw.choice((1, 5, 60, 4_000, 60_000))
        size = size if len(content) < 6_000 else max(size, 4_000)
        piece = content[at : at + size]
        form = draw.choice(("%x", "%X", "000%x", "%x;a=b", '%x; name="x y"'))
        text = form % len(piece)
        found.append(text.encode() + b"\r\n" + piece + b"\r\n")
        at += size
    trailers = draw.choice((b"", b"", b"X-Trailer: 1\r\n", b"A: b\r\nC:\r\n"))
    return (
        b"".join(found)
        + draw.choice((b"0", b"000", b"0;x"))
        + b"\r\n"
        + trailers
        + b"\r\n"
    )


def _dying(
    draw: random.Random, response: RandomResponse, head: int, framing: str
) -> RandomResponse:
    """The same, when the upstream closes in the middle of the body."""
    end = draw.randrange(head, len(response.raw))
    content = response.content
    if framing == "length":
        content = response.raw[head:end]
    return response._replace(raw=response.raw[:end], content=content, is_whole=False)

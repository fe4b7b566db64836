"""Behaviours of the connection: slow, silent, endless, cut, and not quite HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count

from tests.hostile.provider import CALM, Connection
from tests.hostile.rows import (
    BEGUN,
    ENDED,
    HEAD,
    OVER,
    SILENCE,
    Adder,
    Table,
    body,
    closed,
    end,
    forever,
    head,
    opened,
    raw,
    reset,
    text,
    times,
)

CONNECTIONS: Table = []
row = Adder(CONNECTIONS, "connection")
TICK_S = 0.02
PING = b'event: ping\ndata: {"type":"ping"}\n\n'
SWITCHES = raw(
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"
)
HINT = b"HTTP/1.1 103 Early Hints\r\nlink: <%s>\r\n\r\n"


async def unframed(line: Connection) -> None:
    """A good answer without any frame."""
    await line.raw(line.speaker.begin() + line.speaker.text("AAA") + line.speaker.end())


async def cut_short(line: Connection) -> None:
    await line.raw(line.speaker.begin() + line.speaker.text("AAA"))
    await closed(line)


# fmt: off
row("silent", "takes the request and never answers", SILENCE)
row("silent-after-head", "sends the head of a stream and then nothing", HEAD, SILENCE)
row("silent-after-text", "stops in the middle of a text and keeps the connection", BEGUN, SILENCE)
row("silent-in-line", "stops in the middle of a line and keeps the connection", BEGUN, body(b'data: {"type":'),
    SILENCE)
row("silent-after-end", "ends its answer and neither ends the body nor closes", BEGUN, end, SILENCE, must="finishes",
    text="AAA")
row("slow-head", "sends its status line a byte at a time, for ever", raw(b"HTTP/1.1 200 OK\r\nx-slow: "),
    forever(raw(b"a"), TICK_S))
row("slow-line", "sends one line a byte at a time, for ever", BEGUN, body(b"data: "), forever(body(b"a"), TICK_S))
row("comments-forever", "sends nothing but comments, for ever", opened, forever(body(b": keep-alive\n\n"), TICK_S))
row("pings-forever", "sends nothing but pings, for ever", BEGUN, forever(body(PING), TICK_S))
row("blanks-forever", "sends empty lines, for ever", HEAD, forever(body(b"\n" * 100), TICK_S))
row("pings-flood", "sends pings as fast as they are taken, for ever", BEGUN, forever(body(PING * 1000)))


@row.named("writes a text that never ends, slowly", must="ends")
async def text_forever(line: Connection) -> None:
    await line.begun()
    for at in count():
        await line.body(line.speaker.text(f"and {at} "))
        await asyncio.sleep(TICK_S)


@row.named("writes a text that never ends, as fast as it is taken", must="ends")
async def text_flood(line: Connection) -> None:
    await line.begun()
    for at in count():
        await line.body(line.speaker.text(f"and {at} " * 20))


@row.named("thinks and never ends, as fast as it is taken", must="ends")
async def reasoning_flood(line: Connection) -> None:
    await opened(line)
    for at in count():
        await line.body(line.speaker.reasoning(f"hm {at}, " * 50))


@row.named("writes the arguments of a call that never end", must="ends")
async def arguments_forever(line: Connection) -> None:
    def forever() -> Iterator[str]:
        yield '{"what":"'
        while True:
            yield "a" * 200

    await line.begun()
    await line.bodies(line.speaker.call("look", forever()))


row("continue-flood", "sends 100 Continue without end and no answer",
    forever(raw(b"HTTP/1.1 100 Continue\r\n\r\n"), TICK_S / 10))
row("early-hints", "sends a thousand 103 Early Hints before a good answer",
    lambda line: line.raw(HINT % b"/x" * line.size(1000)), Connection.good, must="ends")
row("switching", "sends 101 Switching Protocols to a client that did not ask for it", SWITCHES, SILENCE)


@row.named("sends a hundred thousand headers")
async def many_headers(line: Connection) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
    for at in range(line.size(1000)):
        await line.raw(b"".join(b"x-%d-%d: a\r\n" % (at, each) for each in range(100)))
    await line.raw(b"\r\n")
    await closed(line)


row("huge-header", "sends one header of 50 MB", raw(b"HTTP/1.1 200 OK\r\nx-huge: "), times(50, raw(b"a" * 1_000_000)),
    closed)
row("cut-before-head", "closes before it answers", closed)
row("reset-before-head", "resets the connection before it answers", reset)
row("cut-in-head", "closes in the middle of the head", raw(b"HTTP/1.1 200 OK\r\ncontent-ty"), closed)
row("cut-after-head", "closes behind the head", HEAD, closed)
row("cut-in-event", "closes in the middle of an event", BEGUN, lambda line: line.body(line.speaker.text("BBB")[:-12]),
    closed)
row("cut-between-events", "closes between two events", BEGUN, closed)
row("ends-early", "ends the body between two events in good order, without the end of the answer", BEGUN, OVER)
row("reset-in-body", "resets the connection in the middle of a text", BEGUN, lambda line: asyncio.sleep(TICK_S),
    reset)
row("cut-after-end", "closes behind the end of the answer, without the last chunk", BEGUN, end, closed,
    must="finishes", text="AAA")


@row.named("closes in the middle of a tool's arguments")
async def cut_in_arguments(line: Connection) -> None:
    await opened(line)
    pieces = list(line.speaker.call("look", ['{"what":', '"bungs"}']))
    await line.bodies(pieces[:2])
    await closed(line)


row("answers-early", "answers before it has read the request, and closes", lambda line: line.good("AAA"), closed,
    must="ends", reads=False)


@row.named("refuses before it has read the request, and resets", reads=False)
async def refuses_early(line: Connection) -> None:
    await line.whole("413 Content Too Large", b'{"error":{"message":"too much"}}')
    line.cut(reset=True)


row("never-reads", "never reads the body of the request", lambda line: asyncio.sleep(30), reads=False)
row("http-1-0", "answers as HTTP/1.0 and ends by closing", head(version="HTTP/1.0", frame=""),
    lambda line: line.body(line.speaker.begin()), text(CALM), end, closed, must="finishes", text=CALM)
row("http-0-9", "answers as HTTP/0.9, with no head at all", unframed, closed)
row("http-9-9", "says it speaks HTTP/9.9", head(version="HTTP/9.9"), ENDED, must="ends")
row("ssh", "answers with the greeting of an SSH server", raw(b"SSH-2.0-OpenSSH_9.6\r\n"), closed)
row("garbage", "answers with bytes that are no protocol", raw(bytes(range(256)) * 64), closed)
row("status-word", "answers with a status that is no number", raw(b"HTTP/1.1 fine OK\r\n\r\n"), closed)
row("two-lengths", "gives two lengths that differ", head("content-length: 10", frame="content-length: 5000"),
    raw(b"a" * 10), closed)
row("length-too-long", "announces a longer body than it sends", head(frame="content-length: 100000"), cut_short,
    must="ends")
row("length-too-short", "announces a shorter body than it sends", head(frame="content-length: 20"), unframed, closed)
row("length-negative", "announces a negative length", head(frame="content-length: -1"), ENDED)
row("length-absurd", "announces a length of 10^30 bytes and closes", head(frame=f"content-length: {10**30}"),
    cut_short)


@row.named("gives a length and chunks", must="ends")
async def length_and_chunks(line: Connection) -> None:
    await line.head("200 OK", "content-length: 7")
    await line.body(line.speaker.begin())
    await line.ended("AAA")
    line.is_kept = False


row("chunk-size-word", "sends a chunk whose size is no number", BEGUN, raw(b"many\r\ndata: {}\r\n"), closed)
row("chunk-size-absurd", "announces a chunk of 2^64 bytes and closes", BEGUN, raw(b"ffffffffffffffff\r\ndata: {}"),
    closed)
row("chunk-extension-forever", "writes an extension behind a chunk's size that never ends", BEGUN, raw(b"5;"),
    forever(raw(b"a=b;" * 10_000)))
row("trailers", "sends trailers behind a good answer", opened, text(CALM), end,
    raw(b"0\r\nx-trailer: a\r\nset-cookie: b=c\r\n\r\n"), must="finishes", text=CALM)
row("trailers-forever", "sends trailers without end", BEGUN, raw(b"0\r\n"),
    forever(raw(b"x-trailer: aaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 1000)), must="ends")


@row.named("sends each byte of a good answer alone", must="finishes", text=CALM)
async def byte_by_byte(line: Connection) -> None:
    await line.head()
    for byte in line.speaker.begin() + line.speaker.text(CALM) + line.speaker.end():
        await line.body(bytes([byte]))
    await line.over()


def foreign(line: Connection) -> bytes:
    """A whole answer to a question that was not asked here."""
    said = line.speaker.whole("Somebody else's answer.")
    start = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
    return start + b"%d\r\n\r\n%s" % (len(said), said)


row("second-answer", "sends a second answer right behind the first",
    lambda line: line.good("AAA", then=foreign(line)), must="finishes", text="AAA")
row("second-answer-queued", "sends a second answer behind a first of 200 KB, in one piece",
    lambda line: line.good("A" * 200_000, then=foreign(line)), must="finishes")
# At once: behind the next question it would be a provider's answer like any other.
row("second-answer-late", "sends a second answer when the first is over", lambda line: line.good("AAA"),
    lambda line: line.raw(foreign(line)), must="finishes", text="AAA")
row("upgrade-then-answer", "switches protocols and answers in HTTP all the same", SWITCHES,
    lambda line: line.good("AAA"), closed)
row("http-2", "answers in HTTP/2, which was not agreed on", raw(b"\0\0\0\4\0\0\0\0\0\0\0\1\1\4\0\0\0\1\x88"), SILENCE)
row("early-hints-flood", "sends 103 Early Hints of 50 KB as fast as they are taken, for ever",
    forever(raw(HINT % (b"x" * 50_000) * 10)))
row("one-byte-chunks", "sends 20 MB in chunks of one byte", BEGUN, body(b": "),
    times(2_000, raw(b"1\r\na\r\n" * 10_000)), body(b"\n\n"), ENDED, must="ends")
row("chunk-extensions", "puts an extension of 10 KB behind the size of each of ten thousand chunks", BEGUN,
    body(b": "), times(1_000, raw((b"1;x=" + b"e" * 10_000 + b"\r\na\r\n") * 10)), body(b"\n\n"), ENDED, must="ends")

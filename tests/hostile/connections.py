"""Behaviours of the connection: slow, silent, endless, cut, and not quite HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count

from tests.hostile.provider import CALM, Connection
from tests.hostile.rows import Table, adder, closed

CONNECTIONS: Table = []
row = adder(CONNECTIONS, "connection")
TICK_S = 0.02


@row("takes the request and never answers")
async def silent(line: Connection) -> None:
    await line.silence()


@row("sends the head of a stream and then nothing")
async def silent_after_head(line: Connection) -> None:
    await line.head()
    await line.silence()


@row("stops in the middle of a text and keeps the connection")
async def silent_after_text(line: Connection) -> None:
    await line.begun()
    await line.silence()


@row("stops in the middle of a line and keeps the connection")
async def silent_in_line(line: Connection) -> None:
    await line.begun()
    await line.body(b'data: {"type":')
    await line.silence()


@row("ends its answer and neither ends the body nor closes", "finishes", text="AAA")
async def silent_after_end(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.end())
    await line.silence()


@row("sends its status line a byte at a time, for ever")
async def slow_head(line: Connection) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while True:
        await line.raw(b"a")
        await asyncio.sleep(TICK_S)


@row("sends one line a byte at a time, for ever")
async def slow_line(line: Connection) -> None:
    await line.begun()
    await line.body(b"data: ")
    while True:
        await line.body(b"a")
        await asyncio.sleep(TICK_S)


@row("sends nothing but comments, for ever")
async def comments_forever(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    while True:
        await line.body(b": keep-alive\n\n")
        await asyncio.sleep(TICK_S)


@row("sends nothing but pings, for ever")
async def pings_forever(line: Connection) -> None:
    await line.begun()
    while True:
        await line.body(b'event: ping\ndata: {"type":"ping"}\n\n')
        await asyncio.sleep(TICK_S)


@row("sends empty lines, for ever")
async def blanks_forever(line: Connection) -> None:
    await line.head()
    while True:
        await line.body(b"\n" * 100)
        await asyncio.sleep(TICK_S)


@row("sends pings as fast as they are taken, for ever")
async def pings_flood(line: Connection) -> None:
    await line.begun()
    ping = b'event: ping\ndata: {"type":"ping"}\n\n' * 1000
    while True:
        await line.body(ping)


@row("writes a text that never ends, slowly", "ends")
async def text_forever(line: Connection) -> None:
    await line.begun()
    for at in count():
        await line.body(line.speaker.text(f"and {at} "))
        await asyncio.sleep(TICK_S)


@row("writes a text that never ends, as fast as it is taken", "ends")
async def text_flood(line: Connection) -> None:
    await line.begun()
    for at in count():
        await line.body(line.speaker.text(f"and {at} " * 20))


@row("thinks and never ends, as fast as it is taken", "ends")
async def reasoning_flood(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    for at in count():
        await line.body(line.speaker.reasoning(f"hm {at}, " * 50))


@row("writes the arguments of a call that never end", "ends")
async def arguments_forever(line: Connection) -> None:
    def forever() -> Iterator[str]:
        yield '{"what":"'
        while True:
            yield "a" * 200

    await line.begun()
    await line.bodies(line.speaker.call("look", forever()))


@row("sends 100 Continue without end and no answer")
async def continue_flood(line: Connection) -> None:
    while True:
        await line.raw(b"HTTP/1.1 100 Continue\r\n\r\n")
        await asyncio.sleep(TICK_S / 10)


@row("sends a thousand 103 Early Hints before a good answer", "ends")
async def early_hints(line: Connection) -> None:
    await line.raw(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * line.size(1000))
    await line.good()


@row("sends 101 Switching Protocols to a client that did not ask for it")
async def switching(line: Connection) -> None:
    await line.raw(
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"
    )
    await line.silence()


@row("sends a hundred thousand headers")
async def many_headers(line: Connection) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
    for at in range(line.size(1000)):
        await line.raw(b"".join(b"x-%d-%d: a\r\n" % (at, each) for each in range(100)))
    await line.raw(b"\r\n")
    await closed(line)


@row("sends one header of 50 MB")
async def huge_header(line: Connection) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\nx-huge: ")
    for _ in range(line.size(50)):
        await line.raw(b"a" * 1_000_000)
    await closed(line)


@row("closes before it answers")
async def cut_before_head(line: Connection) -> None:
    await closed(line)


@row("resets the connection before it answers")
async def reset_before_head(line: Connection) -> None:
    line.is_kept = False
    line.cut(reset=True)


@row("closes in the middle of the head")
async def cut_in_head(line: Connection) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\ncontent-ty")
    await closed(line)


@row("closes behind the head")
async def cut_after_head(line: Connection) -> None:
    await line.head()
    await closed(line)


@row("closes in the middle of an event")
async def cut_in_event(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.text("BBB")[:-12])
    await closed(line)


@row("closes between two events")
async def cut_between_events(line: Connection) -> None:
    await line.begun()
    await closed(line)


@row("ends the body between two events in good order, without the end of the answer")
async def ends_early(line: Connection) -> None:
    await line.begun()
    await line.over()


@row("resets the connection in the middle of a text")
async def reset_in_body(line: Connection) -> None:
    await line.begun()
    await asyncio.sleep(TICK_S)
    line.is_kept = False
    line.cut(reset=True)


@row(
    "closes behind the end of the answer, without the last chunk", "finishes", text="AAA"
)
async def cut_after_end(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.end())
    await closed(line)


@row("closes in the middle of a tool's arguments")
async def cut_in_arguments(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    pieces = list(line.speaker.call("look", ['{"what":', '"bungs"}']))
    await line.bodies(pieces[:2])
    await closed(line)


@row("answers before it has read the request, and closes", "ends", reads=False)
async def answers_early(line: Connection) -> None:
    await line.good("AAA")
    await closed(line)


@row("refuses before it has read the request, and resets", reads=False)
async def refuses_early(line: Connection) -> None:
    await line.whole("413 Content Too Large", b'{"error":{"message":"too much"}}')
    line.cut(reset=True)


@row("never reads the body of the request", reads=False)
async def never_reads(line: Connection) -> None:
    await asyncio.sleep(30)


@row("answers as HTTP/1.0 and ends by closing", "finishes", text=CALM)
async def http_1_0(line: Connection) -> None:
    await line.head(version="HTTP/1.0", frame="")
    await line.body(line.speaker.begin(), line.speaker.text(CALM), line.speaker.end())
    await closed(line)


@row("answers as HTTP/0.9, with no head at all")
async def http_0_9(line: Connection) -> None:
    await line.raw(line.speaker.begin() + line.speaker.text("AAA") + line.speaker.end())
    await closed(line)


@row("says it speaks HTTP/9.9", "ends")
async def http_9_9(line: Connection) -> None:
    await line.head(version="HTTP/9.9")
    await line.ended()


@row("answers with the greeting of an SSH server")
async def ssh(line: Connection) -> None:
    await line.raw(b"SSH-2.0-OpenSSH_9.6\r\n")
    await closed(line)


@row("answers with bytes that are no protocol")
async def garbage(line: Connection) -> None:
    await line.raw(bytes(range(256)) * 64)
    await closed(line)


@row("answers with a status that is no number")
async def status_word(line: Connection) -> None:
    await line.raw(b"HTTP/1.1 fine OK\r\n\r\n")
    await closed(line)


@row("gives two lengths that differ")
async def two_lengths(line: Connection) -> None:
    await line.head("200 OK", "content-length: 10", frame="content-length: 5000")
    await line.raw(b"a" * 10)
    await closed(line)


@row("announces a longer body than it sends", "ends")
async def length_too_long(line: Connection) -> None:
    await line.head(frame="content-length: 100000")
    await line.raw(line.speaker.begin() + line.speaker.text("AAA"))
    await closed(line)


@row("announces a shorter body than it sends")
async def length_too_short(line: Connection) -> None:
    await line.head(frame="content-length: 20")
    await line.raw(line.speaker.begin() + line.speaker.text("AAA") + line.speaker.end())
    await closed(line)


@row("announces a negative length")
async def length_negative(line: Connection) -> None:
    await line.head(frame="content-length: -1")
    await line.ended()


@row("announces a length of 10^30 bytes and closes")
async def length_absurd(line: Connection) -> None:
    await line.head(frame=f"content-length: {10**30}")
    await line.raw(line.speaker.begin() + line.speaker.text("AAA"))
    await closed(line)


@row("gives a length and chunks", "ends")
async def length_and_chunks(line: Connection) -> None:
    await line.head("200 OK", "content-length: 7")
    await line.body(line.speaker.begin())
    await line.ended("AAA")
    line.is_kept = False


@row("sends a chunk whose size is no number")
async def chunk_size_word(line: Connection) -> None:
    await line.begun()
    await line.raw(b"many\r\ndata: {}\r\n")
    await closed(line)


@row("announces a chunk of 2^64 bytes and closes")
async def chunk_size_absurd(line: Connection) -> None:
    await line.begun()
    await line.raw(b"ffffffffffffffff\r\ndata: {}")
    await closed(line)


@row("writes an extension behind a chunk's size that never ends")
async def chunk_extension_forever(line: Connection) -> None:
    await line.begun()
    await line.raw(b"5;")
    while True:
        await line.raw(b"a=b;" * 10_000)
        await asyncio.sleep(0)


@row("sends trailers behind a good answer", "finishes", text=CALM)
async def trailers(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin(), line.speaker.text(CALM), line.speaker.end())
    await line.raw(b"0\r\nx-trailer: a\r\nset-cookie: b=c\r\n\r\n")


@row("sends trailers without end", "ends")
async def trailers_forever(line: Connection) -> None:
    await line.begun()
    await line.raw(b"0\r\n")
    while True:
        await line.raw(b"x-trailer: aaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 1000)
        await asyncio.sleep(0)


@row("sends each byte of a good answer alone", "finishes", text=CALM)
async def byte_by_byte(line: Connection) -> None:
    await line.head()
    for byte in line.speaker.begin() + line.speaker.text(CALM) + line.speaker.end():
        await line.body(bytes([byte]))
    await line.over()


@row("sends a second answer right behind the first", "finishes", text="AAA")
async def second_answer(line: Connection) -> None:
    await line.good("AAA", then=_foreign(line))


@row("sends a second answer behind a first of 200 KB, in one piece", "finishes")
async def second_answer_queued(line: Connection) -> None:
    await line.good("A" * 200_000, then=_foreign(line))


@row("sends a second answer when the first is over", "finishes", text="AAA")
async def second_answer_late(line: Connection) -> None:
    await line.good("AAA")
    await line.raw(
        _foreign(line)
    )  # at once: behind the next question it would be a provider's answer like any other


def _foreign(line: Connection) -> bytes:
    """A whole answer to a question that was not asked here."""
    body = line.speaker.whole("Somebody else's answer.")
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
        % (len(body), body)
    )


@row("switches protocols and answers in HTTP all the same")
async def upgrade_then_answer(line: Connection) -> None:
    await line.raw(
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"
    )
    await line.good("AAA")
    await closed(line)


@row("answers in HTTP/2, which was not agreed on")
async def http_2(line: Connection) -> None:
    settings = b"\0\0\0\4\0\0\0\0\0"
    headers = b"\0\0\1\1\4\0\0\0\1\x88"
    await line.raw(settings + headers)
    await line.silence()


@row("sends 103 Early Hints of 50 KB as fast as they are taken, for ever")
async def early_hints_flood(line: Connection) -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nlink: <" + b"x" * 50_000 + b">\r\n\r\n"
    while True:
        await line.raw(hint * 10)


@row("sends 20 MB in chunks of one byte", "ends")
async def one_byte_chunks(line: Connection) -> None:
    await line.begun()
    await line.body(b": ")
    for _ in range(line.size(2_000)):
        await line.raw(b"1\r\na\r\n" * 10_000)
    await line.body(b"\n\n")
    await line.ended()


@row("puts an extension of 10 KB behind the size of each of ten thousand chunks", "ends")
async def chunk_extensions(line: Connection) -> None:
    await line.begun()
    await line.body(b": ")
    for _ in range(line.size(1_000)):
        await line.raw((b"1;x=" + b"e" * 10_000 + b"\r\na\r\n") * 10)
    await line.body(b"\n\n")
    await line.ended()

"""Behaviours of size: everything that has a length, too long; everything that can be counted, too many."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.provider import Connection
from tests.hostile.rows import Table, adder, closed
from tests.hostile.speech import Counts, repeated

SIZES: Table = []
row = adder(SIZES, "size")


@row("sends one line of 200 MB", "ends")
async def huge_line(line: Connection) -> None:
    await line.begun()
    await line.body(b'data: {"type":"')
    for _ in range(200):
        await line.body(b"a" * line.size(1_000_000))
    await line.body(b'"}\n\n')
    await line.ended()


@row("sends one event of 200 MB in many lines", "ends")
async def huge_event(line: Connection) -> None:
    await line.begun()
    block = (b"data: " + b"a" * 9_993 + b"\n") * 100
    for _ in range(line.size(200)):
        await line.body(block)
    await line.body(b"\n")
    await line.ended()


@row("sends one comment of 200 MB", "ends")
async def huge_comment(line: Connection) -> None:
    await line.begun()
    await line.body(b": ")
    for _ in range(200):
        await line.body(b"a" * line.size(1_000_000))
    await line.body(b"\n\n")
    await line.ended()


@row("names an event with 50 MB", "ends")
async def huge_event_name(line: Connection) -> None:
    await line.begun()
    await line.body(b"event: ")
    for _ in range(50):
        await line.body(b"a" * line.size(1_000_000))
    await line.body(b'\ndata: {"type":"x"}\n\n')
    await line.ended()


@row("writes 60 MB of text in small pieces", "ends")
async def huge_text(line: Connection) -> None:
    await line.begun()
    await line.bodies(
        line.speaker.text(f"text {at} " * 400) for at in range(line.size(15_000))
    )
    await line.ended(written=line.size(60_000_000))


@row("writes 60 MB of text in one event", "ends")
async def huge_text_event(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.text("t" * line.size(60_000_000)))
    await line.ended(written=line.size(60_000_000))


@row("thinks 60 MB in small pieces", "ends")
async def huge_reasoning(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    await line.bodies(
        line.speaker.reasoning(f"think {at} " * 400) for at in range(line.size(15_000))
    )
    await line.ended()


def arguments(size: int) -> Iterator[str]:
    yield '{"what":"'
    yield from repeated("a", size)
    yield '"}'


@row("calls a tool with arguments of 50 MB", "ends", once=True)
async def huge_arguments(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    await line.bodies(line.speaker.call("look", arguments(line.size(50_000_000))))
    await line.body(line.speaker.end())
    await line.over()


@row("calls a tool whose name has 10 MB", "ends", once=True)
async def huge_tool_name(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    await line.bodies(line.speaker.call("look" * line.size(2_500_000), ["{}"]))
    await line.body(line.speaker.end())
    await line.over()


@row("calls a tool with an id of 10 MB", "ends", once=True)
async def huge_call_id(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    await line.bodies(
        line.speaker.call("look", ['{"what":"bungs"}'], "i" * line.size(10_000_000))
    )
    await line.body(line.speaker.end())
    await line.over()


@row("calls twenty thousand tools in one answer", "ends", once=True)
async def many_calls(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    for at in range(line.size(20_000)):
        await line.bodies(line.speaker.call("look", [f'{{"what":"{at}"}}'], f"call_{at}"))
    await line.body(line.speaker.end())
    await line.over()


@row("writes fifty thousand parts, text and reasoning in turn", "ends")
async def many_parts(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    await line.bodies(
        line.speaker.text(f"t{at}") + line.speaker.reasoning(f"r{at}")
        for at in range(line.size(25_000))
    )
    await line.ended()


@row("writes a million pieces of one letter", "ends")
async def many_pieces(line: Connection) -> None:
    await line.begun()
    piece = line.speaker.text
    await line.bodies(
        b"".join(piece(letter) for letter in "ab" * 500) for _ in range(line.size(1000))
    )
    await line.ended()


@row("writes one event with a million fields", "ends")
async def many_fields(line: Connection) -> None:
    await line.begun()
    await line.body(b"data: {")
    for at in range(100):
        await line.body(
            b"".join(
                b'"f%d_%d":%d,' % (at, each, each) for each in range(line.size(10_000))
            )
        )
    await line.body(b'"z":0}\n\n')
    await line.ended()


@row("reports a usage of 50 MB", "ends")
async def huge_usage(line: Connection) -> None:
    await line.begun()
    more = "".join(f',"field_{at}":{at}' for at in range(line.size(2_500_000)))
    await line.body(line.speaker.end(Counts(f"12{more}", f"3{more}")))
    await line.over()


@row("names itself with 10 MB", "ends")
async def huge_model_name(line: Connection) -> None:
    await line.head()
    name = b"m" * line.size(10_000_000)
    begin = line.speaker.begin()
    for known in (b'"model":"claude"', b'"model":"gpt"', b'"modelVersion":"gemini"'):
        begin = begin.replace(known, known.partition(b":")[0] + b':"' + name + b'"')
    await line.body(begin)
    await line.ended("AAA")


@row("answers whole with 200 MB", "ends")
async def huge_body(line: Connection) -> None:
    await line.head(kind="application/json")
    before, _, after = line.speaker.whole("WHERE").partition(b"WHERE")
    await line.body(before)
    for _ in range(200):
        await line.body(b"a" * line.size(1_000_000))
    await line.body(after)
    await line.over()


@row("answers whole and never ends")
async def body_forever(line: Connection) -> None:
    await line.head(kind="application/json")
    await line.body(b"{")
    while True:
        await line.body(b" " * 100_000)


@row("writes 100 MB behind the end of its answer", "ends")
async def huge_rest(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.end())
    for _ in range(100):
        await line.body(b": " + b"a" * line.size(1_000_000) + b"\n")
    await closed(line)

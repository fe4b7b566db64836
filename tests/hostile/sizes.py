"""Behaviours of size: everything that has a length, too long; everything that can be counted, too many."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.hostile.provider import Connection
from tests.hostile.rows import (
    BEGUN,
    ENDED,
    OVER,
    Adder,
    Step,
    Table,
    body,
    closed,
    end,
    forever,
    opened,
    times,
)
from tests.hostile.speech import Counts, repeated

SIZES: Table = []
row = Adder(SIZES, "size")
JSON = "application/json"


def blocks(count: int, before: bytes = b"", after: bytes = b"") -> Step:
    """So many bodies of up to a megabyte."""

    async def step(line: Connection) -> None:
        for _ in range(count):
            await line.body(before + b"a" * line.size(1_000_000) + after)

    return step


def many(count: int, piece: Callable[[Connection, int], bytes]) -> Step:
    """So many pieces, each made of its number."""
    return lambda line: line.bodies(piece(line, at) for at in range(line.size(count)))


def arguments(line: Connection) -> Iterator[str]:
    yield '{"what":"'
    yield from repeated("a", line.size(50_000_000))
    yield '"}'


# fmt: off
row("huge-line", "sends one line of 200 MB", BEGUN, body(b'data: {"type":"'), blocks(200), body(b'"}\n\n'), ENDED,
    must="ends")
row("huge-event", "sends one event of 200 MB in many lines", BEGUN,
    times(200, body((b"data: " + b"a" * 9_993 + b"\n") * 100)), body(b"\n"), ENDED, must="ends")
row("huge-comment", "sends one comment of 200 MB", BEGUN, body(b": "), blocks(200), body(b"\n\n"), ENDED, must="ends")
row("huge-event-name", "names an event with 50 MB", BEGUN, body(b"event: "), blocks(50),
    body(b'\ndata: {"type":"x"}\n\n'), ENDED, must="ends")
row("huge-text", "writes 60 MB of text in small pieces", BEGUN,
    many(15_000, lambda line, at: line.speaker.text(f"text {at} " * 400)),
    lambda line: line.ended(written=line.size(60_000_000)), must="ends")
row("huge-text-event", "writes 60 MB of text in one event", BEGUN,
    lambda line: line.body(line.speaker.text("t" * line.size(60_000_000))),
    lambda line: line.ended(written=line.size(60_000_000)), must="ends")
row("huge-reasoning", "thinks 60 MB in small pieces", opened, many(15_000, lambda line,
    at: line.speaker.reasoning(f"think {at} " * 400)), ENDED, must="ends")
row("huge-arguments", "calls a tool with arguments of 50 MB", opened,
    lambda line: line.bodies(line.speaker.call("look", arguments(line))), end, OVER, must="ends", once=True)
row("huge-tool-name", "calls a tool whose name has 10 MB", opened,
    lambda line: line.bodies(line.speaker.call("look" * line.size(2_500_000), ["{}"])), end, OVER, must="ends",
    once=True)
row("huge-call-id", "calls a tool with an id of 10 MB", opened,
    lambda line: line.bodies(line.speaker.call("look", ['{"what":"bungs"}'], "i" * line.size(10_000_000))), end, OVER,
    must="ends", once=True)
row("many-calls", "calls twenty thousand tools in one answer", opened,
    many(20_000, lambda line, at: b"".join(line.speaker.call("look", [f'{{"what":"{at}"}}'], f"call_{at}"))), end,
    OVER, must="ends", once=True)
row("many-parts", "writes fifty thousand parts, text and reasoning in turn", opened,
    many(25_000, lambda line, at: line.speaker.text(f"t{at}") + line.speaker.reasoning(f"r{at}")), ENDED, must="ends")
row("many-pieces", "writes a million pieces of one letter", BEGUN,
    many(1000, lambda line, _: b"".join(map(line.speaker.text, "ab" * 500))), ENDED, must="ends")
row("many-fields", "writes one event with a million fields", BEGUN, body(b"data: {"),
    many(1000, lambda _, at: b"".join(b'"f%d_%d":%d,' % (at, each, each) for each in range(1000))),
    body(b'"z":0}\n\n'), ENDED, must="ends")


@row.named("reports a usage of 50 MB", must="ends")
async def huge_usage(line: Connection) -> None:
    await line.begun()
    more = "".join(f',"field_{at}":{at}' for at in range(line.size(2_500_000)))
    await line.body(line.speaker.end(Counts(f"12{more}", f"3{more}")))
    await line.over()


@row.named("names itself with 10 MB", must="ends")
async def huge_model_name(line: Connection) -> None:
    await line.head()
    name = b"m" * line.size(10_000_000)
    begin = line.speaker.begin()
    for known in (b'"model":"claude"', b'"model":"gpt"', b'"modelVersion":"gemini"'):
        begin = begin.replace(known, known.partition(b":")[0] + b':"' + name + b'"')
    await line.body(begin)
    await line.ended("AAA")


@row.named("answers whole with 200 MB", must="ends")
async def huge_body(line: Connection) -> None:
    await line.head(kind=JSON)
    before, _, after = line.speaker.whole("WHERE").partition(b"WHERE")
    await line.body(before)
    await blocks(200)(line)
    await line.body(after)
    await line.over()


row("body-forever", "answers whole and never ends", lambda line: line.head(kind=JSON), body(b"{"),
    forever(body(b" " * 100_000)))
row("huge-rest", "writes 100 MB behind the end of its answer", BEGUN, end, blocks(100, b": ", b"\n"), closed,
    must="ends")

"""Behaviours of single frames: broken in each position, of the wrong form, in the wrong order."""

from __future__ import annotations

from typing import Any

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
    end,
    opened,
    text,
    times,
)
from tests.hostile.speech import Counts, frame

FRAMES: Table = []
row = Adder(FRAMES, "frame")
BROKEN = frame('{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","te')


async def begin(line: Connection) -> None:
    await line.body(line.speaker.begin())


def inside(
    name: str, does: str, *frames: bytes, must: Any = "fails", never: str = ""
) -> None:
    """A good answer with these frames in its middle."""
    row(name, does, BEGUN, body(*frames), ENDED, must=must, never=never)


def instead(old: bytes, new: bytes) -> Step:
    """A text with other bytes in the place of some."""
    return lambda line: line.body(line.speaker.text("BBB").replace(old, new))


def counted(name: str, does: str, input: str, output: str) -> None:
    """An answer with this usage."""
    row(name, does, lambda line: counting(line, input, output), must="ends")


async def counting(line: Connection, input: str, output: str) -> None:
    await line.head()
    await line.body(line.speaker.begin(Counts(input)), line.speaker.text("AAA"))
    await line.body(line.speaker.end(Counts(input, output)))
    await line.over()


# fmt: off
row("broken-first", "breaks the first frame", HEAD, body(BROKEN), begin, text("AAA"), ENDED, never="CCC")
inside("broken-middle", "breaks a frame in the middle of a text", BROKEN, never="AAACCC")
row("broken-last", "breaks the frame that ends the answer", BEGUN,
    lambda line: line.body(line.speaker.end().rstrip()[:-9] + b"\n\n"), OVER)


@row.named("breaks a frame inside a tool's arguments, so that what is left is valid JSON")
async def broken_in_arguments(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin())
    first, *rest = line.speaker.call(
        "look", ['{"what":"bu', 'ngs","where":"cellar', '"}']
    )
    if not rest[1:]:
        await line.body(first)
    else:
        await line.body(first, rest[0], BROKEN, *rest[2:])
    if not first.startswith(b'data: {"candidates'):
        await line.body(line.speaker.end())
    await line.over()


row("all-broken", "sends nothing but broken frames", HEAD, times(10_000, body(BROKEN)), OVER)
row("not-utf8", "sends a text that is no UTF-8", BEGUN, instead(b"BBB", b"\xff\xfe\xc3\x28"), ENDED)
inside("nul-bytes", "sends NUL bytes between its events", b"\0\0\0\n\n", b"data: \0\n\n", must="ends")
inside("name-not-utf8", "names an event with bytes that are no UTF-8",
    b'event: \xff\xfe\ndata: {"type":"unknown"}\n\n', must="ends")
inside("mark-in-middle", "sends a byte order mark in the middle", b"\xef\xbb\xbf\n\n", must="ends")


@row.named("ends its lines with CR alone", must="finishes", text=CALM)
async def cr_lines(line: Connection) -> None:
    await line.head()
    whole = line.speaker.begin() + line.speaker.text(CALM) + line.speaker.end()
    await line.body(whole.replace(b"\n", b"\r"))
    await line.over()


inside("not-objects", "sends an event whose data is a list, a number, a text and nothing", frame("[1,2]"),
    frame("17"), frame('"text"'), frame("null"), b"data\n\n")
FIELDS = (
    '"type":["x"],"index":"no","delta":[1],"content_block":7,"message":[],"choices":{"a":1},"candidates":"c",'
    '"usage":[],"usageMetadata":3,"response":"r","item":4,"sequence_number":"n","output_index":{},"error":null'
)
inside("mistyped", "sends an object in which every field has the wrong type", frame(f"{{{FIELDS}}}"), must="ends")
row("mistyped-deltas", "sends deltas of the wrong type", BEGUN,
    *(instead(b'"BBB"', value) for value in (b"[]", b"{}", b"1e999", b"true", b'["a",{}]')), ENDED, must="ends")


@row.named("sends an event nested 100,000 deep")
async def deep(line: Connection) -> None:
    depth = line.size(100_000)
    await line.begun()
    await line.body(frame(b'{"a":' * depth + b"1" + b"}" * depth))
    await line.ended()


row("deep-open", "sends a list nested 1,000,000 deep that is never closed", BEGUN,
    lambda line: line.body(frame(b"[" * line.size(1_000_000))), ENDED)
row("deep-field", "nests a field nobody knows 900 deep", BEGUN,
    instead(b'"BBB"', b'"BBB","extra":' + b"[" * 900 + b"]" * 900), ENDED, must="ends")
counted("not-numbers", "sends NaN and Infinity where numbers are", "NaN", "-Infinity")
row("many-digits", "sends a number of 100,000 digits", lambda line: counting(line, "9" * line.size(100_000),
    "9" * line.size(100_000)), must="ends")
counted("overflowing-number", "sends 1e999", "1e999", "-1e999")
row("lone-surrogates", "sends halves of surrogate pairs", BEGUN, instead(b"BBB", rb"\ud83d"), text("x\udc00y"), ENDED,
    must="ends")


@row.named("names the same field twice in one object", must="ends")
async def duplicate_fields(line: Connection) -> None:
    await line.begun()
    piece = line.speaker.text("BBB")
    field = piece[: piece.rindex(b'"BBB"')].rpartition(b",")[2].rpartition(b"{")[2]
    await line.body(piece.replace(b'"BBB"', b'"BBB",' + field + b'"DDD"'))
    await line.ended()


row("begins-twice", "begins its answer twice", BEGUN, begin, ENDED, must="ends")
row("more-after-end", "ends its answer and then writes more", BEGUN, end, text("CCC"), OVER, must="ends", never="CCC")
row("ends-twice", "ends its answer twice", BEGUN, lambda line: line.body(*[line.speaker.end()] * 2), OVER,
    must="finishes", text="AAA")


@row.named("writes text before it begins", must="ends")
async def delta_first(line: Connection) -> None:
    await line.head()
    pieces = line.speaker.text("AAA").split(b"\n\n")
    await line.body(pieces[-2] + b"\n\n", line.speaker.begin())
    await line.ended()


@row.named('numbers its parts 10^9, -1 and "x"', must="ends")
async def strange_indexes(line: Connection) -> None:
    await line.begun()
    for index in (b"1000000000", b"-1", b'"x"', b"1.5", b"null", b"9" * 400):
        piece = line.speaker.text("BBB")
        for name in (b'"index":0', b'"output_index":0', b'"content_index":0'):
            piece = piece.replace(name, name[:-1] + index)
        await line.body(piece)
    await line.ended()


row("many-lines", "sends an event of one hundred thousand data lines", BEGUN, times(100, body(b"data: \n" * 1000)),
    body(b"\n"), ENDED, must="ends")


@row.named("sends a hundred thousand events of kinds nobody knows", must="ends")
async def unknown_events(line: Connection) -> None:
    await line.begun()
    await line.bodies(
        frame(f'{{"type":"unknown_{at}","n":{at}}}') * 100
        for at in range(line.size(1000))
    )
    await line.ended()


@row.named("gives a reason to stop that nobody knows", must="ends")
async def unknown_stop(line: Connection) -> None:
    await line.begun()
    end = line.speaker.end()
    for known in (
        b'"end_turn"',
        b'"finish_reason":"stop"',
        b'"STOP"',
        b'"status":"completed"',
    ):
        end = end.replace(
            known,
            known.rpartition(b":")[0]
            + (b":" if b":" in known else b"")
            + b'"\\u001b[31mwhy"',
        )
    await line.body(end)
    await line.over()


row("nothing-said", "says that it finished with nothing at all", opened, end, OVER, must="ends")

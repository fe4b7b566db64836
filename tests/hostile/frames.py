"""Behaviours of single frames: broken in each position, of the wrong form, in the wrong order."""

from __future__ import annotations

from tests.hostile.provider import CALM, Connection
from tests.hostile.rows import Table, adder
from tests.hostile.speech import Counts, frame

FRAMES: Table = []
row = adder(FRAMES, "frame")
BROKEN = frame('{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","te')


async def with_frame(line: Connection, *frames: bytes) -> None:
    """A good answer with these frames in its middle."""
    await line.begun()
    await line.body(*frames)
    await line.ended()


@row("breaks the first frame", never="CCC")
async def broken_first(line: Connection) -> None:
    await line.head()
    await line.body(BROKEN)
    await line.body(line.speaker.begin(), line.speaker.text("AAA"))
    await line.ended()


@row("breaks a frame in the middle of a text", never="AAACCC")
async def broken_middle(line: Connection) -> None:
    await with_frame(line, BROKEN)


@row("breaks the frame that ends the answer")
async def broken_last(line: Connection) -> None:
    await line.begun()
    await line.body(*(each + b"\n\n" for each in [line.speaker.end().rstrip()[:-9]]))
    await line.over()


@row("breaks a frame inside a tool's arguments, so that what is left is valid JSON")
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


@row("sends nothing but broken frames")
async def all_broken(line: Connection) -> None:
    await line.head()
    await line.bodies(BROKEN for _ in range(line.size(10_000)))
    await line.over()


@row("sends a text that is no UTF-8")
async def not_utf8(line: Connection) -> None:
    await with_frame(line, line.speaker.text("BBB").replace(b"BBB", b"\xff\xfe\xc3\x28"))


@row("sends NUL bytes between its events", "ends")
async def nul_bytes(line: Connection) -> None:
    await with_frame(line, b"\0\0\0\n\n", b"data: \0\n\n")


@row("names an event with bytes that are no UTF-8", "ends")
async def name_not_utf8(line: Connection) -> None:
    await with_frame(line, b'event: \xff\xfe\ndata: {"type":"unknown"}\n\n')


@row("sends a byte order mark in the middle", "ends")
async def mark_in_middle(line: Connection) -> None:
    await with_frame(line, b"\xef\xbb\xbf\n\n")


@row("ends its lines with CR alone", "finishes", text=CALM)
async def cr_lines(line: Connection) -> None:
    await line.head()
    whole = line.speaker.begin() + line.speaker.text(CALM) + line.speaker.end()
    await line.body(whole.replace(b"\n", b"\r"))
    await line.over()


@row("sends an event whose data is a list, a number, a text and nothing")
async def not_objects(line: Connection) -> None:
    await with_frame(
        line, frame("[1,2]"), frame("17"), frame('"text"'), frame("null"), b"data\n\n"
    )


@row("sends an object in which every field has the wrong type", "ends")
async def mistyped(line: Connection) -> None:
    fields = (
        '"type":["x"],"index":"no","delta":[1],"content_block":7,"message":[],"choices":{"a":1},"candidates":"c",'
        '"usage":[],"usageMetadata":3,"response":"r","item":4,"sequence_number":"n","output_index":{},"error":null'
    )
    await with_frame(line, frame(f"{{{fields}}}"))


@row("sends deltas of the wrong type", "ends")
async def mistyped_deltas(line: Connection) -> None:
    for value in (b"[]", b"{}", b"1e999", b"true", b'["a",{}]'):
        await line.begun() if value == b"[]" else None
        await line.body(line.speaker.text("BBB").replace(b'"BBB"', value))
    await line.ended()


@row("sends an event nested 100,000 deep")
async def deep(line: Connection) -> None:
    depth = line.size(100_000)
    await with_frame(line, frame(b'{"a":' * depth + b"1" + b"}" * depth))


@row("sends a list nested 1,000,000 deep that is never closed")
async def deep_open(line: Connection) -> None:
    await with_frame(line, frame(b"[" * line.size(1_000_000)))


@row("nests a field nobody knows 900 deep", "ends")
async def deep_field(line: Connection) -> None:
    nested = b"[" * 900 + b"]" * 900
    await with_frame(
        line, line.speaker.text("BBB").replace(b'"BBB"', b'"BBB","extra":' + nested)
    )


@row("sends NaN and Infinity where numbers are", "ends")
async def not_numbers(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin(Counts("NaN")), line.speaker.text("AAA"))
    await line.body(line.speaker.end(Counts("NaN", "-Infinity")))
    await line.over()


@row("sends a number of 100,000 digits", "ends")
async def many_digits(line: Connection) -> None:
    digits = "9" * line.size(100_000)
    await line.head()
    await line.body(line.speaker.begin(Counts(digits)), line.speaker.text("AAA"))
    await line.body(line.speaker.end(Counts(digits, digits)))
    await line.over()


@row("sends 1e999", "ends")
async def overflowing_number(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin(Counts("1e999")), line.speaker.text("AAA"))
    await line.body(line.speaker.end(Counts("1e999", "-1e999")))
    await line.over()


@row("sends halves of surrogate pairs", "ends")
async def lone_surrogates(line: Connection) -> None:
    await with_frame(
        line,
        line.speaker.text("BBB").replace(b"BBB", rb"\ud83d"),
        line.speaker.text("x\udc00y"),
    )


@row("names the same field twice in one object", "ends")
async def duplicate_fields(line: Connection) -> None:
    await line.begun()
    piece = line.speaker.text("BBB")
    field = piece[: piece.rindex(b'"BBB"')].rpartition(b",")[2].rpartition(b"{")[2]
    await line.body(piece.replace(b'"BBB"', b'"BBB",' + field + b'"DDD"'))
    await line.ended()


@row("begins its answer twice", "ends")
async def begins_twice(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.begin())
    await line.ended()


@row("ends its answer and then writes more", "ends", never="CCC")
async def more_after_end(line: Connection) -> None:
    await line.begun()
    await line.body(line.speaker.end())
    await line.body(line.speaker.text("CCC"))
    await line.over()


@row("ends its answer twice", "finishes", text="AAA")
async def ends_twice(line: Connection) -> None:
    await line.begun()
    end = line.speaker.end()
    await line.body(end, end)
    await line.over()


@row("writes text before it begins", "ends")
async def delta_first(line: Connection) -> None:
    await line.head()
    pieces = line.speaker.text("AAA").split(b"\n\n")
    await line.body(pieces[-2] + b"\n\n", line.speaker.begin())
    await line.ended()


@row('numbers its parts 10^9, -1 and "x"', "ends")
async def strange_indexes(line: Connection) -> None:
    await line.begun()
    for index in (b"1000000000", b"-1", b'"x"', b"1.5", b"null", b"9" * 400):
        piece = line.speaker.text("BBB")
        for name in (b'"index":0', b'"output_index":0', b'"content_index":0'):
            piece = piece.replace(name, name[:-1] + index)
        await line.body(piece)
    await line.ended()


@row("sends an event of one hundred thousand data lines", "ends")
async def many_lines(line: Connection) -> None:
    await line.begun()
    for _ in range(100):
        await line.body(b"data: \n" * line.size(1000))
    await line.body(b"\n")
    await line.ended()


@row("sends a hundred thousand events of kinds nobody knows", "ends")
async def unknown_events(line: Connection) -> None:
    await line.begun()
    await line.bodies(
        frame(f'{{"type":"unknown_{at}","n":{at}}}') * 100
        for at in range(line.size(1000))
    )
    await line.ended()


@row("gives a reason to stop that nobody knows", "ends")
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


@row("says that it finished with nothing at all", "ends")
async def nothing_said(line: Connection) -> None:
    await line.head()
    await line.body(line.speaker.begin(), line.speaker.end())
    await line.over()

"""The same events, however the bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.stream import ServerEvent
from ullage.envelope import EMPTY_EVENTS, EVENT_BYTES
from ullage.errors import LimitExceeded
from ullage.wire.sse import EventReader

STREAM = (
    b'\xef\xbb\xbfevent: start\ndata: {"a": 1}\n\n'
    b": a comment\n\ndata:no space\ndata:  two lines\n\n"
    b"id: 7\nretry: 100\nevent:named\ndata\ndata: x\n\n"
    b"event: only a name\n\n"
    b"data:\n\n"
    b"data: \xe2\x82\xac\n\ndata: [DONE]\n\n"
)
EVENTS = [
    ServerEvent(b'{"a": 1}', "start"),
    ServerEvent(b"no space\n two lines"),
    ServerEvent(b"\nx", "named"),
    ServerEvent("€".encode()),
    ServerEvent(b"[DONE]"),
]


def read(*chunks: bytes) -> list[ServerEvent]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_way_to_end_a_line_is_read(end: bytes) -> None:
    assert read(STREAM.replace(b"\n", end)) == EVENTS


@given(
    st.lists(st.integers(0, len(STREAM) * 2), max_size=12),
    st.sampled_from([b"\n", b"\r", b"\r\n"]),
)
def test_any_cut_gives_the_same(cuts: list[int], end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    assert read(*(stream[a:b] for a, b in pairwise(places))) == EVENTS


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(noise: bytes) -> None:
    read(noise, b"\n\n")


def test_a_missing_last_blank_line_is_forgiven_but_not_a_cut_line() -> None:
    assert read(b"data: a\n") == [ServerEvent(b"a")]
    cut = EventReader()
    assert cut.feed(b"data: a\ndata: b") == []
    assert not cut.is_whole
    assert cut.close() == []


def test_an_event_is_given_as_soon_as_it_is_whole() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\r") == []
    assert reader.feed(b"\n\r") == [ServerEvent(b"a")]
    assert reader.feed(b"\ndata: b\n\n") == [ServerEvent(b"b")]


@pytest.mark.parametrize(
    "line",
    [
        b"unknown: field",
        b"dat\xff: {}",
        b"ata: {}",
        b'{"error": {"message": "no"}}',
        b"<html>",
    ],
)
def test_a_line_that_belongs_to_no_event_ends_the_reading(line: bytes) -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\n\n" + line + b"\n\ndata: b\n\n") == [ServerEvent(b"a")]
    assert reader.stray.startswith(line)


def test_an_event_that_is_too_large_is_refused_before_it_is_whole() -> None:
    reader = EventReader()
    block = b"x" * (1 << 20)
    reader.feed(b"data: ")
    with pytest.raises(LimitExceeded, match="One event"):
        for _ in range(EVENT_BYTES // len(block) + 1):
            reader.feed(block)


def test_an_event_of_many_lines_that_is_too_large_is_refused() -> None:
    reader = EventReader()
    block = b"data: " + b"x" * (1 << 20) + b"\n"
    with pytest.raises(LimitExceeded, match="One event"):
        for _ in range(EVENT_BYTES // len(block) + 2):
            reader.feed(block)


def test_comments_without_end_are_refused() -> None:
    reader = EventReader()
    with pytest.raises(LimitExceeded, match="comments"):
        reader.feed(b": ping\n\n" * (EMPTY_EVENTS + 1))

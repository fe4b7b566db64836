import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiers import examples
from ullage_proxy.relay.frames import (
    HEADER_AT_MOST,
    PAYLOAD_AT_MOST,
    BadFrame,
    FrameReader,
    TapFrame,
    encoded,
)

VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
HEADERS = st.dictionaries(st.text(max_size=8), VALUES, max_size=5)
FRAMES = st.builds(
    lambda kind, rest, payload: TapFrame({**rest, "kind": kind}, payload),
    st.text(max_size=8),
    HEADERS,
    st.binary(max_size=200),
)


def lengths(header: int, payload: int) -> bytes:
    return header.to_bytes(4, "big") + payload.to_bytes(4, "big")


def framed(header: bytes) -> bytes:
    return lengths(len(header), 0) + header


@settings(max_examples=examples(400))
@given(st.lists(FRAMES, max_size=5), st.lists(st.integers(0, 2_000), max_size=8))
def test_frames_come_out_as_they_went_in_wherever_the_bytes_are_cut(
    frames: list[TapFrame], cuts: list[int]
) -> None:
    data = b"".join(encoded(frame.header, frame.payload) for frame in frames)
    reader = FrameReader()
    found = []
    at = 0
    for cut in [*sorted(cuts), len(data)]:
        found += reader.feed(data[at:cut])
        at = max(at, cut)
    assert found == frames


@settings(max_examples=examples(400))
@given(st.binary(max_size=400))
def test_any_bytes_are_frames_or_a_clear_error(data: bytes) -> None:
    reader = FrameReader()
    try:
        for frame in reader.feed(data):
            assert isinstance(frame.kind, str)
    except BadFrame as error:
        assert "frame" in str(error)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (lengths(HEADER_AT_MOST + 1, 0), "header has 65537 bytes"),
        (lengths(2, PAYLOAD_AT_MOST + 1), "payload has 67108865 bytes"),
        (lengths(2**32 - 1, 2**32 - 1), "header has"),
        (framed(b"{"), "no JSON"),
        (framed(b'{"kind":"\xff"}'), "no JSON"),
        (framed(b"[" * 60_000), "no JSON"),
        (framed(b"9" * 60_000), "no JSON"),
        (framed(b""), "no JSON"),
        (framed(b"[]"), "no object with a kind"),
        (framed(b"{}"), "no object with a kind"),
        (framed(b'{"kind":7}'), "no object with a kind"),
    ],
)
def test_what_is_no_frame_is_an_error_that_says_why(data: bytes, problem: str) -> None:
    with pytest.raises(BadFrame, match=problem):
        FrameReader().feed(data)


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        ({"kind": "x" * HEADER_AT_MOST}, b""),
        ({"kind": "answer"}, bytes(PAYLOAD_AT_MOST + 1)),
    ],
)
def test_a_frame_that_would_be_refused_is_not_written(
    header: dict[str, object], payload: bytes
) -> None:
    with pytest.raises(BadFrame, match="at most"):
        encoded(header, payload)


def test_a_field_of_the_wrong_type_counts_as_missing() -> None:
    assert TapFrame({"kind": "stored", "call": 7}).text("call") == ""
    assert TapFrame({"kind": "stored"}).text("call") == ""

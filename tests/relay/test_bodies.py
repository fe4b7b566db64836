from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import case
from tests.tiers import examples
from ullage_relay.bodies import TRAILERS_AT_MOST, ChunkedBody, FixedBody, OpenBody
from ullage_relay.heads import Malformed


def chunked(pieces: list[bytes]) -> bytes:
    found = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return b"".join(found) + b"0\r\nX-Trailer: 1\r\n\r\n"


@settings(max_examples=examples(600))
@given(
    st.lists(st.binary(min_size=1, max_size=300), max_size=6),
    st.lists(st.integers(1, 40), max_size=60),
)
def test_a_chunked_body_ends_where_it_ends_and_holds_its_content_wherever_it_is_cut(
    pieces: list[bytes], cuts: list[int]
) -> None:
    data = chunked(pieces)
    body = ChunkedBody()
    content: list[bytes] = []
    at = 0
    for cut in [*cuts, len(data)]:
        piece = data[at : at + cut]
        assert body.take(piece, 0, content.append) == len(piece)
        at += len(piece)
        assert body.is_complete == (at == len(data))
    assert b"".join(content) == b"".join(pieces)
    assert body.take(b"next", 0, content.append) == 0


def test_chunks_that_could_be_read_in_two_ways_are_refused() -> None:
    data_cases: list[bytes] = [
        b"\r\n",
        b" 5\r\n",
        b"-5\r\n",
        b"+5\r\n",
        b"0x5\r\n",
        b"5_0\r\n",
        b"1000000000000\r\n",
        b"5\n",
        b"5\rabc\r\n",
        b"5;a\x00\r\n",
        b"5;a\nb\r\n",
        b"2\r\nabX",
        b"2\r\nab\n",
        b"2\r\nab\rX",
        b"0\r\nno trailer\r\n\r\n",
        b"0\r\n folded: x\r\n\r\n",
        b"5;" + b"a" * 5_000,
        b"0\r\n" + b"a: b\r\n" * TRAILERS_AT_MOST,
    ]
    step_cases: list[int] = [1, 7, 1_000_000]
    for data, step in product(data_cases, step_cases):
        with case(data, step):
            body = ChunkedBody()
            with pytest.raises(Malformed):
                for at in range(0, len(data), step):
                    piece = data[at : at + step]
                    assert body.take(piece, 0, None) == len(piece)
                    assert not body.is_complete


def test_a_fixed_body_takes_its_length_and_no_more() -> None:
    body = FixedBody(5)
    content: list[bytes] = []
    assert body.take(b"abc", 0, content.append) == 3
    assert not body.is_complete
    assert not body.end()
    assert body.take(b"xdefg", 1, content.append) == 3
    assert body.is_complete
    assert b"".join(content) == b"abcde"
    assert FixedBody(0).is_complete


def test_an_open_body_takes_all_and_ends_with_the_connection() -> None:
    body = OpenBody()
    content: list[bytes] = []
    assert body.take(b"abc", 0, content.append) == 3
    assert content == [b"abc"]
    assert not body.is_complete
    assert body.end()

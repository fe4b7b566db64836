import random

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.relay.responses import cuts, random_response
from tests.tiers import examples
from ullage_proxy.relay.answers import AnswerReader, KeepContent


def answer_reader(method: str, keep: KeepContent = len) -> AnswerReader:
    """Reads the answer of a request that was sent."""
    http = h11.Connection(h11.CLIENT, 65_536)
    headers = [("Host", "h"), ("Upgrade", "websocket")]
    http.send(h11.Request(method=method, target="/", headers=headers))
    http.send(h11.EndOfMessage())
    return AnswerReader(http, keep)


@settings(max_examples=examples(2_000))
@given(st.integers(0, 2**32))
def test_any_answer_cut_anywhere_gives_the_same_bytes_and_its_end(seed: int) -> None:
    draw = random.Random(seed)
    response = random_response(draw)
    content: list[bytes] = []
    reader = answer_reader(response.method, content.append)
    passed = b""
    for piece in cuts(draw, response.raw):
        assert not reader.is_complete or not piece
        passed += reader.feed(piece)
    assert passed == response.raw
    assert reader.problem == ""
    assert reader.response is not None and reader.response.status_code == response.status
    assert reader.is_complete == (response.is_whole and not response.ends_by_closing)
    assert reader.end() == response.is_whole
    if response.is_whole:
        assert b"".join(content) == response.content
    else:
        assert response.content.startswith(b"".join(content))


@settings(max_examples=examples(1_000))
@given(st.binary(max_size=300), st.sampled_from((b"", b"HTTP/1.1 200 OK\r\n")))
def test_bytes_that_are_no_http_pass_unchanged_or_not(data: bytes, start: bytes) -> None:
    reader = answer_reader("GET")
    passed = b""
    for byte in start + data:
        passed += reader.feed(bytes([byte]))
    assert (start + data).startswith(passed)


def test_what_follows_an_answer_is_not_passed_on() -> None:
    reader = answer_reader("GET")
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    assert reader.feed(whole + b"HTTP/1.1 200 OK\r\n") == whole
    assert reader.is_complete
    assert not reader.is_reusable


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/2 200\r\n\r\n",
        b"220 smtp ready\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
    ],
)
def test_an_answer_without_a_clear_end_is_held_back_before_it_passes(head: bytes) -> None:
    reader = answer_reader("GET")
    assert reader.feed(head) == b""
    assert reader.problem
    assert not reader.end()


@pytest.mark.parametrize(
    "body",
    [b"zz\r\nab\r\n", b"2\r\nabc\r\n", b"2\nab\r\n", b"2\r\nab0\r\n\r\n", b"1" * 70_000],
)
def test_a_damaged_chunk_is_passed_on_and_so_is_all_that_follows(body: bytes) -> None:
    reader = answer_reader("GET")
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert reader.feed(head + body) == head + body
    assert reader.problem
    assert reader.feed(b"more") == b"more"
    assert not reader.is_complete
    assert not reader.end()

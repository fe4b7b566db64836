import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import case
from tests.relay.relays import read_request
from tests.tiers import examples
from ullage_proxy.relay.heads import HEAD_AT_MOST, Malformed, RequestReader


def head(*lines: str, first: str = "POST /a HTTP/1.1", host: str = "Host: h") -> bytes:
    return (
        "\r\n".join([first, *([host] if host else []), *lines]).encode("latin-1")
        + b"\r\n\r\n"
    )


def test_a_request_that_could_be_read_in_two_ways_is_refused() -> None:
    cases: list[tuple[bytes, str]] = [
        (
            head("Content-Length: 3", "Transfer-Encoding: chunked"),
            "both Content-Length and",
        ),
        (head("Content-Length: 3", "Content-Length: 4"), "conflicting"),
        (head("Content-Length: +3"), "bad Content-Length"),
        (head("Content-Length: 0x3"), "bad Content-Length"),
        (head("Transfer-Encoding: gzip, chunked"), "chunked is supported"),
        (head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "multiple"),
        (head("Transfer-Encoding: chunked", first="POST /a HTTP/1.0"), "HTTP/1.0 has no"),
        (head("Transfer-Encoding : chunked"), "illegal header line"),
        (head(" Content-Length: 3"), "bare end"),
        (head("X: a", "\tb"), "bare end"),
        (head("X: a\nContent-Length: 3"), "bare end"),
        (head("X: a\rContent-Length: 3"), "illegal header line"),
        (head("X: a\x0bb"), "illegal header line"),
        (head("X: a\x01b"), "control character"),
        (head("X: a")[:-4] + b"\n\nGET /b HTTP/1.1\r\n\r\n", "bare end"),
        (head("X: a")[:-4] + b"\n\n", "no end"),
        (head(host=""), "Missing mandatory Host"),
        (head("Host: other"), "multiple Host"),
        *(
            (head(host=f"Host: {host}"), "names no host")
            for host in (
                "",
                "[",
                "[::1].evil.com",
                "evil@127.0.0.1",
                "127.0.0.1:80@evil.com",
                "127.0.0.1, evil.com",
                "localhost:0",
                "localhost:4141/x",
            )
        ),
        *(
            (head(first=f"GET {path} HTTP/1.1"), "as an element")
            for path in (
                "/a/../b",
                "/a/..",
                "/a/./b",
                "/a/%2e%2E/b",
                "/a/.%2e/b",
                "/a/%252e%252e/b",
                "/a/x%2f../b",
                "/a/x%5c..%5cb",
                "/a/..\\b",
                "/a/..;x=1/b",
                "/a/.." + "?q",
                "/a/%" + "25" * 20_000,
            )
        ),
        (head(first="POST /a b HTTP/1.1"), "illegal request line"),
        (head(first="POST /a HTTP/2.0"), "not HTTP/1.1"),
        (head(first="POST /a"), "illegal request line"),
        (head(first="POST http://h/a HTTP/1.1"), "not a path"),
        (head(first="OPTIONS * HTTP/1.1"), "not a path"),
        (head(first="CONNECT h:443 HTTP/1.1"), "not a path"),
    ]
    for raw, problem in cases:
        with case(raw, problem), pytest.raises(Malformed, match=problem):
            read_request(raw)


def test_a_head_that_is_too_large_is_refused_whether_or_not_it_is_whole() -> None:
    large = head("X: " + "a" * HEAD_AT_MOST)
    for raw in (large, large[:-1]):
        with case(raw[-4:]), pytest.raises(Malformed, match=r"bytes|too long"):
            RequestReader().feed(raw)


@settings(max_examples=examples(1_000))
@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_clear_error(data: bytes) -> None:
    try:
        RequestReader().feed(b"POST /a HTTP/1.1\r\nHost: h\r\n" + data + b"\r\n\r\n")
    except Malformed as problem:
        assert str(problem)


def test_a_request_is_read_byte_by_byte_with_its_body_and_what_follows_it() -> None:
    raw = head("content-LENGTH:  4 ", "Connection: Close", first="POST /a?k=v HTTP/1.1")
    reader = RequestReader()
    found = [reader.feed(bytes([byte])) for byte in b"\r\n" + raw]
    request = found.pop()
    assert request is not None
    assert not any(found)
    assert (request.method, request.path) == (b"POST", "/a")
    assert request.is_last
    assert request.has_body
    reader.feed_body(b"bodynext")
    piece, end = reader.next_piece(), reader.next_piece()
    assert isinstance(piece, h11.Data)
    assert piece.data == b"body"
    assert isinstance(end, h11.EndOfMessage)
    assert reader.rest == b"next"
    assert not read_request(head()).has_body
    assert read_request(head("Transfer-Encoding: Chunked")).has_body


@pytest.mark.parametrize(
    ("first", "connection", "is_last"),
    [
        ("GET / HTTP/1.1", "x", False),
        ("GET / HTTP/1.1", "keep-alive, close", True),
        ("GET / HTTP/1.0", "x", True),
    ],
)
def test_a_connection_is_kept_as_told(first: str, connection: str, is_last: bool) -> None:
    assert read_request(head(f"Connection: {connection}", first=first)).is_last is is_last


def test_an_upgrade_counts_only_when_the_connection_header_names_it() -> None:
    found = read_request(head("Upgrade: WebSocket", "Connection: Upgrade")).upgrade
    assert found == b"websocket"
    assert read_request(head("Upgrade: websocket")).upgrade == b""


@pytest.mark.parametrize(
    "path",
    [
        "/a/v1/x?to=../b",
        "/a/.../b",
        "/a/.well-known",
        "/a/v1..2",
        "/a/models/x%2Fy",
        "/a/%25",
    ],
)
def test_dots_in_an_element_and_in_the_query_are_as_good_as_letters(path: str) -> None:
    request = read_request(head(first=f"GET {path} HTTP/1.1"))
    assert request.target == path.encode()

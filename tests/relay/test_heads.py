import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import case
from tests.tiers import examples
from ullage_relay.heads import (
    HEAD_AT_MOST,
    Malformed,
    find_head,
    read_request,
    read_response,
)


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
        (head("Content-Length: 3", "Content-Length: 3"), "two Content-Length"),
        (head("Content-Length: 3, 3"), "no plausible number"),
        (head("Content-Length: +3"), "no plausible number"),
        (head("Content-Length: 0x3"), "no plausible number"),
        (head("Content-Length: "), "no plausible number"),
        (head("Content-Length: 1000000000000000"), "no plausible number"),
        (head("Content-Length: ³"), "no plausible number"),
        (head("Transfer-Encoding: gzip, chunked"), "is chunked"),
        (head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "is chunked"),
        (head("Transfer-Encoding: xchunked"), "is chunked"),
        (head("Transfer-Encoding: chunked;q=1"), "is chunked"),
        (head("Transfer-Encoding: chunked", first="POST /a HTTP/1.0"), "HTTP/1.0 has no"),
        (head("Transfer-Encoding : chunked"), "no name"),
        (head(" Content-Length: 3"), "folded"),
        (head("X: a", "\tb"), "folded"),
        (head("X: a\nContent-Length: 3"), "control character"),
        (head("X: a\rContent-Length: 3"), "control character"),
        (head("X: a\0b"), "control character"),
        (head(": a"), "no name"),
        (head("X"), "no name"),
        (head("X y: a"), "no name"),
        (head(host=""), "Host line is missing"),
        (head("Host: other"), "two Host lines"),
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
        (head(first="POST  /a HTTP/1.1"), "first line"),
        (head(first="POST /a b HTTP/1.1"), "first line"),
        (head(first="POST /a HTTP/2.0"), "first line"),
        (head(first="POST /a HTTP/1.1 "), "first line"),
        (head(first="PO ST /a HTTP/1.1"), "first line"),
        (head(first="POST /a"), "first line"),
        (head(first=""), "first line"),
        (head(first="POST http://h/a HTTP/1.1"), "not a path"),
        (head(first="OPTIONS * HTTP/1.1"), "not a path"),
        (head(first="CONNECT h:443 HTTP/1.1"), "not a path"),
    ]
    for raw, problem in cases:
        with case(raw, problem), pytest.raises(Malformed, match=problem):
            read_request(raw)


def test_a_head_is_found_when_it_is_complete_and_refused_when_it_is_too_large() -> None:
    raw = head("X: y")
    assert find_head(raw + b"body") == len(raw)
    assert find_head(raw[:-1]) == 0
    with pytest.raises(Malformed, match="more than 65536 bytes"):
        find_head(b"a" * HEAD_AT_MOST)


@settings(max_examples=examples(1_000))
@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_clear_error(data: bytes) -> None:
    try:
        request = read_request(b"POST /a HTTP/1.1\r\nHost: h\r\n" + data + b"\r\n\r\n")
    except Malformed as problem:
        assert str(problem)
    else:
        assert request.length is None or request.length >= 0


def test_a_request_is_read_with_its_length_and_what_it_says_of_the_connection() -> None:
    request = read_request(
        head("content-LENGTH:  12 ", "Connection: Close", first="POST /a?k=v HTTP/1.1")
    )
    assert request.method == b"POST"
    assert request.path == "/a"
    assert request.length == 12
    assert request.is_last
    assert read_request(head()).length == 0
    assert read_request(head("Transfer-Encoding: Chunked")).length is None


@pytest.mark.parametrize(
    ("first", "connection", "is_last"),
    [
        ("GET / HTTP/1.1", "x", False),
        ("GET / HTTP/1.1", "keep-alive, close", True),
        ("GET / HTTP/1.0", "x", True),
        ("GET / HTTP/1.0", "Keep-Alive", False),
    ],
)
def test_a_connection_is_kept_as_its_version_and_header_say(
    first: str, connection: str, is_last: bool
) -> None:
    assert read_request(head(f"Connection: {connection}", first=first)).is_last is is_last


def test_an_upgrade_counts_only_when_the_connection_header_names_it() -> None:
    assert (
        read_request(head("Upgrade: WebSocket", "Connection: Upgrade")).upgrade
        == b"websocket"
    )
    assert read_request(head("Upgrade: websocket")).upgrade == b""


def test_the_lengths_of_a_response_may_be_repeated_but_not_differ() -> None:
    same = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"
    assert read_response(same).length == 5
    other = same.replace(b"5\r\n\r\n", b"6\r\n\r\n")
    with pytest.raises(Malformed, match="two lengths"):
        assert read_response(other).length


def test_a_response_without_a_reason_and_with_odd_lines_is_read() -> None:
    response = read_response(b"HTTP/1.1 204\r\nno header\r\nX: \xfc\r\n\r\n")
    assert response.status == 204
    assert response.fields.get(b"x") == b"\xfc"


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
def test_dots_within_an_element_and_in_the_query_are_as_good_as_letters(
    path: str,
) -> None:
    request = read_request(head(first=f"GET {path} HTTP/1.1"))
    assert request.target == path.encode()

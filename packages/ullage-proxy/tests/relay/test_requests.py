from itertools import product

import h11
import pytest

from tests.cases import case
from tests.relay.relays import read_request
from ullage.codec.routes import route_of
from ullage.upstreams import parse_upstream, relayed_path
from ullage_proxy.relay.heads import HttpRequest
from ullage_proxy.relay.requests import (
    is_metered,
    readable_codings,
    request_for_upstream,
    shown_headers,
)

UPSTREAM = parse_upstream("a=https://api.example.com/base")


def request(*lines: str, first: str = "POST /a/v1/messages HTTP/1.1") -> HttpRequest:
    return read_request("\r\n".join([first, "Host: h", *lines]).encode() + b"\r\n\r\n")


def lines_for_upstream(given: HttpRequest, *, metered: bool = True) -> list[str]:
    path = relayed_path(given.target)
    request = request_for_upstream(given, path, UPSTREAM, metered=metered)
    head = h11.Connection(h11.CLIENT).send(request)
    return head.decode().removesuffix("\r\n\r\n").split("\r\n")


def test_host_and_headers_of_one_connection_are_changed_and_no_others() -> None:
    given = request(
        "X-Api-Key:  odd  spaces ",
        "connection: keep-alive, X-Mine",
        "x-mine: 1",
        "Keep-Alive: 5",
        "Proxy-Authorization: Basic x",
        "X-Ullage-Session: s",
        "X-Ullage-Token: t",
        "COOKIE: a=b",
    )
    assert lines_for_upstream(given) == [
        "POST /base/v1/messages HTTP/1.1",
        "Host: api.example.com",
        "X-Api-Key: odd  spaces",
        "COOKIE: a=b",
    ]


@pytest.mark.parametrize("name", ["Content-Length", "Transfer-Encoding"])
def test_a_client_can_not_have_the_length_of_its_body_left_out(name: str) -> None:
    value = "5" if name == "Content-Length" else "chunked"
    given = request(f"Connection: {name}", f"{name}: {value}")
    assert f"{name}: {value}" in lines_for_upstream(given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"gzip, deflate, br, zstd", b"gzip, deflate"),
        (b"br;q=1.0, GZIP;q=0.8, *;q=0.1", b"GZIP;q=0.8"),
        (b"br", b"identity"),
        (b"", b"identity"),
    ],
)
def test_unreadable_codings_are_not_offered(given: bytes, expected: bytes) -> None:
    assert readable_codings(given) == expected


def test_codings_of_a_request_that_is_not_metered_stay() -> None:
    given = request("Accept-Encoding: br")
    assert "Accept-Encoding: br" in lines_for_upstream(given, metered=False)
    assert "Accept-Encoding: identity" in lines_for_upstream(given)


def test_an_upgrade_is_not_passed_on() -> None:
    given = request(
        "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: A"
    )
    assert len(lines_for_upstream(given)) == 2


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/a", "/base"),
        ("/a/", "/base/"),
        ("/a?x=1", "/base?x=1"),
        ("/s/n/a/v1", "/base/v1"),
    ],
)
def test_the_upstream_s_path_stands_before_the_rest(target: str, expected: str) -> None:
    given = request(first=f"GET {target} HTTP/1.1")
    assert lines_for_upstream(given)[0] == f"GET {expected} HTTP/1.1"


def test_without_a_path_of_its_own_the_upstream_gets_at_least_a_slash() -> None:
    given = request(first="HEAD /a?x=1 HTTP/1.1")
    bare = parse_upstream("a=http://h")
    found = request_for_upstream(given, relayed_path(given.target), bare, metered=False)
    assert found.target == b"/?x=1"


def test_metered_is_what_the_routes_of_the_wires_call_a_call_of_a_model() -> None:
    path_cases: list[str] = [
        "/v1/messages",
        "/v1/messages?beta=true",
        "/v1/messages/",
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/openai/v1/responses",
        "/openai/v1/responses/compact",
        "/v1/responses/input_tokens",
        "/v1/chat/completions",
        "/v1beta/models/gemini-2.5-pro:generateContent",
        "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        "/v1beta/models/gemini-2.5-pro:countTokens",
        "/v1/models",
        "/",
    ]
    method_cases: list[str] = ["POST", "GET"]
    for path, method in product(path_cases, method_cases):
        with case(path, method):
            given = request(first=f"{method} {path} HTTP/1.1")
            assert is_metered(given) is route_of(method, path).is_metered


def test_only_named_headers_are_shown_to_metering_and_their_values_are_bounded() -> None:
    given = request(
        "User-Agent: x", "Authorization: k", "Session-Id: " + "9" * 9_000, "user-agent: y"
    )
    names = {"user-agent", "session-id", "not-sent"}
    assert shown_headers(given.head.headers, names) == {
        "user-agent": "x",
        "session-id": "9" * 2_000,
    }

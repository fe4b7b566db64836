"""Requests that are not looked at: by their framing, their host, their page, their type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case
from tests.server.raw import exchange, request
from tests.server.served import Local
from ullage.hosts import host_name
from ullage_server.admission import RequestHead, origin_of, refusal

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def test_a_host_that_is_not_exactly_ours_is_refused() -> None:
    host_cases: list[str] = [
        "[::1].evil.com",
        "[::1]evil.com",
        "127.0.0.1:1@evil.com",
        "user@127.0.0.1",
        "user:pass@localhost",
        "localhost.",
        "localhost.evil.com",
        "127.0.0.1.evil.com",
        "localhost:",
        "localhost:99999",
        "localhost:0",
        "localhost:80:80",
        "localhost:+80",
        "localhost:８０",
        "[::1",
        "::1",
        "[::1]]",
        "[0:0:0:0:0:0:0:1%25lo]",
        "127.0.0.1/",
        "127.0.0.1?x",
        "127.0.0.1#x",
        "127.1",
        "0x7f.1",
        "2130706433",
        "local host",
        "localhost,evil.com",
        "evil.com localhost",
        "",
    ]
    for host in host_cases:
        with case(host):
            found = refusal(
                RequestHead("GET", "/", ((b"host", host.encode("utf-8")),)), LOOPBACK, ()
            )
            assert found is not None and found.status == 403


def test_our_own_names_are_taken_with_any_port() -> None:
    for host in (
        b"localhost",
        b"LocalHost:8801",
        b"127.0.0.1:1",
        b"[::1]",
        b"[::1]:65535",
    ):
        assert refusal(RequestHead("GET", "/", ((b"host", host),)), LOOPBACK, ()) is None


@given(st.text(max_size=30))
def test_what_is_taken_for_a_host_is_that_host_and_nothing_around_it(text: str) -> None:
    name = host_name(text)
    if name:
        rest = text.lower().removeprefix(name)
        assert rest == "" or (rest[0] == ":" and 0 < int(rest[1:]) < 65_536)


@given(st.sampled_from(sorted(LOOPBACK)), st.text(min_size=1, max_size=20))
def test_nothing_can_be_put_around_our_name(name: str, more: str) -> None:
    for host in (name + more, more + name):
        found = host_name(host)
        assert (
            found not in LOOPBACK
            or host.lower().removeprefix(found).removeprefix(":").isdigit()
        )


def origin(
    *values: str,
    host: str = "localhost:8801",
    scheme: str = "http",
    own: tuple[str, ...] = (),
) -> bool:
    headers = (
        (b"host", host.encode()),
        *((b"origin", value.encode()) for value in values),
    )
    return (
        refusal(RequestHead("POST", "/v1/sessions", headers, scheme), LOOPBACK, own)
        is None
    )


def test_exactly_one_origin_and_it_is_ours() -> None:
    assert origin()
    assert origin("http://localhost:8801")
    assert origin("HTTP://LOCALHOST:8801")
    for foreign in (
        "https://localhost:8801",
        "http://localhost",
        "http://localhost:8802",
        "null",
        "",
        "localhost:8801",
    ):
        assert not origin(foreign)
    assert not origin("http://evil.example", "http://localhost:8801")
    assert not origin("http://localhost:8801", "http://localhost:8801")
    assert not origin("http://localhost:8801 http://evil.example")


def test_a_proxy_s_address_is_ours_where_it_was_named() -> None:
    address, name = origin_of("https://Agent.example.com/")
    assert (address, name) == ("https://agent.example.com", "agent.example.com")
    assert not origin("https://agent.example.com")
    assert origin("https://agent.example.com", own=(address,))
    for bad in ("agent.example.com", "ftp://x", "https://x/y", "https://a@b", "https://"):
        with pytest.raises(ValueError, match="address"):
            origin_of(bad)


@pytest.mark.parametrize(
    ("site", "mode", "method", "path", "is_taken"),
    [
        ("same-origin", "cors", "POST", "/v1/sessions", True),
        ("none", "navigate", "GET", "/v1/sessions", True),
        ("cross-site", "no-cors", "POST", "/v1/sessions", False),
        ("same-site", "cors", "GET", "/v1/sessions", False),
        ("cross-site", "navigate", "GET", "/", True),
        ("cross-site", "navigate", "POST", "/", False),
        ("cross-site", "navigate", "GET", "/v1/sessions/x/export", False),
        ("cross-site", "no-cors", "GET", "/assets/main.js", False),
        ("nonsense", "cors", "GET", "/", False),
    ],
)
def test_what_a_browser_says_of_the_site_counts(
    site: str, mode: str, method: str, path: str, is_taken: bool
) -> None:
    headers = (
        (b"host", b"localhost"),
        (b"sec-fetch-site", site.encode()),
        (b"sec-fetch-mode", mode.encode()),
    )
    assert (refusal(RequestHead(method, path, headers), LOOPBACK, ()) is None) is is_taken


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "TEXT/PLAIN; charset=utf-8", "application/x-www-form-urlencoded", ""],
)
def test_a_body_that_any_form_can_send_changes_nothing(local: Local, kind: str) -> None:
    header = [f"Content-Type: {kind}"] if kind else []
    for target in ("/v1/sessions", "/v1/sessions/import", "/v1/look"):
        sent = request(*header, method="POST", target=target, body=b'{"id": "by-a-form"}')
        assert exchange(local.url, sent).status == 415
    assert local.api.get("/v1/sessions/by-a-form").status_code == 404


def head_of(*headers: tuple[bytes, bytes], path: str = "/") -> int:
    found = refusal(
        RequestHead("POST", path, ((b"host", b"localhost"), *headers)), LOOPBACK, ()
    )
    return 0 if found is None else found.status


def test_what_two_programs_could_read_in_two_ways_is_read_by_none() -> None:
    json = (b"content-type", b"application/json")
    assert head_of((b"content-length", b"5"), json) == 0
    assert head_of((b"content-length", b"5"), (b"content-length", b"5"), json) == 400
    found = head_of((b"content-length", b"5"), (b"transfer-encoding", b"chunked"), json)
    assert found == 400
    assert head_of((b"content-length", b"+5"), json) == 400
    assert head_of((b"content-length", b"5, 5"), json) == 400
    given = head_of((b"authorization", b"Bearer a"), (b"authorization", b"Bearer b"))
    assert given == 400
    assert head_of(path="http://localhost/") == 400
    assert head_of(path="*") == 400
    assert head_of(*((b"x", b"y"),) * 200) == 431


def test_a_path_with_a_nul_is_refused_before_a_database_sees_it() -> None:
    head = RequestHead("GET", "/v1/sessions/a\0b", ((b"host", b"localhost"),))
    found = refusal(head, LOOPBACK, ())
    assert found is not None and found.status == 400

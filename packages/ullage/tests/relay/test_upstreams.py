import pytest

from ullage.upstreams import (
    BadUpstream,
    HttpsProxy,
    RelayedPath,
    Upstream,
    https_proxy,
    is_loopback,
    parse_upstream,
    relayed_path,
)

ANTHROPIC = Upstream("anthropic", "api.anthropic.com", 443, True)


@pytest.mark.parametrize(
    ("text", "expected", "authority"),
    [
        ("anthropic=https://api.anthropic.com", ANTHROPIC, "api.anthropic.com"),
        ("a=https://h/", Upstream("a", "h", 443, True), "h"),
        (
            "a=http://127.0.0.1:99/x/y/",
            Upstream("a", "127.0.0.1", 99, False, "/x/y"),
            "127.0.0.1:99",
        ),
        ("a=http://[::1]:80", Upstream("a", "::1", 80, False), "[::1]"),
        (
            "a=https://bücher.example",
            Upstream("a", "xn--bcher-kva.example", 443, True),
            "xn--bcher-kva.example",
        ),
    ],
)
def test_upstreams_are_read(text: str, expected: Upstream, authority: str) -> None:
    assert parse_upstream(text) == expected
    assert expected.authority == authority


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("https://api.anthropic.com", "NAME=URL"),
        ("=https://h", "NAME=URL"),
        ("s=https://h", "not one of s, t, ullage"),
        ("ullage=https://h", "not one of"),
        ("a/b=https://h", "has to be letters"),
        ("a=ftp://h", "no http or https URL"),
        ("a=h", "no http or https URL"),
        ("a=https://", "no http or https URL"),
        ("a=https://h:99999", "can't be read"),
        ("a=https://h:x", "can't be read"),
        ("a=https://user:key@h", "holds a key"),
        ("a=https://h?key=1", "holds a key"),
        ("a=https://h/a b", "space"),
        ("a=https://" + "x" * 300, "can't be read"),
    ],
)
def test_an_upstream_that_can_not_be_used_says_why(text: str, problem: str) -> None:
    with pytest.raises(BadUpstream, match=problem):
        parse_upstream(text)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"/a/v1/x?k=1", RelayedPath("a", b"/v1/x?k=1")),
        (b"/a", RelayedPath("a", b"")),
        (b"/a?k=1", RelayedPath("a", b"?k=1")),
        (b"/", RelayedPath("", b"")),
        (b"//a/b", RelayedPath("", b"/a/b")),
        (b"/s/one/a/x", RelayedPath("a", b"/x", "one")),
        (b"/t/secret/a/x", RelayedPath("a", b"/x", "", b"secret")),
        (b"/t/secret/s/my%20one/a/x", RelayedPath("a", b"/x", "my one", b"secret")),
        (b"/s/%1b%5b31m%ff/a/x", RelayedPath("a", b"/x", "[31m\ufffd")),
        (b"/s/" + b"x" * 300 + b"/a", RelayedPath("a", b"", "x" * 200)),
        (b"/a/../b/%2e%2e/c", RelayedPath("a", b"/../b/%2e%2e/c")),
    ],
)
def test_a_target_names_all_four(target: bytes, expected: RelayedPath) -> None:
    assert relayed_path(target) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:3128"}, HttpsProxy("p", 3128, False)),
        (
            {"https_proxy": "p:3128", "HTTPS_PROXY": "http://other"},
            HttpsProxy("p", 3128, False),
        ),
        ({"HTTPS_PROXY": "https://us%40er:pw@p"}, HttpsProxy("p", 443, True, "us@er:pw")),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "x, .anthropic.com"}, None),
        ({"HTTPS_PROXY": "http://p", "no_proxy": "API.anthropic.com:443"}, None),
        ({"HTTPS_PROXY": "http://p", "no_proxy": "*"}, None),
        (
            {"HTTPS_PROXY": "http://p", "no_proxy": "thropic.com,api.anthropic.com:80,,"},
            HttpsProxy("p", 80, False),
        ),
    ],
)
def test_https_goes_through_the_proxy_of_the_environment_unless_it_is_excepted(
    environment: dict[str, str], expected: HttpsProxy | None
) -> None:
    assert https_proxy(environment, ANTHROPIC) == expected


def test_http_and_this_machine_are_reached_without_a_proxy() -> None:
    environment = {"HTTPS_PROXY": "http://p:1"}
    assert https_proxy(environment, parse_upstream("a=http://h")) is None
    assert https_proxy(environment, parse_upstream("a=https://localhost:9")) is None


@pytest.mark.parametrize("url", ["socks5://p:1", "http://", "http://p:x"])
def test_a_proxy_that_can_not_be_used_is_an_error(url: str) -> None:
    with pytest.raises(BadUpstream, match="HTTPS_PROXY"):
        https_proxy({"HTTPS_PROXY": url}, ANTHROPIC)


def test_this_machine_is_known_by_its_loopback_names() -> None:
    assert all(
        is_loopback(host) for host in ("127.0.0.1", "127.8.0.9", "::1", "localhost")
    )
    others = (
        "127.0.0.1.example.com",
        "0.0.0.0",
        "localhost.example.com",
        "1127.0.0.1",
        "",
    )
    assert not any(is_loopback(host) for host in others)

import pytest

from tests.relay.relays import read_request
from ullage.guessing import WRONG_AT_ONCE, WrongTokens
from ullage.upstreams import relayed_path
from ullage_proxy.relay.access import objection


def status(
    *lines: str,
    target: str = "/a/x",
    token: bytes = b"",
    wrong: WrongTokens | None = None,
    address: str = "",
) -> int:
    """The status of the refusal; 0 when the request may pass."""
    head = "\r\n".join([f"POST {target} HTTP/1.1", *lines]).encode() + b"\r\n\r\n"
    request = read_request(head)
    path = relayed_path(request.target)
    refused = objection(request, path, token, wrong or WrongTokens(), address)
    return refused.status if refused is not None else 0


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:4141", "localhost:4141", "LOCALHOST", "[::1]:4141"]
)
def test_a_request_of_this_machine_may_pass(host: str) -> None:
    assert status(f"Host: {host}") == 0


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:4141",
        "10.0.0.1",
        "[::2]",
    ],
)
def test_a_name_that_a_page_made_lead_here_is_refused(host: str) -> None:
    assert status(f"Host: {host}") == 403


@pytest.mark.parametrize(
    "line",
    [
        "Origin: https://evil.example",
        "Origin: http://localhost:4141",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: Same-Site",
    ],
)
def test_a_page_in_a_browser_is_refused_even_with_the_token(line: str) -> None:
    assert status("Host: localhost", line) == 403
    assert status("Host: localhost", line, "X-Ullage-Token: t", token=b"t") == 403


@pytest.mark.parametrize(
    ("target", "lines", "expected"),
    [
        ("/a/x", [], 401),
        ("/a/x", ["X-Ullage-Token: wrong"], 401),
        ("/a/x", ["X-Ullage-Token: secret"], 0),
        ("/t/secret/a/x", [], 0),
        ("/t/wrong/a/x", ["X-Ullage-Token: secret"], 401),
        ("/t/secret2/a/x", [], 401),
        ("/t//a/x", [], 401),
        ("/t/secret/s/n/a/x", [], 0),
        ("/s/n/t/secret/a/x", [], 401),
        ("/ullage/health", [], 401),
        ("/a/x", ["X-Ullage-Token: secret", "X-Ullage-Token: secret"], 401),
    ],
)
def test_with_a_token_only_those_who_know_it_may_pass(
    target: str, lines: list[str], expected: int
) -> None:
    assert status("Host: far.example", *lines, target=target, token=b"secret") == expected


def test_wrong_tokens_of_one_address_are_told_to_wait_and_keep_out_no_right_one() -> None:
    wrong = WrongTokens(lambda: 0.0)

    def tried(*lines: str, address: str = "10.0.0.1") -> int:
        return status("Host: x", *lines, token=b"secret", wrong=wrong, address=address)

    for _ in range(2 * WRONG_AT_ONCE):
        assert tried() == 401  # without any
    for _ in range(WRONG_AT_ONCE):
        assert tried("X-Ullage-Token: guess") == 401
    assert tried("X-Ullage-Token: guess") == 429
    assert tried("X-Ullage-Token: guess", address="10.0.0.2") == 401
    assert tried("X-Ullage-Token: secret") == 0

import json

import pytest

from tests.relay.relays import read_request
from ullage_proxy.relay.own_answers import error_body, own_answer


@pytest.mark.parametrize(
    ("upstream", "path", "expected"),
    [
        (
            "x",
            "/x/v1/messages",
            {
                "type": "error",
                "error": {"type": "api_error", "message": "ullage proxy: so"},
            },
        ),
        (
            "anthropic",
            "/anthropic/",
            {
                "type": "error",
                "error": {"type": "api_error", "message": "ullage proxy: so"},
            },
        ),
        (
            "x",
            "/x:streamGenerateContent?alt=sse",
            {
                "error": {
                    "code": 502,
                    "message": "ullage proxy: so",
                    "status": "UNAVAILABLE",
                }
            },
        ),
        (
            "openai",
            "/openai/v1/responses",
            {
                "error": {
                    "message": "ullage proxy: so",
                    "type": "ullage_proxy",
                    "param": None,
                    "code": None,
                }
            },
        ),
    ],
)
def test_an_error_has_the_form_of_the_wire_that_was_asked(
    upstream: str, path: str, expected: dict[str, object]
) -> None:
    request = read_request(f"POST {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    assert json.loads(error_body(request, upstream, 502, "so")) == expected


def test_an_answer_says_its_length_and_whether_it_is_the_last() -> None:
    raw = own_answer(404, b"{}", is_last=True)
    assert raw.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"\r\ncontent-length: 2\r\n" in raw
    assert b"\r\nconnection: close\r\n" in raw
    assert raw.endswith(b"\r\n\r\n{}")


def test_the_answer_to_head_has_the_length_and_no_body() -> None:
    assert own_answer(200, b"{}", is_head=True).endswith(b"server: ullage\r\n\r\n")


def test_an_upgrade_that_is_required_is_named() -> None:
    assert b"\r\nupgrade: HTTP/1.1\r\nconnection: upgrade\r\n" in own_answer(426, b"{}")

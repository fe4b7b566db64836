import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case
from tests.codec.error_bodies import LOOKALIKES
from ullage.codec.problems import problem_in_stream, read_problem, strike_keys
from ullage.errors import (
    BadKey,
    BodyTooLarge,
    ContentFiltered,
    ModelLoading,
    NotFound,
    Overflow,
    Overloaded,
    PermissionDenied,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RequestRejected,
    ServerError,
    WrongConversation,
)


def read(
    status: int, body: object = "", headers: dict[str, str] | None = None, **more: str
) -> ProviderError:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return read_problem("chat", status, headers or {}, data, **more)


def anthropic(kind: str, message: str = "it says") -> dict[str, object]:
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_1",
    }


BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def openai(message: str, code: str = "") -> dict[str, object]:
    return {"error": {"message": message, "code": code}}


def google(message: str, code: int, status: str) -> dict[str, object]:
    return {"error": {"message": message, "code": code, "status": status}}


BAD = "invalid_request_error"

TYPED: list[tuple[int, object, type[ProviderError]]] = [
    (400, anthropic(BAD, BOUND), WrongConversation),
    (401, anthropic("authentication_error"), BadKey),
    (401, openai("Incorrect API key provided", "invalid_api_key"), BadKey),
    (400, google("API key not valid.", 400, "INVALID_ARGUMENT"), BadKey),
    (403, anthropic("permission_error"), PermissionDenied),
    (403, google("denied", 403, "PERMISSION_DENIED"), PermissionDenied),
    (404, anthropic("not_found_error"), NotFound),
    (400, openai("The model `gone` does not exist", "model_not_found"), NotFound),
    (429, anthropic("rate_limit_error"), RateLimited),
    (429, openai("quota", "insufficient_quota"), QuotaExhausted),
    (402, openai("Insufficient Balance"), QuotaExhausted),
    (400, anthropic(BAD, "Your credit balance is too low"), QuotaExhausted),
    (529, anthropic("overloaded_error", "Overloaded"), Overloaded),
    (503, google("overloaded", 503, "UNAVAILABLE"), Overloaded),
    (500, anthropic("api_error", "Internal server error"), ServerError),
    (502, "<html>Bad gateway</html>", ServerError),
    (400, anthropic(BAD, "messages.0: bad"), RequestRejected),
    (422, {"detail": [{"msg": "field required", "loc": ["body"]}]}, RequestRejected),
    (413, anthropic("request_too_large"), BodyTooLarge),
    (400, openai("no", "content_filter"), ContentFiltered),
    (408, "", ServerError),
    # https://github.com/mostlygeek/llama-swap/issues/146
    (503, openai("Loading model", "unavailable_error"), ModelLoading),
    (503, {"error": "Model openai/whisper is currently loading"}, ModelLoading),
    # Wrong keys behind gateways that answer 400: https://github.com/google-gemini/gemini-cli/issues/25198
    (400, google("API Key not found. Please pass a valid API key.", 400, "X"), BadKey),
    # https://github.com/continuedev/continue/issues/10290
    (400, openai('{"error":{"message":"API key not valid."}}', "400"), BadKey),
    # https://github.com/openai/codex/issues/1352
    (400, "Incorrect API key provided: sk***gA. Obtain one from x.ai.", BadKey),
    # https://github.com/BerriAI/litellm/pull/39787, https://github.com/BerriAI/litellm/issues/24680
    (400, openai("Authentication Error, Invalid proxy server token passed."), BadKey),
    (400, openai("Unable to find token in cache", "token_not_found_in_db"), BadKey),
    # https://github.com/dinoanderson/qwen_cli_coder/issues/1
    (400, {"code": "InvalidApiKey", "message": "Invalid API-key provided."}, BadKey),
    (400, anthropic(BAD, "invalid x-api-key"), BadKey),
    # https://github.com/Gitlawb/openclaude/issues/1809
    (400, openai("API key required", "authentication_error"), BadKey),
    # A bad request that speaks of keys
    (400, openai("tools.0.custom.input_schema: JSON schema is invalid"), RequestRejected),
    (400, openai("Invalid key 'temprature' in request body"), RequestRejected),
    (400, openai("Unknown parameter: 'api_keys'."), RequestRejected),
    (400, openai("messages.1: the tool authentication was not offered"), RequestRejected),
]


def test_an_error_has_its_type() -> None:
    for status, body, kind in TYPED:
        with case(status, body):
            assert type(read(status, body)) is kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("groq tokens per minute, as a 413", RateLimited),
        ("anthropic's rate limit as a 400", RateLimited),
        ("bedrock throttling", RateLimited),
        ("bedrock daily tokens", QuotaExhausted),
        ("azure content filter", ContentFiltered),
        ("openrouter credits", QuotaExhausted),
        ("moonshot quota", QuotaExhausted),
        ("anthropic long context not paid for", QuotaExhausted),
        ("anthropic long context not allowed", PermissionDenied),
        ("gemini quota", RateLimited),
        ("anthropic max_tokens", RequestRejected),
        ("openai too many tools", RequestRejected),
    ],
)
def test_what_is_said_counts_more_than_the_status(
    name: str, kind: type[ProviderError]
) -> None:
    real = LOOKALIKES[name]
    assert real.status is not None
    assert type(read(real.status, real.body)) is kind


def test_what_a_provider_says_steers_no_terminal() -> None:
    problem = read(
        400,
        {"error": {"message": "\x1b]0;owned\x07\x1b[2Jno\u202eon", "code": "\x1b[31mx"}},
    )
    assert problem.said == "]0;owned[2Jnoon"
    assert problem.code == "[31mx"
    assert "\x1b" not in str(problem)


def test_a_page_is_quoted_by_its_words() -> None:
    page = "<!DOCTYPE html><html><head><style>p {}</style></head><body><h1>502</h1><p>Bad gateway</p></body></html>"
    assert "“502 Bad gateway”" in str(read(502, page))


@pytest.mark.parametrize(
    "fill", ["<", "{", '{"a":', "model ", "a" * 50 + " ", "\\", "[", "<script"]
)
def test_a_hostile_body_is_read_up_to_its_limit(fill: str) -> None:
    body = fill * (200_000 // len(fill))
    assert len(str(read(500, body))) < 3_000
    assert len(str(read(500, {"error": {"message": body}}))) < 3_000


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "30"}, "", 30.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        (
            {},
            {"error": {"details": [{"@type": "RetryInfo", "retryDelay": "59.5s"}]}},
            59.5,
        ),
        ({}, {"error": {"message": "Please try again in 9.816s."}}, 9.816),
        ({}, {"error": {"message": "Please try again in 20ms."}}, 0.02),
        ({}, {"error": {"message": "Please retry after 86400 seconds."}}, 86400.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "", None),
        ({"retry-after": "-1"}, "", None),
        ({"retry-after": "nan"}, "", None),
    ],
)
def test_how_long_to_wait_is_read_from_where_it_is_said(
    headers: dict[str, str], body: object, seconds: float | None
) -> None:
    assert read(429, body, headers).retry_after_s == seconds


def test_an_error_says_who_what_and_what_to_do() -> None:
    found = read(
        404,
        anthropic("not_found_error", "model: gone"),
        {"request-id": "req_9"},
        provider="anthropic",
        model="gone",
    )
    assert str(found) == (
        "anthropic (gone) has no such model or endpoint [404]. It says: “model: gone”. "
        "Check the model's name and the address."
    )
    assert found.status == 404
    assert found.code == "not_found_error"
    assert found.said == "model: gone"
    assert found.request_id == "req_9"


KEYS = [
    "sk-ant-api03-abcdefghijklmnop",
    "sk-proj-1234567890abcdef",
    "AIzaSyA1234567890abcdefg",
    "gsk_1234567890abcdef",
    "xai-1234567890abcdef",
    "Bearer abcdefghijklmnop",
    "hf_1234567890abcdef",
    "sk-or-v1-0123456789abcdef",
]


@pytest.mark.parametrize("key", KEYS)
def test_no_error_holds_a_key(key: str) -> None:
    body = {
        "error": {
            "message": f"Incorrect API key provided: {key}. You can find it.",
            "code": key,
        }
    }
    found = read(401, body)
    secret = key.removeprefix("Bearer ")
    assert secret not in str(found) + found.said + found.code + repr(found.args)
    assert secret not in strike_keys(f"x {key} y")


@pytest.mark.parametrize("piece", ["sk-", "eyJa-", "key=", "basic ", "://a", "tok."])
def test_keys_are_struck_out_of_a_hostile_text_in_a_bounded_time(piece: str) -> None:
    assert len(strike_keys(piece * 50_000)) <= len(piece) * 50_000


def test_a_413_without_a_body_is_an_overflow_and_of_one_host_a_400() -> None:
    assert isinstance(read(413), Overflow)
    assert isinstance(read(400, provider="cerebras"), Overflow)
    assert type(read(400, provider="openai")) is RequestRejected


def test_what_the_body_repeats_of_the_request_is_not_heard() -> None:
    echoed = {
        "detail": [
            {
                "msg": "bad",
                "input": "rate limit; prompt is too long: 9 tokens > 8 maximum",
            }
        ]
    }
    assert type(read(422, echoed)) is RequestRejected


def test_an_error_inside_a_stream_has_its_type() -> None:
    server = {"code": "server_error", "message": "x"}
    full = {"code": "context_length_exceeded", "message": "exceeds the context window"}
    for event, kind in (
        (anthropic("overloaded_error", "Overloaded"), Overloaded),
        ({"error": {"code": 502, "message": "upstream failed"}}, ServerError),
        ({"error": {"code": 429, "message": "slow down"}}, RateLimited),
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
            RateLimited,
        ),
        ({"type": "response.failed", "response": {"error": server}}, ServerError),
        ({"response": {"error": full}}, Overflow),
        ({"object": "error", "message": "boom", "code": 500}, ServerError),
    ):
        with case(event):
            assert type(problem_in_stream("chat", event)) is kind


@given(st.integers(200, 599), st.binary(max_size=200))
def test_no_body_makes_it_raise(status: int, body: bytes) -> None:
    assert isinstance(read_problem("messages", status, {}, body), ProviderError)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "message", "code", "type", "detail", "status"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_no_json_makes_it_raise(value: object) -> None:
    assert isinstance(
        read_problem("chat", 400, {}, json.dumps(value).encode()), ProviderError
    )
    fields = value if isinstance(value, dict) else {"error": value}
    assert isinstance(problem_in_stream("chat", fields), ProviderError)

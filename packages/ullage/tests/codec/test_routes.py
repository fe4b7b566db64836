import pytest

from ullage.codec.routes import OTHER, ApiRoute, route_of


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/messages", "messages"),
        ("/anthropic/v1/messages?beta=true", "messages"),
        ("/s/my-work/anthropic/v1/messages", "messages"),
        ("/openai/v1/chat/completions", "chat"),
        ("/deployments/gpt/chat/completions/", "chat"),
        ("/v1/responses", "responses"),
        ("/backend-api/codex/responses", "responses"),
    ],
)
def test_a_call_of_a_model_is_told_by_the_end_of_its_path(path: str, wire: str) -> None:
    assert route_of("POST", path) == ApiRoute(wire, "generate")
    assert route_of("post", path).is_metered


@pytest.mark.parametrize("name", ["generateContent", "streamGenerateContent"])
def test_geminis_path_names_the_model(name: str) -> None:
    route = route_of("POST", f"/v1beta/models/gemini-2.5-pro:{name}?alt=sse")
    assert route == ApiRoute("generateContent", "generate", "gemini-2.5-pro")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages/count_tokens",
        "/v1/responses/input_tokens",
        "/v1beta/models/gemini-2.5-pro:countTokens",
    ],
)
def test_a_count_of_tokens_is_no_call_of_a_model(path: str) -> None:
    route = route_of("POST", path)
    assert route.kind == "count"
    assert not route.is_metered


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages"),
        ("HEAD", "/anthropic"),
        ("POST", "/v1/responses/compact"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1beta/models/gemini-2.5-pro:embedContent"),
        ("POST", ""),
    ],
)
def test_anything_else_is_not_metered(method: str, path: str) -> None:
    assert route_of(method, path) == OTHER

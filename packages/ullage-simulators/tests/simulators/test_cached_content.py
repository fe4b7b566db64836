"""Google's explicit caches, by its own SDK."""

from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from ullage_simulators import Server, running

MODEL = "gemini-2.5-flash"
LONG = "All work and no play makes a dull day. " * 300


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=6) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> genai.Client:
    options = types.HttpOptions(base_url=server.url("gemini"))
    return genai.Client(api_key="any", http_options=options)


def create(client: genai.Client, **more: Any) -> types.CachedContent:
    config = types.CreateCachedContentConfig(ttl="60s", **more)
    return client.caches.create(model=MODEL, config=config)


def ask(client: genai.Client, **more: Any) -> types.GenerateContentResponse:
    config = types.GenerateContentConfig(**more)
    return client.models.generate_content(
        model=MODEL, contents="How full is it?", config=config
    )


def test_a_request_is_billed_for_its_cache(client: genai.Client, server: Server) -> None:
    cache = create(client, system_instruction=LONG)
    assert cache.usage_metadata is not None
    size = cache.usage_metadata.total_token_count
    assert size is not None
    used = ask(client, cached_content=cache.name).usage_metadata
    assert used is not None
    assert used.cached_content_token_count == size
    whole = ask(client, system_instruction=LONG).usage_metadata
    assert whole is not None
    assert used.prompt_token_count == whole.prompt_token_count
    server.forget_caches()
    again = ask(client, cached_content=cache.name).usage_metadata
    assert again is not None
    assert again.cached_content_token_count == size
    assert (
        server.exchanges[-1].body["contents"][0]["parts"][0]["text"] == "How full is it?"
    )
    assert len(server.exchanges[-1].body["contents"]) == 1


def test_what_a_cache_holds_belongs_to_the_request(client: genai.Client) -> None:
    function = types.FunctionDeclaration(name="get_weather", description="The weather.")
    tools = [types.Tool(function_declarations=[function])]
    cache = create(client, contents=LONG, tools=tools)
    answer = client.models.generate_content(
        model=MODEL,
        contents="please get_weather",
        config=types.GenerateContentConfig(cached_content=cache.name),
    )
    assert answer.function_calls is not None
    assert answer.function_calls[0].name == "get_weather"


def test_a_cache_is_listed_changed_and_deleted(client: genai.Client) -> None:
    cache = create(client, contents=LONG, display_name="casks")
    name = cache.name
    assert name is not None
    assert client.caches.get(name=name) == cache
    assert name in [each.name for each in client.caches.list()]
    longer = client.caches.update(
        name=name, config=types.UpdateCachedContentConfig(ttl="120s")
    )
    assert longer.expire_time is not None
    assert cache.expire_time is not None
    assert (longer.expire_time - cache.expire_time).total_seconds() == 60
    client.caches.delete(name=name)
    with pytest.raises(errors.ClientError, match="CachedContent not found"):
        ask(client, cached_content=name)

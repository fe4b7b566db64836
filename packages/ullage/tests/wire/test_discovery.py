import json
from typing import Any

import pytest

from tests.wire.local_server import Reply, serving
from ullage.wire.client import Client
from ullage.wire.discovery import DiscoveredModel, limits, models, read_model


def said(value: object, status: int = 200) -> Reply:
    encoded = json.dumps(value).encode()
    return Reply([encoded], status=status, headers={"content-type": "application/json"})


@pytest.mark.parametrize(
    ("entry", "read"),
    [
        ({"id": "gpt-5", "object": "model"}, DiscoveredModel("gpt-5")),
        (
            {
                "id": "a/b",
                "context_length": 200_000,
                "top_provider": {"max_completion_tokens": 64_000},
            },
            DiscoveredModel("a/b", 200_000, None, 64_000),
        ),
        ({"id": "m", "max_model_len": 32_768}, DiscoveredModel("m", 32_768)),
        (
            {"id": "m", "context_window": 131_072, "max_completion_tokens": 8_192},
            DiscoveredModel("m", 131_072, None, 8_192),
        ),
        ({"id": "m", "max_context_length": 128_000}, DiscoveredModel("m", 128_000)),
        (
            {
                "name": "models/gemini-3-pro",
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
            },
            DiscoveredModel("gemini-3-pro", 1_048_576, 1_048_576, 65_536),
        ),
        (
            {"id": "claude", "max_input_tokens": 200_000, "max_tokens": 64_000},
            DiscoveredModel("claude", 200_000, 200_000, 64_000),
        ),
        (
            {"id": "odd", "context_length": "many", "max_tokens": -1},
            DiscoveredModel("odd"),
        ),
    ],
)
def test_every_dialect_is_read(entry: dict[str, Any], read: DiscoveredModel) -> None:
    assert read_model(entry) == read


async def test_models_are_listed() -> None:
    async with (
        serving(
            said({"data": [{"id": "a"}, {"id": "b", "max_model_len": 5}, 7]})
        ) as server,
        Client() as client,
    ):
        expected = (DiscoveredModel("a"), DiscoveredModel("b", 5))
        assert await models(server.endpoint(), client=client) == expected
        assert server.asked[0].path == "/v1/models"


async def test_ollama_says_what_it_runs_with() -> None:
    show = {
        "parameters": "num_ctx 16384\nstop x",
        "model_info": {"llama.context_length": 131_072},
    }
    loaded = {"models": [{"name": "llama3", "context_length": 4_096}]}
    async with serving(said(show), said(loaded)) as server, Client() as client:
        assert await limits(
            server.endpoint(provider="ollama"), "llama3", client=client
        ) == DiscoveredModel("llama3", 4_096)
        assert [one.path for one in server.asked] == ["/api/show", "/api/ps"]
    async with serving(said(show), said({}, 404)) as server, Client() as client:
        assert (
            await limits(server.endpoint(provider="ollama"), "llama3", client=client)
        ).window == 16_384
    async with (
        serving(said({"model_info": {"x.context_length": 8}}), said({})) as server,
        Client() as client,
    ):
        assert (
            await limits(server.endpoint(provider="ollama"), "llama3", client=client)
        ).window == 8


@pytest.mark.parametrize(
    ("loaded", "read"),
    [
        ([], DiscoveredModel("llama3", is_loaded=False)),
        ([{"name": "llama3:8b"}], DiscoveredModel("llama3", is_loaded=False)),
        ([{"name": "llama3:latest"}], DiscoveredModel("llama3", 131_072)),
        (
            [{"name": "llama3:latest", "context_length": 4_096}],
            DiscoveredModel("llama3", 4_096),
        ),
    ],
)
async def test_ollama_does_not_know_the_window_of_a_model_that_it_has_not_loaded(
    loaded: list[dict[str, Any]], read: DiscoveredModel
) -> None:
    show = {"model_info": {"llama.context_length": 131_072}}
    async with (
        serving(said(show), said({"models": loaded})) as server,
        Client() as client,
    ):
        endpoint = server.endpoint(provider="ollama")
        assert await limits(endpoint, "llama3", client=client) == read


async def test_llama_cpp_says_it_in_its_properties() -> None:
    props = {"default_generation_settings": {"n_ctx": 8_192}}
    async with (
        serving(said({"data": [{"id": "m"}]}), said(props)) as server,
        Client() as client,
    ):
        assert (await limits(server.endpoint(), "m", client=client)).window == 8_192


def instance(name: str, window: int) -> dict[str, Any]:
    return {"id": name, "config": {"context_length": window, "parallel": 4}}


def lm_studio(*instances: dict[str, Any]) -> dict[str, Any]:
    """LM Studio's list of models since its version 0.4."""
    model = {"key": "q/m", "max_context_length": 262_144, "loaded_instances": instances}
    return {"models": [{"key": "other", "loaded_instances": []}, model]}


UNKNOWN_PATH = {"error": "Unexpected endpoint or method."}


@pytest.mark.parametrize(
    ("listed", "model", "read"),
    [
        (lm_studio(instance("q/m", 8_192)), "q/m", DiscoveredModel("q/m", 8_192)),
        (
            lm_studio(instance("q/m", 8_192), instance("long", 65_536)),
            "long",
            DiscoveredModel("long", 65_536),
        ),
        (lm_studio(), "q/m", DiscoveredModel("q/m", is_loaded=False)),
    ],
)
async def test_lm_studio_says_what_a_model_is_loaded_with(
    listed: dict[str, Any], model: str, read: DiscoveredModel
) -> None:
    async with (
        serving(said({"data": [{"id": model}]}), said(UNKNOWN_PATH)) as server,
        Client() as client,
    ):
        server.at = {"/api/v1/models": said(listed)}
        for provider in ("lmstudio", "test"):
            endpoint = server.endpoint(provider=provider)
            assert await limits(endpoint, model, client=client) == read


@pytest.mark.parametrize(
    ("said_of_it", "read"),
    [
        (
            {"state": "loaded", "loaded_context_length": 8_192},
            DiscoveredModel("m", 8_192),
        ),
        ({"state": "loaded"}, DiscoveredModel("m")),
        ({"state": "not-loaded"}, DiscoveredModel("m", is_loaded=False)),
    ],
)
async def test_lm_studio_before_its_version_0_4_has_another_address(
    said_of_it: dict[str, Any], read: DiscoveredModel
) -> None:
    listed = {"data": [{"id": "m", "max_context_length": 131_072, **said_of_it}]}
    async with (
        serving(said({"data": [{"id": "m"}]}), said(UNKNOWN_PATH)) as server,
        Client() as client,
    ):
        server.at = {"/api/v1/models": said(UNKNOWN_PATH), "/api/v0/models": said(listed)}
        assert await limits(server.endpoint(), "m", client=client) == read


async def test_silence_is_unsaid() -> None:
    async with serving(said({"data": []}), said({}, 404)) as server, Client() as client:
        assert await limits(server.endpoint(), "m", client=client) == DiscoveredModel("m")

"""The models of an endpoint, and their limits, as the endpoint lists them.

https://platform.claude.com/docs/en/api/models-list, https://platform.openai.com/docs/api-reference/models,
https://ai.google.dev/api/models, https://openrouter.ai/docs/api-reference/list-available-models,
https://docs.vllm.ai (``max_model_len``), https://console.groq.com/docs/api-reference#models (``context_window``),
https://docs.mistral.ai/api/#tag/models (``max_context_length``), https://github.com/ollama/ollama/blob/main/docs/api.md
(``/api/show``, ``/api/ps``), https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md (``/props``),
https://lmstudio.ai/docs/developer/rest/list (``/api/v1/models``, from LM Studio 0.4 on),
https://lmstudio.ai/docs/developer/rest/endpoints (``/api/v0/models``, before).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ullage.codec.wires import wire_named
from ullage.errors import ProviderError
from ullage.models.providers import provider_named
from ullage.wire.asking import ask
from ullage.wire.client import Client, Post
from ullage.wire.endpoints import Endpoint


class DiscoveredModel(NamedTuple):
    """A model as its endpoint describes it. Tokens; ``None`` is unknown."""

    name: str
    window: int | None = None
    input_cap: int | None = None
    max_output: int | None = None
    is_loaded: bool = True
    """False where the server has to load the model first: what window it runs with is known only then."""


_WINDOW: Final = (
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "n_ctx",
)
_INPUT: Final = ("max_input_tokens", "inputTokenLimit")
_OUTPUT: Final = (
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "outputTokenLimit",
)


async def models(endpoint: Endpoint, *, client: Client) -> tuple[DiscoveredModel, ...]:
    """The models an endpoint lists, with their limits. Raises ``ProviderError``."""
    said = await _get(endpoint, wire_named(endpoint.wire).models_path, client)
    listed = (
        said.get("data") if isinstance(said.get("data"), list) else said.get("models")
    )
    return tuple(map(read_model, _objects(listed)))


async def limits(endpoint: Endpoint, model: str, *, client: Client) -> DiscoveredModel:
    """One model as the endpoint describes it; its limits are ``None`` where it names none. Raises ``ProviderError``.

    Ollama, llama.cpp and LM Studio have other addresses for it, and give the window the server runs with, not the
    model's own.
    """
    if (own := endpoint.source) is not None:
        return DiscoveredModel(model, window=own.window, max_output=own.max_output)
    provider = provider_named(endpoint.provider)
    if provider.describes_models:
        return await _ollama(endpoint, model, client)
    found = next(
        (one for one in await models(endpoint, client=client) if one.name == model), None
    )
    if found is not None and found.window is not None:
        return found
    if endpoint.is_local or provider.is_own_server:
        for look in (_llama_cpp, _lm_studio):
            with contextlib.suppress(ProviderError):
                running = await look(endpoint, model, client)
                if running is not None:
                    return running
    return found or DiscoveredModel(model)


def read_model(said: Mapping[str, Any]) -> DiscoveredModel:
    """One entry of a list of models, in any of the dialects."""
    name = str(said.get("id") or said.get("name") or "").removeprefix("models/")
    inner = said.get("top_provider")
    places = [said, *([inner] if isinstance(inner, Mapping) else [])]
    input_cap = _first(places, _INPUT)
    return DiscoveredModel(
        name=name,
        window=_first(places, _WINDOW) or input_cap,
        input_cap=input_cap,
        max_output=_first(reversed(places), _OUTPUT),
    )


async def _llama_cpp(
    endpoint: Endpoint, model: str, client: Client
) -> DiscoveredModel | None:
    props = await _get(endpoint, "/props", client, root=True)
    settings = props.get("default_generation_settings")
    window = _number(settings if isinstance(settings, Mapping) else props, ("n_ctx",))
    return None if window is None else DiscoveredModel(model, window=window)


async def _lm_studio(
    endpoint: Endpoint, model: str, client: Client
) -> DiscoveredModel | None:
    """A model has an instance each time it is loaded; a call names the instance, or the model for the first of them."""
    listed = await _get(endpoint, "/api/v1/models", client, root=True)
    for one in _objects(listed.get("models")):
        windows: dict[object, int | None] = {}
        for instance in _objects(one.get("loaded_instances")):
            config = instance.get("config")
            length = ("context_length",)
            window = _number(config, length) if isinstance(config, Mapping) else None
            windows[instance.get("id")] = window
        if model == one.get("key") or model in windows:
            window = windows.get(model) or next(iter(windows.values()), None)
            return DiscoveredModel(model, window=window, is_loaded=bool(windows))
    listed = await _get(endpoint, "/api/v0/models", client, root=True)
    for one in _objects(listed.get("data")):
        if model == one.get("id"):
            window = _number(one, ("loaded_context_length",))
            return DiscoveredModel(
                model, window=window, is_loaded=one.get("state") != "not-loaded"
            )
    return None


async def _ollama(endpoint: Endpoint, model: str, client: Client) -> DiscoveredModel:
    """The window Ollama runs a model with: loaded, or as set in its file.

    Where neither tells it, it is what the model was trained for, of a loaded model. By default Ollama loads one with
    less: https://docs.ollama.com/context-length
    """
    said = await _get(endpoint, "/api/show", client, root=True, body={"model": model})
    try:
        loaded = await _get(endpoint, "/api/ps", client, root=True)
    except ProviderError:
        loaded = {}
    is_loaded = "models" not in loaded
    for one in _objects(loaded.get("models")):
        if {model, f"{model}:latest"} & {one.get("name"), one.get("model")}:
            is_loaded = True
            window = _number(one, ("context_length",))
            if window is not None:
                return DiscoveredModel(model, window=window)
    for line in str(said.get("parameters") or "").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "num_ctx" and words[1].isdigit():
            return DiscoveredModel(model, window=int(words[1]))
    if not is_loaded:
        return DiscoveredModel(model, is_loaded=False)
    info = said.get("model_info")
    for name, value in info.items() if isinstance(info, Mapping) else ():
        if name.endswith(".context_length") and isinstance(value, int):
            return DiscoveredModel(model, window=value)
    return DiscoveredModel(model)


async def _get(
    endpoint: Endpoint,
    path: str,
    client: Client,
    *,
    root: bool = False,
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What the endpoint answers; ``root`` leaves out the version its address ends with."""
    if root:
        endpoint = endpoint.root
    post = Post(
        endpoint=endpoint,
        path=path,
        headers=wire_named(endpoint.wire).headers,
        content=b"" if body is None else msgspec.json.encode(body),
        method="GET" if body is None else "POST",
    )
    return await ask(post, client)


def _objects(listed: object) -> Iterator[Mapping[str, Any]]:
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping):
            yield one


def _number(said: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = said.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _first(
    places: Iterator[Mapping[str, Any]] | list[Any], names: tuple[str, ...]
) -> int | None:
    return next(
        (found for place in places if (found := _number(place, names)) is not None), None
    )

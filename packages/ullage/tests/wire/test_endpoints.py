import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest

from ullage.codec.wires import WIRES
from ullage.errors import BadKey, SettingError
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import ProviderRow, known_providers
from ullage.wire.endpoints import Endpoint, Key, endpoint_for, full_address, origin_of

SECRET = "sk-very-secret-0123456789"
CALLABLE = [row for row in known_providers() if row.base_url]
OWN = read_endpoints(
    {
        "lab": {"base_url": "https://lab.example/llm/v1", "key_env": "LAB_API_KEY"},
        "open": {"base_url": "http://127.0.0.1:9", "wire": "messages"},
    },
    WIRES,
)


def keys() -> dict[str, str]:
    return {name: SECRET for one in known_providers() for name in one.key_env}


@pytest.mark.parametrize("provider", CALLABLE, ids=lambda one: one.name)
def test_every_provider_is_reached_by_its_name(provider: ProviderRow) -> None:
    name = provider.name
    endpoint, model = endpoint_for(f"{name}:some-model", environment=keys())
    assert (endpoint.provider, model) == (name, "some-model")
    assert endpoint.base_url == provider.base_url
    assert endpoint.key.reveal(origin_of(provider.base_url)) == SECRET


def test_azure_has_an_address_of_its_own() -> None:
    environment = {**keys(), "AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/"}
    endpoint, _ = endpoint_for("azure:gpt-5", environment=environment)
    assert endpoint.base_url == "https://me.openai.azure.com/openai/v1"
    assert endpoint.auth_header() == {"api-key": SECRET}


def test_a_provider_is_told_from_the_models_name() -> None:
    assert endpoint_for("claude-haiku-4-5", environment=keys())[0].provider == "anthropic"
    assert endpoint_for("gpt-5-mini", environment=keys())[0].wire == "responses"


def test_no_key_is_needed_on_this_machine() -> None:
    endpoint, _ = endpoint_for(
        "anthropic:claude-haiku-4-5", base_url="http://127.0.0.1:8123"
    )
    assert endpoint.base_url == "http://127.0.0.1:8123/v1"
    endpoint, model = endpoint_for("my-model", base_url="http://localhost:9000")
    assert (endpoint.wire, endpoint.provider, model) == ("chat", "", "my-model")
    assert endpoint.auth_header() == {"authorization": "Bearer none"}
    header = endpoint_for("my-model", base_url="http://box.example:9000")[0].auth_header()
    assert header == {}


def test_a_wire_can_be_chosen() -> None:
    endpoint, _ = endpoint_for("openai:gpt-4.1", wire="chat", environment=keys())
    assert endpoint.wire == "chat"


@pytest.mark.parametrize(
    ("name", "written", "full"),
    [
        ("openai", "https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("openai", "127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("deepseek", "https://gateway.example/llm", "https://gateway.example/llm"),
        (
            "anthropic",
            "https://gateway.example/anthropic",
            "https://gateway.example/anthropic/v1",
        ),
        ("google", "https://g.example", "https://g.example/v1beta"),
        ("groq", "https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
    ],
)
def test_addresses_as_people_write_them(name: str, written: str, full: str) -> None:
    provider = next(one for one in known_providers() if one.name == name)
    assert full_address(written, provider) == full


def test_addresses_come_from_the_environment_too() -> None:
    endpoint, _ = endpoint_for("ollama:llama3", environment={"OLLAMA_HOST": "box:11434"})
    assert endpoint.base_url == "http://box:11434/v1"


def test_a_key_is_shown_nowhere() -> None:
    endpoint, _ = endpoint_for("openai:gpt-5", environment=keys())
    assert SECRET not in f"{endpoint!r} {endpoint} {endpoint.key}"
    assert endpoint.auth_header() == {"authorization": f"Bearer {SECRET}"}
    with pytest.raises(TypeError):
        pickle.dumps(endpoint.key)
    with pytest.raises(TypeError):
        copy.deepcopy(endpoint.key)


def test_a_key_goes_to_the_addresses_it_was_configured_for_and_to_no_other() -> None:
    environment = {**keys(), "ANTHROPIC_BASE_URL": "https://gateway.example/anthropic"}
    endpoint, _ = endpoint_for(
        "anthropic:m", base_url="http://10.0.0.1:8080", environment=environment
    )
    for address in (
        "http://10.0.0.1:8080/other",
        "https://gateway.example",
        "https://api.anthropic.com:443/v1",
    ):
        assert replace(endpoint, base_url=address).auth_header() == {"x-api-key": SECRET}
    for address in (
        "https://evil.example/v1",
        "http://api.anthropic.com/v1",
        "https://api.anthropic.com:8443/v1",
        "https://api.anthropic.com@evil.example/v1",
        "https://api.anthropic.com.evil.example/v1",
        "http://10.0.0.1/v1",
    ):
        with pytest.raises(BadKey, match="is not sent to") as caught:
            replace(endpoint, base_url=address).auth_header()
        assert SECRET not in str(caught.value)


def test_a_key_without_origins_is_bound_to_the_first_endpoint() -> None:
    endpoint = Endpoint(
        provider="p", wire="chat", base_url="http://127.0.0.1:1/v1", key=Key(SECRET)
    )
    assert endpoint.auth_header()
    with pytest.raises(BadKey):
        replace(endpoint, base_url="http://127.0.0.1:2/v1").auth_header()
    assert (
        Endpoint(
            provider="p", wire="chat", base_url="http://127.0.0.1:1/v1"
        ).auth_header()
        == {}
    )


@pytest.mark.parametrize("address", ["https://h:99999", "https://h:x", "http://[::1"])
def test_an_address_that_is_none_is_said(address: str) -> None:
    with pytest.raises(SettingError, match="is no address"):
        full_address(address, CALLABLE[0])


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize(
    "model",
    ["claude-via", "gemini-via", "anthropic:claude-via", "google:gemini", "my-model"],
)
def test_chat_and_responses_authenticate_with_a_bearer_token_whatever_the_model_is_called(
    wire: str, model: str
) -> None:
    environment = {**keys(), "ULLAGE_API_KEY": SECRET}
    endpoint, _ = endpoint_for(
        model, wire=wire, base_url="http://10.0.0.1:4000", environment=environment
    )
    assert endpoint.wire == wire
    assert endpoint.auth_header() == {"authorization": f"Bearer {SECRET}"}


def test_a_providers_key_does_not_go_to_a_server_whose_model_has_its_name() -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-ant", "ULLAGE_API_KEY": "sk-own"}
    endpoint, _ = endpoint_for(
        "claude-via", wire="chat", base_url="http://10.0.0.1", environment=environment
    )
    assert endpoint.provider == ""
    assert endpoint.auth_header() == {"authorization": "Bearer sk-own"}


def test_an_endpoint_of_ones_own_is_reached_by_its_name_with_its_key() -> None:
    environment = {**keys(), "ULLAGE_API_KEY": "sk-other", "LAB_API_KEY": SECRET}
    endpoint, model = endpoint_for(
        "Lab:qwen3:32b", environment=environment, endpoints=OWN
    )
    assert (endpoint.provider, endpoint.wire, model) == ("lab", "chat", "qwen3:32b")
    assert endpoint.base_url == "https://lab.example/llm/v1"
    assert endpoint.auth_header() == {"authorization": f"Bearer {SECRET}"}
    with pytest.raises(BadKey, match="is not sent to"):
        replace(endpoint, base_url="https://elsewhere.example/v1").auth_header()


def test_an_endpoint_without_a_key_gets_none_of_another() -> None:
    endpoint, _ = endpoint_for(
        "open:m", environment={**keys(), "ULLAGE_API_KEY": SECRET}, endpoints=OWN
    )
    assert endpoint.wire == "messages"
    assert endpoint.auth_header() == {"authorization": "Bearer none"}


LOCAL = read_endpoints(
    {"lab": {"base_url": "http://127.0.0.1:9", "key_env": "LAB_API_KEY"}}, WIRES
)
LAB_KEY = {"LAB_API_KEY": SECRET}
BEDROCK = "bedrock:anthropic.claude-sonnet-4-6-v1:0"
EVIL = {"base_url": "https://evil.example", "environment": LAB_KEY, "endpoints": OWN}


@pytest.mark.parametrize(
    ("name", "given", "kind", "says"),
    [
        ("azure:gpt-5", {}, SettingError, "AZURE_OPENAI_ENDPOINT"),
        ("my-model", {}, SettingError, "openai:"),
        (
            "antropic:claude-haiku-4-5",
            {},
            SettingError,
            r"No provider is named 'antropic'\. Did you mean 'anthropic:claude-haiku-4-5'",
        ),
        (
            "antropic:claude",
            {"base_url": "http://127.0.0.1:1"},
            SettingError,
            "No provider is named 'antropic'",
        ),
        ("deepseek-r1:7b", {}, SettingError, "No provider is known for 'deepseek-r1:7b'"),
        ("", {}, SettingError, "No model is set"),
        ("openai:gpt-4.1", {"wire": "smoke"}, SettingError, "generateContent"),
        (BEDROCK, {}, SettingError, r"measures the requests of bedrock .* \(converse\)"),
        ("together:m", {}, SettingError, "together has no fixed address: give base_url"),
        ("lab:m", EVIL, SettingError, r"an address of its own \(https://lab.example"),
        ("anthropic:m", {"environment": {}}, BadKey, "ANTHROPIC_API_KEY"),
        ("google:m", {"environment": {}}, BadKey, "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("lab:m", {"endpoints": OWN}, BadKey, "lab needs a key: set LAB_API_KEY"),
        ("lab:m", {"endpoints": LOCAL}, BadKey, "lab needs a key: set LAB_API_KEY"),
    ],
)
def test_what_is_missing_or_misspelt_is_said(
    name: str, given: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says) as caught:
        endpoint_for(name, **{"environment": keys(), **given})
    assert SECRET not in str(caught.value)


def test_a_provider_that_is_only_measured_is_sent_to_at_an_address_with_a_wire() -> None:
    own = {"ULLAGE_API_KEY": SECRET}
    endpoint, _ = endpoint_for(
        "bedrock:m", base_url="http://h", wire="chat", environment=own
    )
    assert endpoint.auth_header() == {"authorization": f"Bearer {SECRET}"}

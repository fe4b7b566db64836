import pytest

from ullage.cli.upstreams import (
    checked_address,
    default_upstreams,
    name_for,
    read_upstreams,
    through_proxy,
)
from ullage.errors import SettingError
from ullage.models.endpoints import read_endpoints

LAB = read_endpoints({"lab": {"base_url": "https://llm.example/v1/"}}, ["chat"])


def test_other_providers_and_the_users_endpoints_are_upstreams() -> None:
    found = default_upstreams(LAB)
    assert found["anthropic"] == "https://api.anthropic.com"
    assert found["deepseek"] == "https://api.deepseek.com/v1"
    assert found["lab"] == "https://llm.example/v1"


def test_a_server_of_the_users_own_is_an_upstream_only_where_it_is_configured() -> None:
    found = default_upstreams({})
    assert not {"ollama", "vllm", "llama.cpp"} & set(found)
    assert not any("127.0.0.1" in url for url in found.values())
    own = read_endpoints({"mine": {"base_url": "http://127.0.0.1:11434/v1"}}, ["chat"])
    assert default_upstreams(own)["mine"] == "http://127.0.0.1:11434/v1"


def test_an_option_adds_an_upstream_or_replaces_one() -> None:
    found = read_upstreams(["lab=http://10.0.0.1:8000/v1/", "openai=https://eu.example"])
    assert found == {"lab": "http://10.0.0.1:8000/v1", "openai": "https://eu.example"}


@pytest.mark.parametrize(
    "word",
    [
        "lab",
        "lab=",
        "=https://a.example",
        "a/b=https://a.example",
        "s=https://a.example",
        "ullage=https://a.example",
        "lab=ftp://a.example",
        "lab=https://",
        "lab=https://a.example:99999",
        "lab=https://a.example/?key=1",
        "lab=https://a b.example",
    ],
)
def test_what_is_no_upstream_is_refused(word: str) -> None:
    with pytest.raises(SettingError):
        read_upstreams([word])


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(SettingError) as caught:
        checked_address("https://me:secret@a.example", "ADDRESS")
    assert "secret" not in str(caught.value)


def test_an_address_is_named_after_its_provider() -> None:
    assert name_for("https://openrouter.ai/api/v1", "lab") == "openrouter"
    assert name_for("https://generativelanguage.googleapis.com", "lab") == "gemini"
    assert name_for("http://127.0.0.1:8000/v1", "lab") == "lab"


def test_an_address_has_its_place_at_the_proxy() -> None:
    upstreams = default_upstreams({})
    proxy = "http://127.0.0.1:4141"
    found = through_proxy("https://api.openai.com/v1", upstreams)
    assert found == f"{proxy}/openai/v1"
    assert through_proxy("https://api.deepseek.com/v1", upstreams) == f"{proxy}/deepseek"
    assert through_proxy("https://llm.example/v1", upstreams) == ""
    assert through_proxy(f"{proxy}/openai/v1", upstreams) == f"{proxy}/openai/v1"

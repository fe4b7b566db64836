import pytest

from ullage.codec.wires import WIRES
from ullage.errors import SettingError
from ullage.models.endpoints import read_endpoints

LAB = {"base_url": "https://lab.example/v1", "key_env": "LAB_API_KEY"}


def test_an_endpoint_is_a_row_like_those_of_providers() -> None:
    lab = read_endpoints(
        {"Lab": {**LAB, "wire": "messages", "auth": "x-api-key"}}, WIRES
    )["lab"]
    assert lab.name == "lab"
    assert lab.wire == "messages"
    assert lab.base_url == LAB["base_url"]
    assert lab.auth == "x-api-key"
    assert (lab.key_env, lab.url_env, lab.needs_key) == (("LAB_API_KEY",), (), True)


def test_what_is_not_set_is_chat_with_a_bearer_token_and_without_a_key() -> None:
    (lab,) = read_endpoints({"lab": {"base_url": "http://127.0.0.1:9"}}, WIRES).values()
    assert lab.wire == "chat"
    assert lab.auth == "bearer"
    assert lab.key_env == ()
    assert lab.needs_key is False


def test_reading_what_was_read_changes_nothing() -> None:
    read = read_endpoints({"lab": LAB}, WIRES)
    assert read_endpoints(read, WIRES) == read


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"gemini": LAB}, "endpoints.gemini has the name of the provider 'google'"),
        ({"OpenAI": LAB}, "has the name of the provider 'openai'"),
        ({"9lab": LAB}, "a name is a letter"),
        ({"a:b": LAB}, "a name is a letter"),
        ({"ft": LAB}, "a name is a letter"),
        ({"lab": LAB, "LAB": LAB}, "two endpoints of this name"),
        (
            {"lab": {**LAB, "wire": "caht"}},
            r"endpoints.lab.wire: There is no wire 'caht'. Did you mean 'chat'\?",
        ),
        (
            {"lab": {**LAB, "base_ulr": ""}},
            r"can't set 'base_ulr'. Did you mean 'base_url'\?",
        ),
        ({"lab": {**LAB, "api_key": "s3cret"}}, "name its variable with key_env"),
        ({"lab": {**LAB, "key_env": "sk-s3cret"}}, "and not the key itself"),
        ({"lab": {**LAB, "key_env": "PATH"}}, "such as LAB_API_KEY"),
        ({"lab": {**LAB, "auth": "basic"}}, "there are bearer"),
        ({"lab": {"wire": "chat"}}, "endpoints.lab.base_url must be the address"),
        ({"lab": {"base_url": "lab.example"}}, "base_url must be the address"),
        ({"lab": {"base_url": "https://me:s3cret@lab.example"}}, "without a key in it"),
        (
            {"lab": {"base_url": "https://lab.example/v1?key=s3cret"}},
            "without a key in it",
        ),
        ({"lab": {"base_url": 5}}, "endpoints.lab.base_url must be a text"),
        ({"lab": "https://lab.example"}, "give a table of base_url"),
        ("lab", "give a table for each name"),
    ],
)
def test_what_can_not_be_is_refused_and_no_secret_shown(
    table: object, problem: str
) -> None:
    with pytest.raises(SettingError, match=problem) as caught:
        read_endpoints(table, WIRES)
    assert "s3cret" not in str(caught.value)

"""What a run of tests sees of the developer's own, and which calls it may make."""

import asyncio

import pytest

from ullage.errors import BadKey, SettingError
from ullage.isolation import VARIABLE, environment_of, reaches_network
from ullage.wire.client import Client, Post
from ullage.wire.endpoints import Endpoint, endpoint_for

OWN = {
    "OPENAI_API_KEY": "secret",
    "OPENAI_BASE_URL": "https://gateway.example",
    "ULLAGE_TRIGGER": "0.5",
    "ULLAGE_DATA": "/tests",
    "LANG": "C",
}


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OWN.items():
        monkeypatch.setenv(name, value)


def seen(given: dict[str, str] | None = None) -> dict[str, str]:
    environment = environment_of(given)
    return {name: environment[name] for name in OWN if name in environment}


def test_outside_of_tests_everything_is_seen() -> None:
    assert seen() == OWN
    assert environment_of({"A": "b"}) == {"A": "b"}
    assert reaches_network()


def test_a_test_sees_no_keys_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "ISOLATED 3")
    assert seen() == {"ULLAGE_DATA": "/tests", "LANG": "C"}
    assert seen({"OPENAI_API_KEY": "x"}) == {
        "OPENAI_API_KEY": "x",
        "ULLAGE_DATA": "/tests",
    }
    assert not reaches_network()


def test_a_test_with_a_network_sees_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "NETWORK 3")
    assert seen() == {name: OWN[name] for name in OWN if name != "ULLAGE_TRIGGER"}
    assert reaches_network()


def test_calls_stay_on_this_machine_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "ISOLATED 3")
    endpoint = Endpoint(provider="own", wire="chat", base_url="https://far.example/v1")

    async def send() -> None:
        async with Client().send(
            Post(endpoint=endpoint, path="/x", headers={}, content=b"")
        ):
            pass

    with pytest.raises(SettingError, match=r"far\.example.*override"):
        asyncio.run(send())
    with pytest.raises(BadKey, match="override"):
        endpoint_for("openai:gpt-5", environment={})

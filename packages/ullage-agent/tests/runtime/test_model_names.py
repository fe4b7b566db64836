"""A name means the same to a Meter, to an Agent and to the file that configures both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.local_server import Reply, chat, serving
from ullage.errors import SettingError
from ullage.events import Event, SessionStarted
from ullage.meter.meter import Meter
from ullage.models.providers import known_providers
from ullage_agent.runtime.agent import Agent, first_events
from ullage_agent.runtime.config_file import read_configs
from ullage_agent.runtime.precedence import resolve

NAMES = [name for row in known_providers() for name in (row.name, *row.aliases)]
MODELS = [
    "claude-haiku-4-5",
    "gemini-2.5-pro",
    "gpt-5-mini",
    "kimi-k2-0905-preview",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "x/y:free",
    "qwen3:32b",
    "my-model",
]
OWN: Mapping[str, Mapping[str, object]] = {
    "lab": {"base_url": "http://127.0.0.1:9/v1", "wire": "responses"}
}


class Meaning(NamedTuple):
    """What a name leads to."""

    provider: str
    wire: str
    model: str
    window: int | None


def of_meter(name: str, endpoints: Mapping[str, object]) -> Meaning:
    heard: list[Event] = []
    reading = Meter(name, endpoints=endpoints, on_event=heard.append).reading()
    (started,) = heard
    assert isinstance(started, SessionStarted)
    return Meaning(started.provider, started.wire, started.model, reading.window.tokens)


def of_agent(name: str, endpoints: Mapping[str, Mapping[str, object]]) -> Meaning:
    settings = Agent(name, config=False, environment={}, endpoints=endpoints).settings
    (started,) = first_events(settings, {})
    assert isinstance(started, SessionStarted)
    meter = Meter()
    meter.apply(started)
    return Meaning(
        started.provider, started.wire, started.model, meter.reading().window.tokens
    )


@given(st.sampled_from([*NAMES, "lab"]), st.sampled_from(MODELS), st.data())
def test_a_meter_and_an_agent_read_every_name_alike(
    name: str, model: str, data: st.DataObject
) -> None:
    written = "".join(
        data.draw(st.sampled_from([letter, letter.upper()])) for letter in name
    )
    assert of_meter(f"{written}:{model}", OWN) == of_agent(f"{written}:{model}", OWN)


def test_a_misspelled_provider_is_refused_by_both() -> None:
    for make in (of_meter, of_agent):
        with pytest.raises(
            SettingError, match="Did you mean 'anthropic:claude-haiku-4-5'"
        ):
            make("antropic:claude-haiku-4-5", {})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config" / "ullage").mkdir(parents=True)
    return tmp_path


def config(home: Path, text: str) -> dict[str, str]:
    (home / ".config" / "ullage" / "ullage.toml").write_text(text)
    return {"HOME": str(home), "ULLAGE_DATA": str(home / "data")}


LAB = '[endpoints.lab]\nbase_url = "{url}"\nkey_env = "LAB_API_KEY"\n'


async def test_an_endpoint_of_the_users_file_is_used_with_its_own_key(home: Path) -> None:
    async with serving(Reply(chat("Half full."))) as server:
        environment = config(home, LAB.format(url=server.url)) | {
            "LAB_API_KEY": "sk-lab",
            "ULLAGE_API_KEY": "sk-other",
            "OPENAI_API_KEY": "sk-openai",
        }
        agent = Agent(
            "lab:claude-via", window=50_000, environment=environment, store=home / "s.db"
        )
        result = await agent.ask("How full?")
    assert result.text == "Half full."
    sent = server.asked[-1]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer sk-lab"
    assert sent.json["model"] == "claude-via"
    assert not any("x-api-key" in asked.headers for asked in server.asked)


async def test_an_endpoint_s_missing_key_is_named_before_storing(home: Path) -> None:
    environment = config(home, LAB.format(url="https://lab.example/v1"))
    agent = Agent("lab:m", environment=environment, store=home / "s.db")
    with pytest.raises(Exception, match="lab needs a key: set LAB_API_KEY"):
        await agent.ask("How full?")
    assert await agent.sessions() == []


async def test_a_session_names_no_endpoint(home: Path) -> None:
    agent = Agent("ollama:m", environment=config(home, ""), store=home / "s.db")
    async with agent.session("s") as session:
        with pytest.raises(SettingError, match="endpoints"):
            await session.set(endpoints={"lab": {"base_url": "https://evil.example"}})


def test_a_mistake_names_the_file_and_the_line(home: Path) -> None:
    environment = config(
        home,
        'trigger = 0.5\n\n[endpoints.lab]\nbase_url = "https://lab.example"\nwire = "caht"\n',
    )
    with pytest.raises(
        SettingError,
        match=r"ullage.toml, line 3: endpoints.lab.wire: .* Did you mean 'chat'",
    ):
        Agent(environment=environment)


def test_another_model_of_a_session_leaves_the_operators_address(home: Path) -> None:
    environment = config(home, LAB.format(url="https://lab.example/v1")) | {
        "LAB_API_KEY": "sk-lab"
    }
    arguments = {"model": "ollama:m", "base_url": "http://127.0.0.1:9"}
    resolved = resolve(
        arguments,
        {"model": "lab:m"},
        read_configs(home, environment),
        environment,
        session_first=["model"],
    )
    endpoint, _ = resolved.settings.endpoint(environment)
    assert endpoint.base_url == "https://lab.example/v1"
    assert endpoint.auth_header() == {"authorization": "Bearer sk-lab"}

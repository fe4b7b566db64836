"""Responses in the background, by OpenAI's own SDK: https://developers.openai.com/api/docs/guides/background."""

import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from ullage_simulators import Server, running
from ullage_simulators.scenario import read

STORY = "The cask was filled in spring and by autumn it was opened again. " * 3


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    told: Any = {"server": {"delay_s": 0.005}, "answers": [{"text": STORY}]}
    with running(read(told), wires=["openai"]) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url("openai"), api_key="any", max_retries=0)


@pytest.fixture
def slow_client() -> Iterator[openai.OpenAI]:
    """One whose answers last for longer than a test."""
    told: Any = {"server": {"delay_s": 0.5}, "answers": [{"text": STORY * 10}]}
    with running(read(told), wires=["openai"]) as slow:
        yield openai.OpenAI(base_url=slow.url("openai"), api_key="any", max_retries=0)


def begun(client: openai.OpenAI, **more: Any) -> Any:
    return client.responses.create(
        model="gpt-4.1", input="Tell me.", background=True, **more
    )


def test_it_goes_on_without_a_reader_and_is_polled(client: openai.OpenAI) -> None:
    made = begun(client)
    assert (made.status, made.output) == ("queued", [])
    while made.status in ("queued", "in_progress"):
        time.sleep(0.01)
        made = client.responses.retrieve(made.id)
    assert made.status == "completed"
    assert made.output_text == STORY
    assert made.usage.output_tokens > 0


def test_a_stream_that_was_left_goes_on_behind_any_event(client: openai.OpenAI) -> None:
    with begun(client, stream=True) as stream:
        first = [next(iter(stream)) for _ in range(6)]
    identity = first[0].response.id
    assert first[0].response.background is True
    again = client.responses.retrieve(identity, stream=True)
    whole = [event.sequence_number for event in again]
    assert whole == list(range(len(whole)))
    rest = client.responses.retrieve(identity, stream=True, starting_after=5)
    numbers = [event.sequence_number for event in rest]
    assert numbers == whole[6:]


def test_a_cancel_ends_it_and_a_second_one_changes_nothing(
    slow_client: openai.OpenAI,
) -> None:
    client = slow_client
    made = begun(client, stream=True)
    identity = next(iter(made)).response.id
    assert client.responses.cancel(identity).status == "cancelled"
    assert client.responses.cancel(identity).status == "cancelled"
    assert client.responses.retrieve(identity).status == "cancelled"


def test_it_is_billed_once_however_often_it_is_fetched(
    client: openai.OpenAI, server: Server
) -> None:
    before = len(server.truth().bills)
    with begun(client, stream=True) as stream:
        identity = next(iter(stream)).response.id
    for _ in range(3):
        list(client.responses.retrieve(identity, stream=True))
    assert len(server.truth().bills) == before + 1

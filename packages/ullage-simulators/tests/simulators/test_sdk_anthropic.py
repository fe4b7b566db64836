"""Anthropic's own SDK as an independent client: what it sends back is accepted, what is altered is not."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.simulators.asking import WEATHER
from ullage_simulators import Server, running

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # older models are simulated on purpose

TOOL: Any = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": WEATHER,
}
ASKED: Any = {"role": "user", "content": "please get_weather for Paris"}
MODELS = {
    "claude-sonnet-4-5": {"type": "enabled", "budget_tokens": 1_024},
    "claude-opus-4-6": {"type": "adaptive"},
    "claude-fable-5-1": {"type": "adaptive", "display": "omitted"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=11) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=server.url("anthropic"), api_key="any", max_retries=0
    )


def stream(
    client: anthropic.Anthropic, model: str, messages: list[Any], **more: Any
) -> anthropic.types.Message:
    thinking: Any = MODELS[model]
    request = {"tools": [TOOL], "thinking": thinking, "max_tokens": 4_000, **more}
    with client.messages.stream(
        model=model, messages=messages, **request
    ) as running_stream:
        return running_stream.get_final_message()


def loop(answer: anthropic.types.Message) -> list[Any]:
    """The history after the tool has run."""
    content = [block.model_dump(exclude_none=True) for block in answer.content]
    for block in content:
        block.pop("caller", None)
    call = next(block for block in content if block["type"] == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"}
    return [
        ASKED,
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]


@pytest.mark.parametrize("model", MODELS)
def test_a_streamed_tool_loop_with_thinking_runs_to_its_end(
    client: anthropic.Anthropic, server: Server, model: str
) -> None:
    first = stream(client, model, [ASKED])
    assert [block.type for block in first.content] == ["thinking", "tool_use"]
    assert first.stop_reason == "tool_use"
    second = stream(client, model, loop(first))
    assert [block.text for block in second.content if block.type == "text"] == [
        "Done: get_weather gave sunny"
    ]
    one, two = server.truth().bills[-2:]
    assert (first.usage.input_tokens, first.usage.output_tokens) == (
        one.input,
        one.output,
    )
    assert (second.usage.input_tokens, second.usage.output_tokens) == (
        two.input,
        two.output,
    )
    assert two.kept == one.reasoning


def test_text_in_omitted_thinking_is_ignored(client: anthropic.Anthropic) -> None:
    history = loop(stream(client, "claude-fable-5-1", [ASKED]))
    history[1]["content"][0]["thinking"] = "Some text."
    assert stream(client, "claude-fable-5-1", history).stop_reason == "end_turn"


def test_counting_agrees_with_the_bill(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(
        model="claude-opus-4-6", messages=[ASKED], tools=[TOOL]
    )
    answer = client.messages.create(
        model="claude-opus-4-6", messages=[ASKED], tools=[TOOL], max_tokens=100
    )
    assert counted.input_tokens == answer.usage.input_tokens


def test_models_are_listed_with_their_limits(client: anthropic.Anthropic) -> None:
    listed = {model.id: model.max_input_tokens for model in client.models.list()}
    assert listed["claude-fable-5-1"] == 1_000_000
    assert client.models.retrieve("claude-opus-4-6").max_tokens == 128_000


def test_errors_arrive_as_the_sdks_own_classes(server: Server) -> None:
    wrong = anthropic.Anthropic(
        base_url=server.url("anthropic"), api_key="any", max_retries=0
    )
    with pytest.raises(anthropic.NotFoundError):
        wrong.messages.create(model="gpt-5", messages=[ASKED], max_tokens=10)

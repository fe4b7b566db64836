"""OpenAI's own SDK as an independent client of Responses and of Chat.

What it sends back from a stream is accepted, what is altered or left out is not.
"""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.simulators.asking import WEATHER
from ullage_simulators import Server, running

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": WEATHER,
    "strict": False,
}
CHAT_TOOL: Any = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": WEATHER},
}
ASKED: Any = {"role": "user", "content": "please get_weather for Paris"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=12) as server:
        yield server


def connect(server: Server, wire: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url(wire), api_key="any", max_retries=0)


@pytest.fixture(scope="module")
def client(server: Server) -> openai.OpenAI:
    return connect(server, "openai")


def respond(client: openai.OpenAI, items: list[Any], **more: Any) -> Any:
    request: Any = {
        "model": "gpt-5",
        "tools": [TOOL],
        "store": False,
        "reasoning": {"summary": "auto"},
        **more,
    }
    with client.responses.stream(input=items, **request) as stream:
        return stream.get_final_response()


def items_of(answer: Any) -> list[Any]:
    """The answer's items with the tool's result behind them."""
    items = [item.model_dump(exclude_none=True) for item in answer.output]
    for item in items:
        item.pop("parsed_arguments", None)
    return [
        ASKED,
        *items,
        {
            "type": "function_call_output",
            "call_id": items[-1]["call_id"],
            "output": "sunny",
        },
    ]


def test_a_streamed_tool_loop_ends(client: openai.OpenAI, server: Server) -> None:
    first = respond(client, [ASKED])
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    second = respond(client, items_of(first))
    assert second.output_text == "Done: get_weather gave sunny"
    one, two = server.truth().bills[-2:]
    assert (first.usage.input_tokens, first.usage.output_tokens) == (
        one.input,
        one.output,
    )
    assert two.kept == one.reasoning
    assert second.usage.output_tokens_details.reasoning_tokens == two.reasoning // 64 * 64


def test_a_chained_call_counts_as_sending_everything(client: openai.OpenAI) -> None:
    first = respond(client, [ASKED], store=True)
    result = items_of(first)[-1]
    chained = respond(client, [result], previous_response_id=first.id)
    whole = respond(client, items_of(first), store=True)
    assert chained.usage.input_tokens == whole.usage.input_tokens


def test_counting_agrees_with_the_bill(client: openai.OpenAI) -> None:
    counted = client.responses.input_tokens.count(
        model="gpt-5", input=[ASKED], tools=[TOOL]
    )
    answer = client.responses.create(model="gpt-5", input=[ASKED], tools=[TOOL])
    assert answer.usage is not None
    assert counted.input_tokens == answer.usage.input_tokens


def chat(
    client: openai.OpenAI, model: str, messages: list[Any], **more: Any
) -> dict[str, Any]:
    """A streamed answer put together by hand from its chunks, as clients must for fields the SDK doesn't know."""
    asked: Any = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [CHAT_TOOL],
        **more,
    }
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    for chunk in client.chat.completions.create(model=model, messages=messages, **asked):
        if chunk.usage:
            message["usage"] = chunk.usage.model_dump()
        for choice in chunk.choices:
            delta = choice.delta.model_dump(exclude_none=True)
            message["content"] += delta.get("content", "")
            if "reasoning_content" in delta:
                message["reasoning_content"] = (
                    message.get("reasoning_content", "") + delta["reasoning_content"]
                )
            for detail in delta.get("reasoning_details", ()):
                [kept] = message.setdefault("reasoning_details", [{**detail, "text": ""}])
                kept["text"] += detail.get("text", "")
                kept |= {
                    name: value for name, value in detail.items() if name == "signature"
                }
            for call in delta.get("tool_calls", ()):
                if "id" in call:
                    message["tool_calls"].append(
                        {
                            "id": call["id"],
                            "type": "function",
                            "function": dict(call["function"]),
                        }
                    )
                else:
                    message["tool_calls"][call["index"]]["function"]["arguments"] += call[
                        "function"
                    ]["arguments"]
    return message


def history(message: dict[str, Any]) -> list[Any]:
    sent = {name: value for name, value in message.items() if name != "usage"}
    result = {
        "role": "tool",
        "tool_call_id": message["tool_calls"][0]["id"],
        "content": "sunny",
    }
    return [ASKED, sent, result]


CHATS = {
    "openai": "gpt-5-mini",
    "deepseek": "deepseek-reasoner",
    "moonshot": "kimi-k2.5",
    "xai": "grok-4.3",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "llamacpp": "qwen3",
    "vllm": "gpt-oss-20b",
    "mistral": "mistral-medium-latest",
}


@pytest.mark.parametrize("wire", CHATS)
def test_a_streamed_chat_loop_runs_to_its_end(server: Server, wire: str) -> None:
    client = connect(server, wire)
    first = chat(client, CHATS[wire], [ASKED])
    second = chat(client, CHATS[wire], history(first))
    assert second["content"] == "Done: get_weather gave sunny"
    one, two = server.truth().bills[-2:]
    inside = one.output - one.reasoning if wire == "xai" else one.output
    assert (first["usage"]["prompt_tokens"], first["usage"]["completion_tokens"]) == (
        one.input,
        inside,
    )
    assert two.kept == (0 if wire in ("openai", "mistral") else one.reasoning)


def test_refused_stream_options_are_left_out(server: Server) -> None:
    client = connect(server, "azure")
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, "gpt-4.1", [ASKED])
    assert "Extra parameters ['stream_options']" in caught.value.response.text
    answer = chat(client, "gpt-4.1", [ASKED], stream_options=openai.omit)
    assert answer["tool_calls"]
    assert "usage" not in answer


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert "gpt-5" in {model.id for model in client.models.list()}
    with pytest.raises(openai.APIStatusError):
        client.models.retrieve("unheard-of")

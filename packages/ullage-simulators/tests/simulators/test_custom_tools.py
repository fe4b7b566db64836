"""Custom tools of OpenAI's two wires: their input is plain text."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.simulators.asking import Ask, Body, Talk
from ullage_simulators import Server, running
from ullage_simulators.scenario import read

PATCH = "*** Begin Patch\n+ hello\n*** End Patch"
SCRIPT = {
    "answers": [
        {"when": {"contains": "patch it"}, "calls": [{"name": "patch", "input": PATCH}]}
    ]
}
PATCH_IT: Body = {"role": "user", "content": "patch it"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(read(SCRIPT), seed=3) as server:
        yield server


@pytest.fixture(scope="module")
def talk(server: Server) -> Talk:
    return Talk(server)


def responses(*items: Body, **more: Any) -> Ask:
    tool = {"type": "custom", "name": "patch", "description": "Applies a patch."}
    body = {"model": "gpt-5.5", "input": list(items), "tools": [tool], "store": False}
    return Ask("/responses", {**body, **more})


def chat(*messages: Body) -> Ask:
    tool = {"type": "custom", "custom": {"name": "patch"}}
    body = {"model": "gpt-5.5", "messages": list(messages), "tools": [tool]}
    return Ask("/chat/completions", body)


def test_a_custom_call_of_responses_is_billed_with_its_input(talk: Talk) -> None:
    call = talk.ok("openai", responses(PATCH_IT))["output"][-1]
    assert (call["type"], call["name"], call["input"]) == (
        "custom_tool_call",
        "patch",
        PATCH,
    )
    output = {
        "type": "custom_tool_call_output",
        "call_id": call["call_id"],
        "output": "Done.",
    }
    answer = talk.ok("openai", responses(PATCH_IT, call, output))
    assert "patch gave Done." in answer["output"][-1]["content"][0]["text"]
    short = {**call, "input": ""}
    less = talk.ok("openai", responses(PATCH_IT, short, output))
    assert answer["usage"]["input_tokens"] > less["usage"]["input_tokens"] + 5


def test_the_sdk_streams_the_input_of_a_custom_call(server: Server) -> None:
    client = openai.OpenAI(base_url=server.url("openai"), api_key="any", max_retries=0)
    stream = client.responses.create(
        model="gpt-5.5",
        input="patch it",
        tools=[{"type": "custom", "name": "patch"}],
        stream=True,
    )
    pieces, whole = [], ""
    for event in stream:
        if event.type == "response.custom_tool_call_input.delta":
            pieces.append(event.delta)
        if event.type == "response.custom_tool_call_input.done":
            whole = event.input
    assert len(pieces) > 1
    assert "".join(pieces) == whole == PATCH


def test_a_custom_call_of_chat_is_answered(talk: Talk) -> None:
    message = talk.ok("openai", chat(PATCH_IT))["choices"][0]["message"]
    (call,) = message["tool_calls"]
    assert call["type"] == "custom"
    assert call["custom"] == {"name": "patch", "input": PATCH}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "Done."}
    answer = talk.ok("openai", chat(PATCH_IT, message, result))
    assert "patch gave Done." in answer["choices"][0]["message"]["content"]


def test_a_custom_call_of_chat_is_streamed(talk: Talk) -> None:
    events = talk.events("openai", chat(PATCH_IT).but(stream=True))
    said = ""
    for event in events:
        for choice in event["choices"]:
            for call in choice["delta"].get("tool_calls", ()):
                said += call["custom"]["input"]
    assert said == PATCH


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        (responses(PATCH_IT, tools=[{"type": "custom", "name": "a b"}]), "tools[0].name"),
        (
            chat(PATCH_IT).but(tools=[{"type": "custom", "custom": {"name": "a b"}}]),
            "tools[0].custom.name",
        ),
    ],
)
def test_the_name_of_a_custom_tool_is_checked(talk: Talk, ask: Ask, path: str) -> None:
    refused = talk.send("openai", ask)
    assert refused.json()["error"]["param"] == path


def test_without_a_script_a_custom_tool_is_called_by_its_name() -> None:
    with running(seed=3) as plain:
        asked = {"role": "user", "content": "patch this"}
        call = Talk(plain).ok("openai", responses(asked))["output"][-1]
    assert (call["type"], call["input"]) == ("custom_tool_call", "patch this")


def test_tools_that_an_item_adds_are_declared_and_billed() -> None:
    tool = {"type": "function", "name": "get_weather", "parameters": {}}
    added = {"type": "additional_tools", "role": "developer", "tools": [tool]}
    asked = {"role": "user", "content": "get_weather"}
    with running(seed=3) as plain:
        talk = Talk(plain)
        answer = talk.ok("openai", responses(added, asked, tools=[]))
        without = talk.ok("openai", responses(asked, tools=[]))
        listed = talk.ok("openai", responses(asked, tools=[tool]))
    assert answer["output"][-1]["name"] == "get_weather"
    assert answer["usage"]["input_tokens"] > without["usage"]["input_tokens"]
    assert answer["usage"]["input_tokens"] == listed["usage"]["input_tokens"]

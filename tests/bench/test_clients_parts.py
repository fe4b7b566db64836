from typing import Any

import pytest
from ullage_simulators.drawn import Drawn

from bench.clients.parts import BilledParts, billed_parts

NUMBERS = Drawn(
    factor=2.0,
    declared=2.0,
    hidden=1.0,
    request=1,
    message=10,
    tool=100,
    tools=1_000,
    result=200,
    call=300,
    image=5_000,
    loop=True,
    turns=True,
)
TOOL = {"name": "Read", "description": "one two"}
ARGUMENTS = '{"path": "alpha"}'


def parts(body: Any, reasoning: int = 0) -> BilledParts:
    return billed_parts(body, NUMBERS, reasoning)


def categories(body: Any) -> dict[str, float]:
    """Those that the body has, without what a request costs by itself."""
    found = parts(body).categories
    return {str(name): size for name, size in found.items() if size and name != "other"}


def test_a_system_prompt_costs_its_text_and_text_of_messages_its_framing_as_well() -> (
    None
):
    said = [{"role": "user", "content": [{"type": "text", "text": "one two three"}]}]
    found = categories({"system": [{"text": "four"}], "messages": said})
    assert found == {"system prompt": 2, "text": 16}


def test_a_message_in_the_systems_role_is_the_prompt_only_where_it_begins_the_request() -> (
    None
):
    prompt = {"role": "system", "content": "one two"}
    reminder = {"role": "system", "content": "three"}
    hello = {"role": "user", "content": "four"}
    found = categories({"messages": [prompt, hello, reminder]})
    assert found == {"system prompt": 14, "text": 24}
    found = categories({"instructions": "one", "input": [prompt, hello]})
    assert found == {"system prompt": 2, "text": 26}


def test_each_declared_tool_has_its_size_and_declaring_any_costs_once() -> None:
    found = parts({"tools": [TOOL], "messages": []})
    assert found.tools["Read"] > 100
    assert found.categories["tools"] == found.tools["Read"] + 1_000


@pytest.mark.parametrize(
    "declared",
    [
        {**TOOL, "cache_control": {"type": "ephemeral"}},
        {"functionDeclarations": [TOOL]},
    ],
)
def test_a_tool_costs_the_same_in_every_wire(declared: dict[str, Any]) -> None:
    plain = parts({"tools": [TOOL], "messages": []})
    assert parts({"tools": [declared], "messages": []}) == plain


def test_a_deferred_tool_is_counted_from_where_a_result_refers_to_it() -> None:
    deferred = {**TOOL, "defer_loading": True}
    assert parts({"tools": [deferred], "messages": []}).tools == {}
    reference = {"type": "tool_reference", "tool_name": "Read"}
    result = {"type": "tool_result", "content": [reference]}
    messages = [{"role": "user", "content": [result]}]
    found = parts({"tools": [deferred], "messages": messages})
    assert found.tools["Read"] > 100
    assert found.categories["tool results"] == 200


ANTHROPIC = {
    "messages": [
        {"content": [{"type": "tool_use", "name": "Read", "input": {"path": "alpha"}}]},
        {"content": [{"type": "tool_result", "content": "one two"}]},
    ]
}
RESPONSES = {
    "input": [
        {"type": "function_call", "name": "Read", "arguments": ARGUMENTS},
        {"type": "function_call_output", "output": "one two"},
    ]
}
CHAT = {
    "messages": [
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "Read", "arguments": ARGUMENTS}}],
        },
        {"role": "tool", "content": "one two"},
    ]
}


@pytest.mark.parametrize("body", [ANTHROPIC, RESPONSES, CHAT], ids=["a", "r", "c"])
def test_calls_and_results_are_told_apart_in_every_wire(body: dict[str, Any]) -> None:
    found = categories(body)
    assert found["tool results"] == 204
    assert 300 < found["tool calls"] < 330


def test_calls_and_results_of_gemini_are_json() -> None:
    call = {"functionCall": {"name": "Read", "args": {"path": "alpha"}}}
    given = {"functionResponse": {"name": "Read", "response": {"output": "one two"}}}
    found = categories({"contents": [{"parts": [call]}, {"parts": [given]}]})
    assert 300 < found["tool calls"] < 330
    assert 204 < found["tool results"] < 240


def test_a_reminder_beside_a_result_is_text() -> None:
    content = [
        {"type": "tool_result", "content": "one"},
        {"type": "text", "text": "two"},
    ]
    found = categories({"messages": [{"role": "user", "content": content}]})
    assert found == {"tool results": 202, "text": 12}


def test_thinking_is_what_was_billed_of_it_and_its_signature_is_no_text() -> None:
    thinking = {"type": "thinking", "thinking": "one two", "signature": "c2ln" * 50}
    body = {"messages": [{"role": "assistant", "content": [thinking]}]}
    found = parts(body, reasoning=40).categories
    assert (found["reasoning"], found["text"]) == (40, 10)


def test_an_image_has_a_size_of_its_own() -> None:
    content = [{"type": "image", "source": {"data": "aGVsbG8="}}]
    found = parts({"messages": [{"role": "user", "content": content}]})
    assert found.categories["other"] == 5_001

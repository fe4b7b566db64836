from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.bodies import read_body
from ullage.codec.bodies.growing import GrowingBody
from ullage.errors import InvalidRequest

Json = dict[str, Any]

texts = st.sampled_from(["", "hello", "hello", "go on", "naïve \ud800 text", "x" * 300])


def calls(name: str) -> Json:
    return {"id": name, "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}


chat_messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(lambda text: {"role": "system", "content": text}, texts),
    st.builds(lambda text: {"role": "assistant", "content": text, "reasoning_content": text}, texts),
    st.builds(lambda name: {"role": "assistant", "tool_calls": [calls(name)]}, st.sampled_from("abc")),
    st.builds(lambda text: {"role": "tool", "tool_call_id": "a", "content": text}, texts),
    st.just("no message"),
)
anthropic_messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]}, texts),
    st.builds(
        lambda text: {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}]}, texts
    ),
    st.just(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "a"}},
            ],
        }
    ),
)
steps = st.sampled_from(["grow", "grow", "grow", "edit", "shrink", "same", "model", "system"])


@given(st.data(), st.sampled_from(["chat", "messages"]))
def test_a_loops_bodies_read_as_each_of_them_would_alone(data: st.DataObject, wire: str) -> None:
    messages = chat_messages if wire == "chat" else anthropic_messages
    body: Json = {"model": "m", "max_tokens": 5, "messages": []}
    reader = GrowingBody()
    for step in data.draw(st.lists(steps, max_size=8)):
        body = copy.deepcopy(body)
        history = body["messages"]
        match step:
            case "grow":
                history += data.draw(st.lists(messages, max_size=3))
            case "edit" if history:
                history[data.draw(st.integers(0, len(history) - 1))] = data.draw(messages)
            case "shrink" if history:
                history.pop()
            case "model":
                body["model"] = data.draw(st.sampled_from("mn"))
            case "system":
                body["system" if wire == "messages" else "temperature"] = data.draw(st.sampled_from(["1", "2"]))
            case _:
                pass
        alone = read_body(body, wire=wire, provider="somebody", model="")
        assert reader.read(body, wire=wire, provider="somebody", model="") == alone


def test_an_edit_in_place_of_the_same_objects_is_noticed() -> None:
    reader = GrowingBody()
    body: Json = {"model": "gpt-4o", "messages": [{"role": "user", "content": "before"}]}
    reader.read(body, wire=None, provider=None, model="")
    body["messages"][0]["content"] = "after"
    request = reader.read(body, wire=None, provider=None, model="")
    assert request == read_body(body)


def test_another_wire_in_between_is_read_as_a_whole() -> None:
    reader = GrowingBody()
    for body in (
        {"model": "gpt-4o", "messages": [{"role": "user", "content": "a"}]},
        {"model": "gpt-5", "input": "a"},
        {"contents": [{"role": "user", "parts": [{"text": "a"}]}]},
        {"model": "gpt-4o", "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]},
    ):
        assert reader.read(body, wire=None, provider=None, model="") == read_body(body)


def test_a_body_of_no_wire_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        GrowingBody().read({"nothing": 1}, wire=None, provider=None, model="")

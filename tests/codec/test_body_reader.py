from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.bodies import BodyReader, read_body, read_output
from ullage.errors import InvalidRequest

Json = dict[str, Any]

texts = st.sampled_from(["", "hello", "hello", "go on", "naïve \ud800 text", "x" * 300])


def calls(name: str) -> Json:
    return {
        "id": name,
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "a"}'},
    }


chat_messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(lambda text: {"role": "system", "content": text}, texts),
    st.builds(
        lambda text: {"role": "assistant", "content": text, "reasoning_content": text},
        texts,
    ),
    st.builds(
        lambda name: {"role": "assistant", "tool_calls": [calls(name)]},
        st.sampled_from("abc"),
    ),
    st.builds(lambda text: {"role": "tool", "tool_call_id": "a", "content": text}, texts),
    st.just("no message"),
)
anthropic_messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(
        lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]},
        texts,
    ),
    st.builds(
        lambda text: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}],
        },
        texts,
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
responses_items = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(
        lambda text: {"type": "message", "role": "developer", "content": text}, texts
    ),
    st.builds(
        lambda text: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        },
        texts,
    ),
    st.builds(
        lambda name: {"type": "reasoning", "id": name, "summary": []},
        st.sampled_from("abc"),
    ),
    st.builds(
        lambda name: {
            "type": "function_call",
            "call_id": name,
            "name": "read",
            "arguments": "{}",
        },
        st.sampled_from("abc"),
    ),
    st.builds(
        lambda name, text: {
            "type": "function_call_output",
            "call_id": name,
            "output": text,
        },
        st.sampled_from("abc"),
        texts,
    ),
    st.just("no item"),
)
gemini_contents = st.one_of(
    st.builds(lambda text: {"role": "user", "parts": [{"text": text}]}, texts),
    st.builds(
        lambda text: {
            "role": "model",
            "parts": [{"text": text, "thoughtSignature": "c2ln"}],
        },
        texts,
    ),
    st.just(
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "read", "args": {"path": "a"}}}],
        }
    ),
    st.builds(
        lambda text: {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"output": text}}},
                {"text": text},
            ],
        },
        texts,
    ),
    st.just("no content"),
)
WIRES = {
    "chat": ("messages", chat_messages, "temperature"),
    "messages": ("messages", anthropic_messages, "system"),
    "responses": ("input", responses_items, "instructions"),
    "generateContent": ("contents", gemini_contents, "systemInstruction"),
}
steps = st.sampled_from(
    ["grow", "grow", "grow", "edit", "shrink", "same", "model", "system"]
)


@given(st.data(), st.sampled_from(sorted(WIRES)))
def test_a_loops_bodies_read_as_each_of_them_would_alone(
    data: st.DataObject, wire: str
) -> None:
    field, items, beside = WIRES[wire]
    body: Json = {"model": "m", "max_tokens": 5, field: []}
    reader = BodyReader()
    for step in data.draw(st.lists(steps, max_size=8)):
        body = copy.deepcopy(body)
        history = body[field]
        match step:
            case "grow":
                history += data.draw(st.lists(items, max_size=3))
            case "edit" if history:
                history[data.draw(st.integers(0, len(history) - 1))] = data.draw(items)
            case "shrink" if history:
                history.pop()
            case "model":
                body["model"] = data.draw(st.sampled_from("mn"))
            case "system":
                body[beside] = data.draw(st.sampled_from(["1", "2"]))
            case _:
                pass
        alone = read_body(body, wire=wire, provider="somebody", model="")
        assert reader.read(body, wire=wire, provider="somebody", model="") == alone
        answer = (
            [{"type": "text", "text": "hello"}]
            if wire != "generateContent"
            else [{"text": "hello"}]
        )
        given_alone = read_output(
            wire, answer, provider="somebody", model="m", after=alone
        )
        assert (
            reader.read_answer(wire, answer, provider="somebody", model="m")
            == given_alone
        )


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_neither_a_body_nor_an_answer_costs_what_stood_in_earlier_ones(wire: str) -> None:
    texts_of: dict[str, Json] = {
        "chat": {"role": "user", "content": "go on"},
        "messages": {"role": "user", "content": "go on"},
        "responses": {"role": "user", "content": "go on"},
        "generateContent": {"role": "user", "parts": [{"text": "go on"}]},
    }
    field = WIRES[wire][0]
    reader, history = BodyReader(), [dict(texts_of[wire]) for _ in range(200)]
    before = reader.read({"model": "m", field: list(history)}, wire=wire)
    names = len(reader._names._seen)
    after = reader.read({"model": "m", field: [*history, texts_of[wire]]}, wire=wire)
    assert all(
        one is other for one, other in zip(before.messages, after.messages, strict=False)
    )
    assert len(after.messages) == 201
    assert len(reader._names._seen) <= names, (
        "the names of the answer lie beside those of the body"
    )


def test_requests_that_are_given_as_such_name_their_answers_too() -> None:
    reader = BodyReader()
    body: Json = {
        "model": "m",
        "messages": [
            {"role": "assistant", "content": "so"},
            {"role": "user", "content": "a"},
        ],
    }
    request = read_body(body, wire="chat")
    for _ in range(2):
        reader.note(request)
        answer = reader.read_answer("chat", "so", provider="", model="m")
        assert answer == read_output("chat", "so", model="m", after=request)
        assert answer.parts[0].id.endswith("~2")


def test_an_edit_in_place_of_the_same_objects_is_noticed() -> None:
    reader = BodyReader()
    body: Json = {"model": "gpt-4o", "messages": [{"role": "user", "content": "before"}]}
    reader.read(body, wire=None, provider=None, model="")
    body["messages"][0]["content"] = "after"
    request = reader.read(body, wire=None, provider=None, model="")
    assert request == read_body(body)


def test_another_wire_in_between_is_read_as_a_whole() -> None:
    reader = BodyReader()
    for body in (
        {"model": "gpt-4o", "messages": [{"role": "user", "content": "a"}]},
        {"model": "gpt-5", "input": "a"},
        {"contents": [{"role": "user", "parts": [{"text": "a"}]}]},
        {
            "model": "gpt-4o",
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "user", "content": "b"},
            ],
        },
    ):
        assert reader.read(body, wire=None, provider=None, model="") == read_body(body)


def test_a_body_of_no_wire_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        BodyReader().read({"nothing": 1}, wire=None, provider=None, model="")

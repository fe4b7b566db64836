import copy
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.loop_bodies import WIRES
from ullage.codec.bodies import BodyReader, read_body, read_body_items, read_output

Json = dict[str, Any]

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
        whole = read_body_items(body, wire=wire, provider="somebody", model="")
        read = reader.read_items(body, wire=wire, provider="somebody", model="")
        assert read == whole
        alone = read_body(body, wire=wire, provider="somebody", model="")
        assert read.request == alone
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


@given(st.data(), st.sampled_from(sorted(WIRES)))
def test_the_items_of_the_messages_are_those_of_the_body_in_order(
    data: st.DataObject, wire: str
) -> None:
    field, items, _ = WIRES[wire]
    listed = data.draw(st.lists(items, max_size=8))
    reader = BodyReader()
    for stop in range(len(listed) + 1):
        read = reader.read_items({"model": "m", field: listed[:stop]}, wire=wire)
    assert len(read.items) == len(read.request.messages)
    places = [place for place, _ in groupby(read.items)]
    said = [at for place in places for at in place]
    assert said == sorted(set(said))
    head = len(read.request.system)
    is_item = [at for at, item in enumerate(listed) if isinstance(item, dict)]
    assert said == is_item[head:]
    for role, place in zip(read.request.messages, read.items, strict=True):
        assert len(place) == 1 or (wire == "responses" and role.role != "user")


def test_items_of_the_system_prompt_belong_to_no_message_and_a_text_is_one_item() -> None:
    system = {"role": "system", "content": "Be brief."}
    user = {"role": "user", "content": "hello"}
    chat = read_body_items({"model": "m", "messages": [system, user]}, wire="chat")
    assert chat.items == ((1,),)
    text = read_body_items({"model": "m", "input": "hello"})
    assert text.items == ((0,),)


def test_one_item_may_be_two_messages_and_several_items_one() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    both = {"role": "user", "content": [result, {"type": "text", "text": "go on"}]}
    read = read_body_items({"model": "m", "messages": [both]}, wire="messages")
    assert [one.role for one in read.request.messages] == ["tool", "user"]
    assert read.items == ((0,), (0,))
    thought = {"type": "reasoning", "id": "r", "summary": []}
    call = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}
    read = read_body_items({"model": "m", "input": [thought, call]})
    assert read.items == ((0, 1),)


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

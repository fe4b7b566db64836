"""What holds for every wire: the same content has the same ids, an echoed answer is recognised, nothing is lost."""

import copy
import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.streams import brief
from ullage.codec.bodies import detect_wire, read_body, read_output
from ullage.errors import InvalidRequest
from ullage.messages import (
    ProviderItem,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    UnknownPart,
)

Json = dict[str, Any]


@dataclass
class Wire:
    """One wire's body, its answer, the body after that, and how to edit the first user text in it."""

    name: str
    body: Json
    answer: Any
    echo: Json
    history: str


QUESTION, TOOL, THOUGHT = "What is in a.txt?", "mcp__files__read", "I should look."
ARGUMENTS = '{"path": "a.txt"}'
DECLARED = {"name": TOOL, "description": "Reads."}
PARAMETERS = {"parameters": {"type": "object"}}


def wire(name: str, body: Json, history: str, answer: Any, *more: Json) -> Wire:
    """A wire whose next body has these items more."""
    return Wire(name, body, answer, {**body, history: [*body[history], *more]}, history)


def anthropic() -> Wire:
    prompt = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    body: Json = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [prompt],
        "tools": [{**DECLARED, "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": QUESTION}],
    }
    content = [
        {"type": "thinking", "thinking": THOUGHT, "signature": "c2ln"},
        {"type": "text", "text": "Looking.", "citations": None},
        {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {"path": "a.txt"}},
    ]
    answer = {"role": "assistant", "content": content}
    result = {"type": "tool_result", "tool_use_id": "toolu_1"}
    results = [{**result, "content": [{"type": "text", "text": "hello"}]}]
    returned = {"role": "user", "content": results}
    whole = {**answer, "usage": {}}
    return wire("messages", body, "messages", whole, answer, returned)


def chat() -> Wire:
    body: Json = {
        "model": "deepseek-reasoner",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": QUESTION},
        ],
        "tools": [{"type": "function", "function": {**DECLARED, **PARAMETERS}}],
    }
    function = {"name": TOOL, "arguments": ARGUMENTS}
    kept = {
        "role": "assistant",
        "content": "Looking.",
        "reasoning_content": THOUGHT,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    message = {**kept, "refusal": None, "annotations": []}
    answer = {"id": "x", "choices": [{"index": 0, "message": message}]}
    returned = {"role": "tool", "tool_call_id": "call_1", "content": "hello"}
    return wire("chat", body, "messages", answer, kept, returned)


def responses() -> Wire:
    content = [{"type": "input_text", "text": QUESTION}]
    body: Json = {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": content}],
        "tools": [{"type": "function", **DECLARED, **PARAMETERS}],
    }
    said = [{"type": "output_text", "text": "Looking.", "annotations": []}]
    done = {"status": "completed"}
    output: list[Json] = [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": THOUGHT}],
            "encrypted_content": "gAAAA",
            "status": None,
        },
        {"type": "message", "id": "msg_1", "role": "assistant", **done, "content": said},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": TOOL,
            "arguments": ARGUMENTS,
            **done,
        },
    ]
    returned = {"type": "function_call_output", "call_id": "call_1", "output": "hello"}
    answer = {"id": "resp_1", "output": output}
    return wire("responses", body, "input", answer, *output, returned)


def gemini() -> Wire:
    body: Json = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
        "tools": [{"functionDeclarations": [{**DECLARED, **PARAMETERS}]}],
    }
    call = {"name": TOOL, "args": {"path": "a.txt"}}
    parts = [
        {"text": THOUGHT, "thought": True},
        {"text": "Looking."},
        {"functionCall": call, "thoughtSignature": "c2ln"},
    ]
    said = {"role": "model", "parts": parts}
    response = {"name": TOOL, "response": {"result": "hello"}}
    returned = {"role": "user", "parts": [{"functionResponse": response}]}
    answer = {"candidates": [{"content": said, "finishReason": "STOP"}]}
    return wire("generateContent", body, "contents", answer, said, returned)


WIRES = [anthropic(), chat(), responses(), gemini()]
each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


def ids(request: Request) -> list[str]:
    return [
        name
        for message in request.messages
        for name in (message.id, *(part.id for part in message.parts))
    ]


@each_wire
def test_the_wire_is_told_from_the_body(wire: Wire) -> None:
    assert detect_wire(wire.body) == wire.name
    assert read_body(wire.echo).wire == wire.name


@each_wire
def test_a_body_becomes_system_tools_and_messages(wire: Wire) -> None:
    request = read_body(wire.echo)
    assert [block.text for block in request.system] == ["Be brief."]
    (tool,) = request.tools
    assert (tool.name, tool.description, tool.server) == (TOOL, "Reads.", "files")
    assert msgspec.json.decode(tool.schema) == {"type": "object"}
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    thought, text, call = map(brief, request.messages[1].parts)
    assert thought[:2] == ("reasoning", THOUGHT)
    assert text[:2] == ("text", "Looking.")
    assert msgspec.json.decode(str(call[3])) == {"path": "a.txt"}
    (result,) = map(brief, request.messages[2].parts)
    assert "hello" in str(result[2])
    assert (call[2], result[1]) in ((TOOL, call[1]), (TOOL, TOOL))


@each_wire
def test_an_unchanged_prefix_keeps_its_ids_and_an_echoed_answer_is_recognised(
    wire: Wire,
) -> None:
    before, after = read_body(wire.body), read_body(wire.echo)
    answer = read_output(
        wire.name, wire.answer, provider=after.provider, model=after.model, after=before
    )
    assert after.messages[: len(before.messages)] == before.messages
    echoed = after.messages[len(before.messages)]
    assert echoed.id == answer.id
    assert [part.id for part in echoed.parts] == [part.id for part in answer.parts]
    assert ids(read_body(wire.echo)) == ids(after)


@each_wire
def test_an_edited_message_gets_another_id_and_the_others_keep_theirs(wire: Wire) -> None:
    edited = msgspec.json.decode(
        msgspec.json.encode(wire.echo).replace(b"What is in a.txt?", b"What is in b.txt?")
    )
    before, after = read_body(wire.echo), read_body(edited)
    assert before.messages[0].id != after.messages[0].id
    assert [message.id for message in before.messages[1:]] == [
        message.id for message in after.messages[1:]
    ]


@each_wire
def test_dropping_a_message_renames_none_that_stay(wire: Wire) -> None:
    shorter = copy.deepcopy(wire.echo)
    shorter[wire.history] = [
        one for one in shorter[wire.history] if "What is in" not in str(one)
    ]
    assert set(ids(read_body(shorter))) < set(ids(read_body(wire.echo)))


@each_wire
def test_ids_are_unique_even_when_everything_is_said_twice(wire: Wire) -> None:
    twice = copy.deepcopy(wire.echo)
    twice[wire.history] = twice[wire.history] + copy.deepcopy(twice[wire.history])
    names = ids(read_body(twice))
    assert len(names) == len(set(names))


@each_wire
def test_an_answer_sent_back_without_its_reasoning_keeps_its_name(wire: Wire) -> None:
    answer = read_output(wire.name, wire.answer)
    bare = msgspec.structs.replace(answer, parts=answer.parts[1:])
    text = msgspec.json.encode(wire.answer).decode()
    assert isinstance(answer.parts[0], ReasoningPart)
    assert "I should look." in text
    stripped = _without_reasoning(wire)
    assert read_output(wire.name, stripped).id == answer.id
    assert [part.id for part in read_output(wire.name, stripped).parts] == [
        part.id for part in bare.parts
    ]


def _without_reasoning(wire: Wire) -> Any:
    answer = copy.deepcopy(wire.answer)
    match wire.name:
        case "messages":
            del answer["content"][0]
        case "chat":
            del answer["choices"][0]["message"]["reasoning_content"]
        case "responses":
            del answer["output"][0]
        case _:
            del answer["candidates"][0]["content"]["parts"][0]
    return answer


@each_wire
def test_opaque_data_is_kept_verbatim_and_its_size_known(wire: Wire) -> None:
    parts = read_output(wire.name, wire.answer, provider="p", model="m").parts
    data = [
        part.provider
        for part in parts
        if not isinstance(part, UnknownPart) and part.provider is not None
    ]
    kept = b"".join(bytes(one.data) for one in data)
    sized = sum(
        part.opaque_size
        for part in parts
        if isinstance(part, ReasoningPart | ToolCallPart)
    )
    expected = {
        "messages": (b"c2ln", 4),
        "chat": (b"I should look.", 0),
        "responses": (b"gAAAA", 5),
    }
    text, size = expected.get(wire.name, (b"c2ln", 4))
    assert text in kept
    assert sized == size
    assert {(one.wire, one.provider, one.model) for one in data} == {
        (wire.name, "p", "m")
    }


@each_wire
def test_an_sdk_object_reads_like_its_json(wire: Wire) -> None:
    class Response:
        def __init__(self, value: Any) -> None:
            self.value = value

        def model_dump(self) -> Any:
            return self.value

    assert read_output(wire.name, Response(wire.answer)) == read_output(
        wire.name, wire.answer
    )
    assert read_body(
        {**wire.body, wire.history: [Response(one) for one in wire.body[wire.history]]}
    ) == read_body(wire.body)


@each_wire
def test_surrogates_and_nul_are_made_harmless_and_the_bytes_kept(wire: Wire) -> None:
    def spoil(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("What is in a.txt?", "a\ud800b\0c")
        if isinstance(value, list):
            return [spoil(one) for one in value]
        return (
            {key: spoil(one) for key, one in value.items()}
            if isinstance(value, dict)
            else value
        )

    (part,) = read_body(spoil(wire.body)).messages[0].parts
    assert isinstance(part, TextPart)
    assert part.text == "a\ufffdb\ufffdc"
    assert part.raw is not None
    msgspec.json.encode(part)


@each_wire
def test_unknown_items_are_kept_whole(wire: Wire) -> None:
    odd = {"type": "hologram", "beam": {"title": "bright", "level": 3}}
    body = copy.deepcopy(wire.body)
    if wire.name == "generateContent":
        body["contents"][0]["parts"].append({"hologram": odd})
    elif wire.name == "responses":
        body["input"].append(odd)
    else:
        body["messages"][-1]["content"] = [odd]
    part = read_body(body).messages[-1].parts[-1]
    assert isinstance(part, ProviderItem)
    assert part.provider is not None
    assert "bright" in part.text
    assert b'"level":3' in bytes(part.provider.data)


@each_wire
def test_other_parameters_stand_beside_the_request(wire: Wire) -> None:
    request = read_body({**wire.body, "temperature": 0.5, "stream": True})
    assert request.params["temperature"] == 0.5
    assert request.stream
    assert not {"messages", "input", "contents", "tools", "stream"} & set(request.params)


@pytest.mark.parametrize("body", [{}, {"prompt": "hi"}, {"model": "gpt-5"}])
def test_a_body_of_no_wire_says_what_it_lacks(body: Json) -> None:
    with pytest.raises(InvalidRequest, match="messages"):
        read_body(body)


def test_an_unknown_wire_is_named() -> None:
    with pytest.raises(InvalidRequest, match="telepathy"):
        read_body({"messages": []}, wire="telepathy")
    with pytest.raises(InvalidRequest, match="telepathy"):
        read_output("telepathy", [])
    with pytest.raises(InvalidRequest, match="list"):
        read_body([])  # type: ignore[arg-type]


HI = {"messages": [{"role": "user", "content": "hi"}]}


def thinking(inside: object) -> Json:
    block = {"type": "thinking", "thinking": inside}
    return {"messages": [{"role": "assistant", "content": [block]}]}


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        ({"model": "gpt-4o", **HI}, "chat"),
        ({"model": "claude-opus-4-5", "max_tokens": 5, **HI}, "messages"),
        ({"model": "anthropic/claude-opus-4.5", "max_tokens": 5, "messages": []}, "chat"),
        (
            {
                "model": "claude-opus-4-5",
                "max_tokens": 5,
                "messages": [{"role": "system", "content": "x"}],
            },
            "chat",
        ),
        ({"model": "glm-4.7", "thinking": {"type": "enabled"}, **HI}, "chat"),
        (thinking([{"type": "text"}]), "chat"),
        (thinking("x"), "messages"),
        ({"model": "gpt-5", "input": "hi"}, "responses"),
        ({"contents": "hi"}, "generateContent"),
    ],
)
def test_close_calls_between_wires(body: Json, wire: str) -> None:
    assert detect_wire(body) == wire


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "text",
                    "content",
                    "role",
                    "parts",
                    "tool_calls",
                    "function",
                    "source",
                    "input",
                    "output",
                    "id",
                ]
            ),
            inner
            | st.sampled_from(
                json.loads(
                    """
                    ["text", "image", "thinking", "tool_result", "function_call", "reasoning", "assistant", "tool"]
                    """
                )
            ),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(["messages", "chat", "responses", "generateContent"]), junk, junk)
def test_no_body_or_answer_raises_anything_but_our_own_error(
    wire: str, history: Any, answer: Any
) -> None:
    key = {"responses": "input", "generateContent": "contents"}.get(wire, "messages")
    request = read_body({key: history, "system": answer, "tools": answer}, wire=wire)
    names = ids(request)
    assert len(names) == len(set(names))
    read_output(wire, answer, after=request)

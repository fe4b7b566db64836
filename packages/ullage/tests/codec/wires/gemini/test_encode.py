"""Bodies for Gemini generateContent."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.codec.streams import request, user
from ullage.codec.blocks import Encoded, Options
from ullage.codec.bodies import read_body
from ullage.codec.history import encode, encode_count
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)

BODY: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
    "tools": [
        {
            "functionDeclarations": [
                {
                    "name": "f",
                    "description": "d",
                    "parametersJsonSchema": {"type": "object"},
                }
            ]
        },
        {"googleSearch": {"x": 1}},
    ],
    "generationConfig": {"temperature": 0.5},
    "safetySettings": [{"category": "c"}],
    "contents": [
        {
            "role": "user",
            "parts": [
                {"text": "look"},
                {"fileData": {"mimeType": "image/png", "fileUri": "https://x/y"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "a"},
                {"text": "b", "thoughtSignature": "S1"},
                {
                    "functionCall": {"name": "f", "args": {"x": 1.0}, "id": "1"},
                    "thoughtSignature": "S2",
                },
                {"functionCall": {"name": "f", "args": {}, "id": "2"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "f",
                        "id": "1",
                        "response": {"output": "one"},
                    }
                },
                {
                    "functionResponse": {
                        "name": "f",
                        "id": "2",
                        "response": {"deep": {"n": 1.0}},
                    }
                },
            ],
        },
        {"role": "user", "parts": [{"text": "go on"}]},
    ],
}


def body(encoded: Encoded) -> Any:
    return json.loads(encoded.content)


def test_a_body_that_was_read_is_written_as_it_was() -> None:
    assert body(encode(read_body(BODY, model="gemini-3-pro"))) == BODY


@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        ("gemini-3-pro", False, "/models/gemini-3-pro:generateContent"),
        ("gemini-3-pro", True, "/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        (
            "publishers/google/models/gemini-3-pro",
            False,
            "/publishers/google/models/gemini-3-pro:generateContent",
        ),
        ("a b?c", False, "/models/a%20b%3Fc:generateContent"),
    ],
)
def test_the_model_stands_in_the_path(model: str, stream: bool, path: str) -> None:
    encoded = encode(request("generateContent", user(), model=model, stream=stream))
    assert encoded.path == path
    assert "stream" not in body(encoded)
    assert "model" not in body(encoded)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            Options(max_output=9, temperature=0.1),
            {"maxOutputTokens": 9, "temperature": 0.1},
        ),
        (
            Options(thinking_budget=7),
            {"thinkingConfig": {"thinkingBudget": 7, "includeThoughts": True}},
        ),
        (
            Options(effort="low"),
            {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True}},
        ),
        (Options(effort="none"), {"thinkingConfig": {"thinkingBudget": 0}}),
        (Options(), None),
    ],
)
def test_options_are_spelt_for_this_wire(options: Options, expected: object) -> None:
    assert (
        body(encode(request("generateContent", user()), options=options)).get(
            "generationConfig"
        )
        == expected
    )


def test_options_leave_the_rest_of_the_config_alone() -> None:
    params: dict[str, object] = {
        "generationConfig": {"topK": 3, "thinkingConfig": {"includeThoughts": False}}
    }
    sent = body(
        encode(
            request("generateContent", user(), params=params),
            options=Options(max_output=9),
        )
    )
    assert sent["generationConfig"] == {
        "topK": 3,
        "thinkingConfig": {"includeThoughts": False},
        "maxOutputTokens": 9,
    }


def loop(result: ToolResultPart, *, call_id: str = "1", **more: Any) -> list[Any]:
    call = Message(
        id="a",
        role="assistant",
        parts=(ToolCallPart(id="a.1", call_id=call_id, name="f"),),
    )
    asked = request(
        "generateContent",
        user(),
        call,
        Message(id="r", role="tool", parts=(result,)),
        **more,
    )
    return list(body(encode(asked))["contents"][2]["parts"])


def result(text: str, **more: Any) -> ToolResultPart:
    return ToolResultPart(
        id="r.1", call_id="1", content=(TextPart(id="r.2", text=text),), **more
    )


@pytest.mark.parametrize(
    ("part", "response"),
    [
        (result("text"), {"output": "text"}),
        (result('{"a": 1}'), {"a": 1}),
        (result("[1]"), {"output": "[1]"}),
        (result('{"a": '), {"output": '{"a": '}),
        (result("bad", is_error=True), {"error": "bad"}),
        (result('{"a": 1}', is_error=True), {"error": '{"a": 1}'}),
    ],
)
def test_a_result_is_an_object(part: ToolResultPart, response: object) -> None:
    assert loop(part) == [
        {"functionResponse": {"name": "f", "id": "1", "response": response}}
    ]


def test_vertex_gets_no_ids_nor_does_anybody_those_we_made() -> None:
    assert "id" not in loop(result("x"), provider="vertex")[0]["functionResponse"]
    minted = ToolResultPart(id="r.1", call_id="~m.1")
    assert loop(minted, call_id="~m.1") == [
        {"functionResponse": {"name": "f", "response": {"output": ""}}}
    ]


def test_an_image_in_a_result_stands_in_it_or_behind_it_as_the_model_takes_it() -> None:
    shot = ToolResultPart(
        id="r.1",
        call_id="1",
        content=(ImagePart(id="i", source="data:image/png;base64,AA"),),
    )
    inline = {"inlineData": {"mimeType": "image/png", "data": "AA"}}
    newer, older = loop(shot), loop(shot, model="gemini-2.5-pro")
    assert newer[0]["functionResponse"]["parts"] == [inline]
    assert len(newer) == 1
    assert older[1:] == [inline]


def test_results_of_one_step_are_one_content_and_the_users_word_another() -> None:
    calls = tuple(
        ToolCallPart(id=f"a.{at}", call_id=str(at), name="f") for at in range(2)
    )
    results = [
        Message(
            id=f"r{at}",
            role="tool",
            parts=(ToolResultPart(id=f"r{at}.1", call_id=str(at)),),
        )
        for at in range(2)
    ]
    asked = request(
        "generateContent",
        user(),
        Message(id="a", role="assistant", parts=calls),
        *results,
        user("x", "u2"),
    )
    assert [len(content["parts"]) for content in body(encode(asked))["contents"]] == [
        1,
        2,
        2,
        1,
    ]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            ImagePart(id="i", source="data:image/png;base64,AA"),
            {"inlineData": {"mimeType": "image/png", "data": "AA"}},
        ),
        (
            FilePart(id="i", mime="video/mp4", source="gs://b/c"),
            {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/c"}},
        ),
        (FilePart(id="i", name="a.md", text="words"), {"text": "[a.md]\nwords"}),
        (
            ImagePart(id="i", source="blake2b:gone"),
            {"text": "[image: its content is not available]"},
        ),
    ],
)
def test_media_are_sent_from_their_source(
    part: ImagePart | FilePart, expected: dict[str, object]
) -> None:
    sent = body(
        encode(request("generateContent", Message(id="u", role="user", parts=(part,))))
    )
    assert sent["contents"][0]["parts"] == [expected]


def test_a_tool_of_another_provider_is_left_out_and_named() -> None:
    tool = Tool(
        name="web_search", kind="web_search", schema=msgspec.Raw(b'{"type":"web_search"}')
    )
    encoded = encode(request("generateContent", user(), tools=(tool, Tool(name="f"))))
    assert body(encoded)["tools"] == [{"functionDeclarations": [{"name": "f"}]}]
    assert encoded.unsent == ("tool web_search",)


def test_a_note_of_the_program_is_told_apart_from_the_user() -> None:
    note = Message(
        id="s", role="system", parts=(TextPart(id="s.1", text="Low on room."),)
    )
    sent = body(encode(request("generateContent", user(), note)))["contents"]
    assert sent[1] == {
        "role": "user",
        "parts": [{"text": "<system>\nLow on room.\n</system>"}],
    }


def test_counting_sends_the_whole_request_with_system_and_tools() -> None:
    counted = encode_count(read_body(BODY, model="gemini-3-pro"))
    assert counted is not None
    assert counted.path == "/models/gemini-3-pro:countTokens"
    assert body(counted) == {
        "generateContentRequest": {"model": "models/gemini-3-pro", **BODY}
    }

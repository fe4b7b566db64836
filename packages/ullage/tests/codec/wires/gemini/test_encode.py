import json
from typing import Any

import pytest

from tests.codec.streams import request, user
from ullage.codec.blocks import Encoded, Options
from ullage.codec.bodies import read_body
from ullage.codec.history import encode
from ullage.messages import (
    ImagePart,
    Message,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

BODY: dict[str, Any] = json.loads(
    """
    {
      "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
      "tools": [
        {"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}}]},
        {"googleSearch": {"x": 1}}
      ],
      "generationConfig": {"temperature": 0.5},
      "safetySettings": [{"category": "c"}],
      "contents": [
        {
          "role": "user",
          "parts": [{"text": "look"}, {"fileData": {"mimeType": "image/png", "fileUri": "https://x/y"}}]
        },
        {
          "role": "model",
          "parts": [
            {"text": "a"},
            {"text": "b", "thoughtSignature": "S1"},
            {"functionCall": {"name": "f", "args": {"x": 1.0}, "id": "1"}, "thoughtSignature": "S2"},
            {"functionCall": {"name": "f", "args": {}, "id": "2"}}
          ]
        },
        {
          "role": "user",
          "parts": [
            {"functionResponse": {"name": "f", "id": "1", "response": {"output": "one"}}},
            {"functionResponse": {"name": "f", "id": "2", "response": {"deep": {"n": 1.0}}}}
          ]
        },
        {"role": "user", "parts": [{"text": "go on"}]}
      ]
    }
    """
)


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


def test_options_leave_the_rest_of_the_config_alone() -> None:
    params: dict[str, object] = {
        "generationConfig": {"topK": 3, "thinkingConfig": {"includeThoughts": False}}
    }
    asked = request("generateContent", user(), params=params)
    sent = body(encode(asked, options=Options(max_output=9)))
    assert sent["generationConfig"] == {
        "topK": 3,
        "thinkingConfig": {"includeThoughts": False},
        "maxOutputTokens": 9,
    }


def loop(result: ToolResultPart, *, call_id: str = "1", **more: Any) -> list[Any]:
    parts = (ToolCallPart(id="a.1", call_id=call_id, name="f"),)
    call = Message(id="a", role="assistant", parts=parts)
    message = Message(id="r", role="tool", parts=(result,))
    asked = request("generateContent", user(), call, message, **more)
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
    bare = {"name": "f", "response": {"output": ""}}
    assert loop(minted, call_id="~m.1") == [{"functionResponse": bare}]


def test_an_image_in_a_result_stands_in_it_or_behind_it_as_the_model_takes_it() -> None:
    picture = ImagePart(id="i", source="data:image/png;base64,AA")
    shot = ToolResultPart(id="r.1", call_id="1", content=(picture,))
    inline = {"inlineData": {"mimeType": "image/png", "data": "AA"}}
    newer, older = loop(shot), loop(shot, model="gemini-2.5-pro")
    assert newer[0]["functionResponse"]["parts"] == [inline]
    assert (len(newer), older[1:]) == (1, [inline])

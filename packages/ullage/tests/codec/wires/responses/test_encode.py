import json
from typing import Any

import msgspec
import pytest

from tests.codec.streams import request, user
from ullage.codec.blocks import Encoded, Options
from ullage.codec.bodies import read_body
from ullage.codec.history import encode
from ullage.messages import (
    Message,
    Request,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)

AS_SAID = Options(stateless=False)

BODY: dict[str, Any] = json.loads(
    r"""
    {
      "model": "gpt-5",
      "instructions": "Be brief.",
      "reasoning": {"effort": "low"},
      "tools": [
        {
          "type": "function",
          "name": "read",
          "description": "Reads",
          "parameters": {"type": "object"},
          "strict": false
        },
        {"type": "web_search", "search_context_size": "low"},
        {"type": "custom", "name": "sh", "description": "Shell", "format": {"type": "text"}}
      ],
      "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
        {
          "type": "message",
          "role": "user",
          "content": [
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": "https://x/y.png", "detail": "high"},
            {"type": "input_file", "file_id": "file_1"}
          ]
        },
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E1"},
        {
          "type": "message",
          "role": "assistant",
          "id": "msg_1",
          "phase": "commentary",
          "content": [
            {"type": "output_text", "text": "a", "annotations": [{"u": 1}]},
            {"type": "refusal", "refusal": "b"}
          ]
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{\"p\": 1}"},
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c2", "name": "sh", "input": "ls"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {
          "type": "custom_tool_call_output",
          "call_id": "c2",
          "output": [
            {"type": "input_text", "text": "two"},
            {"type": "input_image", "image_url": "https://x/z.png", "detail": "auto"}
          ]
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}},
        {
          "type": "reasoning",
          "id": "rs_2",
          "summary": [{"type": "summary_text", "text": "s"}, {"type": "summary_text", "text": "t"}],
          "encrypted_content": "E2"
        },
        {"type": "message", "role": "assistant", "id": "msg_2", "content": [{"type": "output_text", "text": "done"}]}
      ]
    }
    """
)


def body(encoded: Encoded) -> Any:
    return json.loads(encoded.content)


def test_a_body_that_was_read_is_written_as_it_was() -> None:
    assert body(encode(read_body(BODY), options=AS_SAID)) == BODY


@pytest.mark.parametrize(
    ("params", "chained", "expected"),
    [
        ({}, "", {"store": False, "include": ["reasoning.encrypted_content"]}),
        (
            {"store": True},
            "",
            {"store": False, "include": ["reasoning.encrypted_content"]},
        ),
        (
            {"include": ["x"]},
            "",
            {"store": False, "include": ["x", "reasoning.encrypted_content"]},
        ),
        ({}, "resp_1", {"previous_response_id": "resp_1"}),
        ({}, "conv_1", {"conversation": "conv_1"}),
    ],
)
def test_nothing_is_kept_on_the_other_side_unless_the_request_continues_what_is(
    params: dict[str, object], chained: str, expected: dict[str, object]
) -> None:
    sent = body(encode(request("responses", user(), params=params, chained=chained)))
    assert {key: sent[key] for key in sent if key not in ("model", "input")} == expected


def test_a_tool_is_strict_only_where_it_says_so() -> None:
    strict = Tool(name="g", extra={"strict": msgspec.Raw(b"true")})
    sent = body(encode(request("responses", user(), tools=(Tool(name="f"), strict))))
    assert [tool["strict"] for tool in sent["tools"]] == [False, True]


def test_texts_of_an_answer_without_names_are_one_message() -> None:
    part = TextPart(id="1", text="a")
    answer = Message(id="a", role="assistant", parts=(part, TextPart(id="2", text="b")))
    items = body(encode(request("responses", user(), answer)))["input"]
    assert items[1] == {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "output_text", "text": "a"},
            {"type": "output_text", "text": "b"},
        ],
    }


def test_a_result_of_plain_text_is_a_string() -> None:
    call = Message(
        id="a", role="assistant", parts=(ToolCallPart(id="a.1", call_id="c", name="f"),)
    )
    content = (TextPart(id="r.1", text="x"), TextPart(id="r.2", text="y"))
    result = ToolResultPart(id="r", call_id="c", content=content)
    message = Message(id="t", role="tool", parts=(result,))
    items = body(encode(request("responses", user(), call, message)))["input"]
    assert items[1]["arguments"] == "{}"
    assert items[2] == {"type": "function_call_output", "call_id": "c", "output": "xy"}


def test_an_unnamed_request_still_has_an_input() -> None:
    expected = {"model": "m", "input": []}
    assert body(encode(Request(wire="responses", model="m"), options=AS_SAID)) == expected

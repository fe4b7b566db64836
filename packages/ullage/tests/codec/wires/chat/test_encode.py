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
    ProviderData,
    SystemBlock,
    TextPart,
    Tool,
)

BODY: dict[str, Any] = json.loads(
    r"""
    {
      "model": "gpt-5",
      "max_tokens": 10,
      "tools": [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
        {"type": "custom", "custom": {"name": "sh", "format": {"type": "text"}}}
      ],
      "messages": [
        {"role": "system", "content": "Be brief."},
        {
          "role": "user",
          "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
            {"type": "file", "file": {"file_id": "file_1"}}
          ]
        },
        {
          "role": "assistant",
          "content": "so",
          "reasoning_content": "hm",
          "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
            {"id": "b", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
          ]
        },
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "assistant", "content": null, "refusal": "No."},
        {"role": "user", "content": "why"}
      ]
    }
    """
)


def body(encoded: Encoded) -> Any:
    return json.loads(encoded.content)


def test_a_body_that_was_read_is_written_as_it_was() -> None:
    sent = body(encode(read_body(BODY, provider="deepseek")))
    answer = sent["messages"].pop(5)
    assert sent == {
        **BODY,
        "messages": [one for one in BODY["messages"] if "refusal" not in one],
    }
    assert answer == {"role": "assistant", "content": "", "refusal": "No."}


def test_a_stream_asks_for_its_usage_and_goes_without_where_that_is_refused() -> None:
    asked = request("chat", user(), stream=True, params={"stream_options": {"x": 1}})
    assert body(encode(asked))["stream_options"] == {"include_usage": True, "x": 1}
    refused = body(encode(asked, options=Options(include_usage=False)))
    assert refused["stream"] is True
    assert "stream_options" not in refused
    assert "stream_options" not in body(encode(request("chat", user())))


@pytest.mark.parametrize(
    ("host", "params", "options", "expected"),
    [
        ("openai", {}, Options(max_output=9), {"max_completion_tokens": 9}),
        ("azure", {}, Options(max_output=9), {"max_completion_tokens": 9}),
        ("mistral", {}, Options(max_output=9), {"max_tokens": 9}),
        ("openai", {"max_tokens": 5}, Options(max_output=9), {"max_tokens": 9}),
        (
            "openai",
            {},
            Options(effort="low", temperature=0.2),
            {"reasoning_effort": "low", "temperature": 0.2},
        ),
        ("openrouter", {}, Options(effort="low"), {"reasoning": {"effort": "low"}}),
        (
            "openrouter",
            {"reasoning": {"exclude": True}},
            Options(thinking_budget=5),
            {"reasoning": {"exclude": True, "max_tokens": 5}},
        ),
    ],
)
def test_options_are_spelt_for_this_wire_and_host(
    host: str, params: dict[str, object], options: Options, expected: dict[str, object]
) -> None:
    sent = body(
        encode(request("chat", user(), provider=host, params=params), options=options)
    )
    assert {
        key: sent[key] for key in sent if key not in ("model", "messages")
    } == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-5-mini", "max_completion_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("gpt-oss-20b", "max_tokens"),
        ("qwen3-8b", "max_tokens"),
    ],
)
def test_without_a_provider_the_name_of_the_model_says_how_its_limit_is_spelt(
    model: str, expected: str
) -> None:
    """A loop of the caller's own may say the wire alone; OpenAI's reasoning models refuse ``max_tokens``."""
    asked = msgspec.structs.replace(request("chat", user()), model=model, provider="")
    assert body(encode(asked, options=Options(max_output=9)))[expected] == 9


def test_what_the_wire_has_no_word_for_is_named() -> None:
    assert encode(request("chat", user()), options=Options(thinking_budget=5)).unsent == (
        "thinking_budget",
    )


def test_plain_blocks_of_the_system_prompt_are_one_message() -> None:
    developer = ProviderData(
        data=msgspec.Raw(b'{"role":"developer"}'), provider="openai", wire="chat"
    )
    block = SystemBlock(text="c", provider=developer)
    system = (SystemBlock(text="a"), SystemBlock(text="b"), block, SystemBlock(text="d"))
    assert body(encode(request("chat", system=system)))["messages"] == [
        {"role": "system", "content": "a\n\nb"},
        {"role": "developer", "content": "c"},
        {"role": "system", "content": "d"},
    ]


def answer(*parts: Any) -> Any:
    sent = body(
        encode(request("chat", user(), Message(id="a", role="assistant", parts=parts)))
    )["messages"]
    return sent[1] if len(sent) > 1 else None


def test_several_texts_of_an_answer_are_one() -> None:
    answered = answer(TextPart(id="1", text="a"), TextPart(id="2", text="b"))
    assert answered["content"] == "a\n\nb"


def test_a_tool_without_a_description_has_none() -> None:
    sent = body(encode(request("chat", user(), tools=(Tool(name="f"),))))
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": {}}}
    ]

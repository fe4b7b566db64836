"""Content of spans: the conventions' JSON, bounded, without secrets."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ullage.masking import Secrets
from ullage.messages import (
    COMPACTION,
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from ullage_agent.runtime.policy import TRACED_MESSAGES, TRACED_TEXT
from ullage_agent.runtime.traced_content import TracedContent

KEY = "sk-live-0123456789"
CONTENT = TracedContent(Secrets([KEY]))


def sent(**content: Any) -> Request:
    return Request(wire="messages", model="m", **content)


def declared(*tools: Tool) -> Any:
    attributes = CONTENT.request(sent(tools=tools))
    assert "gen_ai.system_instructions" not in attributes
    return json.loads(str(attributes["gen_ai.tool.definitions"]))


def parts_of(*parts: Part) -> list[dict[str, Any]]:
    message = Message(id="m", role="assistant", parts=parts)
    (found,) = json.loads(CONTENT.messages([message], "stop"))
    assert found["role"] == "assistant" and found["finish_reason"] == "stop"
    listed: list[dict[str, Any]] = found["parts"]
    return listed


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TextPart(id="p", text="Hi"), {"type": "text", "content": "Hi"}),
        (ReasoningPart(id="p", text="So"), {"type": "reasoning", "content": "So"}),
        (
            ToolCallPart(id="p", call_id="c", name="f", arguments='{"a":[1]}'),
            {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": [1]}},
        ),
        (
            ToolCallPart(id="p", call_id="c", name="f", arguments='{"a":'),
            {"type": "tool_call", "id": "c", "name": "f", "arguments": '{"a":'},
        ),
        (
            ToolResultPart(
                id="p", call_id="c", name="f", content=(TextPart(id="t", text="ok"),)
            ),
            {"type": "tool_call_response", "id": "c", "name": "f", "response": "ok"},
        ),
        (
            ImagePart(id="p", mime="image/png", source="https://a.example/b.png"),
            {
                "type": "uri",
                "modality": "image",
                "mime_type": "image/png",
                "uri": "https://a.example/b.png",
            },
        ),
        (
            FilePart(id="p", mime="application/pdf", source="kept:1"),
            {
                "type": "file",
                "modality": "document",
                "mime_type": "application/pdf",
                "file_id": "kept:1",
            },
        ),
        (
            FilePart(id="p", mime="text/plain", text="a note"),
            {"type": "text", "content": "a note"},
        ),
        (
            ProviderItem(id="p", kind=COMPACTION, text="before"),
            {"type": "compaction", "content": "before"},
        ),
        (
            ProviderItem(id="p", kind="web_search_call", text="q"),
            {"type": "web_search_call", "content": "q"},
        ),
        (UnknownPart(id="p", raw=msgspec.Raw(b"{}")), {"type": "unknown"}),
    ],
)
def test_each_part_has_the_shape_of_the_conventions(
    part: Part, expected: dict[str, Any]
) -> None:
    assert parts_of(part) == [expected]


def test_pictures_of_a_result_are_named_beside_it() -> None:
    picture = ImagePart(id="i", mime="image/png", source="kept:1")
    result, image = parts_of(ToolResultPart(id="p", call_id="c", content=(picture,)))
    assert result["response"] == "" and image["file_id"] == "kept:1"


def test_a_key_is_struck_out_wherever_it_stands() -> None:
    arguments = json.dumps(
        {"apiKey": "another", "nested": [{"X-Auth-Token": "t"}], "a": KEY}
    )
    texts: list[object] = [
        CONTENT.messages(
            [Message(id="m", role="user", parts=(TextPart(id="t", text=KEY),))]
        ),
        CONTENT.request(sent(system=(SystemBlock(text=f"Use {KEY}."),))),
        CONTENT.value(arguments),
        CONTENT.value(f"not JSON: {KEY}"),
        CONTENT.text("x" * (TRACED_TEXT - 5) + KEY),
        CONTENT.text("x" + KEY * TRACED_TEXT),
        CONTENT.request(sent(tools=(Tool(name="f", description=f"Uses {KEY}"),))),
    ]
    assert not [text for text in texts if "sk-live" in str(text)]
    value = json.loads(CONTENT.value(arguments))
    assert value == {
        "apiKey": "[hidden]",
        "nested": [{"X-Auth-Token": "[hidden]"}],
        "a": "[hidden]",
    }


def test_one_text_is_cut_and_says_by_how_much() -> None:
    (part,) = parts_of(TextPart(id="t", text="a" * (TRACED_TEXT + 7)))
    assert part["content"] == "a" * TRACED_TEXT + " [7 characters are left out]"
    assert CONTENT.text("a" * TRACED_TEXT) == "a" * TRACED_TEXT


def test_the_oldest_messages_are_left_out_of_a_long_conversation() -> None:
    many = [
        Message(
            id=f"m{n}", role="user", parts=(TextPart(id="t", text=f"{n} " + "a" * 9_000),)
        )
        for n in range(40)
    ]
    text = CONTENT.messages(many)
    assert len(text) <= TRACED_MESSAGES + 200
    first, *others = json.loads(text)
    assert (
        first["parts"][0]["content"]
        == f"[{40 - len(others)} earlier messages are left out]"
    )
    assert others[-1]["parts"][0]["content"].startswith("39 ")


def test_arguments_that_nest_without_end_are_recorded_as_text() -> None:
    deep = '{"a":' * 2_000 + "1" + "}" * 2_000
    assert len(CONTENT.value(deep)) <= len(deep)


def test_tools_have_their_schema_and_only_their_names_where_that_is_too_long() -> None:
    tool = Tool(name="f", description="Does.", schema=msgspec.Raw(b'{"type":"object"}'))
    (told,) = declared(tool)
    assert told == {
        "type": "function",
        "name": "f",
        "description": "Does.",
        "parameters": {"type": "object"},
    }
    huge = Tool(name="g", description="a" * TRACED_MESSAGES)
    assert declared(tool, huge) == [
        {"type": "function", "name": "f"},
        {"type": "function", "name": "g"},
    ]

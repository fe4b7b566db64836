import json

import pytest

from tests.importers.folding import FIXTURES, text_of
from ullage.events import MessageReplaced, ToolsChanged
from ullage.importers import read
from ullage.importers.fields import JsonObject
from ullage.meter.meter import Meter
from ullage_programs.pi.log import PiReader
from ullage_programs.pi.log_prompt import PiPrompt

LOG = FIXTURES / "pi" / "prompt.jsonl"


def test_a_message_that_replaces_begins_the_prompt_anew() -> None:
    prompt = PiPrompt().changed({"content": "one", "sections": {"a": "b"}})
    again = prompt.changed({"content": "two", "replace": True})
    assert [block.text for block in again.blocks()] == ["two"]


def test_nothing_but_text_makes_a_section_or_a_tool() -> None:
    odd: JsonObject = {
        "content": [{"type": "text", "text": "one"}, 7, {"text": 8}],
        "sections": {"a": 7, "b": [], "c": "see"},
        "toolsAdded": [7, {"name": 8}],
        "toolsRemoved": {"name": "x"},
    }
    prompt = PiPrompt().changed(odd)
    assert [block.text for block in prompt.blocks()] == ["one\n", "\n\nsee"]


def test_the_first_call_of_a_log_with_its_prompt_is_no_lower_bound() -> None:
    meter = Meter()
    for event in read(LOG).events:
        meter.apply(event)
    assert not any("lower bound" in note for note in meter.reading().notes)
    names = [row.name for row in meter.reading().rows]
    assert names[:2] == ["System prompt", "Tools (2)"]
    assert "Not in the log" not in names


def test_an_edit_of_a_message_that_the_log_lacks_is_counted_as_skipped() -> None:
    reader = PiReader()
    reader.feed([b'{"type":"context_edit","id":"e","targetId":"gone"}'])
    assert reader.skips.reasons["an edit of a message that is not in the log"] == 1


def test_an_edit_of_a_message_that_left_the_context_does_not_bring_it_back() -> None:
    lines = LOG.read_bytes().splitlines()
    late = b'{"type":"context_edit","id":"x","parentId":"m5","targetId":"m1","replacement":"late"}'
    reader = PiReader()
    events = [*reader.feed([*lines[:12], late]), *reader.settle()]
    replaced = [each.message for each in events if isinstance(each, MessageReplaced)]
    assert "late" not in [text_of(message) for message in replaced]


READ = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string", "description": "The file."},
        "line": {"type": "number"},
        "kind": {"anyOf": [{"enum": ["text", "image"]}, {"type": "null"}]},
        "parts": {
            "type": "array",
            "items": {"type": "object", "properties": {"from": {"type": "integer"}}},
        },
    },
}


def declared(
    schema: object, api: str, provider: str, wish: str = "json_schema"
) -> object:
    added = {
        "name": "read",
        "parameters": schema,
        "constrainedSampling": {"type": wish, "strict": "prefer"},
    }
    prompt = PiPrompt().changed({"toolsAdded": [added]})
    return json.loads(bytes(prompt.declared(api, provider)[0].schema))


def test_a_tool_that_prefers_it_is_sent_with_a_strict_schema() -> None:
    parts = {
        "type": "object",
        "properties": {"from": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["from"],
        "additionalProperties": False,
    }
    assert declared(READ, "anthropic-messages", "anthropic") == {
        "type": "object",
        "required": ["path", "line", "kind", "parts"],
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "line": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "kind": {"anyOf": [{"enum": ["text", "image"]}, {"type": "null"}]},
            "parts": {"anyOf": [{"type": "array", "items": parts}, {"type": "null"}]},
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("api", "provider"),
    [
        ("", ""),
        ("anthropic-messages", "openrouter"),
        ("openai-completions", "my-llama"),
        ("openai-responses", "xai"),
    ],
)
def test_a_provider_without_strict_tools_gets_the_schema_as_it_was_written(
    api: str, provider: str
) -> None:
    assert declared(READ, api, provider) == READ


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}},
        {"type": "object", "properties": {"n": {"description": "anything"}}},
        {"type": "object", "properties": {"n": {"anyOf": [{"type": "object"}]}}},
        {"type": "object", "properties": {"n": {"anyOf": []}}},
        {"type": "object", "properties": {"n": {"properties": {}, "type": "string"}}},
        {"type": "object", "properties": {"n": True}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "required": ["gone"]},
        {"type": ["object", "null"], "properties": {}},
        {"$ref": "#/x"},
    ],
)
def test_a_schema_without_a_strict_form_is_sent_as_it_was_written(
    schema: JsonObject,
) -> None:
    assert declared(schema, "openai-responses", "openai") == schema


def test_a_tool_that_does_not_ask_for_it_keeps_its_schema() -> None:
    assert declared(READ, "openai-responses", "openai", "grammar") == READ


def test_the_tools_change_with_the_provider_that_is_asked() -> None:
    added = [
        {
            "name": "read",
            "parameters": READ,
            "constrainedSampling": {"type": "json_schema", "strict": "prefer"},
        }
    ]
    messages: list[JsonObject] = [{"role": "system", "toolsAdded": added}]
    for api, provider in (
        ("anthropic-messages", "anthropic"),
        ("openai-responses", "openai"),
        ("openai-completions", "my-llama"),
    ):
        messages.append({"role": "user", "content": "hi"})
        messages.append(
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "hello"}],
                "api": api,
                "provider": provider,
                "model": "m",
                "stopReason": "stop",
            }
        )
    lines = [json.dumps({"type": "session", "version": 3, "id": "s", "cwd": "/a"})]
    for number, message in enumerate(messages):
        lines.append(
            json.dumps({"type": "message", "id": str(number), "message": message})
        )
    reader = PiReader()
    events = [*reader.feed([line.encode() for line in lines]), *reader.settle()]
    sizes = [
        len(bytes(each.tools[0].schema))
        for each in events
        if isinstance(each, ToolsChanged)
    ]
    assert (
        len(sizes) == 3
    )  # as written, strict from the first answer on, as written again
    assert sizes[0] == sizes[2] < sizes[1]

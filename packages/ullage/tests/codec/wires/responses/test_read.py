import json

from tests.codec.streams import brief
from ullage.codec.bodies import read_body, read_output
from ullage.messages import (
    FilePart,
    ImagePart,
    ProviderItem,
    ReasoningPart,
)


def test_items_of_one_answer_are_one_message_and_outputs_are_one_tool_message() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "one"}
    parts = [{"type": "input_text", "text": "two"}]
    items = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e" * 9},
        call,
        {**call, "call_id": "c2"},
        output,
        {**output, "call_id": "c2", "output": parts},
        {"role": "user", "content": "and"},
        {"role": "user", "content": "more"},
    ]
    messages = read_body({"model": "gpt-5", "input": items}).messages
    roles = ["user", "assistant", "tool", "user", "user"]
    assert [message.role for message in messages] == roles
    thought, *calls = messages[1].parts
    assert isinstance(thought, ReasoningPart)
    assert thought.opaque_size == 9
    assert [brief(part)[:2] for part in calls] == [("call", "c1"), ("call", "c2")]
    results = [("result", "c1", "one"), ("result", "c2", "two")]
    assert [brief(part)[:3] for part in messages[2].parts] == results


def test_tools_that_a_leading_item_adds_are_declared_tools() -> None:
    inner = {"type": "function", "name": "wait", "parameters": {}}
    namespace = {"type": "namespace", "name": "functions", "tools": [inner]}
    added = {"type": "additional_tools", "role": "developer", "tools": [namespace]}
    prompt = {"role": "developer", "content": "You are an agent."}
    request = read_body(
        {"input": [added, prompt, {"role": "user", "content": "hi"}], "tools": [inner]}
    )
    expected = [("wait", "function"), ("functions", "namespace")]
    assert [(tool.name, tool.kind) for tool in request.tools] == expected
    assert [block.text for block in request.system] == ["You are an agent."]


def test_items_that_steer_the_server_belong_to_no_answer() -> None:
    said = {"type": "message", "role": "assistant", "content": "Fine."}
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    added = {"type": "additional_tools", "role": "developer", "tools": []}
    trigger = {"type": "compaction_trigger"}
    items = [{"role": "user", "content": "hi"}, said, update, added, trigger]
    *_, answer, last = read_body({"input": items}).messages
    assert (answer.role, len(answer.parts)) == ("assistant", 1)
    expected = ["configuration_update", "additional_tools", "compaction_trigger"]
    assert [part.kind for part in last.of_type(ProviderItem)] == expected


def test_custom_calls_and_server_items_are_kept_for_replay() -> None:
    custom = {
        "type": "custom_tool_call",
        "call_id": "c",
        "name": "patch",
        "input": "*** Begin",
    }
    action = {"type": "search", "query": "ullage"}
    search = {
        "type": "web_search_call",
        "id": "ws",
        "status": "completed",
        "action": action,
    }
    code = {
        "type": "code_interpreter_call",
        "id": "ci",
        "code": "print(1)",
        "outputs": None,
    }
    call, *items = read_output("responses", [custom, search, code]).parts
    assert brief(call) == (
        "call",
        "c",
        "patch",
        "*** Begin",
        {"type": "custom_tool_call"},
    )
    assert [item.text for item in items if isinstance(item, ProviderItem)] == [
        "ullage",
        "print(1)",
    ]


def test_images_and_files_are_media() -> None:
    content = [
        {
            "type": "input_image",
            "image_url": "https://example.org/a.png",
            "detail": "high",
        },
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "JVBERi0x"},
        {"type": "input_file", "file_url": "https://example.org/b.pdf"},
    ]
    request = read_body({"input": [{"role": "user", "content": content}]})
    linked, stored, inline, remote = request.messages[0].parts
    assert isinstance(linked, ImagePart)
    assert linked.detail == "high"
    assert isinstance(stored, ImagePart)
    assert stored.source == "file-1"
    assert isinstance(inline, FilePart)
    assert inline.size_bytes == 6
    assert isinstance(remote, FilePart)
    assert remote.source == "https://example.org/b.pdf"


def test_tools_of_every_kind_are_tools() -> None:
    request = read_body(
        json.loads(
            """
            {
              "input": "x",
              "tools": [
                {"type": "function", "name": "f", "parameters": {"type": "object"}, "defer_loading": true},
                {"type": "function", "function": {"name": "nested", "parameters": {}}},
                {"type": "custom", "name": "patch", "description": "Applies.", "format": {"type": "grammar"}},
                {"type": "mcp", "server_label": "files", "server_url": "https://example.org"},
                {"type": "web_search"}
              ]
            }
            """
        )
    )
    assert [(tool.name, tool.kind) for tool in request.tools] == [
        ("f", "function"),
        ("nested", "function"),
        ("patch", "custom"),
        ("files", "mcp"),
        ("web_search", "web_search"),
    ]
    assert request.tools[0].deferred

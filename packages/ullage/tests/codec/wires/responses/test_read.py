from __future__ import annotations

import msgspec

from ullage.codec.bodies import read_body, read_output
from ullage.messages import (
    FilePart,
    ImagePart,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def test_a_string_is_one_user_message() -> None:
    request = read_body({"model": "gpt-5", "input": "hi"})
    (message,) = request.messages
    (part,) = message.parts
    assert message.role == "user"
    assert isinstance(part, TextPart)
    assert part.text == "hi"


def test_items_of_one_answer_are_one_message_and_outputs_are_one_tool_message() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    request = read_body(
        {
            "model": "gpt-5",
            "input": [
                {"role": "user", "content": "go"},
                {
                    "type": "reasoning",
                    "id": "rs",
                    "summary": [],
                    "encrypted_content": "e" * 9,
                },
                call,
                {**call, "call_id": "c2"},
                {"type": "function_call_output", "call_id": "c1", "output": "one"},
                {
                    "type": "function_call_output",
                    "call_id": "c2",
                    "output": [{"type": "input_text", "text": "two"}],
                },
                {"role": "user", "content": "and"},
                {"role": "user", "content": "more"},
            ],
        }
    )
    assert [message.role for message in request.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
        "user",
    ]
    thought, first, second = request.messages[1].parts
    assert isinstance(thought, ReasoningPart)
    assert thought.opaque_size == 9
    assert isinstance(first, ToolCallPart)
    assert isinstance(second, ToolCallPart)
    assert [
        part.text
        for part in request.messages[2].parts
        if isinstance(part, ToolResultPart)
    ] == ["one", "two"]


def test_instructions_and_leading_developer_messages_are_the_system_prompt() -> None:
    request = read_body(
        {
            "instructions": "one",
            "input": [
                {"role": "developer", "content": "two"},
                {"role": "user", "content": "hi"},
            ],
        }
    )
    assert [block.text for block in request.system] == ["one", "two"]


def test_tools_that_a_leading_item_adds_are_declared_tools() -> None:
    inner = {"type": "function", "name": "wait", "parameters": {}}
    namespace = {"type": "namespace", "name": "functions", "tools": [inner]}
    added = {"type": "additional_tools", "role": "developer", "tools": [namespace]}
    prompt = {"role": "developer", "content": "You are an agent."}
    request = read_body(
        {"input": [added, prompt, {"role": "user", "content": "hi"}], "tools": [inner]}
    )
    assert [(tool.name, tool.kind) for tool in request.tools] == [
        ("wait", "function"),
        ("functions", "namespace"),
    ]
    assert [block.text for block in request.system] == ["You are an agent."]


def test_items_that_steer_the_server_belong_to_no_answer() -> None:
    said = {"type": "message", "role": "assistant", "content": "Fine."}
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    added = {"type": "additional_tools", "role": "developer", "tools": []}
    trigger = {"type": "compaction_trigger"}
    items = [{"role": "user", "content": "hi"}, said, update, added, trigger]
    *_, answer, last = read_body({"input": items}).messages
    assert (answer.role, len(answer.parts)) == ("assistant", 1)
    assert [part.kind for part in last.of_type(ProviderItem)] == [
        "configuration_update",
        "additional_tools",
        "compaction_trigger",
    ]


def test_a_chained_request_names_what_it_continues() -> None:
    assert (
        read_body({"input": "hi", "previous_response_id": "resp_1"}).chained == "resp_1"
    )
    assert (
        read_body({"input": "hi", "conversation": {"id": "conv_1"}}).chained == "conv_1"
    )
    assert read_body({"previous_response_id": "resp_1"}).messages == ()


def test_custom_calls_and_server_items_are_kept_for_replay() -> None:
    custom, search, code = read_output(
        "responses",
        [
            {
                "type": "custom_tool_call",
                "call_id": "c",
                "name": "patch",
                "input": "*** Begin",
            },
            {
                "type": "web_search_call",
                "id": "ws",
                "status": "completed",
                "action": {"type": "search", "query": "ullage"},
            },
            {
                "type": "code_interpreter_call",
                "id": "ci",
                "code": "print(1)",
                "outputs": None,
            },
        ],
    ).parts
    assert isinstance(custom, ToolCallPart)
    assert custom.arguments == "*** Begin"
    assert custom.provider is not None
    assert msgspec.json.decode(custom.provider.data) == {"type": "custom_tool_call"}
    assert isinstance(search, ProviderItem)
    assert search.text == "ullage"
    assert isinstance(code, ProviderItem)
    assert code.text == "print(1)"


def test_ids_and_status_of_a_message_item_are_kept_with_its_text() -> None:
    item = {"type": "message", "id": "msg_1", "phase": "commentary", "role": "assistant",
            "content": [{"type": "output_text", "text": "x"}]}  # fmt: skip
    (part,) = read_output("responses", {"output": [item]}).parts
    assert isinstance(part, TextPart)
    assert part.provider is not None
    assert msgspec.json.decode(part.provider.data) == {
        "id": "msg_1",
        "phase": "commentary",
    }


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
        {
            "input": "x",
            "tools": [
                {
                    "type": "function",
                    "name": "f",
                    "parameters": {"type": "object"},
                    "defer_loading": True,
                },
                {"type": "function", "function": {"name": "nested", "parameters": {}}},
                {
                    "type": "custom",
                    "name": "patch",
                    "description": "Applies.",
                    "format": {"type": "grammar"},
                },
                {
                    "type": "mcp",
                    "server_label": "files",
                    "server_url": "https://example.org",
                },
                {"type": "web_search"},
            ],
        }
    )
    assert [(tool.name, tool.kind) for tool in request.tools] == [
        ("f", "function"),
        ("nested", "function"),
        ("patch", "custom"),
        ("files", "mcp"),
        ("web_search", "web_search"),
    ]
    assert request.tools[0].deferred

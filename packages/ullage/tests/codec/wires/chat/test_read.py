from __future__ import annotations

import base64
import struct
from typing import Any

import msgspec

from ullage.codec.bodies import read_body, read_output
from ullage.messages import (
    FilePart,
    ImagePart,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\0" * 40
).decode()


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": list(messages), **fields}


def test_system_messages_at_the_head_are_the_system_prompt_and_later_ones_are_messages() -> (
    None
):
    request = read_body(
        body(
            {"role": "system", "content": "one"},
            {"role": "developer", "content": [{"type": "text", "text": "two"}]},
            {"role": "user", "content": "hi"},
            {"role": "system", "content": "injected"},
        )
    )
    assert [block.text for block in request.system] == ["one", "two"]
    assert [message.role for message in request.messages] == ["user", "system"]


def test_arguments_are_kept_as_written_even_when_they_do_not_parse() -> None:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": '{ "a":  1'},
    }
    (part,) = read_output(
        "chat", {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    ).parts
    assert isinstance(part, ToolCallPart)
    assert part.arguments == '{ "a":  1'


def test_the_signature_of_a_call_is_kept_with_the_call() -> None:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "s" * 12}},
    }
    (part,) = read_output("chat", {"role": "assistant", "tool_calls": [call]}).parts
    assert isinstance(part, ToolCallPart)
    assert part.opaque_size == 12
    assert part.provider is not None
    assert b"thought_signature" in bytes(part.provider.data)


def test_a_custom_call_is_a_call() -> None:
    custom = {
        "id": "c",
        "type": "custom",
        "custom": {"name": "grammar", "input": "free text"},
    }
    message = {"role": "assistant", "tool_calls": [custom]}
    (call,) = read_output("chat", message).parts
    assert isinstance(call, ToolCallPart)
    assert (call.name, call.arguments) == ("grammar", "free text")


def test_reasoning_details_are_one_part_with_their_signatures() -> None:
    details = [
        {
            "type": "reasoning.text",
            "text": "first ",
            "signature": "s" * 5,
            "format": "anthropic-claude-v1",
            "index": 0,
        },
        {"type": "reasoning.encrypted", "data": "d" * 7, "index": 1},
    ]
    (part,) = read_output(
        "chat", {"role": "assistant", "content": "", "reasoning_details": details}
    ).parts
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.opaque_size) == ("first ", 12)
    assert part.provider is not None
    assert msgspec.json.decode(part.provider.data) == {"reasoning_details": details}


def test_thinking_chunks_are_reasoning() -> None:
    chunks = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]},
        {"type": "text", "text": "so"},
    ]
    first, second = read_output("chat", {"role": "assistant", "content": chunks}).parts
    assert isinstance(first, ReasoningPart)
    assert first.text == "hmm"
    assert isinstance(second, TextPart)


def test_media_of_every_kind_is_measured() -> None:
    request = read_body(
        body(
            {
                "role": "user",
                "content": [
                    {
                        "type": "image_url",
                        "image_url": {
                            "url": f"data:image/png;base64,{PNG}",
                            "detail": "low",
                        },
                    },
                    {"type": "image_url", "image_url": "https://example.org/a.jpg"},
                    {
                        "type": "input_audio",
                        "input_audio": {"data": "AAAA", "format": "wav"},
                    },
                    {
                        "type": "file",
                        "file": {
                            "filename": "a.pdf",
                            "file_data": "data:application/pdf;base64,JVBERi0x",
                        },
                    },
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {
                        "type": "video_url",
                        "video_url": {"url": "https://example.org/a.mp4"},
                    },
                    {"type": "document_url", "document_url": "https://example.org/b.pdf"},
                    {"type": "input_audio", "input_audio": "broken"},
                ],
            }
        )
    )
    inline, linked, audio, pdf, stored, video, document, broken = request.messages[
        0
    ].parts
    assert isinstance(inline, ImagePart)
    assert (inline.width, inline.height, inline.detail) == (640, 480, "low")
    assert isinstance(linked, ImagePart)
    assert linked.source == "https://example.org/a.jpg"
    for part, mime in (
        (audio, "audio/wav"),
        (pdf, "application/pdf"),
        (stored, "application/pdf"),
        (video, "video/*"),
    ):
        assert isinstance(part, FilePart)
        assert part.mime == mime
    assert isinstance(document, FilePart)
    assert isinstance(broken, ProviderItem)


def test_a_refusal_is_what_the_model_said() -> None:
    (part,) = read_output(
        "chat", {"role": "assistant", "content": None, "refusal": "No."}
    ).parts
    assert isinstance(part, TextPart)
    assert part.text == "No."


def test_a_tool_of_the_server_is_a_tool() -> None:
    request = read_body(body(tools=[{"type": "web_search", "web_search": {"top": 3}}]))
    (search,) = request.tools
    assert (search.name, search.kind) == ("web_search", "web_search")


def test_bare_text_and_nothing_are_answers() -> None:
    (part,) = read_output("chat", "hello").parts
    assert isinstance(part, TextPart)
    assert read_output("chat", {"choices": []}).parts == ()
    assert read_output("chat", None).parts == ()


def test_fields_of_an_answer_that_have_no_word_are_kept() -> None:
    message = {
        "role": "assistant",
        "content": "x",
        "citations": ["https://example.org"],
        "latency": 5,
    }
    _, item = read_output("chat", message).parts
    assert isinstance(item, ProviderItem)
    assert item.provider is not None
    assert b"https://example.org" in bytes(item.provider.data)

import base64
import struct
from typing import Any

from tests.codec.streams import brief
from ullage.codec.bodies import read_body, read_output
from ullage.messages import (
    FilePart,
    ImagePart,
    ProviderItem,
    ReasoningPart,
    ToolCallPart,
)

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\0" * 40
).decode()


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": list(messages), **fields}


def test_only_system_messages_at_the_head_are_the_system_prompt() -> None:
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


def read(message: object) -> list[tuple[object, ...]]:
    return [brief(part) for part in read_output("chat", message).parts]


def called(arguments: str, **more: object) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    call = {"id": "c", "type": "function", "function": function, **more}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_arguments_are_kept_as_written_even_when_they_do_not_parse() -> None:
    assert read({"message": called('{ "a":  1')}) == [("call", "c", "f", '{ "a":  1')]


def test_the_signature_of_a_call_is_kept_with_the_call() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "s" * 12}}}
    (part,) = read_output("chat", called("{}", **extra)).parts
    assert brief(part) == ("call", "c", "f", "{}", extra)
    assert isinstance(part, ToolCallPart)
    assert part.opaque_size == 12


def test_reasoning_details_are_one_part_with_their_signatures() -> None:
    details = [
        {"type": "reasoning.text", "text": "first ", "signature": "s" * 5, "index": 0},
        {"type": "reasoning.encrypted", "data": "d" * 7, "index": 1},
    ]
    said = {"role": "assistant", "content": "", "reasoning_details": details}
    (part,) = read_output("chat", said).parts
    assert brief(part) == ("reasoning", "first ", {"reasoning_details": details})
    assert isinstance(part, ReasoningPart)
    assert part.opaque_size == 12


def test_thinking_chunks_are_reasoning() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}
    chunks = [thought, {"type": "text", "text": "so"}]
    found = read({"role": "assistant", "content": chunks})
    assert [one[:2] for one in found] == [("reasoning", "hmm"), ("text", "so")]


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


def test_bare_text_and_nothing_are_answers() -> None:
    assert read("hello") == [("text", "hello")]
    assert read({"choices": []}) == read(None) == []

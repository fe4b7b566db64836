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
    ToolResultPart,
)

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\0" * 40
).decode()
PDF = base64.b64encode(b"%PDF-1.4 << /Type /Pages /Kids [] /Count 12 >>").decode()


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-4-5",
        "max_tokens": 10,
        "messages": list(messages),
        **fields,
    }


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def test_images_and_documents_are_measured_and_their_bytes_are_not_kept() -> None:
    request = read_body(
        body(
            user(
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                {"type": "document", "title": "Manual",
                 "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "the text"}},
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "chunk"}]}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                {"type": "document", "source": {"type": "hologram"}},
                {"type": "document"},
            )
        )
    )  # fmt: skip
    picture, linked, manual, plain, chunks, stored, *odd = request.messages[0].parts
    assert isinstance(picture, ImagePart)
    assert (picture.width, picture.height, picture.mime) == (640, 480, "image/png")
    assert isinstance(linked, ImagePart)
    assert (linked.width, linked.source) == (None, "https://example.org/a.png")
    assert isinstance(manual, FilePart)
    assert (manual.pages, manual.name) == (12, "Manual")
    assert isinstance(plain, FilePart)
    assert plain.text == "the text"
    assert isinstance(chunks, FilePart)
    assert chunks.text == "chunk"
    assert isinstance(stored, FilePart)
    assert stored.source == "file_1"
    assert all(isinstance(part, ProviderItem) for part in odd)
    assert PNG.encode() not in msgspec.json.encode(request)


def test_an_image_inside_a_tool_result_stays_inside_it() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
    }
    request = read_body(
        body(user({"type": "tool_result", "tool_use_id": "t", "content": [image]}))
    )
    (result,) = request.messages[0].parts
    assert isinstance(result, ToolResultPart)
    (inner,) = result.content
    assert isinstance(inner, ImagePart)
    assert inner.width == 640


def test_redacted_thinking_is_reasoning_without_text() -> None:
    answer = read_output("messages", [{"type": "redacted_thinking", "data": "x" * 100}])
    (part,) = answer.parts
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.redacted, part.opaque_size) == ("", True, 100)


def test_thinking_with_an_empty_text_and_a_signature_is_a_real_part() -> None:
    (part,) = read_output(
        "messages", [{"type": "thinking", "thinking": "", "signature": "s" * 8}]
    ).parts
    assert isinstance(part, ReasoningPart)
    assert part.opaque_size == 8


def test_a_moved_cache_marker_does_not_rename_anything() -> None:
    marked = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    read = read_body(body(user({"type": "text", "text": "hi"})))
    with_marker, without = (read_body(body(user(marked))), read)
    assert with_marker.messages[0].id == without.messages[0].id


def test_server_tools_and_deferred_tools_are_told_apart() -> None:
    request = read_body(
        body(
            tools=[
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
                {
                    "name": "later",
                    "input_schema": {"type": "object"},
                    "defer_loading": True,
                },
            ]
        )
    )
    search, later = request.tools
    assert (search.kind, search.deferred) == ("web_search_20250305", False)
    assert msgspec.json.decode(search.schema)["max_uses"] == 3
    assert (later.kind, later.deferred) == ("function", True)

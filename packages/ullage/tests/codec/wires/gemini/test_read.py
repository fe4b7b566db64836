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


def test_the_model_comes_from_the_caller() -> None:
    assert (
        read_body({"contents": "hi"}, model="models/gemini-2.5-pro").model
        == "gemini-2.5-pro"
    )


def test_both_spellings_read_alike() -> None:
    rest = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "f", "args": {"a": 1}},
                        "thoughtSignature": "sig",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "f", "response": {"ok": True}}}],
            },
            {
                "role": "user",
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "f", "parametersJsonSchema": {"type": "object"}}
                ]
            }
        ],
    }
    text = msgspec.json.encode(rest).decode()
    for camel, snake in (
        ("systemInstruction", "system_instruction"),
        ("functionCall", "function_call"),
        ("functionResponse", "function_response"),
        ("inlineData", "inline_data"),
        ("mimeType", "mime_type"),
        ("functionDeclarations", "function_declarations"),
        ("parametersJsonSchema", "parameters_json_schema"),
    ):
        text = text.replace(camel, snake)
    sdk = read_body(msgspec.json.decode(text))
    wire = read_body(rest)
    assert sdk.system == wire.system
    assert sdk.tools == wire.tools
    assert [message.id for message in sdk.messages] == [
        message.id for message in wire.messages
    ]


def test_signed_parts_stay_apart_and_keep_their_signatures() -> None:
    parts = [
        {"text": "a"},
        {"text": "b", "thoughtSignature": "sig1"},
        {"text": "", "thoughtSignature": "sig2"},
    ]
    first, second, third = read_output("generateContent", parts).parts
    assert isinstance(first, TextPart)
    assert first.provider is None
    assert isinstance(second, TextPart)
    assert second.provider is not None
    assert msgspec.json.decode(second.provider.data) == {"thoughtSignature": "sig1"}
    assert isinstance(third, TextPart)
    assert third.provider is not None


def test_a_bare_signature_is_reasoning_without_text() -> None:
    (part,) = read_output("generateContent", [{"thoughtSignature": "s" * 6}]).parts
    assert isinstance(part, ReasoningPart)
    assert part.opaque_size == 6


def test_function_responses_beside_text_are_a_tool_message_and_a_user_message() -> None:
    parts = [
        {"functionResponse": {"id": "1", "name": "f", "response": {"x": 1}}},
        {"text": "go on"},
    ]
    request = read_body({"contents": [{"role": "user", "parts": parts}]})
    assert [message.role for message in request.messages] == ["tool", "user"]
    (result,) = request.messages[0].parts
    assert isinstance(result, ToolResultPart)
    assert (result.call_id, result.name, result.text) == ("1", "f", '{"x":1}')


def test_media_in_a_message_and_in_a_response_are_media() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    request = read_body(
        {
            "contents": [
                {"parts": [{"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/a.pdf"}}]},
                {"parts": [{"fileData": {"fileUri": "https://youtu.be/x"}, "videoMetadata": {"fps": 1}}]},
                {"parts": [{"functionResponse": {"name": "f", "response": {}, "parts": [image]}}]},
            ]
        }
    )  # fmt: skip
    (pdf,), (video,), (result,) = (message.parts for message in request.messages)
    assert isinstance(pdf, FilePart)
    assert pdf.source == "gs://b/a.pdf"
    assert isinstance(video, FilePart)
    assert video.provider is not None
    assert isinstance(result, ToolResultPart)
    assert [type(part) for part in result.content] == [TextPart, ImagePart]


def test_code_runs_are_kept_whole_and_google_tools_are_tools() -> None:
    (item,) = read_output(
        "generateContent",
        [{"executableCode": {"language": "PYTHON", "code": "print(1)"}}],
    ).parts
    assert isinstance(item, ProviderItem)
    assert (item.kind, item.text) == ("executableCode", "print(1)")
    request = read_body(
        {"contents": "x", "tools": [{"googleSearch": {}}, {"codeExecution": {}}]}
    )
    assert [tool.kind for tool in request.tools] == ["googleSearch", "codeExecution"]


def test_a_call_keeps_its_arguments_in_order() -> None:
    (call,) = read_output(
        "generateContent", [{"functionCall": {"name": "f", "args": {"b": 1, "a": 2}}}]
    ).parts
    assert isinstance(call, ToolCallPart)
    assert call.arguments == '{"b":1,"a":2}'


def test_an_answer_without_candidates_is_empty() -> None:
    assert (
        read_output(
            "generateContent",
            {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}},
        ).parts
        == ()
    )

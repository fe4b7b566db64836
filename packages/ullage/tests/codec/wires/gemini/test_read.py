import json

import msgspec

from tests.codec.streams import brief
from ullage.codec.bodies import read_body, read_output
from ullage.messages import (
    FilePart,
    ImagePart,
    TextPart,
    ToolResultPart,
)


def test_both_spellings_read_alike() -> None:
    rest = json.loads(
        """
        {
          "systemInstruction": {"parts": [{"text": "Be brief."}]},
          "contents": [
            {
              "role": "model",
              "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "sig"}]
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"ok": true}}}]},
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}
          ],
          "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}]
        }
        """
    )
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


def read(*parts: dict[str, object]) -> list[tuple[object, ...]]:
    return [brief(part) for part in read_output("generateContent", list(parts)).parts]


def test_signed_parts_stay_apart_and_keep_their_signatures() -> None:
    first, second = ({"thoughtSignature": name} for name in ("sig1", "sig2"))
    signed: dict[str, object] = {"text": "b", **first}
    assert read({"text": "a"}, signed, {"text": "", **second}, {**first}) == [
        ("text", "a"),
        ("text", "b", first),
        ("text", "", second),
        ("reasoning", "", first),
    ]


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
    code: dict[str, object] = {
        "executableCode": {"language": "PYTHON", "code": "print(1)"}
    }
    assert read(code) == [("item", "executableCode", code)]
    tools: list[dict[str, object]] = [{"googleSearch": {}}, {"codeExecution": {}}]
    request = read_body({"contents": "x", "tools": tools})
    assert [tool.kind for tool in request.tools] == ["googleSearch", "codeExecution"]

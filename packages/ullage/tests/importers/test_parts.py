import pytest

from ullage.importers.parts import CLEARED, LogParts, likely_provider
from ullage.messages import TextPart, ToolCallPart, ToolResultPart


def test_parts_are_named_after_their_message_in_one_portion_or_several() -> None:
    reading = LogParts("m", "messages")
    names = [
        part.id
        for content in ("one", [{"type": "text", "text": "two"}, "three"])
        for part in reading.read(content)
    ]
    assert names[0] == "m/0"
    assert len(set(names)) == 3
    assert all(name.startswith("m/") for name in names)


@pytest.mark.parametrize("content", [None, "", [], 5, {"type": "text"}, [1, None, [2]]])
def test_what_is_no_content_has_no_parts(content: object) -> None:
    assert LogParts("m", "messages").read(content) == []


def test_a_result_has_the_name_of_its_tool_and_is_marked_when_it_was_cleared() -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": CLEARED}
    part = LogParts("m", "messages").read([block], {"t1": "Read"})[0]
    assert isinstance(part, ToolResultPart)
    assert (part.name, part.cleared) == ("Read", True)
    part = LogParts("m", "messages").read([{**block, "content": f"grep {CLEARED}"}], {})[
        0
    ]
    assert isinstance(part, ToolResultPart)
    assert (part.name, part.cleared) == ("", False)


@pytest.mark.parametrize(
    ("wire", "content"),
    [
        (
            "messages",
            [
                {"type": "text", "text": "a"},
                {"type": "tool_use", "id": "c", "name": "n", "input": {"k": 1}},
            ],
        ),
        (
            "responses",
            [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "a"}],
                },
                {
                    "type": "function_call",
                    "call_id": "c",
                    "name": "n",
                    "arguments": '{"k":1}',
                },
            ],
        ),
        (
            "generateContent",
            [{"text": "a"}, {"functionCall": {"id": "c", "name": "n", "args": {"k": 1}}}],
        ),
    ],
)
def test_each_wires_blocks_become_the_same_parts(
    wire: str, content: list[object]
) -> None:
    text, call = LogParts("m", wire).read(content)
    assert isinstance(text, TextPart)
    assert isinstance(call, ToolCallPart)
    assert (text.text, call.call_id, call.name, call.arguments) == (
        "a",
        "c",
        "n",
        '{"k":1}',
    )


def test_a_model_is_served_by_its_vendor_or_the_maker_of_the_wire() -> None:
    assert likely_provider("claude-sonnet-4-5", "messages") == "anthropic"
    assert likely_provider("gpt-5", "responses") == "openai"
    assert likely_provider("gemini-2.5-flash", "generateContent") == "google"
    assert likely_provider("deepseek-chat", "chat") == "deepseek"
    assert likely_provider("my-model", "chat") == ""

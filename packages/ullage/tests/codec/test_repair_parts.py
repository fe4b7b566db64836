import json

import pytest

from tests.codec.histories import data
from ullage.codec.blocks import UNREADABLE_ARGUMENTS
from ullage.codec.repair_parts import (
    MessageRepair,
    Notes,
    fields_of,
    sound_arguments,
)
from ullage.codec.rules import Target
from ullage.codec.wires import target_of
from ullage.messages import (
    ImagePart,
    Part,
    ProviderData,
    ProviderItem,
    Request,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

CLAUDE = ("messages", "anthropic", "claude-opus-4-5")
GPT = ("responses", "openai", "gpt-5.2")
GEMINI = ("generateContent", "google", "gemini-3-pro")


def target(to: tuple[str, str, str]) -> Target:
    return target_of(Request(wire=to[0], provider=to[1], model=to[2]))


def sound(part: Part, to: tuple[str, str, str] = CLAUDE) -> Part | None:
    return MessageRepair("m", target(to), Notes()).part(part)


@pytest.mark.parametrize(
    "written", ['{"a": 1}', '{ "a":\n1 }', "{}", '{"a": "\\ud83d\\ude00"}']
)
def test_arguments_that_are_an_object_stay_as_written(written: str) -> None:
    assert sound_arguments(written) == written


@pytest.mark.parametrize("written", ['{"path": "a.t', "[1]", "text", '"{}"', "[" * 5000])
def test_other_arguments_are_held_by_a_stand_in(written: str) -> None:
    assert json.loads(sound_arguments(written)) == {UNREADABLE_ARGUMENTS: written}


def test_no_arguments_are_an_empty_object() -> None:
    assert sound_arguments("") == sound_arguments(" \n") == "{}"


@pytest.mark.parametrize(
    "written", ['{"a": "\\ud800"}', '{"a": "\\u0000"}', '{"\ud800": ["\\udfff"]}']
)
def test_half_characters_in_arguments_are_replaced_where_they_stand(written: str) -> None:
    made = json.loads(sound_arguments(written))
    assert "\ufffd" in json.dumps(made, ensure_ascii=False)
    assert UNREADABLE_ARGUMENTS not in made


def test_a_custom_tools_input_is_plain_text() -> None:
    free = ToolCallPart(
        id="c",
        call_id="c",
        name="patch",
        arguments="*** Begin",
        provider=data({"type": "custom_tool_call"}, GPT),
    )
    assert sound(free, GPT) == free
    foreign = sound(free, CLAUDE)
    assert isinstance(foreign, ToolCallPart)
    assert json.loads(foreign.arguments) == {UNREADABLE_ARGUMENTS: "*** Begin"}


def test_anthropic_gets_no_blank_text_and_gemini_an_empty_one_if_signed() -> None:
    assert sound(TextPart(id="t", text=" \n")) is None
    assert sound(TextPart(id="t", text=" "), GPT) is not None
    signed = TextPart(
        id="t", text="", provider=data({"thoughtSignature": "c2ln"}, GEMINI)
    )
    assert sound(signed, GEMINI) is signed
    assert sound(signed, CLAUDE) is None


@pytest.mark.parametrize(
    ("origin", "fields"),
    [
        (("responses", "openai", "gpt-5.2"), {"id", "other"}),
        (("responses", "openai", "gpt-5.2-2025-12-11"), {"id", "other"}),
        (("responses", "openai", "gpt-4.1"), {"other"}),
        (("responses", "azure", "gpt-5.2"), set()),
        (("chat", "openai", "gpt-5.2"), set()),
    ],
)
def test_own_fields_go_only_to_who_can_read_them(
    origin: tuple[str, str, str], fields: set[str]
) -> None:
    own = data({"id": "msg_1", "other": 1.5}, origin)
    call = ToolCallPart(id="c", call_id="c", name="f", arguments="{}", provider=own)
    for part in (TextPart(id="t", text="hi", provider=own), call, image(own)):
        made = sound(part, GPT)
        assert isinstance(made, TextPart | ToolCallPart | ImagePart)
        assert set(fields_of(made.provider) or ()) == fields


def image(own: ProviderData | None = None) -> ImagePart:
    source = "https://example.com/a.png"
    return ImagePart(id="i", mime="image/png", source=source, provider=own)


def test_another_providers_item_in_a_result_is_sent_as_its_text() -> None:
    item = ProviderItem(
        id="i", kind="search", text="found it", provider=data({"type": "search"}, GPT)
    )
    made = sound(ToolResultPart(id="r", call_id="c", content=(item,)))
    assert isinstance(made, ToolResultPart)
    assert made.text == "found it"
    assert sound(item) is None
    assert sound(item, GPT) is item


def test_data_that_no_strict_reader_takes_is_none() -> None:
    assert fields_of(data({"signature": "\ud800"}, CLAUDE)) is None
    assert fields_of(data([1], CLAUDE)) is None

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.recorded import (
    RecordedRow,
    as_json,
    is_call,
    is_pair,
    pair_of,
    request_of,
    tools_of,
    truth_of,
)
from ullage.messages import (
    FilePart,
    ImagePart,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

PAIR: RecordedRow = {
    "id": "p1",
    "kind": "cassette",
    "source": "tests/one.yaml",
    "provider": "openai",
    "api": "responses",
    "model": "gpt-5",
    "stream_a": True,
    "usage_a": {"input": 100, "output": 50, "reasoning": 20},
    "usage_b": {"input": 170, "output": 5},
    "reasoning_sent_back": "yes",
    "user_turn": False,
    "tool_turn": True,
    "echo_match": True,
    "a_atoms": [{"r": "user", "k": "text", "t": "What is the weather?", "m": 0}],
    "a_response": [
        {"r": "assistant", "k": "reasoning", "t": "", "m": 0, "enc": 900},
        {
            "r": "assistant",
            "k": "tool_call",
            "t": '{"city":"Oslo"}',
            "name": "weather",
            "id": "c1",
            "m": 1,
        },
    ],
    "b_echo": [],
    "new": [
        {"r": "tool", "k": "tool_result", "t": "rain", "id": "c1", "m": 2},
        {
            "r": "tool",
            "k": "image",
            "t": "",
            "id": "c1",
            "m": 2,
            "in_tool": True,
            "blob": {"w": 10, "h": 20},
        },
        {
            "r": "tool",
            "k": "tool_result",
            "t": "and more rain",
            "id": "c1",
            "m": 2,
            "cont": True,
        },
        {"r": "user", "k": "text", "t": "go on", "m": 3},
    ],
}


def test_a_pair_is_told_from_a_whole_request_by_its_fields() -> None:
    assert is_pair(PAIR)
    assert not is_call(PAIR)
    assert is_call({"atoms": [], "usage": {}})
    assert not is_pair({"atoms": [], "usage": {}})


def test_a_pair_reads_as_words() -> None:
    pair = pair_of(PAIR)
    reasoning, call = pair.answer
    assert reasoning == ReasoningPart(id="answer0", opaque_size=900)
    assert call == ToolCallPart(
        id="answer1", call_id="c1", name="weather", arguments='{"city":"Oslo"}'
    )
    assert (pair.usage.input, pair.usage.output, pair.usage.reasoning) == (100, 50, 20)
    assert (pair.truth, pair.growth) == (170, 70)
    first = pair.first
    assert (first.wire, first.provider, first.model, first.stream) == (
        "responses",
        "openai",
        "gpt-5",
        True,
    )
    assert [message.role for message in first.messages] == ["user"]
    assert pair.second.messages == ()
    assert pair.has_media
    assert pair.is_clean


def test_what_continues_a_tool_result_or_lies_in_it_is_part_of_it() -> None:
    results, user = pair_of(PAIR).new
    (held,) = results.parts
    assert isinstance(held, ToolResultPart)
    assert [type(part) for part in held.content] == [TextPart, ImagePart, TextPart]
    assert held.text == "rainand more rain"
    assert (results.role, user.role) == ("tool", "user")


def test_an_answer_goes_back_as_it_came_or_as_the_application_edited_it() -> None:
    echo = [{"r": "assistant", "k": "text", "t": "shortened", "m": 1}]
    pair = pair_of({**PAIR, "echo_match": False, "b_echo": echo})
    assert pair.returned == (TextPart(id="echo0", text="shortened"),)
    assert not pair.is_clean
    assert pair_of(PAIR).returned == pair_of(PAIR).answer


def test_reasoning_that_was_not_sent_back_is_no_part_of_what_goes_back() -> None:
    signed = [
        {
            "r": "assistant",
            "k": "tool_call",
            "t": "{}",
            "name": "f",
            "id": "c",
            "m": 1,
            "enc": 40,
        }
    ]
    pair = pair_of(
        {
            **PAIR,
            "a_response": [*PAIR["a_response"], *signed],
            "reasoning_sent_back": "no",
        }
    )
    assert [type(part) for part in pair.returned] == [ToolCallPart, ToolCallPart]
    assert all(
        isinstance(part, ToolCallPart) and not part.opaque_size for part in pair.returned
    )


@pytest.mark.parametrize(
    "change",
    [
        {"same_system": False},
        {"same_tools": False},
        {"same_params": False},
        {"compacted": True},
        {"new_has_assistant": True},
        {"output_placeholder": True},
        {"complete": False},
        {"new": [{"k": "other", "t": "?"}]},
        {"a_atoms": [{"k": "server_tool", "t": "?"}]},
    ],
)
def test_what_makes_a_pair_unclean(change: RecordedRow) -> None:
    assert not pair_of({**PAIR, **change}).is_clean


def test_both_sides_of_a_change_are_kept() -> None:
    tool = {"name": "f", "description": "", "input_schema": {"type": "object"}}
    pair = pair_of(
        {
            **PAIR,
            "same_tools": False,
            "tools": [tool, tool],
            "a_tools": [tool],
            "system": "be brief",
        }
    )
    assert (len(pair.first.tools), len(pair.second.tools)) == (1, 2)
    assert pair.first.system == pair.second.system


@pytest.mark.parametrize(
    "declared",
    [
        [
            {
                "type": "function",
                "function": {
                    "name": "f",
                    "description": "d",
                    "parameters": {"type": "object"},
                },
            }
        ],
        [
            {
                "type": "function",
                "name": "f",
                "description": "d",
                "parameters": {"type": "object"},
            }
        ],
        [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
        [
            {
                "toolSpec": {
                    "name": "f",
                    "description": "d",
                    "inputSchema": {"json": {"type": "object"}},
                }
            }
        ],
        [
            {
                "functionDeclarations": [
                    {"name": "f", "description": "d", "parameters": {"type": "object"}}
                ]
            }
        ],
    ],
)
def test_every_wires_tool_declarations_read_alike(declared: object) -> None:
    (tool,) = tools_of(declared)
    assert (tool.name, tool.description, bytes(tool.schema)) == (
        "f",
        "d",
        b'{"type":"object"}',
    )
    assert tool.kind == "function"


def test_a_tool_of_the_provider_keeps_its_own_name_of_a_kind() -> None:
    (tool,) = tools_of([{"type": "web_search_20250305", "name": "web_search"}])
    assert (tool.kind, tool.name) == ("web_search_20250305", "web_search")


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ({"googleSearch": {}}, "googleSearch"),
        ({"systemTool": {"name": "nova_grounding"}}, "nova_grounding"),
    ],
)
def test_a_hosted_tool_named_by_its_key_is_no_function(
    declared: object, kind: str
) -> None:
    (tool,) = tools_of([declared, {"cachePoint": {"type": "default"}}])
    assert (tool.kind, tool.name) == (kind, kind)


def test_a_deferred_tool_and_a_schema_written_as_text_are_seen() -> None:
    deferred, text = tools_of(
        [
            {"name": "f", "input_schema": {"type": "object"}, "defer_loading": True},
            {"function": {"name": "g", "parameters": '{"type":"object"}'}},
        ]
    )
    assert deferred.deferred
    assert msgspec.json.decode(text.schema) == '{"type":"object"}'


def test_a_whole_request_reads_as_words() -> None:
    request = request_of(
        {
            "api": "chat(litellm)",
            "provider": "anthropic",
            "model": "claude",
            "system": "be brief",
            "tools": [{"name": "f"}],
            "params": {"tool_choice": "auto"},
            "atoms": [
                {"r": "user", "k": "text", "t": "see", "m": 0},
                {
                    "r": "user",
                    "k": "file",
                    "t": "",
                    "m": 0,
                    "blob": {"mime": "application/pdf", "pages": 2},
                },
                {"r": "user", "k": "audio", "t": "", "m": 0, "blob": {"seconds": 1.5}},
                {"r": "user", "k": "other", "type": "strange", "t": "x", "m": 0},
            ],
        }
    )
    assert request.wire == "chat"
    assert request.system[0].text == "be brief"
    (message,) = request.messages
    text, file, audio, other = message.parts
    assert text == TextPart(id="m0", text="see")
    assert file == FilePart(id="m1", mime="application/pdf", pages=2)
    assert audio == FilePart(id="m2", mime="audio/", seconds=1.5)
    assert other == ProviderItem(id="m3", kind="strange", text="x")


def test_text_that_no_provider_accepts_is_made_valid() -> None:
    request = request_of(
        {"atoms": [{"r": "user", "k": "text", "t": "a\ud800\0b", "m": 0}]}
    )
    assert msgspec.json.encode(request)


ATOMS = st.lists(
    st.none()
    | st.fixed_dictionaries(
        {},
        optional={
            "r": st.sampled_from(["user", "tool", 3]),
            "k": st.sampled_from(
                [
                    "text",
                    "image",
                    "tool_result",
                    "tool_call",
                    "reasoning",
                    "file",
                    "other",
                    None,
                    3,
                ]
            ),
            "type": st.lists(st.none(), max_size=1),
            "t": st.none() | st.text(max_size=5),
            "m": st.none() | st.integers() | st.lists(st.integers(), max_size=1),
            "cont": st.booleans(),
            "in_tool": st.booleans(),
            "enc": st.floats(),
            "blob": st.none()
            | st.dictionaries(
                st.sampled_from(["w", "h", "pages", "seconds"]), st.floats()
            ),
        },
    ),
    max_size=5,
)
ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | ATOMS
)
KEYS = [
    *PAIR,
    "conv",
    "system",
    "tools",
    "params_a",
    "params_b",
    "usage",
    "atoms",
    "params",
    "prev_id",
    "same_tools",
]


@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING))
def test_no_row_makes_the_reading_fail(row: dict[str, object]) -> None:
    pair_of(row)
    request_of(row)
    assert truth_of(row) is None or truth_of(row) is not None


@pytest.mark.parametrize("kind", [["image"], {"a": 1}, None, 5])
def test_an_atom_of_no_known_kind_is_an_item_of_its_own(kind: object) -> None:
    (message,) = pair_of({**PAIR, "new": [{"k": kind, "t": "x"}]}).new
    assert isinstance(message.parts[0], ProviderItem)


def test_a_value_that_is_no_valid_text_is_still_written() -> None:
    assert msgspec.json.decode(as_json({"a": "\ud800"}))


def test_foreign_values_are_written_compactly() -> None:
    assert as_json([{"a": 1}]) == '[{"a":1}]'
